//! Which files are read and written: naming, folders, patterns, never overwriting.

use std::fs;

use crate::common::{self, Folder, psnr};
use quell::{Frame, Plane};
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
fn a_picture_without_noise_is_copied_byte_by_byte_and_said_so() {
    let f = Folder::new("clean");
    for name in ["clean.png", "clean.jpg", "clean.tif", "clean.webp", "clean.pgm"] {
        // JPEG adds noise of its own where there is something to see.
        let flat = Frame::grey(Plane::from_vec(48, 48, vec![90.0; 48 * 48]).unwrap(), 255.0).unwrap();
        let frame = if name == "clean.jpg" { flat } else { common::clean(48, 48) };
        let input = f.save(name, &[frame], SampleType::U8);
        // An encoder would not write these bytes again.
        let mut bytes = fs::read(&input).unwrap();
        bytes.extend(b"and something behind the picture");
        if name != "clean.webp" {
            fs::write(&input, &bytes).unwrap();
        }
        let output = name.replace("clean", "clean.quell");
        f.quell(&[name]).expect(0).says(&format!("no noise found, copied -> {output}"));
        assert!(fs::read(&input).unwrap() == fs::read(f.path(&output)).unwrap(), "{name}");
    }
}

#[test]
fn a_picture_without_noise_is_converted_or_left_alone_and_said_so() {
    let f = Folder::new("cleanother");
    let input = f.save("clean.pgm", &[common::clean(24, 24)], SampleType::U8);
    let json =
        f.quell(&["clean.pgm", "-o", "b.png", "--json"]).expect(0).says("no noise found, converted -> b.png");
    assert_eq!(json.json()[0]["made"], "converted");
    assert_eq!(f.load("clean.pgm"), f.load("b.png"));
    let before = (fs::read(&input).unwrap(), fs::metadata(&input).unwrap().modified().unwrap());
    f.quell(&["clean.pgm", "--in-place"]).expect(0).says("no noise found, left as it is -> clean.pgm");
    assert_eq!((fs::read(&input).unwrap(), fs::metadata(&input).unwrap().modified().unwrap()), before);
}

#[test]
fn a_picture_without_noise_but_with_bad_samples_is_not_copied() {
    let f = Folder::new("cleannan");
    let mut frame = common::clean(24, 24);
    frame.planes_mut()[0].row_mut(3)[5] = f32::NAN;
    f.save("a.npy", &[frame], SampleType::F32);
    f.quell(&["a.npy", "--nan", "zero", "-o", "b.npy"]).expect(0).says("no noise found, converted -> b.npy");
    assert!(f.load("b.npy")[0].view().check_finite().is_ok());
    f.quell(&["a.npy", "--nan", "keep", "-o", "c.npy"]).expect(0).says("no noise found, copied -> c.npy");
    assert!(fs::read(f.path("a.npy")).unwrap() == fs::read(f.path("c.npy")).unwrap());
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

#[test]
fn folders_with_only_clips_or_only_raw_files_say_what_to_do() {
    let f = Folder::new("onlyclips");
    for (folder, names) in [("clips", &["a.mp4", "b.MOV"][..]), ("raw", &["a.NEF", "b.cr2", "c.dng"])] {
        fs::create_dir(f.path(folder)).unwrap();
        names.iter().for_each(|n| fs::write(f.path(folder).join(n), "x").unwrap());
    }
    let clips = f.quell(&["clips"]).expect(1).says("error: clips: no pictures in this folder, but 2 clips");
    assert!(clips.err().contains("hint: clips are taken when they are named: '*.mp4'"), "{}", clips.err());
    let raw = f
        .quell(&["raw", "-r"])
        .expect(1)
        .says("error: raw: no pictures in this folder, but 3 camera raw files");
    assert!(raw.err().contains("hint: develop raw files to 16-bit TIFF first"), "{}", raw.err());
    assert_eq!((clips.err().lines().count(), raw.err().lines().count()), (2, 2));
    // A folder that cannot be listed does not hide it.
    f.quell(&["none/*.png", "clips"]).expect(1).says("none/*.png: no file matches").says("but 2 clips");
}

#[test]
fn clips_and_raw_files_between_pictures_are_left_out_with_a_note() {
    let f = Folder::new("between");
    f.picture("shots/a.pgm");
    ["b.mkv", "c.nef", "d.txt"].iter().for_each(|n| fs::write(f.path("shots").join(n), "x").unwrap());
    let run = f.quell(&["shots", "-o", "out", "--sigma", "15"]).expect(0);
    run.says(
        "note: shots: 1 clip and 1 camera raw file left out, clips are taken when they are named: '*.mkv'",
    );
    assert!(f.path("out/a.pgm").is_file());
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_a_circle_are_left_out_with_a_note() {
    use std::os::unix::fs::symlink;
    let f = Folder::new("circle");
    f.picture("shots/a.pgm");
    f.picture("shots/deep/b.pgm");
    f.picture("elsewhere/c.pgm");
    f.picture("not.pgm");
    symlink("..", f.path("shots/up")).unwrap();
    let args = ["shots", "-o", "out", "-r", "--sigma", "15"];
    let run = f.quell(&args).expect(0).says("2 pictures done");
    assert_eq!(run.err().matches("note: ").count(), 1, "{}", run.err());
    let run = run.says("note: shots/up: leads back to a folder above it, left out");
    assert!(!run.err().contains("error"), "{}", run.err());
    // To itself, to each other, to a folder that is walked anyway, elsewhere, and to nothing.
    fs::remove_file(f.path("shots/up")).unwrap();
    symlink(".", f.path("shots/deep/self")).unwrap();
    symlink("deep", f.path("shots/before")).unwrap();
    symlink("../elsewhere", f.path("shots/far")).unwrap();
    symlink("../shots", f.path("elsewhere/back")).unwrap();
    symlink("nowhere", f.path("shots/nothing")).unwrap();
    let run = f.quell(&[&args[..], &["--force"]].concat()).expect(0).says("3 pictures done");
    assert_eq!(run.err().matches("note: ").count(), 2, "{}", run.err());
    run.says("note: shots/deep/self: leads back").says("note: shots/far/back: leads back");
    assert!(f.path("out/far/c.pgm").is_file() && f.path("out/deep/b.pgm").is_file());
    // Not gone into, and so of no concern.
    assert!(!f.quell(&["shots", "-o", "flat", "--sigma", "15"]).expect(0).err().contains("note: "));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_that_is_not_there_yet_is_written_through() {
    let f = Folder::new("dangling");
    f.picture("a.pgm");
    fs::create_dir(f.path("far")).unwrap();
    std::os::unix::fs::symlink("far/b.pgm", f.path("link.pgm")).unwrap();
    f.quell(&["a.pgm", "-o", "link.pgm", "--sigma", "15"]).expect(0);
    assert!(f.path("link.pgm").is_symlink());
    assert!(psnr(&f.load("far/b.pgm")[0]) > psnr(&f.load("a.pgm")[0]));
    // Two outputs that are one file are seen before there is one.
    fs::create_dir(f.path("out")).unwrap();
    std::os::unix::fs::symlink("b.pgm", f.path("out/c.pgm")).unwrap();
    std::os::unix::fs::symlink("c.pgm", f.path("out/d.pgm")).unwrap();
    f.picture("x/b.pgm");
    f.picture("x/d.pgm");
    f.quell(&["x", "-o", "out", "--sigma", "15"]).expect(2).says("would both be written to");
}

#[cfg(unix)]
#[test]
fn permissions_of_the_input_are_not_exceeded() {
    use std::os::unix::fs::PermissionsExt;
    let f = Folder::new("permissions");
    let input = f.picture("a.pgm");
    f.save("clean.pgm", &[common::clean(24, 24)], SampleType::U8);
    fs::write(f.path("a.y4m"), [&b"YUV4MPEG2 W16 H16 F25:1 Cmono\nFRAME\n"[..], &[7; 256]].concat()).unwrap();
    let mode = |name: &str| fs::metadata(f.path(name)).unwrap().permissions().mode() & 0o7777;
    for name in ["a.pgm", "clean.pgm", "a.y4m"] {
        fs::set_permissions(f.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let before = fs::read(&input).unwrap();
    f.quell(&["a.pgm", "--sigma", "15"]).expect(0);
    f.quell(&["clean.pgm"]).expect(0).says("copied");
    f.quell(&["a.y4m", "--sigma", "15"]).expect(0);
    f.quell(&["degrade", "a.pgm", "-o", "d.pgm", "--sigma", "5"]).expect(0);
    for name in ["a.quell.pgm", "clean.quell.pgm", "a.quell.y4m", "d.pgm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    f.quell(&["a.pgm", "--in-place", "--sigma", "15"]).expect(0);
    assert_ne!(fs::read(&input).unwrap(), before);
    assert_eq!(mode("a.pgm"), 0o600);
}
