//! Frames spread over a clip are the right ones, and pipes are left alone.

use std::fs;
use std::path::{Path, PathBuf};

use quell_io::video::{VideoReadOptions, VideoReader, sample};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quell-io-sample-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Frames of one value each, their number.
fn clip(frames: u8, mark: impl Fn(u8) -> String) -> Vec<u8> {
    let mut clip = b"YUV4MPEG2 W4 H2 F25:1 Cmono\n".to_vec();
    for i in 0..frames {
        clip.extend(mark(i).bytes());
        clip.extend([i; 8]);
    }
    clip
}

/// The first samples of the frames that are looked at; afterwards the reader still gives every frame.
fn looked_at(path: &Path, count: usize) -> Vec<f32> {
    let mut reader = VideoReader::open(path, &VideoReadOptions::default()).unwrap();
    let mut found = Vec::new();
    let n = sample(path, &reader, count, |frame| found.push(frame.planes[0].view().to_floats(1.0)[0]));
    assert_eq!(n, found.len());
    let mut frame = reader.info().format.frame();
    assert!(reader.next(&mut frame).unwrap());
    assert_eq!(frame.planes[0].view().to_floats(1.0)[0], 0.0, "the reader has moved");
    found
}

#[test]
fn files_are_looked_at_from_end_to_end() {
    let f = Folder::new("y4m");
    let path = f.0.join("a.y4m");
    fs::write(&path, clip(100, |_| "FRAME\n".to_owned())).unwrap();
    assert_eq!(looked_at(&path, 4), [12.0, 37.0, 62.0, 87.0]);
    assert_eq!(looked_at(&path, 1000).len(), 100);
    // Cut off inside its last frame.
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    assert_eq!(looked_at(&path, 4), [12.0, 37.0, 61.0, 86.0]);
}

#[test]
fn files_whose_frames_have_parameters_are_looked_at_as_far_as_some_frames() {
    let f = Folder::new("parameters");
    let path = f.0.join("a.y4m");
    fs::write(&path, clip(100, |i| format!("FRAME Xnumber={i}\n"))).unwrap();
    assert_eq!(looked_at(&path, 4), [0.0, 16.0, 32.0, 48.0]);
}

#[test]
fn numbered_pictures_are_looked_at_by_their_numbers() {
    let f = Folder::new("pictures");
    for i in 0..20_u8 {
        let mut bytes = b"P5 2 1 255\n".to_vec();
        bytes.extend([i, 9]);
        fs::write(f.0.join(format!("p_{:03}.pgm", u32::from(i) + 7)), bytes).unwrap();
    }
    assert_eq!(looked_at(&f.0.join("p_%03d.pgm"), 4), [2.0, 7.0, 12.0, 17.0]);
    // One that cannot be read is left out; who reads the clip will hear of it.
    fs::write(f.0.join("p_014.pgm"), b"P5").unwrap();
    assert_eq!(looked_at(&f.0.join("p_%03d.pgm"), 4), [2.0, 12.0, 17.0]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_touched() {
    let f = Folder::new("pipe");
    let path = f.0.join("a.y4m");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || fs::write(path, clip(5, |_| "FRAME\n".to_owned())).unwrap())
    };
    assert!(looked_at(&path, 3).is_empty());
    writer.join().unwrap();
}
