//! `quell studio` beside the command line: what is seen is what is written.

#[path = "../../quell-studio/tests/common/client.rs"]
mod client;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client::Client;
use serde_json::{Value, json};

/// A studio in a folder of its own.
struct Studio {
    child: Child,
    client: Client,
}

impl Studio {
    fn start(folder: &Path, files: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_quell"))
            .current_dir(folder)
            .args(["studio", "--no-browser", "-o", "out"])
            .args(files)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, client: Client::open(url.trim()) }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that is empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("quell-cli-studio-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn quell(folder: &Path, args: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_quell")).current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A drawn picture with noise, as a PNM file of 8 or 16 bits.
fn draw(path: &Path, (width, height, channels): (usize, usize, usize), white: u32) {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        f64::from(state >> 16) / 65536.0 - 0.5
    };
    let mut bytes = format!("P{} {width} {height} {white}\n", if channels == 3 { 6 } else { 5 }).into_bytes();
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let edge = if (x / 23 + y / 31 + c) % 2 == 0 { 0.3 } else { 0.6 };
                let level = edge + 0.1 * (x as f64 / 9.0).sin() + 0.25 * (noise() + noise() + noise());
                let v = (level.clamp(0.0, 1.0) * f64::from(white)).round() as u32;
                if white > 255 {
                    bytes.push((v >> 8) as u8);
                }
                bytes.push(v as u8);
            }
        }
    }
    std::fs::write(path, bytes).unwrap();
}

/// A result put together from rectangles that are asked for out of order.
fn puzzle(client: &Client, key: &str, (width, height): (usize, usize), pixel: usize) -> Vec<u8> {
    let (side_x, side_y) = (97, 71);
    let mut areas: Vec<[usize; 4]> = (0..height)
        .step_by(side_y)
        .flat_map(|y| (0..width).step_by(side_x).map(move |x| [x, y, side_x, side_y]))
        .collect();
    // From the middle, and hither and thither.
    areas.sort_by_key(|[x, y, ..]| (x * 7919 + y * 104_729) % 1013);
    let mut all = vec![0; width * height * pixel];
    for area in areas {
        let answer = client.tile("result", "1", key, 0, area);
        assert_eq!(answer.status, 200, "{}", answer.json());
        let columns: usize = answer.header("x-quell-width").parse().unwrap();
        for (i, row) in answer.body.chunks_exact(columns * pixel).enumerate() {
            let at = ((area[1] + i) * width + area[0]) * pixel;
            all[at..at + row.len()].copy_from_slice(row);
        }
    }
    all
}

/// The samples of a PNM file, those of 16 bits the other way round.
fn samples(path: &Path, count: usize, wide: bool) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let mut samples = bytes[bytes.len() - count..].to_vec();
    if wide {
        samples.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    }
    samples
}

#[test]
fn what_is_seen_is_what_is_written() {
    let folder = folder("bits");
    let (width, height) = (333, 257);
    let strong =
        json!({"noise": {"kind": "sigma", "sigma": 30}, "strength": 0.8, "grain": 0.1, "detail": 0.2});
    let cases = [
        ("grey.pgm", 1, 255, json!({"profile": "fast"})),
        ("rgb.ppm", 3, 255, json!({"profile": "fast"})),
        ("rgb.ppm", 3, 255, strong),
        ("grey16.pgm", 1, 65535, json!({"profile": "middle"})),
        (
            "ten.pgm",
            1,
            1023,
            json!({"noise": {"kind": "region", "region": [0, 0, 20, 20]}, "profile": "fast"}),
        ),
        ("rgb16.ppm", 3, 65535, json!({"method": "isoline"})),
        ("grey.pgm", 1, 255, json!({"method": "classic", "profile": "tv"})),
    ];
    for (name, channels, white, mut settings) in cases {
        settings["device"] = json!("cpu");
        draw(&folder.join(name), (width, height, channels), white);
        let studio = Studio::start(&folder, &[name]);
        let client = &studio.client;
        let asked = json!({"file": "1", "candidate": "A", "settings": settings});
        let answer = client.post("/api/settings", &asked).json();
        let key = answer["key"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let pixel = channels * if white > 255 { 2 } else { 1 };
        let seen = puzzle(client, key, (width, height), pixel);
        // As the window copies it.
        let flags: Vec<&str> = answer["flags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let written = format!("cli-{name}");
        quell(&folder, &[&[name, "-o", &written, "--quiet"], &flags[..]].concat());
        assert!(
            seen == samples(&folder.join(&written), seen.len(), white > 255),
            "{name} {settings}: samples"
        );
        let export = json!({"files": ["1"], "settings": settings, "replace": true});
        assert_eq!(client.post("/api/export", &export).status, 200);
        let export = client.exports().remove(0);
        assert_eq!(export["state"], "done", "{export}");
        let exported = std::fs::read(export["output"].as_str().unwrap()).unwrap();
        assert!(exported == std::fs::read(folder.join(&written)).unwrap(), "{name} {settings}: file");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_frame_of_a_clip_is_the_one_that_is_exported() {
    let folder = folder("clip");
    let (width, height) = (64, 48);
    let mut clip = format!("YUV4MPEG2 W{width} H{height} F25:1 C420jpeg\n").into_bytes();
    for frame in 0..7u32 {
        clip.extend(b"FRAME\n");
        let mut state = frame + 1;
        clip.extend((0..width * height * 3 / 2).map(|i| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (90 + (i % width / 16 * 20 + frame as usize) % 60) as u8 + (state >> 27) as u8
        }));
    }
    std::fs::write(folder.join("a.y4m"), clip).unwrap();
    quell(&folder, &["a.y4m", "-o", "b.y4m", "--profile", "fast", "--device", "cpu", "--quiet"]);
    let studio = Studio::start(&folder, &["a.y4m", "b.y4m"]);
    let client = &studio.client;
    let file = client.get("/api/files/1").json();
    assert_eq!((&file["kind"], &file["frames"], &file["rate"]), (&json!("clip"), &json!(7), &json!(25.0)));
    let key = client.settings("1", "A", json!({"profile": "fast", "device": "cpu"}));
    let all = [0, 0, width, height];
    for frame in [3, 0, 6, 4] {
        let (seen, written) =
            (client.tile("result", "1", &key, frame, all), client.tile("source", "2", "", frame, all));
        assert_eq!((seen.status, seen.body.len()), (200, width * height * 3), "{}", seen.json());
        assert!(seen.body == written.body, "frame {frame}");
        assert!(seen.body != client.tile("source", "1", "", frame, all).body);
    }
    drop(studio);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_broken_file_is_named_and_the_queue_goes_on() {
    let folder = folder("queue");
    draw(&folder.join("a.pgm"), (80, 60, 1), 255);
    draw(&folder.join("c.pgm"), (80, 60, 1), 255);
    std::fs::write(folder.join("b.png"), b"\x89PNG\r\n\x1a\nnothing").unwrap();
    let studio = Studio::start(&folder, &["."]);
    let client = &studio.client;
    let names: Vec<Value> = client.get("/api/state").json()["files"].as_array().unwrap().to_vec();
    assert_eq!(names.iter().map(|f| f["name"].clone()).collect::<Vec<_>>(), ["a.pgm", "b.png", "c.pgm"]);
    let export = json!({"files": ["1", "2", "3"], "settings": {"profile": "fast"}});
    assert_eq!(client.post("/api/export", &export).status, 200);
    let queue = client.exports();
    let states: Vec<&Value> = queue.iter().map(|e| &e["state"]).collect();
    assert_eq!(states, ["done", "failed", "done"], "{queue:?}");
    assert!(queue[1]["error"].as_str().is_some_and(|e| e.contains("PNG")), "{}", queue[1]);
    assert!(queue[0]["text"].as_str().is_some_and(|t| t.contains("80 x 60 grey")), "{}", queue[0]);
    assert_eq!(client.post("/api/export", &export).status, 409, "what exists is not replaced");
    assert!(!folder.join("out/b.quell.png").exists());
    drop(studio);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn flags_that_make_no_sense_are_refused_as_on_the_command_line() {
    let folder = folder("refused");
    draw(&folder.join("a.pgm"), (80, 60, 1), 255);
    let studio = Studio::start(&folder, &["a.pgm"]);
    let refused = |settings: Value| {
        let answer = studio
            .client
            .post("/api/settings", &json!({"file": "1", "candidate": "A", "settings": settings}));
        assert_eq!(answer.status, 422, "{}", answer.json());
        answer.json()["error"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({"params": {"hard.step": "99"}})).starts_with("--hard-step 99: must be from 1"));
    assert!(refused(json!({"device": "toaster"})).contains("toaster"));
    assert!(refused(json!({"strength": -1})).contains("--strength"));
    assert!(refused(json!({"params": {"hard.step": "4 -o x"}})).contains("4 -o x"));
    let key =
        studio.client.settings("1", "A", json!({"noise": {"kind": "region", "region": [70, 50, 20, 20]}}));
    let answer = studio.client.tile("result", "1", &key, 0, [0, 0, 9, 9]);
    assert_eq!(answer.status, 422);
    assert!(answer.json()["error"].as_str().unwrap().contains("80 x 60"), "{}", answer.json());
    drop(studio);
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_and_uploads_go() {
    let folder = folder("end");
    let mut studio = Studio::start(&folder, &[]);
    let upload = studio.client.post_bytes("/api/upload?name=a.pgm", b"P5 2 1 255\n\x01\x02").json();
    let path = PathBuf::from(upload["path"].as_str().unwrap());
    assert!(path.is_file());
    let id = studio.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    for _ in 0..100 {
        if let Some(status) = studio.child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            assert!(!path.exists());
            std::fs::remove_dir_all(folder).unwrap();
            return;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    panic!("it does not end");
}

#[test]
fn files_that_are_not_there_are_named_before_a_window_opens() {
    let folder = folder("missing");
    let done = Command::new(env!("CARGO_BIN_EXE_quell"))
        .current_dir(&folder)
        .args(["studio", "--no-browser", "nothing.png", "nothing.mp4"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("nothing.png: no such file") && said.contains("nothing.mp4: no such file"),
        "{said}"
    );
    assert!(done.stdout.is_empty(), "no address");
}
