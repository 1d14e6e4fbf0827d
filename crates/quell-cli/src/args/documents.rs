//! Commands that the documents show are ones that quell understands.

use std::path::{Path, PathBuf};

use super::{Invocation, command, invocation};

/// Every document for users, in the project's folder.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = ["README.md", "GUIDE.md", "CONTRIBUTING.md", "bench/README.md"].map(|name| root.join(name));
    let folders = [root.join("docs"), root.join("docs/algorithms")];
    let found =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|e| e.unwrap().path());
    named.into_iter().chain(found.filter(|path| path.extension().is_some_and(|e| e == "md"))).collect()
}

/// The words of a line of a shell up to a comment, without quotes; what parts commands is a word of its own.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match c {
            c if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            '#' if quote.is_none() && word.is_none() => break,
            c if quote.is_none() && c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.into_iter().chain(word).collect()
}

/// The commands of a line that call quell, in one of the ways that the documents show.
fn calls(line: &str) -> Vec<Vec<String>> {
    let words = words(line.trim_start_matches("$ "));
    let commands = words.split(|word| ["|", "&&", ";"].contains(&word.as_str()));
    let call = |command: &[String]| {
        let arguments = match command.first()?.as_str() {
            "quell" | "scripts/quell" => &command[1..],
            "cargo" if command.iter().any(|word| word == "quell-cli") => {
                &command[command.iter().position(|word| word == "--")? + 1..]
            }
            _ => return None,
        };
        let until = arguments.iter().position(|word| word.starts_with('>')).unwrap_or(arguments.len());
        // Brackets are around what may be left out, and one capital letter is a number.
        let plain = |word: &String| match word.trim_matches(['[', ']']) {
            letter if letter.len() == 1 && letter.as_bytes()[0].is_ascii_uppercase() => "2".to_owned(),
            word => word.to_owned(),
        };
        Some(arguments[..until].iter().map(plain).collect())
    };
    commands.filter_map(call).collect()
}

/// What quell would say of the arguments, if it refused them. Files need not be there.
fn refused(arguments: &[String]) -> Option<String> {
    let words = std::iter::once("quell").chain(arguments.iter().map(String::as_str));
    let found = command().try_get_matches_from(words).map_err(|e| e.to_string());
    let missing = std::io::Error::from_raw_os_error(2).to_string();
    let missing = missing.split(" (os").next().unwrap_or(&missing);
    let error = found.and_then(|matches| invocation(&matches).map_err(|e| e.to_string())).err();
    error.filter(|error| !error.ends_with(missing))
}

#[test]
fn commands_in_documents_are_understood() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with("    ")) {
            for arguments in calls(line.trim()) {
                count += 1;
                if let Some(error) = refused(&arguments) {
                    wrong.push(format!("{}:{}: {error}", crate::report::name(&path), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} commands were found");
}

#[test]
fn commands_are_found_in_their_lines() {
    let of = |line| calls(line).iter().map(|call| call.join(" ")).collect::<Vec<_>>();
    assert_eq!(of("$ quell 'a b.png' -o c#.png    # a picture"), ["a b.png -o c#.png"]);
    assert_eq!(of("ffmpeg -i a - | quell - -o - | quell b > c"), ["- -o -", "b"]);
    assert_eq!(of("cargo run --release -p quell-cli -- bench [--h 1.5] -j N"), ["bench --h 1.5 -j 2"]);
    assert!(of("quells a.png").is_empty() && of("cargo test -p quell").is_empty());
    assert!(refused(&["--no-such-flag".to_owned()]).is_some());
    let devices = command().try_get_matches_from(["quell", "devices"]).unwrap();
    assert!(matches!(invocation(&devices), Ok(Invocation::Devices(_))));
}
