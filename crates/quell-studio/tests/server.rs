//! The server over a real connection: who is refused, and what is computed when.

mod common;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::client::send;
use common::{Client, Running};
use serde_json::json;

#[test]
fn a_rebinding_name_and_other_addresses_are_refused() {
    let studio = Running::new("host", &[]);
    let client = &studio.client;
    assert_eq!(client.get("/api/state").status, 200);
    let port = client.port;
    for host in [
        format!("evil.example:{port}"),
        format!("localhost:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1:{port}.evil.example"),
        format!("0.0.0.0:{port}"),
    ] {
        for path in ["/", "/ui/main.js", "/api/state", "/api/events"] {
            let headers = [("Host", &*host), ("Cookie", &client.cookie)];
            assert_eq!(client.raw(&format!("GET {path}"), &headers, &[]).status, 403, "{host} {path}");
        }
    }
    let two = format!("GET / HTTP/1.1\r\nHost: {0}\r\nHost: {0}\r\nConnection: close\r\n\r\n", client.host());
    assert!([400, 403].contains(&send(port, two.as_bytes()).status));
    let none = "GET /api/state HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert!([400, 403].contains(&send(port, none.as_bytes()).status));
}

#[test]
fn nobody_gets_in_without_the_token() {
    let studio = Running::new("token", &[]);
    let client = &studio.client;
    let host = client.host();
    for path in
        ["/api/state", "/api/events", "/api/files/1", "/api/files/1/source?x=0&y=0&w=1&h=1", "/api/none"]
    {
        assert_eq!(client.raw(&format!("GET {path}"), &[("Host", &host)], &[]).status, 401, "{path}");
        let wrong = format!("quell={}", "0".repeat(64));
        let headers = [("Host", &*host), ("Cookie", &*wrong)];
        assert_eq!(client.raw(&format!("GET {path}"), &headers, &[]).status, 401, "{path}");
    }
    let stranger = Client { cookie: String::new(), ..client.clone() };
    let used = studio.url.split_once('#').unwrap().1;
    for token in ["", "0", &"0".repeat(64), used] {
        assert_eq!(stranger.post("/api/session", &json!({"token": token})).status, 403, "{token}");
    }
    assert_eq!(
        client.post("/api/session", &json!({"token": used})).status,
        204,
        "a page that is in, reloaded"
    );
}

#[test]
fn other_sites_cannot_change_anything() {
    let studio = Running::new("origin", &[]);
    let client = &studio.client;
    let (host, own) = (client.host(), format!("http://{}", client.host()));
    let close = |extra: &[(&str, &str)]| {
        let headers = [&[("Host", &*host), ("Cookie", &*client.cookie)], extra].concat();
        client.raw("POST /api/files/1/close", &headers, &[]).status
    };
    assert_eq!(close(&[]), 403);
    assert_eq!(close(&[("X-Quell", "studio")]), 403, "no origin");
    assert_eq!(close(&[("Origin", &own)]), 403, "a form");
    assert_eq!(close(&[("Origin", "http://evil.example"), ("X-Quell", "studio")]), 403);
    assert_eq!(close(&[("Origin", "null"), ("X-Quell", "studio")]), 403);
    assert_eq!(close(&[("Origin", &own), ("X-Quell", "studio"), ("Sec-Fetch-Site", "cross-site")]), 403);
    let read = [("Host", &*host), ("Cookie", &*client.cookie), ("Origin", "http://evil.example")];
    assert_eq!(client.raw("GET /api/state", &read, &[]).status, 403, "not even to read");
    assert_eq!(client.get("/api/files/1").json()["width"], 300, "nothing was closed");
    assert_eq!(close(&[("Origin", &own), ("X-Quell", "studio")]), 204);
    assert_eq!(client.get("/api/files/1").status, 404);
}

#[test]
fn every_answer_is_sealed() {
    let studio = Running::new("sealed", &[]);
    for path in ["/", "/ui/main.js", "/api/state", "/api/none", "/none", "/ui/../Cargo.toml"] {
        let answer = studio.client.get(path);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("access-control-allow-origin"), "");
        assert_eq!(answer.header("cache-control") == "no-store", path.starts_with("/api/"), "{path}");
    }
    assert_eq!(studio.client.get("/").status, 200);
    for path in ["/ui/../Cargo.toml", "/ui/%2e%2e/Cargo.toml", "/ui//etc/passwd", "/ui/..%2f..%2fCargo.toml"]
    {
        assert_eq!(studio.client.get(path).status, 404, "{path}");
    }
}

#[test]
fn files_are_written_below_the_folder_alone() {
    let studio = Running::new("folder", &[]);
    let client = &studio.client;
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&studio.folder, studio.folder.join("out/up")).unwrap();
        std::os::unix::fs::symlink(studio.folder.join("a.pgm"), studio.folder.join("out/link.pgm")).unwrap();
    }
    let export = |name: &str| {
        client
            .post("/api/export", &json!({"files": ["1"], "name": name, "replace": true, "settings": {}}))
            .status
    };
    for name in ["../b.pgm", "/tmp/b.pgm", "x/../../b.pgm", "up/b.pgm", "link.pgm", ".hidden.pgm", "..", ""] {
        assert_eq!(export(name), 403, "{name}");
    }
    assert_eq!(export("b.pgm"), 200);
    assert_eq!(client.exports()[0]["state"], "done");
    assert!(studio.folder.join("out/b.pgm").is_file() && !studio.folder.join("b.pgm").exists());
    let profile = |path: &str| {
        let noise = json!({"noise": {"kind": "profile", "path": path}});
        client.post("/api/settings", &json!({"file": "1", "candidate": "A", "settings": noise})).status
    };
    for path in ["/etc/passwd", "../a.pgm", "link.pgm", "none.toml"] {
        assert!([403, 404].contains(&profile(path)), "{path}");
    }
    let preset = |name: &str| client.post("/api/presets", &json!({"name": name, "settings": {}})).status;
    assert_eq!([preset("../p"), preset("a/b"), preset("good")], [400, 400, 204]);
    let save =
        |name: &str| client.post("/api/files/1/noise/save", &json!({"name": name, "region": null})).status;
    assert_eq!([save("../n"), save("up/n"), save("n"), save("n")], [403, 403, 200, 409]);
}

#[test]
fn what_exists_is_not_replaced() {
    let studio =
        Running::new("exists", &[("broken.png", b"\x89PNG\r\n\x1a\nnothing"), ("b.pgm", b"P5 9 9 255\n")]);
    let client = &studio.client;
    let there = studio.folder.join("out/a.quell.pgm");
    std::fs::write(&there, "mine").unwrap();
    let export =
        |replace: bool| client.post("/api/export", &json!({"files": ["1"], "replace": replace})).status;
    assert_eq!(export(false), 409);
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert_eq!(export(true), 200);
    client.exports();
    assert!(std::fs::read(&there).unwrap().starts_with(b"P5"));
}

#[test]
fn uploads_are_limited_and_go_with_the_session() {
    let studio = Running::new("upload", &[]);
    let client = &studio.client;
    let (host, own) = (client.host(), format!("http://{}", client.host()));
    let big = format!(
        "POST /api/upload?name=a.png HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nOrigin: {own}\r\nX-Quell: studio\r\n\
         Content-Length: 99999999999\r\nConnection: close\r\n\r\n",
        client.cookie
    );
    assert_eq!(send(client.port, big.as_bytes()).status, 413);
    let file = client.post_bytes("/api/upload?name=..%2F..%2Fup.pgm", b"P5 2 1 255\n\x01\x02").json();
    assert_eq!((&file["name"], &file["width"]), (&json!("up.pgm"), &json!(2)));
    let path = std::path::PathBuf::from(file["path"].as_str().unwrap());
    assert!(path.starts_with(std::env::temp_dir()) && path.is_file());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = path.parent().unwrap().parent().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "nobody else looks into it");
    }
    let broken = client.post_bytes("/api/upload?name=x.png", b"nothing").json();
    assert!(broken["error"].as_str().is_some_and(|e| !e.is_empty()), "{broken}");
    drop(studio);
    assert!(!path.exists());
}

#[test]
fn superseded_settings_are_answered_and_stop() {
    let studio = Running::new("superseded", &[]);
    let client = studio.client.clone();
    let first = client.settings("1", "A", json!({"strength": 0.5}));
    studio.device.held.store(true, Ordering::Relaxed);
    let waiting = {
        let (client, key) = (client.clone(), first.clone());
        std::thread::spawn(move || client.tile("result", "1", &key, 0, [0, 0, 300, 200]))
    };
    wait_for(|| studio.device.opened.load(Ordering::Relaxed) == 1);
    let second = client.settings("1", "A", json!({"strength": 0.6}));
    assert_ne!(first, second);
    assert_eq!(waiting.join().unwrap().status, 409);
    wait_for(|| studio.device.cancelled.load(Ordering::Relaxed) == 1);
    assert_eq!(
        client.tile("result", "1", &first, 0, [0, 0, 9, 9]).status,
        409,
        "nobody looks at it any more"
    );
    studio.device.held.store(false, Ordering::Relaxed);
    assert_eq!(client.tile("result", "1", &second, 0, [0, 0, 300, 200]).status, 200);
}

#[test]
fn a_request_that_is_given_up_stops() {
    let studio = Running::new("given-up", &[]);
    let client = studio.client.clone();
    let key = client.settings("1", "A", json!({}));
    studio.device.held.store(true, Ordering::Relaxed);
    let request = format!(
        "GET /api/files/1/result?key={key}&x=0&y=0&w=99&h=99 HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        client.host(),
        client.cookie
    );
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", client.port)).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    wait_for(|| studio.device.opened.load(Ordering::Relaxed) == 1);
    drop(stream);
    wait_for(|| studio.device.cancelled.load(Ordering::Relaxed) >= 1);
}

#[test]
fn twenty_fast_moves_compute_the_last_to_the_end() {
    let studio = Running::new("twenty", &[]);
    let client = studio.client.clone();
    studio.device.held.store(true, Ordering::Relaxed);
    let mut moves = Vec::new();
    for i in 1..=20 {
        let key = client.settings("1", "A", json!({"strength": f64::from(i) / 10.0}));
        let client = client.clone();
        moves.push(std::thread::spawn(move || client.tile("result", "1", &key, 0, [0, 0, 300, 200]).status));
        std::thread::sleep(Duration::from_millis(5));
    }
    studio.device.held.store(false, Ordering::Relaxed);
    let answers: Vec<u16> = moves.into_iter().map(|m| m.join().unwrap()).collect();
    // One that had not begun to wait before the next came may have been in time.
    assert_eq!(answers[19], 200);
    assert!(answers[..19].iter().filter(|a| **a == 409).count() >= 18, "{answers:?}");
}

#[test]
fn what_is_in_memory_is_not_computed_again() {
    let studio = Running::new("cached", &[]);
    let client = &studio.client;
    let all = |key: &str| client.tile("result", "1", key, 0, [0, 0, 300, 200]).body;
    let first = client.settings("1", "A", json!({"strength": 0.5}));
    let one = all(&first);
    let second = client.settings("1", "A", json!({"strength": 1.5}));
    assert_ne!(one, all(&second));
    let opened = studio.device.opened.load(Ordering::Relaxed);
    assert_eq!(client.settings("1", "A", json!({"strength": 0.5, "profile": "normal"})), first);
    assert_eq!((all(&first), studio.device.opened.load(Ordering::Relaxed)), (one, opened));
    let memory = client.get("/api/state").json()["memory"].clone();
    let used = memory["used"].as_u64().unwrap();
    assert!((3 * 300 * 200..4 * 300 * 200).contains(&used), "a picture and two results: {used}");
    assert!(memory["limit"].as_u64().unwrap() > used);
}

#[test]
fn a_picture_that_is_read_in_parts_is_the_same_picture() {
    let studio = Running::new("giant", &[("giant.pgm", &common::picture())]);
    let client = &studio.client;
    let [plain, giant] = ["1", "2"].map(|id| client.get(&format!("/api/files/{id}")).json());
    assert_eq!(
        (&plain["tiled"], &giant["tiled"], &giant["width"]),
        (&json!(false), &json!(true), &json!(300))
    );
    let key = client.settings("1", "A", json!({}));
    for area in [[0, 0, 300, 200], [250, 3, 99, 61], [17, 150, 1, 50]] {
        let both = ["1", "2"].map(|file| client.tile("source", file, "", 0, area));
        assert_eq!(both[0].status, 200);
        assert!(both[0].body == both[1].body, "{area:?}");
        let both = ["1", "2"].map(|file| client.tile("result", file, &key, 0, area));
        assert_eq!(both[0].status, 200);
        assert!(both[0].body == both[1].body, "result {area:?}");
    }
    for level in 1..4 {
        let both = ["1", "2"].map(|id| {
            let rectangle = format!("level={level}&x=3&y=2&w=20&h=20");
            client.get(&format!("/api/files/{id}/source?{rectangle}")).body
        });
        // Means of means are rounded twice.
        assert!(both[0].len() == 400 && both[0].iter().zip(&both[1]).all(|(a, b)| a.abs_diff(*b) <= 1));
    }
    assert!(client.get("/api/files/2/thumb").body.starts_with(b"\x89PNG"));
    assert_eq!(client.get("/api/files/2/noise").json()["clean"], false);
    assert_eq!(client.get("/api/files/2/histogram").status, 200);
}

#[test]
fn the_page_is_told_what_happens() {
    let studio = Running::new("events", &[]);
    let client = studio.client.clone();
    let request =
        format!("GET /api/events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", client.host(), client.cookie);
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", client.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream)).map_while(Result::ok);
    assert!(
        lines.by_ref().any(|line| line.to_ascii_lowercase().starts_with("content-type: text/event-stream"))
    );
    let key = client.settings("1", "A", json!({}));
    client.tile("result", "1", &key, 0, [0, 0, 10, 10]);
    assert!(lines.by_ref().any(|line| line == "event: ready"));
    assert!(lines.next().unwrap().contains(&key));
    assert_eq!(client.post("/api/export", &json!({"files": ["1"]})).status, 200);
    assert!(lines.by_ref().any(|line| line == "event: queue"));
    assert!(lines.any(|line| line.contains("\"state\":\"done\"")));
}

#[test]
fn requests_that_make_no_sense_are_named() {
    let studio = Running::new("sense", &[("broken.png", b"\x89PNG\r\n\x1a\nnothing")]);
    let client = &studio.client;
    let key = client.settings("1", "A", json!({}));
    for (path, status) in [
        ("/api/files/9", 404),
        ("/api/files/x", 404),
        ("/api/files/1/source?x=0&y=0&w=0&h=1", 400),
        ("/api/files/1/source?x=0&y=0&w=4000&h=1", 400),
        ("/api/files/1/source?x=300&y=0&w=1&h=1", 400),
        ("/api/files/1/source?x=0&y=0&w=1", 400),
        ("/api/files/1/source?frame=1&x=0&y=0&w=1&h=1", 404),
        ("/api/files/1/result?key=nothing&x=0&y=0&w=1&h=1", 404),
        ("/api/files/2/source?x=0&y=0&w=1&h=1", 422),
        (&format!("/api/files/2/result?key={key}&x=0&y=0&w=1&h=1"), 422),
        (&format!("/api/files/1/isolines?key={key}&x=0&y=0"), 422),
        (&format!("/api/files/1/groups?key={key}&x=900&y=0"), 422),
        ("/api/defaults?method=none", 422),
        ("/api/nothing", 404),
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.json());
        assert!(answer.json()["error"].as_str().is_some_and(|e| !e.is_empty()), "{path}");
    }
    let settings = |settings| {
        let asked = json!({"file": "1", "candidate": "A", "settings": settings});
        client.post("/api/settings", &asked).status
    };
    assert_eq!(settings(json!({"method": "none"})), 422);
    assert_eq!(settings(json!({"params": {"output": "x"}})), 422);
    assert_eq!(settings(json!({"strength": "much"})), 400);
    let broken = client.get("/api/files/2").json();
    assert!(broken["error"].is_string() && broken["name"] == "broken.png", "{broken}");
    assert_eq!(client.post("/api/export", &json!({"files": []})).status, 400);
}

fn wait_for(happens: impl Fn() -> bool) {
    let started = Instant::now();
    while !happens() {
        assert!(started.elapsed() < Duration::from_secs(20), "it does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}
