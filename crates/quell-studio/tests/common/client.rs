//! A client that says exactly what it is told to.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A server, as a page knows it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) port: u16,
    pub(crate) cookie: String,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Sends a request as it is, and reads the answer to its end.
pub(crate) fn send(port: u16, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A server that refuses may not read all of it.
    let _ = stream.write_all(request);
    read(BufReader::new(stream))
}

fn read(mut from: impl BufRead) -> Answer {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    match answer.header("content-length").parse() {
        Ok(length) => {
            answer.body.resize(length, 0);
            from.read_exact(&mut answer.body).unwrap();
        }
        Err(_) => drop(from.read_to_end(&mut answer.body)),
    }
    answer
}

impl Client {
    /// Exchanges the token of an address for a session.
    pub(crate) fn open(url: &str) -> Self {
        let (address, token) = url.split_once("/#").unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        let mut client = Self { port, cookie: String::new() };
        let answer = client.post("/api/session", &serde_json::json!({"token": token}));
        assert_eq!(answer.status, 204, "{answer:?}");
        client.cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        client
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// With these headers and no others.
    pub(crate) fn raw(&self, first: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        send(self.port, &[format!("{text}\r\n").as_bytes(), body].concat())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.raw(&format!("GET {path}"), &[("Host", &self.host()), ("Cookie", &self.cookie)], &[])
    }

    pub(crate) fn post_bytes(&self, path: &str, body: &[u8]) -> Answer {
        let (host, origin) = (self.host(), format!("http://{}", self.host()));
        let headers =
            [("Host", &*host), ("Cookie", &self.cookie), ("Origin", &origin), ("X-Quell", "studio")];
        self.raw(&format!("POST {path}"), &headers, body)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().as_bytes())
    }

    /// The key of settings of a candidate.
    pub(crate) fn settings(&self, file: &str, candidate: &str, settings: Value) -> String {
        let asked = serde_json::json!({"file": file, "candidate": candidate, "settings": settings});
        let answer = self.post("/api/settings", &asked);
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()["key"].as_str().unwrap().to_owned()
    }

    pub(crate) fn tile(&self, kind: &str, file: &str, key: &str, frame: usize, area: [usize; 4]) -> Answer {
        let [x, y, w, h] = area;
        self.get(&format!("/api/files/{file}/{kind}?key={key}&frame={frame}&level=0&x={x}&y={y}&w={w}&h={h}"))
    }

    /// Until every export has ended.
    pub(crate) fn exports(&self) -> Vec<Value> {
        for _ in 0..600 {
            let queue = self.get("/api/state").json()["queue"].as_array().unwrap().clone();
            if queue.iter().all(|e| !["waiting", "running"].contains(&e["state"].as_str().unwrap())) {
                return queue;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("exports do not end");
    }
}
