//! Which files are read and written: naming, folders, patterns, skipping, never overwriting.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::common::{self, Folder, psnr};
use quell_io::SampleType;

#[test]
fn the_result_stands_beside_the_input_and_is_cleaner() {
    let f = Folder::new("beside");
    let input = f.picture("noisy.pgm");
    let before = fs::read(&input).unwrap();
    let run = f.quell(&["noisy.pgm", "--sigma", "15"]).expect(0);
    assert!(run.err().starts_with("noisy.pgm: 24 x 24 grey, sigma 15 -> noisy.quell.pgm, "), "{}", run.err());
    assert_eq!(run.out(), "");
    assert_eq!(fs::read(&input).unwrap(), before);
    let (old, new) = (psnr(&f.load("noisy.pgm")[0]), psnr(&f.load("noisy.quell.pgm")[0]));
    assert!(new > old + 4.0, "{old} dB to {new} dB");
}

#[test]
fn the_noise_is_estimated_when_none_is_given() {
    let f = Folder::new("estimated");
    f.save("a.pgm", &[common::noisy(48, 48, 3)], SampleType::U8);
    let run = f.quell(&["a.pgm"]).expect(0).says("(estimated) -> a.quell.pgm");
    let sigma: f32 = run.err().split("sigma ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((12.0..18.0).contains(&sigma), "{sigma}");
}

#[test]
fn a_picture_without_noise_is_copied_and_said_so() {
    let f = Folder::new("clean");
    f.save("clean.pgm", &[common::clean(24, 24)], SampleType::U8);
    f.quell(&["clean.pgm"]).expect(0).says("no noise found, copied -> clean.quell.pgm");
    assert_eq!(f.load("clean.pgm"), f.load("clean.quell.pgm"));
}

#[test]
fn another_extension_converts() {
    let f = Folder::new("convert");
    f.picture("a.pgm");
    f.quell(&["a.pgm", "-o", "b.npy", "--sigma", "15"]).expect(0);
    assert_eq!(f.files(), ["a.pgm", "b.npy"]);
    assert!(fs::read(f.path("b.npy")).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn a_folder_is_made_for_several_inputs() {
    let f = Folder::new("folder");
    f.picture("a.pgm");
    f.picture("b.pgm");
    f.quell(&["a.pgm", "b.pgm", "-o", "out", "--sigma", "15"]).expect(0).says("2 pictures done");
    assert_eq!(f.files(), ["a.pgm", "b.pgm", "out/a.pgm", "out/b.pgm"]);
    f.quell(&["a.pgm", "-o", "new/deep/", "--sigma", "15"]).expect(0);
    assert!(f.path("new/deep/a.pgm").is_file());
}

#[test]
fn folders_are_shallow_unless_asked() {
    let f = Folder::new("walk");
    f.picture("shots/a.pgm");
    f.picture("shots/deep/b.pgm");
    fs::write(f.path("shots/readme.txt"), "no picture").unwrap();
    fs::write(f.path("shots/.hidden.pgm"), "no picture").unwrap();
    f.quell(&["shots", "-o", "out", "--sigma", "15"]).expect(0);
    assert!(f.path("out/a.pgm").is_file() && !f.path("out/deep").exists());
    f.quell(&["shots", "-o", "out", "--sigma", "15", "--recursive"]).expect(0).says("1 skipped");
    assert!(f.path("out/deep/b.pgm").is_file());
}

#[test]
fn patterns_that_the_shell_left_alone_are_expanded() {
    let f = Folder::new("glob");
    f.picture("a1.pgm");
    f.picture("a2.pgm");
    f.picture("b1.pgm");
    f.quell(&["a?.pgm", "--sigma", "15"]).expect(0);
    assert_eq!(f.files(), ["a1.pgm", "a1.quell.pgm", "a2.pgm", "a2.quell.pgm", "b1.pgm"]);
    f.quell(&["x*.pgm"]).expect(1).says("x*.pgm: no file matches");
}

#[test]
fn our_own_results_are_not_inputs() {
    let f = Folder::new("own");
    f.picture("a.pgm");
    f.quell(&["a.pgm", "--sigma", "15"]).expect(0);
    let files = ["a.pgm", "a.quell.pgm"];
    f.quell(&[".", "--sigma", "15", "--force"]).expect(0).says("1 result of quell left out");
    assert_eq!(f.files(), files);
    // What a shell makes of *.pgm.
    f.quell(&["a.pgm", "a.quell.pgm", "--sigma", "15", "--force"]).expect(0);
    assert_eq!(f.files(), files);
}

#[test]
fn an_output_folder_inside_the_input_folder_is_not_an_input() {
    let f = Folder::new("inside");
    f.picture("a.pgm");
    let args = [".", "-o", "out", "--recursive", "--sigma", "15", "--force"];
    f.quell(&args).expect(0);
    f.quell(&args).expect(0).says("1 result of quell left out");
    assert_eq!(f.files(), ["a.pgm", "out/a.pgm"]);
    f.quell(&["out", "-o", "out", "--sigma", "15"]).expect(2).says("would overwrite the input");
}

#[test]
fn finished_pictures_are_skipped_until_the_input_changes_or_force() {
    let f = Folder::new("skip");
    let (a, out) = (f.picture("a.pgm"), f.path("a.quell.pgm"));
    f.picture("b.pgm");
    let time = || fs::metadata(&out).unwrap().modified().unwrap();
    let args = ["a.pgm", "b.pgm", "--sigma", "15"];
    f.quell(&args).expect(0);
    let first = time();
    let run = f.quell(&args).expect(0).says("2 skipped: outputs are newer than inputs, --force redoes");
    assert_eq!(run.err().lines().count(), 1, "{}", run.err());
    assert_eq!(time(), first);
    let later = SystemTime::now() + Duration::from_secs(5);
    fs::File::options().write(true).open(&a).unwrap().set_modified(later).unwrap();
    f.quell(&args).expect(0).says("1 skipped");
    let second = time();
    assert_ne!(second, first);
    f.quell(&["a.pgm", "--sigma", "15", "--force"]).expect(0).says("-> a.quell.pgm");
    assert_ne!(time(), second);
}

#[test]
fn in_place_overwrites_and_only_it_does() {
    let f = Folder::new("inplace");
    let input = f.picture("a.pgm");
    let before = fs::read(&input).unwrap();
    for out in ["a.pgm", "./a.pgm", "."] {
        f.quell(&["a.pgm", "-o", out]).expect(2).says("would overwrite the input").says("hint: ");
        assert_eq!(fs::read(&input).unwrap(), before);
    }
    f.quell(&["a.pgm", "--in-place", "--sigma", "15"]).expect(0).says("-> a.pgm");
    assert_ne!(fs::read(&input).unwrap(), before);
    assert_eq!(f.files(), ["a.pgm"]);
}

#[cfg(unix)]
#[test]
fn an_output_that_is_a_link_to_the_input_is_refused() {
    let f = Folder::new("link");
    let input = f.picture("a.pgm");
    std::os::unix::fs::symlink(&input, f.path("b.pgm")).unwrap();
    f.quell(&["a.pgm", "-o", "b.pgm"]).expect(2).says("would overwrite the input");
}

#[test]
fn two_inputs_for_one_output_are_refused_before_any_work() {
    let f = Folder::new("collide");
    f.picture("x/a.pgm");
    f.picture("y/a.pgm");
    let run = f.quell(&["x/a.pgm", "y/a.pgm", "-o", "out"]).expect(2);
    run.says("x/a.pgm and y/a.pgm would both be written to out/a.pgm");
    assert_eq!(f.files(), ["x/a.pgm", "y/a.pgm"]);
}

#[test]
fn the_same_input_twice_is_filtered_once() {
    let f = Folder::new("twice");
    f.picture("a.pgm");
    let run = f.quell(&["a.pgm", "./a.pgm", "--sigma", "15"]).expect(0);
    assert_eq!(run.err().lines().count(), 1, "{}", run.err());
}

#[test]
fn a_file_called_like_a_command_is_taken_with_its_folder() {
    let f = Folder::new("noise");
    let input = f.picture("a.pgm");
    fs::rename(input, f.path("noise")).unwrap();
    f.quell(&["./noise", "-o", "b.pgm", "--sigma", "15"]).expect(0);
    assert!(f.path("b.pgm").is_file());
}
