//! Who may ask: this machine's user, in the page that this server gave out, and nobody else.
//!
//! A page of another site can send requests here, by a name of its own that leads to 127.0.0.1 too; another user of the
//! machine can connect. So every request names the very address, has a cookie that only the page could get, and changes
//! come from the page's own scripts.

use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::{Kind, Problem};

/// The header of whatever changes something: forms and other sites cannot send it.
pub const OWN_HEADER: (&str, &str) = ("x-quell", "studio");
/// What every answer has.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Secrets and addresses of a server.
#[derive(Debug)]
pub struct Guard {
    /// Exactly what `Host` may be.
    hosts: Vec<String>,
    /// Name of the cookie: browsers send those of all ports of an address, and there may be several studios.
    name: String,
    cookie: String,
    /// Changed for a cookie once; then another one takes its place.
    token: Mutex<String>,
}

impl Guard {
    /// With fresh secrets, for a server at these addresses.
    pub fn new(hosts: Vec<String>) -> Result<Self, Problem> {
        let port = hosts.first().and_then(|host| host.rsplit(':').next()).unwrap_or_default();
        let name = format!("quell-{port}");
        Ok(Self { name, hosts, cookie: secret()?, token: Mutex::new(secret()?) })
    }

    /// The address to open.
    pub fn url(&self) -> String {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}/#{token}", self.hosts[0])
    }

    /// Changes a token for the cookie's header. It is good for one page; [`url`](Self::url) has another one afterwards.
    pub fn exchange(&self, token: &str) -> Result<HeaderValue, Problem> {
        let mut known = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if !same(token, &known) {
            return Err(Problem::new(Kind::Forbidden, "the token is not right, or was used before")
                .hint("open the address that the terminal shows last"));
        }
        *known = secret()?;
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.name, self.cookie);
        HeaderValue::from_str(&cookie).map_err(|e| Problem::new(Kind::Failed, e.to_string()))
    }

    /// Refuses whoever may not ask for this path.
    pub fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Problem> {
        let refused = |what: &str| Problem::new(Kind::Forbidden, what);
        let host = only(headers, header::HOST.as_str()).filter(|host| self.hosts.iter().any(|h| h == host));
        let Some(host) = host else { return Err(refused("this is not the address of the studio")) };
        let reads = *method == Method::GET || *method == Method::HEAD;
        if let Some(origin) = headers.get(header::ORIGIN) {
            if origin.to_str().ok().and_then(|o| o.strip_prefix("http://")) != Some(host) {
                return Err(refused("another site asks"));
            }
        } else if !reads {
            return Err(refused("the request does not say where it comes from"));
        }
        if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(refused("another site asks"));
        }
        if !reads && only(headers, OWN_HEADER.0) != Some(OWN_HEADER.1) {
            return Err(refused("the request is not one of the page's own"));
        }
        let open = path == "/" || path.starts_with("/ui/") || path == "/api/session";
        if !open && !self.knows(headers) {
            return Err(Problem::new(Kind::Stranger, "the page has no session")
                .hint("open the address that the terminal shows last"));
        }
        Ok(())
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
        let mut all = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        all.any(|(name, value)| name == self.name && same(value, &self.cookie))
    }

    /// Whether the request has the cookie.
    pub fn has_session(&self, headers: &HeaderMap) -> bool {
        self.knows(headers)
    }
}

/// Adds what every answer has.
pub(crate) fn seal(path: &str, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if path.starts_with("/api/") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// A header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// 256 bits from the system.
fn secret() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| Problem::new(Kind::Failed, format!("no random numbers: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// In a time that does not tell how much of it was right.
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn only_the_own_page_may_ask() {
        let guard = Guard::new(vec!["127.0.0.1:7".to_owned()]).unwrap();
        let token = guard.url().split_once('#').unwrap().1.to_owned();
        let cookie = guard.exchange(&token).unwrap().to_str().unwrap().to_owned();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"));
        assert!(guard.exchange(&token).is_err(), "a token is good for one page");
        let cookie = cookie.split(';').next().unwrap();
        let own = [("host", "127.0.0.1:7"), ("cookie", cookie)];
        let check = |method: Method, list: &[(&'static str, &str)]| {
            guard.check(&method, "/api/state", &headers(list)).map_err(|p| p.kind)
        };
        assert_eq!(check(Method::GET, &own), Ok(()));
        assert_eq!(check(Method::GET, &[("host", "127.0.0.1:7")]), Err(Kind::Stranger));
        for host in ["localhost:7", "127.0.0.1", "evil.example:7", "127.0.0.1:70", ""] {
            assert_eq!(check(Method::GET, &[("host", host), ("cookie", cookie)]), Err(Kind::Forbidden));
        }
        let twice = [("host", "127.0.0.1:7"), ("host", "127.0.0.1:7"), ("cookie", cookie)];
        assert_eq!(check(Method::GET, &twice), Err(Kind::Forbidden));
        assert_eq!(check(Method::POST, &own), Err(Kind::Forbidden));
        let with = |more: &[(&'static str, &'static str)]| check(Method::POST, &[&own[..], more].concat());
        assert_eq!(with(&[("origin", "http://127.0.0.1:7")]), Err(Kind::Forbidden));
        assert_eq!(with(&[("x-quell", "studio")]), Err(Kind::Forbidden));
        assert_eq!(with(&[("origin", "http://127.0.0.1:7"), ("x-quell", "studio")]), Ok(()));
        for origin in ["null", "https://127.0.0.1:7", "http://127.0.0.1:8", "http://evil.example"] {
            assert_eq!(with(&[("origin", origin), ("x-quell", "studio")]), Err(Kind::Forbidden));
        }
    }

    #[test]
    fn secrets_are_compared_as_a_whole() {
        assert!(same("abc", "abc") && !same("abc", "abd") && !same("abc", "ab") && !same("", "a"));
        assert_ne!(secret().unwrap(), secret().unwrap());
        assert_eq!(secret().unwrap().len(), 64);
    }
}
