//! File names that are no plain text: on a terminal they do no harm, and a program gets them back exactly.

use std::fs;

use crate::common::Folder;

fn odd(bytes: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

/// A picture under a name that only some systems allow; `None` where it is not allowed.
fn picture(f: &Folder, bytes: &[u8]) -> Option<std::ffi::OsString> {
    let name = odd(bytes);
    let plain = f.picture("plain.pgm");
    let renamed = fs::rename(plain, f.path(".").join(&name));
    if renamed.is_err() {
        eprintln!("skipped: the file system does not take such names");
    }
    renamed.is_ok().then_some(name)
}

#[test]
fn control_characters_and_broken_text_are_escaped_in_every_message() {
    let f = Folder::new("names");
    let Some(name) = picture(&f, b"\x1b[2Ja\nb\xff.pgm") else { return };
    let shown = "\\x1b[2Ja\\nb\\xff";
    let good = f.command(&["--sigma", "15"]).arg(&name).output().unwrap();
    let said = String::from_utf8(good.stderr).unwrap();
    assert!(said.starts_with(&format!("{shown}.pgm: 24 x 24")), "{said}");
    assert!(said.contains(&format!("-> {shown}.quell.pgm")), "{said}");
    assert_eq!(said.lines().count(), 1);
    fs::write(f.path(".").join(&name), "P5 none").unwrap();
    let missing = odd(b"miss\x07ing\xfe.pgm");
    let unknown = odd(b"out\x1b\xfe");
    let raw = odd(b"c\x1b.nef");
    let pattern = odd(b"no\x1b*.pgm");
    fs::create_dir(f.path("d")).unwrap();
    fs::rename(f.path("d"), f.path(".").join(odd(b"d\x1b\xff"))).unwrap();
    f.picture("a.pgm");
    f.picture("b.pgm");
    for args in [
        vec![&*name],
        vec![&*missing],
        vec![&*pattern],
        vec![&*raw],
        vec!["a.pgm".as_ref(), "-o".as_ref(), &*unknown],
        vec!["a.pgm".as_ref(), "b.pgm".as_ref(), "-o".as_ref(), &*name],
        vec!["a.pgm".as_ref(), "--params".as_ref(), &*missing],
        vec!["a.pgm".as_ref(), "--noise-psd".as_ref(), &*missing, "--method".as_ref(), "nlm".as_ref()],
        vec![odd(b"d\x1b\xff").as_os_str()],
        vec!["noise".as_ref(), &*name],
        vec!["compare".as_ref(), "a.pgm".as_ref(), &*missing],
        vec![
            "degrade".as_ref(),
            "a.pgm".as_ref(),
            "--sigma".as_ref(),
            "1".as_ref(),
            "-o".as_ref(),
            &*unknown,
        ],
    ] {
        let out = f.command(&[]).args(&args).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap_or_else(|_| panic!("{args:?}"));
        assert!(matches!(out.status.code(), Some(1 | 2)), "{args:?}: {said}");
        assert!(said.contains("\\x"), "{args:?}: {said}");
        assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{args:?}: {said}");
        assert!(said.lines().all(|l| !l.starts_with("b\\xff")), "{args:?}: {said}");
    }
}

#[test]
fn json_tells_names_exactly() {
    let f = Folder::new("exact");
    let Some(broken) = picture(&f, b"a\xff.pgm") else { return };
    let out = f.command(&["--json", "-q", "--sigma", "15"]).arg(&broken).output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&record["input"], &record["input_bytes"]), (&"a\u{fffd}.pgm".into(), &"61ff2e70676d".into()));
    assert_eq!(record["output_bytes"], "61ff2e7175656c6c2e70676d");
    let Some(lines) = picture(&f, b"a\n\x1b.pgm") else { return };
    let out = f.command(&["--json", "-q", "--sigma", "15"]).arg(&lines).output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&record["input"], record.get("input_bytes")), (&"a\n\u{1b}.pgm".into(), None));
    let out = f.command(&["noise", "--json"]).arg(&broken).arg(&lines).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let rows: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&rows[0]["file_bytes"], &rows[8]["file"]), (&"61ff2e70676d".into(), &"a\n\u{1b}.pgm".into()));
    for style in [&["noise"][..], &["noise", "--csv"]] {
        let out = f.command(style).arg(&broken).arg(&lines).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains("a\\n\\x1b.pgm") && text.contains("a\\xff.pgm"), "{text}");
        assert_eq!(text.lines().count(), 13, "{text}");
    }
}
