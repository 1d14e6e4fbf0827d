//! Noise that is found, wherever it is, and ranges that are only used in part.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, clean, noisy};
use quell::{Frame, Plane};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};

const CPU: [&str; 4] = ["--profile", "fast", "--device", "cpu"];

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &CPU].concat()
}

/// The first sigma that a run said.
#[track_caller]
fn sigma(said: &str) -> f32 {
    let text = said.split("sigma ").nth(1).unwrap_or_else(|| panic!("no sigma in: {said}"));
    text.split([' ', ',']).next().unwrap().parse().unwrap()
}

/// A picture with noise where the condition holds, else of one value.
fn partly(width: usize, height: usize, value: f32, keep: impl Fn(usize, usize) -> bool) -> Frame {
    let mut frame = noisy(width, height, 3);
    for y in 0..height {
        for (x, v) in frame.planes_mut()[0].row_mut(y).iter_mut().enumerate() {
            *v = if keep(x, y) { v.clamp(0.0, 255.0) } else { value };
        }
    }
    frame
}

#[test]
fn pictures_that_are_mostly_filled_are_filtered_for_the_noise_of_the_rest() {
    let f = Folder::new("filled");
    f.save("letterbox.png", &[partly(96, 160, 0.0, |_, y| (66..94).contains(&y))], SampleType::U8);
    f.save("scan.png", &[partly(160, 96, 255.0, |x, _| x < 60)], SampleType::U8);
    for name in ["letterbox.png", "scan.png"] {
        let run = f.quell(&with(&[name])).expect(0);
        let found = sigma(run.err());
        assert!((12.0..18.0).contains(&found), "{name}: {found}");
    }
    let rows = f.quell(&["noise", "scan.png", "--json"]).expect(0).json();
    for row in &rows {
        let [used, flat] = ["used", "flat"].map(|n| row[n].as_u64().unwrap());
        assert!(used > 50 && flat > used && row["clipped"].is_u64(), "{row}");
    }
}

#[test]
fn what_is_transparent_tells_nothing_of_the_noise() {
    let f = Folder::new("cut-out");
    let inside = |x: usize, y: usize| (30..90).contains(&x) && (20..70).contains(&y);
    let samples = |f: &dyn Fn(usize, usize) -> f32| {
        Plane::from_vec(128, 96, (0..128 * 96).map(|i| f(i % 128, i / 128)).collect()).unwrap()
    };
    // Under the transparent part is a rough pattern.
    let frame = partly(128, 96, 0.0, inside);
    let plane = samples(&|x, y| {
        if inside(x, y) { frame.planes()[0].row(y)[x] } else { ((x * 97 + y * 61) % 256) as f32 }
    });
    let alpha = samples(&|x, y| if inside(x, y) { 255.0 } else { 0.0 });
    let page =
        Page { frame: Frame::grey(plane, 255.0).unwrap(), alpha: Some(alpha), samples: SampleType::U8 };
    let picture =
        Picture { pages: vec![page], metadata: Metadata::default(), format: Format::Png, notes: Vec::new() };
    quell_io::write(&f.path("cut.png"), &picture, &WriteOptions::default()).unwrap();
    let found = sigma(f.quell(&with(&["cut.png"])).expect(0).err());
    assert!((12.0..18.0).contains(&found), "{found}");
    let rows = f.quell(&["noise", "cut.png", "--json"]).expect(0).json();
    assert!(rows.iter().all(|r| r["transparent"].as_u64() > r["used"].as_u64()), "{rows:?}");
}

#[test]
fn clean_drawings_are_copied() {
    let f = Folder::new("drawings");
    let mut page = clean(120, 90);
    for y in 0..90 {
        for (x, v) in page.planes_mut()[0].row_mut(y).iter_mut().enumerate() {
            let ink = y < 60 && y % 12 < 8 && (x * 31 + y * y * 17 + x * y) % 7 < 2;
            *v = if ink { 20.0 } else { 240.0 };
        }
    }
    f.save("text.png", &[page], SampleType::U8);
    f.quell(&with(&["text.png"])).expect(0).says("no noise found, copied");
}

/// 16-bit counts of which only 0 to 900 are used.
fn counts() -> Frame {
    let mut frame = noisy(64, 48, 2);
    let samples = frame.planes_mut()[0].as_mut_slice();
    // On the 0..255 scale of the file.
    samples.iter_mut().for_each(|v| *v = (v.clamp(0.0, 255.0) * 3.5).round() / 257.0);
    frame
}

#[test]
fn counts_in_a_small_part_of_the_range_are_filtered_and_white_is_suggested() {
    let f = Folder::new("counts");
    f.save("a.tif", &[counts()], SampleType::U16);
    let run = f.quell(&with(&["a.tif"])).expect(0);
    assert!(
        run.err().contains("a.tif: values use ")
            && run.err().contains(" of 65535: is white 1023 or 4095? --white 4095"),
        "{}",
        run.err()
    );
    assert!(!run.err().contains("no noise found"), "{}", run.err());
    let error = |name: &str| -> f32 {
        let (got, want) = (f.load(name).remove(0), clean(64, 48));
        let pairs = got.planes()[0].as_slice().iter().zip(want.planes()[0].as_slice());
        pairs.map(|(g, w)| (g * 257.0 / 3.5 - w).powi(2)).sum()
    };
    assert!(error("a.quell.tif") < 0.3 * error("a.tif"));
    // With the right white the noise is the usual one, and nothing is left to say.
    let run = f.quell(&with(&["a.tif", "-o", "b.tif", "--white", "1023"])).expect(0);
    assert!((11.0..16.0).contains(&sigma(run.err())) && !run.err().contains("values use"), "{}", run.err());
    f.quell(&["noise", "a.tif"]).expect(0).says("note: a.tif: values use ");
}

#[test]
fn numbered_pictures_of_counts_say_so_and_follow_white() {
    let f = Folder::new("count-clip");
    (1..4).for_each(|i| drop(f.save(&format!("f_{i}.tif"), &[counts()], SampleType::U16)));
    f.quell(&with(&["f_%d.tif", "-o", "c_%d.tif"]))
        .expect(0)
        .says("of 65535: is white 1023 or 4095? --white 4095");
    let run = f.quell(&with(&["f_%d.tif", "-o", "d_%d.tif", "--white", "1023"])).expect(0);
    assert!((11.0..16.0).contains(&sigma(run.err())) && !run.err().contains("values use"), "{}", run.err());
}

/// A grey clip: black frames, then a fade, then a picture with noise.
fn fading(frames: u64) -> Vec<u8> {
    let mut clip = b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 Cmono\n".to_vec();
    for i in 0..frames {
        let light = (i.saturating_sub(4) as f32 / 6.0).min(1.0);
        clip.extend(b"FRAME\n");
        let samples = noisy(64, 48, i);
        clip.extend(samples.planes()[0].as_slice().iter().map(|v| (v.clamp(0.0, 255.0) * light) as u8));
    }
    clip
}

#[test]
fn a_clip_that_fades_in_from_black_is_filtered() {
    let f = Folder::new("fade");
    fs::write(f.path("a.y4m"), fading(30)).unwrap();
    let args = with(&["--method", "nlm"]);
    let args: Vec<&str> = args.into_iter().filter(|a| *a != "--profile" && *a != "fast").collect();
    let run = f.quell(&[&["a.y4m"], &args[..]].concat()).expect(0);
    assert!((12.0..18.0).contains(&sigma(run.err())), "{}", run.err());
    // A pipe can be read only once: the first frames tell, as they come.
    let mut command = f.command(&[&["-", "-o", "-"], &args[..]].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(input.write_all(&fading(30))));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success() && (9.0..18.0).contains(&sigma(&said)), "{said}");
    let (from, to) = (fading(30), out.stdout);
    assert_eq!(from.len(), to.len());
    let frame = 64 * 48 + 6;
    let head = from.len() - 30 * frame;
    assert_eq!(from[..head + 4 * frame], to[..head + 4 * frame], "black frames pass as they are");
    assert_ne!(from[head + 25 * frame..], to[head + 25 * frame..]);
}

#[test]
fn numbered_pictures_that_begin_in_black_are_filtered() {
    let f = Folder::new("fade-numbered");
    for i in 0..12 {
        let frame = if i < 3 { partly(48, 40, 0.0, |_, _| false) } else { noisy(48, 40, i) };
        f.save(&format!("f_{i:02}.png"), &[frame], SampleType::U8);
    }
    let run = f.quell(&with(&["f_%02d.png", "-o", "c_%02d.png"])).expect(0);
    assert!((12.0..18.0).contains(&sigma(run.err())), "{}", run.err());
}

#[test]
fn a_clip_without_noise_is_the_same_file() {
    let f = Folder::new("clean-clip");
    let mut clip = fading(0);
    for i in 0..5_u8 {
        clip.extend(b"FRAME Xn\n");
        clip.extend(
            (0..48_u32).flat_map(|y| (0..64_u32).map(move |x| if x + y > 50 { 200 } else { 30 + i })),
        );
    }
    fs::write(f.path("a.y4m"), &clip).unwrap();
    let run = f.quell(&with(&["a.y4m", "--json"])).expect(0).says("no noise found, copied -> a.quell.y4m");
    assert_eq!((&run.json()[0]["copied"], &run.json()[0]["frames"]), (&true.into(), &5.into()));
    assert_eq!(fs::read(f.path("a.quell.y4m")).unwrap(), clip);
    // Over itself there is nothing to do.
    f.quell(&with(&["a.y4m", "--in-place"])).expect(0).says("no noise found, copied");
    assert_eq!(fs::read(f.path("a.y4m")).unwrap(), clip);
    // Pictures keep what no codec would.
    for i in 0..3 {
        let path = f.save(&format!("p_{i}.jpg"), &[partly(32, 24, 90.0, |_, _| false)], SampleType::U8);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(b"behind the end");
        fs::write(path, bytes).unwrap();
    }
    f.quell(&with(&["p_%d.jpg", "-o", "q_%d.jpg"])).expect(0).says("no noise found, copied");
    (0..3).for_each(|i| {
        let read = |name: String| fs::read(f.path(&name)).unwrap();
        assert_eq!(read(format!("p_{i}.jpg")), read(format!("q_{i}.jpg")));
    });
    // Another kind is written anew.
    f.quell(&with(&["p_%d.jpg", "-o", "r_%d.png"])).expect(0).says("no noise found, not filtered");
}

#[test]
fn containers_that_begin_in_black_are_filtered_and_clean_ones_copied() {
    let f = Folder::new("containers-noise");
    fs::write(f.path("fade.y4m"), fading(40)).unwrap();
    let ffmpeg = |args: &[&str]| {
        let ran =
            Command::new("ffmpeg").current_dir(f.path("")).args(["-v", "error", "-y"]).args(args).status();
        ran.is_ok_and(|s| s.success())
    };
    let black = ["-f", "lavfi", "-i", "color=black:s=64x48:r=25:d=14", "-f", "lavfi", "-i"];
    let rest = ["testsrc2=s=64x48:r=25:d=14,noise=alls=60:allf=t", "-filter_complex", "[0][1]concat=n=2"];
    let long = [&black[..], &rest[..], &["-c:v", "ffv1", "-pix_fmt", "yuv420p", "long.mkv"]].concat();
    let made = ffmpeg(&["-i", "fade.y4m", "-c:v", "ffv1", "fade.mkv"])
        && ffmpeg(&["-f", "lavfi", "-i", "color=gray:s=64x48:r=25:d=1", "-c:v", "mpeg4", "clean.mp4"])
        && ffmpeg(&long);
    if !made {
        eprintln!("skipped: ffmpeg was not found, or lacks what the test needs");
        return;
    }
    let run = f.quell(&with(&["fade.mkv", "-o", "b.y4m"])).expect(0);
    assert!((12.0..18.0).contains(&sigma(run.err())), "{}", run.err());
    // Too long to be decoded twice: by seeking.
    let run = f.quell(&with(&["long.mkv", "-o", "c.y4m"])).expect(0);
    assert!(sigma(run.err()) > 5.0, "{}", run.err());
    f.quell(&with(&["clean.mp4"])).expect(0).says("no noise found, copied -> clean.quell.mp4");
    assert_eq!(fs::read(f.path("clean.mp4")).unwrap(), fs::read(f.path("clean.quell.mp4")).unwrap());
    f.quell(&with(&["clean.mp4", "-o", "d.mkv", "--encode", "-c:v ffv1"]))
        .expect(0)
        .says("no noise found, not filtered");
}

/// A soft picture in colour whose noise was smoothed twice, as in a developed photograph.
fn photo() -> Frame {
    let side = 160;
    let smooth = |from: Vec<f32>, step: usize| -> Vec<f32> {
        let at = |i: usize, d: isize| from[i.saturating_add_signed(d).min(from.len() - 1)];
        let d = step as isize;
        (0..from.len()).map(|i| 0.25 * at(i, -d) + 0.5 * from[i] + 0.25 * at(i, d)).collect()
    };
    let planes = (0..3).map(|c| {
        let clean =
            (0..side * side).map(|i| 90.0 + (i % side) as f32 * 0.3 + (i / side) as f32 * 0.2).collect();
        let clean = Frame::grey(Plane::from_vec(side, side, clean).unwrap(), 255.0).unwrap();
        let noisy = quell::noise::add_gaussian(&clean, 30.0, c).unwrap().into_planes().remove(0);
        let soft = [1, side, 1, side].into_iter().fold(noisy.into_vec(), smooth);
        Plane::from_vec(side, side, soft).unwrap()
    });
    Frame::new(planes.collect(), 255.0).unwrap()
}

#[test]
fn noise_of_a_camera_is_found_filtered_and_named() {
    let f = Folder::new("camera");
    f.save("photo.png", &[photo()], SampleType::U8);
    let run = f.quell(&with(&["photo.png", "--json"])).expect(0).says("camera noise: luma ");
    assert!(!run.err().contains("--estimator"), "{}", run.err());
    let record = &run.json()[0];
    assert_eq!((&record["noise"], &record["made"]), (&"camera".into(), &"filtered".into()), "{record}");
    assert!(record["sigma"].as_f64().unwrap() > 10.0 && record["grain"].as_f64().unwrap() > 1.5, "{record}");
    assert_eq!(record["notes"], serde_json::json!([]));
    // As white noise there is hardly any; then the note is due.
    let white = with(&["photo.png", "--force", "--estimator", "ponomarenko", "--json"]);
    let white = f.quell(&white).expect(0).says("try --estimator coarse");
    assert_ne!(white.json()[0]["noise"], "camera");
    // Noise that is given is not looked at.
    let given =
        f.quell(&with(&["photo.png", "--force", "--sigma", "12", "--json"])).expect(0).says("sigma 12");
    assert!(given.json()[0]["noise"].is_null() && given.json()[0]["grain"].is_null());
}

#[test]
fn the_table_of_noise_tells_a_camera_from_white_noise() {
    let f = Folder::new("camera-table");
    f.save("photo.png", &[photo()], SampleType::U8);
    f.save("white.png", &[noisy(96, 96, 1)], SampleType::U8);
    let rows = f.quell(&["noise", "photo.png", "white.png", "--json"]).expect(0).json();
    let auto = |file: &str| rows.iter().find(|r| r["file"] == file && r["estimator"] == "auto").unwrap();
    assert_eq!(auto("photo.png")["noise"], "camera");
    assert!(auto("photo.png")["grain"].as_f64().unwrap() > 1.5);
    assert_eq!(auto("white.png")["noise"], "white");
    assert!(auto("white.png")["grain"].is_null());
    let old = rows.iter().find(|r| r["file"] == "white.png" && r["estimator"] == "ponomarenko").unwrap();
    assert_eq!(auto("white.png")["sigma"], old["sigma"]);
    f.quell(&["noise", "photo.png"]).expect(0);
}
