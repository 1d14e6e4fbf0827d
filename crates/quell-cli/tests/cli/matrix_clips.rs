//! Every kind of clip, written beside and in place, and everything that can happen meanwhile: killed, a full disk, an
//! input that ends early, a reader that goes away. No input is lost, and nothing half done has a final name.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::clips::{QUICK, ffmpeg, files, frames, quick, stand_in, y4m};
use crate::common::{Folder, Run, noisy};
use quell_io::SampleType;
use quell_io::video::{VideoReadOptions, VideoReader};

const FRAMES: u64 = 24;
const SIZE: (usize, usize) = (96, 64);

/// One kind of clip.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Y4m,
    Mkv,
    Mp4,
    Pictures,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Y4m, Self::Mkv, Self::Mp4, Self::Pictures];

    fn input(self) -> &'static str {
        match self {
            Self::Y4m => "in/a.y4m",
            Self::Mkv => "in/a.mkv",
            Self::Mp4 => "in/a.mp4",
            Self::Pictures => "in/p_%02d.png",
        }
    }

    fn output(self) -> String {
        self.input().replace("in/", "out/")
    }
}

/// A clip of every kind, or nothing without ffmpeg.
struct Bench {
    f: Folder,
    /// Name and content of every file that goes in.
    inputs: Vec<(String, Vec<u8>)>,
}

impl Bench {
    fn new(test: &str) -> Option<Self> {
        let f = Folder::new(test);
        fs::create_dir_all(f.path("in")).unwrap();
        fs::write(f.path("in/a.y4m"), y4m(SIZE.0, SIZE.1, FRAMES)).unwrap();
        let made = ffmpeg(&f, "-i in/a.y4m -f lavfi -i sine=d=0.9 -c:v mpeg4 -q:v 2 -c:a aac in/a.mkv")
            && ffmpeg(&f, "-i in/a.mkv -c copy in/a.mp4");
        if !made {
            return None;
        }
        for i in 1..=FRAMES {
            f.save(&format!("in/p_{i:02}.png"), &[noisy(SIZE.0, SIZE.1, i)], SampleType::U8);
        }
        let inputs = f.files().into_iter().map(|n| (n.clone(), fs::read(f.path(&n)).unwrap())).collect();
        Some(Self { f, inputs })
    }

    /// Puts everything back.
    fn reset(&self) {
        let _ = fs::remove_dir_all(self.f.path("in"));
        let _ = fs::remove_dir_all(self.f.path("out"));
        fs::create_dir_all(self.f.path("in")).unwrap();
        fs::create_dir_all(self.f.path("out")).unwrap();
        self.inputs.iter().for_each(|(name, bytes)| fs::write(self.f.path(name), bytes).unwrap());
    }

    fn args(kind: Kind, in_place: bool) -> Vec<String> {
        let mut args = vec![kind.input().to_owned()];
        args.extend(if in_place {
            vec!["--in-place".to_owned()]
        } else {
            vec!["-o".to_owned(), kind.output()]
        });
        args.extend(QUICK.map(str::to_owned));
        args
    }

    /// No input is lost: each is as it was, or a complete result in its place. No output is half done. Temporary files
    /// may be there after a kill; after anything else they may not.
    fn check(&self, kind: Kind, in_place: bool, killed: bool, what: &str) {
        let what = format!("{kind:?}, in place {in_place}, {what}");
        for (name, bytes) in &self.inputs {
            let now = fs::read(self.f.path(name)).unwrap_or_else(|e| panic!("{what}: {name}: {e}"));
            assert!(now == *bytes || in_place && self.complete(name), "{what}: {name} is lost");
        }
        for name in files(&self.f) {
            let hidden = name.split('/').next_back().is_some_and(|n| n.starts_with(".quell-"));
            assert!(!hidden || killed, "{what}: {name} is left");
            if name.starts_with("out/") && !hidden {
                assert!(self.complete(&name), "{what}: {name} is half done");
            }
        }
    }

    /// Readable with all of its frames.
    fn complete(&self, name: &str) -> bool {
        if name.ends_with(".png") {
            return self.f.load(name)[0].width() == SIZE.0;
        }
        if !name.ends_with(".y4m") {
            return frames(&self.f, name) == FRAMES;
        }
        let mut reader = VideoReader::open(&self.f.path(name), &VideoReadOptions::default()).unwrap();
        let (mut frame, mut count) = (reader.info().format.frame(), 0);
        while reader.next(&mut frame).unwrap() {
            count += 1;
        }
        count == FRAMES && reader.shortfall().is_none()
    }

    fn spawn(&self, args: &[String]) -> Child {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.f.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Under a shell that sets limits first.
    fn limited(&self, limit: &str, args: &[String]) -> Run {
        let mut command = Command::new("sh");
        let quell = env!("CARGO_BIN_EXE_quell");
        command
            .current_dir(self.f.path(""))
            .args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), quell])
            .args(args);
        Run::of(command)
    }
}

#[test]
fn killed_at_any_moment_nothing_is_lost() {
    let Some(bench) = Bench::new("matrix-kill") else { return };
    for kind in Kind::ALL {
        for in_place in [false, true] {
            for moment in [20, 90, 250, 600] {
                bench.reset();
                let mut child = bench.spawn(&Bench::args(kind, in_place));
                std::thread::sleep(Duration::from_millis(moment));
                child.kill().unwrap();
                child.wait().unwrap();
                // ffmpeg may still close its file.
                std::thread::sleep(Duration::from_millis(50));
                bench.check(kind, in_place, true, &format!("killed after {moment} ms"));
            }
        }
    }
}

#[test]
fn on_a_full_disk_nothing_is_lost() {
    let Some(bench) = Bench::new("matrix-full") else { return };
    for kind in Kind::ALL {
        for in_place in [false, true] {
            // Of 512 bytes each: too small for any result.
            let blocks = if kind == Kind::Pictures { 2 } else { 16 };
            bench.reset();
            let run =
                bench.limited(&format!("trap '' XFSZ; ulimit -f {blocks}"), &Bench::args(kind, in_place));
            assert_eq!(run.code(), 1, "{kind:?}: {}", run.err());
            bench.check(kind, in_place, false, "full disk");
        }
    }
    // ffmpeg alone has no room, and ends with 0 all the same.
    stand_in(
        &bench.f,
        "case \"$*\" in *pipe:0*) trap '' XFSZ; ulimit -f 16; ffmpeg \"$@\"; exit 0;; esac\nexec ffmpeg \"$@\"",
    );
    for kind in [Kind::Mkv, Kind::Mp4] {
        for in_place in [false, true] {
            bench.reset();
            let args = Bench::args(kind, in_place);
            let mut command = bench.f.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
            command.env("QUELL_FFMPEG", bench.f.path("bin/ffmpeg"));
            Run::of(command).expect(1);
            bench.check(kind, in_place, false, "ffmpeg on a full disk");
        }
    }
}

#[test]
fn an_input_that_ends_early_is_not_replaced() {
    let Some(mut bench) = Bench::new("matrix-short") else { return };
    for (name, bytes) in &mut bench.inputs {
        // Of the pictures one in the middle.
        if !name.ends_with(".png") || name.ends_with("p_12.png") {
            bytes.truncate(bytes.len() * 3 / 5);
        }
    }
    for kind in Kind::ALL {
        bench.reset();
        let args = Bench::args(kind, true);
        bench.f.quell(&args.iter().map(String::as_str).collect::<Vec<_>>()).expect(1);
        for (name, bytes) in &bench.inputs {
            assert!(fs::read(bench.f.path(name)).unwrap() == *bytes, "{kind:?}: {name} was replaced");
        }
        assert_eq!(files(&bench.f).len(), bench.inputs.len(), "{:?}", files(&bench.f));
        // Beside the input there may be what could be read, with an exit code that says so.
        let args = Bench::args(kind, false);
        bench.f.quell(&args.iter().map(String::as_str).collect::<Vec<_>>()).expect(1);
        assert!(files(&bench.f).iter().all(|n| !n.contains("/.quell-")), "{:?}", files(&bench.f));
    }
}

#[test]
fn a_reader_that_goes_away_costs_no_input() {
    let Some(bench) = Bench::new("matrix-pipe") else { return };
    for kind in [Kind::Y4m, Kind::Mkv, Kind::Mp4] {
        bench.reset();
        let mut child = bench
            .f
            .command(&quick(&[kind.input(), "-o", "-"]))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut some = [0; 10_000];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        child.wait().unwrap();
        bench.check(kind, false, false, "closed pipe");
    }
    // What ffmpeg reads from goes away in the middle of a frame.
    let mut child = bench
        .f
        .command(&quick(&["-", "-o", "out/b.mkv"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let clip = y4m(SIZE.0, SIZE.1, 3);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &clip[..clip.len() - 99]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn pictures_that_wait_to_be_replaced_are_not_held_open() {
    let Some(bench) = Bench::new("many-pictures") else { return };
    bench.reset();
    // Fewer files at once than there are pictures.
    let run = bench.limited("ulimit -n 30", &Bench::args(Kind::Pictures, true)).expect(0);
    assert!(run.err().contains("24 frames"), "{}", run.err());
    let changed = |(name, bytes): &&(String, Vec<u8>)| fs::read(bench.f.path(name)).unwrap() != *bytes;
    assert_eq!(bench.inputs.iter().filter(changed).count(), FRAMES as usize);
    assert_eq!(bench.f.files().len(), bench.inputs.len(), "nothing is left behind");
}
