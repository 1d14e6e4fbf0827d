//! What goes wrong, how it is said, and what is left untouched.

use std::fs;

use crate::common::{self, Folder, Run};
use quell::{Frame, Plane};
use quell_io::SampleType;

#[test]
fn a_batch_goes_on_after_bad_files_and_reports_them_at_the_end() {
    let f = Folder::new("batch");
    f.picture("a.pgm");
    fs::write(f.path("b.pgm"), "not a picture at all").unwrap();
    f.picture("d.pgm");
    let run = f.quell(&["a.pgm", "b.pgm", "c.pgm", "d.pgm", "--sigma", "15"]).expect(1);
    let end = run.err().split("2 of 4 pictures failed:").nth(1).expect("a summary");
    assert!(end.contains("  b.pgm: ") && end.contains("  c.pgm: no such file"), "{end}");
    assert_eq!(f.files(), ["a.pgm", "a.quell.pgm", "b.pgm", "d.pgm", "d.quell.pgm"]);
}

#[test]
fn contradictions_are_refused() {
    let f = Folder::new("contradictions");
    f.picture("a.pgm");
    f.picture("b.pgm");
    for args in [
        &["a.pgm", "--in-place", "-o", "c.pgm"][..],
        &["a.pgm", "--in-place", "--print-plan"],
        &["a.pgm", "--print-plan", "--json"],
        &["a.pgm", "--passes", "1", "--wiener-step", "3"],
        &["a.pgm", "--passes", "1", "--mu2", "1"],
        &["a.pgm", "--sigma", "10", "--estimator", "mad"],
        &["a.pgm", "b.pgm", "-o", "c.pgm"],
        &["a.pgm", "b.pgm", "-o", "a.pgm"],
        &["a.pgm", "-o", "b.pgm/"],
        &["a.pgm", "-o", "c.xyz"],
        &["bench", "--input", "a.pgm", "--size", "8x8"],
        &["bench", "--profile", "all", "--output", "c.npy"],
        &["degrade", "a.pgm", "-o", "c.png", "--sigma", "5", "--float"],
        &["degrade", "a.pgm", "-o", "a.pgm", "--sigma", "5"],
        &["compare", "a.pgm", "b.pgm", "--json", "--csv"],
    ] {
        let run = f.quell(args);
        assert_eq!(run.code(), 2, "{args:?}: {}", run.err());
        assert!(run.err().starts_with("error: "), "{args:?}: {}", run.err());
    }
    assert_eq!(f.files(), ["a.pgm", "b.pgm"]);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let f = Folder::new("values");
    f.picture("a.pgm");
    for (flag, value) in [
        ("--sigma", "-5"),
        ("--sigma", "0"),
        ("--sigma", "nan"),
        ("--sigma", "inf"),
        ("--sigma", "much"),
        ("--strength", "-1"),
        ("--strength", "nan"),
        ("--white", "0"),
        ("--passes", "3"),
        ("--profile", "best"),
        ("--color", "cmyk"),
        ("--device", "abacus"),
        ("--device", "gpu"),
        ("--device", "cuda:x"),
        ("--device", "cuda:-1"),
        ("--device", "opencl:"),
        ("--device", "cpu:0"),
        ("--threads", "0"),
        ("--tile", "-1"),
        ("--tile", "1"),
        ("--tile", "63"),
        ("--max-pixels", "0"),
        ("--jpeg-quality", "101"),
        ("--nan", "maybe"),
        ("--method", "magic"),
        ("--estimator", "crystal-ball"),
        ("--hard-step", "99"),
        ("--hard-step", "x"),
        ("--mu2", "-1"),
        ("--wiener-group", "3"),
    ] {
        let run = f.quell(&["a.pgm", flag, value]);
        assert_eq!(run.code(), 2, "{flag} {value}: {}", run.err());
        let named = run.err().contains(flag) && run.err().contains(value);
        assert!(named, "{flag} {value}: {}", run.err());
    }
    assert_eq!(f.files(), ["a.pgm"]);
    f.quell(&[]).expect(2);
}

#[test]
fn a_bad_sample_is_named_and_can_be_zeroed_or_kept() {
    let f = Folder::new("nan");
    let mut frame = common::noisy(24, 24, 1);
    frame.planes_mut()[0].row_mut(3)[5] = f32::NAN;
    frame.planes_mut()[0].row_mut(20)[0] = f32::INFINITY;
    f.save("a.npy", &[frame], SampleType::F32);
    let base = ["a.npy", "--sigma", "15"];
    f.quell(&base).expect(1).says("a.npy: plane 0, column 5, row 3 is NaN").says("hint: --nan");
    assert_eq!(f.files(), ["a.npy"]);

    f.quell(&[&base[..], &["--nan", "zero", "-o", "zero.npy"]].concat()).expect(0);
    assert!(f.load("zero.npy")[0].view().check_finite().is_ok());

    f.quell(&[&base[..], &["--nan", "keep", "-o", "keep.npy"]].concat()).expect(0);
    let kept = f.load("keep.npy").remove(0).into_planes().remove(0);
    assert!(kept.row(3)[5].is_nan() && kept.row(20)[0] == f32::INFINITY);
    assert_eq!(kept.as_slice().iter().filter(|v| !v.is_finite()).count(), 2);
}

#[test]
fn floats_that_are_too_large_to_compute_with_are_refused_with_the_remedy() {
    let f = Folder::new("huge");
    let mut frame = common::scaled(&common::noisy(24, 24, 1), 1.0);
    frame.planes_mut()[0].row_mut(3)[5] = 1e37;
    for (name, samples) in
        [("a.npy", SampleType::F32), ("a.pfm", SampleType::F32), ("a.exr", SampleType::F32)]
    {
        f.save(name, &[frame.clone()], samples);
        for method in ["bm3d", "nlm", "isoline"] {
            f.quell(&[name, "--sigma", "15", "--method", method])
                .expect(1)
                .says("plane 0, column 5, row 3 is 1e37")
                .says("hint: --white");
        }
        f.quell(&["noise", name]).expect(1).says("row 3 is 1e37");
    }
    f.quell(&["a.npy", "--white", "1e37"]).expect(1).says("white = 1e37: the white level must lie between");
    f.quell(&["a.npy", "--white", "1e-30"]).expect(1).says("white = 1e-30: the white level must lie between");
    // What is large but can be computed with is filtered.
    let mut bright = common::scaled(&common::noisy(24, 24, 1), 1.0);
    bright.planes_mut()[0].as_mut_slice().iter_mut().for_each(|v| *v *= 1e9);
    f.save("b.npy", &[bright], SampleType::F32);
    f.quell(&["b.npy", "--white", "1e9", "--sigma", "15", "-o", "c.npy"]).expect(0);
    assert!(f.load("c.npy")[0].view().check_finite().is_ok());
}

#[test]
fn an_output_folder_that_cannot_be_is_said_so() {
    let f = Folder::new("unwritable");
    f.picture("a.pgm");
    fs::write(f.path("file"), "").unwrap();
    f.quell(&["a.pgm", "-o", "file/out/", "--sigma", "15"])
        .expect(1)
        .says("error: a.pgm: cannot create the folder file/out");
    f.quell(&["a.pgm", "-o", "none/b.pgm", "--sigma", "15"]).expect(1).says("none/b.pgm: no such folder");
    f.quell(&["degrade", "a.pgm", "-o", "none/b.pgm", "--sigma", "15"])
        .expect(1)
        .says("cannot write none/b.pgm");
    assert_eq!(f.files(), ["a.pgm", "file"]);
}

#[test]
fn large_and_tiny_pictures_are_refused_with_their_size() {
    let f = Folder::new("sizes");
    f.picture("a.pgm");
    f.quell(&["a.pgm", "--max-pixels", "500"]).expect(1).says("24 x 24").says("hint: --max-pixels");
    f.save("tiny.pgm", &[Frame::grey(Plane::zeros(3, 2), 255.0).unwrap()], SampleType::U8);
    f.quell(&["tiny.pgm", "--sigma", "5"]).expect(1).says("error: tiny.pgm: a picture of 3 x 2 pixels");
}

#[test]
fn folders_without_pictures_and_missing_files_fail() {
    let f = Folder::new("nothing");
    fs::create_dir(f.path("empty")).unwrap();
    f.quell(&["empty"]).expect(1).says("error: empty: no pictures in this folder").says("hint: --recursive");
    f.quell(&["missing.png"]).expect(1).says("error: missing.png: no such file");
    f.quell(&["noise", "missing.png"]).expect(1).says("error: missing.png: no such file");
    f.quell(&["compare", "missing.png", "x.png"]).expect(1).says("error: missing.png: no such file");
}

#[test]
fn a_file_without_extension_needs_a_name_for_the_output() {
    let f = Folder::new("extension");
    fs::rename(f.picture("a.pgm"), f.path("photo")).unwrap();
    f.quell(&["photo", "--sigma", "15"]).expect(1).says("extension tells no picture format").says("hint: ");
    f.quell(&["photo", "--sigma", "15", "-o", "b.pgm"]).expect(0);
}

#[test]
fn parameter_files_are_checked() {
    let f = Folder::new("params");
    f.picture("a.pgm");
    f.quell(&["a.pgm", "--params", "none.toml"]).expect(2).says("none.toml");
    fs::write(f.path("bad.toml"), "[hard]\nstpe = 3").unwrap();
    f.quell(&["a.pgm", "--params", "bad.toml"]).expect(2).says("error: bad.toml: ").says("stpe");
    fs::write(f.path("range.toml"), "[hard]\nstep = 30").unwrap();
    f.quell(&["a.pgm", "--params", "range.toml"]).expect(2).says("range.toml: hard.step = 30");
}

#[test]
fn a_broken_parameter_file_is_told_in_one_line_with_its_place() {
    let f = Folder::new("params-line");
    f.picture("a.pgm");
    fs::write(f.path("bad.toml"), "lambda = 2\n\nmu2 = = 3\n").unwrap();
    let run = f.quell(&["a.pgm", "--params", "bad.toml"]).expect(2).says("error: bad.toml: line 3: ");
    assert_eq!(run.err().lines().count(), 1, "{}", run.err());
    fs::write(f.path("field.toml"), "[hard]\n\"st\\u001bpe\" = 3").unwrap();
    let run = f.quell(&["a.pgm", "--params", "field.toml"]).expect(2).says("unknown field");
    assert_eq!(run.err().lines().count(), 1, "{}", run.err());
    assert!(!run.err().contains('\x1b'));
}

#[test]
fn files_that_flags_name_are_refused_when_they_are_too_large_or_no_text() {
    let f = Folder::new("flag-files");
    f.picture("a.pgm");
    fs::write(f.path("large.txt"), "# filler\n".repeat(200_000)).unwrap();
    fs::write(f.path("binary"), [0xff, 0xfe, 0x00, 0x80]).unwrap();
    let nlm = ["a.pgm", "--sigma", "15", "--method", "nlm"];
    let files = [("large.txt", "more than 1024 KiB"), ("binary", "is not a text file"), (".", "is a folder")];
    for (file, why) in files {
        for flag in ["--params", "--noise-cov"] {
            let run = f.quell(&[&nlm[..], &[flag, file]].concat()).expect(2).says(why);
            assert!(run.err().starts_with(&format!("error: {flag} {file}: ")), "{}", run.err());
            assert_eq!(run.err().lines().count(), 1, "{}", run.err());
        }
        f.quell(&["degrade", "a.pgm", "-o", "b.pgm", "--noise-cov", file]).expect(1).says(why);
    }
    f.quell(&[&nlm[..], &["--noise-psd", "."]].concat()).expect(2).says("--noise-psd .: is a folder");
    assert_eq!(f.files(), ["a.pgm", "binary", "large.txt"]);
}

#[cfg(unix)]
#[test]
fn devices_that_never_end_are_no_files_for_flags() {
    let f = Folder::new("flag-devices");
    f.picture("a.pgm");
    let nlm = ["a.pgm", "--sigma", "15", "--method", "nlm"];
    f.quell(&[&nlm[..], &["--params", "/dev/zero"]].concat()).expect(2).says("more than 1024 KiB");
    f.quell(&[&nlm[..], &["--noise-cov", "/dev/zero"]].concat()).expect(2).says("more than 1024 KiB");
    f.quell(&[&nlm[..], &["--noise-psd", "/dev/zero"]].concat()).expect(2).says("is not a regular file");
}

#[cfg(unix)]
#[test]
fn pipes_are_read_once_and_whole() {
    let f = Folder::new("flag-pipe");
    f.picture("a.pgm");
    f.save("a.ppm", &[common::noisy_rgb(24, 24)], SampleType::U8);
    let run = |text: &str, args: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("printf '{text}' | \"$0\" {args}")]).arg(env!("CARGO_BIN_EXE_quell"));
        shell.current_dir(f.path("."));
        Run::of(shell).expect(0)
    };
    let plan = run("search = 9", "a.pgm --method nlm --params /dev/stdin --sigma 15 --print-plan");
    assert!(plan.out().contains("search = 9"), "{}", plan.out());
    run("9 0 0 0 9 0 0 0 9", "a.ppm -o b.ppm --method nlm --noise-cov /dev/stdin");
}

#[test]
fn correlated_noise_is_refused_by_methods_that_do_not_know_it() {
    let f = Folder::new("method-flags");
    f.picture("a.pgm");
    for flag in ["--noise-psd", "--noise-cov"] {
        let run = f.quell(&["a.pgm", "--method", "isoline", flag, "auto"]).expect(2);
        let line = format!("error: {flag}: method isoline takes noise for white\n");
        assert_eq!(run.err(), format!("{line}hint: --method bm3d and --method nlm know correlated noise\n"));
    }
    let run = f.quell(&["a.pgm", "--method", "bm3d", "--noise-cov", "auto"]).expect(2);
    let line = "error: --noise-cov: method bm3d takes the noise of colours for independent\n";
    assert_eq!(run.err(), format!("{line}hint: --method nlm knows their covariance\n"));
    assert_eq!(f.files(), ["a.pgm"]);
}

#[test]
fn an_unknown_level_in_the_environment_is_said_whatever_the_command() {
    let f = Folder::new("level");
    f.picture("a.pgm");
    let run = |level: &str, args: &[&str]| {
        let mut command = f.command(args);
        command.env("QUELL_LEVEL", level);
        Run::of(command)
    };
    for args in [&["a.pgm", "--sigma", "15"][..], &["devices"], &["bench", "--size", "16x16"]] {
        let run = run("foo", args).expect(2);
        assert_eq!(run.err(), "error: QUELL_LEVEL=\"foo\": one of portable, avx2, avx512\n");
        assert_eq!(run.out(), "");
    }
    assert_eq!(f.files(), ["a.pgm"]);
    let device = run("portable", &["devices", "--json"]).expect(0).json().pop().unwrap();
    assert_eq!(device["detail"], "portable");
    run("", &["devices"]).expect(0);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly_what_only_prints() {
    let f = Folder::new("pipe");
    f.picture("a.pgm");
    let out = closed(&f, &["noise", "a.pgm"]);
    assert_eq!(
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned()),
        (Some(0), String::new())
    );
}

#[cfg(unix)]
/// Runs it with nobody to read what it prints.
fn closed(f: &Folder, args: &[&str]) -> std::process::Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    f.command(args).stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_named_pipe_that_is_closed_early_is_an_error() {
    use std::process::{Command, Stdio};
    let f = Folder::new("fifo");
    // More than a pipe holds.
    f.save("a.pfm", &[common::noisy(300, 300, 1)], SampleType::F32);
    for args in [&["a.pfm", "-o", "out.pfm"][..], &["degrade", "a.pfm", "-o", "out.pfm"]] {
        assert!(Command::new("mkfifo").arg(f.path("out.pfm")).status().unwrap().success());
        let mut reader = Command::new("head")
            .args(["-c", "1"])
            .arg(f.path("out.pfm"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let args = [args, &["--sigma", "5"]].concat();
        f.quell(&args).expect(1).says("cannot write out.pfm: Broken pipe");
        reader.wait().unwrap();
        fs::remove_file(f.path("out.pfm")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_batch_whose_records_nobody_reads_does_its_files_and_says_so() {
    let f = Folder::new("unheard");
    let names = ["a.pgm", "b.pgm", "c.pgm"];
    names.iter().for_each(|n| drop(f.picture(n)));
    for jobs in ["1", "3"] {
        let args = ["--json", "--quiet", "--sigma", "15", "-o", jobs, "--jobs", jobs];
        let out = closed(&f, &[&names[..], &args[..]].concat());
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert_eq!(
            said.matches("error: records cannot be written to standard output: Broken pipe").count(),
            1
        );
        for name in names {
            assert_eq!(f.load(&format!("{jobs}/{name}")).len(), 1);
        }
    }
}
