//! Text for the user: data on standard output, messages on standard error.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Writes one line of data. A closed pipe is an error that ends the program quietly.
pub(crate) fn data(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Writes one line of JSON data.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    Ok(data(&serde_json::to_string(value)?)?)
}

/// Writes one message. A closed standard error has nowhere to be reported: it is ignored.
pub(crate) fn message(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes `error: …` and its hint.
pub(crate) fn error(what: &str, hint: Option<&str>) {
    message(&error_text(what, hint));
}

/// The text of [`error`].
pub(crate) fn error_text(what: &str, hint: Option<&str>) -> String {
    let hint = hint.map_or(String::new(), |h| format!("\n{} {h}", paint("hint:", "1;36")));
    format!("{} {what}{hint}", paint("error:", "1;31"))
}

/// Coloured on a terminal, unless `NO_COLOR` is set; the word itself always carries the meaning.
fn paint(word: &str, code: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    if plain || !io::stderr().is_terminal() {
        return word.to_owned();
    }
    format!("\x1b[{code}m{word}\x1b[0m")
}

/// `512 x 512 grey`.
pub(crate) fn shape(width: usize, height: usize, channels: usize) -> String {
    format!("{width} x {height} {}", if channels == 1 { "grey" } else { "RGB" })
}

/// `1 picture`, `3 pictures`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A number with as many decimals as it deserves: `0.42`, `24.8`, `120`.
pub(crate) fn short(v: f32) -> String {
    let text = match v.abs() {
        a if a < 1.0 => format!("{v:.2}"),
        a if a < 100.0 => format!("{v:.1}"),
        _ => format!("{v:.0}"),
    };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A duration: `0.21 s`, `12.3 s`, `2 min 5 s`.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

/// A path as text, on one line: what a terminal would act upon, and bytes that are no text, are escaped.
pub(crate) fn name(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text += &escaped(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// Text without control characters, line ends included, and without those that turn the direction of the rest.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\0'..='\x1f' | '\x7f' => format!("\\x{:02x}", u32::from(c)),
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            format!("\\u{{{:x}}}", u32::from(c))
        }
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// `note: noisy.png: …`.
pub(crate) fn note(path: &Path, note: &str) -> String {
    format!("note: {}: {}", name(path), escaped(note))
}

/// A path for JSON: as it is, and where it is no text, what comes nearest and its bytes in hexadecimal.
pub(crate) fn exact(path: &Path) -> (String, Option<String>) {
    let bytes = path.as_os_str().as_encoded_bytes();
    match path.to_str() {
        Some(text) => (text.to_owned(), None),
        None => (
            path.to_string_lossy().into_owned(),
            Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            ["25", "24.8", "0.42", "120"],
            [25.0, 24.83, 0.42, 120.2].map(short).each_ref().map(String::as_str)
        );
        assert_eq!(seconds(125.9), "2 min 5 s");
        assert_eq!(seconds(0.213), "0.21 s");
    }

    #[test]
    fn names_are_one_line_that_no_terminal_acts_upon() {
        for (name_, shown) in [
            ("a b/ü.png", "a b/ü.png"),
            ("a\n\t\r.png", "a\\n\\t\\r.png"),
            ("\x1b[31mred\x7f", "\\x1b[31mred\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("gnp.\u{202e}.exe", "gnp.\\u{202e}.exe"),
        ] {
            assert_eq!(name(Path::new(name_)), shown);
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_text_are_shown_escaped_and_told_exactly() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"a\xff\n.png"));
        assert_eq!(name(path), "a\\xff\\n.png");
        assert_eq!(exact(path), ("a\u{fffd}\n.png".to_owned(), Some("61ff0a2e706e67".to_owned())));
        assert_eq!(exact(Path::new("a\n")), ("a\n".to_owned(), None));
    }
}
