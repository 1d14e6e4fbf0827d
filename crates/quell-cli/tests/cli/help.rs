//! Help shows what is used: texts and values come from the engine's lists of parameters.

use std::collections::BTreeMap;

use crate::common::{Folder, noisy, noisy_rgb};
use quell_io::SampleType;

/// `--help` in one line per flag.
fn flags(help: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in help.lines().map(str::trim) {
        let flag = line.split_whitespace().find(|w| w.starts_with("--")).filter(|_| line.starts_with('-'));
        if let Some(flag) = flag {
            name = flag.split(['=', '[', '<']).next().unwrap_or(flag).to_owned();
        }
        let text = found.entry(name.clone()).or_default();
        text.push(' ');
        text.push_str(line);
    }
    found
}

/// What help says of a flag for a method: values for grey and for RGB pictures.
fn values(text: &str, method: &str) -> (String, String) {
    let own = text.split_once(&format!("{method}: ")).map_or(text, |(_, own)| own);
    let profile = quell::Method::named(method, None).unwrap().profile();
    let (_, values) =
        own.split_once(&format!("[{profile}: ")).unwrap_or_else(|| panic!("no value in {text:?}"));
    let values = values.split_once(']').unwrap().0;
    let (grey, rgb) = values.split_once(", RGB ").unwrap_or((values, values));
    (grey.to_owned(), rgb.to_owned())
}

/// Parameters of a plan by their flags.
fn plan(toml: &str) -> BTreeMap<String, String> {
    let mut section = String::new();
    let mut found = BTreeMap::new();
    for line in toml.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}-", name.trim_end_matches(']'));
        } else {
            let (name, value) = line.split_once(" = ").unwrap();
            found.insert(format!("--{section}{name}"), value.trim_matches('"').to_owned());
        }
    }
    found
}

#[test]
fn values_in_help_are_those_of_the_plan_for_grey_and_rgb() {
    let f = Folder::new("help-values");
    f.save("grey.pgm", &[noisy(32, 32, 1)], SampleType::U8);
    f.save("rgb.ppm", &[noisy_rgb(32, 32)], SampleType::U8);
    let help = flags(f.quell(&["--help"]).expect(0).out());
    let mut differ = Vec::new();
    for method in quell::Method::NAMES {
        let print = |file| {
            let args = [file, "--sigma", "25", "--method", method, "--print-plan"];
            plan(f.quell(&args).expect(0).out())
        };
        let (grey, rgb) = (print("grey.pgm"), print("rgb.ppm"));
        assert!(grey.len() > 5, "{method}: {grey:?}");
        for (flag, used) in &grey {
            // Some fields of a plan have no flag: the second pass compares what the first has cleaned.
            let Some(text) = help.get(flag) else {
                assert_eq!(flag, "--wiener-lambda2d", "{method} {flag} is not in help");
                continue;
            };
            let same = |a: &str, b: &str| a == b || a.parse::<f32>().ok() == b.parse::<f32>().ok();
            let (in_grey, in_rgb) = values(text, method);
            assert!(same(&in_grey, used), "{method} {flag}: {used}, but help says {text}");
            assert!(same(&in_rgb, &rgb[flag]), "{method} {flag}: RGB {}, but help says {text}", rgb[flag]);
            if in_grey != in_rgb {
                differ.push(flag.clone());
            }
        }
    }
    assert!(differ.iter().any(|f| f == "--hard-window") && differ.iter().any(|f| f == "--h"), "{differ:?}");
}

#[test]
fn flags_of_several_methods_say_what_each_makes_of_them() {
    let f = Folder::new("help-shared");
    let help = flags(f.quell(&["--help"]).expect(0).out());
    for name in ["past", "future"] {
        let text = &help[&format!("--{name}")];
        let nlm = quell::nlm::PARAMETERS.iter().find(|p| p.name == name).unwrap();
        let isoline = quell::isoline::PARAMETERS.iter().find(|p| p.name == name).unwrap();
        for own in
            [format!("nlm: {} [normal: 0]", nlm.help), format!("isoline: {} [normal: 0]", isoline.help)]
        {
            assert!(text.contains(&own), "no {own:?} in {text:?}");
        }
    }
}

#[test]
fn bench_shows_the_same_values() {
    let f = Folder::new("help-bench");
    let (own, bench) = (f.quell(&["--help"]).expect(0), f.quell(&["bench", "--help"]).expect(0));
    let (own, bench) = (flags(own.out()), flags(bench.out()));
    for name in ["--hard-window", "--wiener-group", "--patch", "--past", "--pilot-mix", "--passes"] {
        assert_eq!(own[name], bench[name]);
    }
}
