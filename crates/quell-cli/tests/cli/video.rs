//! Clips: files, pipes, what is wrong with them, and what is left behind.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{Folder, noisy};
use quell_io::SampleType;
use quell_io::video::{VideoReadOptions, VideoReader};

/// Quick on every machine.
const FAST: [&str; 6] = ["--sigma", "15", "--profile", "fast", "--device", "cpu"];

/// A noisy 4:2:0 clip.
fn clip(width: usize, height: usize, frames: u64) -> Vec<u8> {
    let mut clip = format!("YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420jpeg XA=1\n").into_bytes();
    let chroma = width.div_ceil(2) * height.div_ceil(2);
    for i in 0..frames {
        clip.extend(if i == 1 { &b"FRAME Xsecond\n"[..] } else { b"FRAME\n" });
        clip.extend(noisy(width, height, i).planes()[0].as_slice().iter().map(|v| v.clamp(0.0, 255.0) as u8));
        clip.extend(vec![128; 2 * chroma]);
    }
    clip
}

fn with(args: &[&'static str]) -> Vec<&'static str> {
    [args, &FAST].concat()
}

/// How far the first plane of each frame of a clip is from the picture without noise, as PSNR.
fn psnr(f: &Folder, name: &str) -> Vec<f64> {
    let mut reader = VideoReader::open(&f.path(name), &VideoReadOptions::default()).unwrap();
    let format = reader.info().format;
    let mut frame = format.frame();
    let mut all = Vec::new();
    while reader.next(&mut frame).unwrap() {
        let plane = frame.planes[0].view().to_floats(255.0 / format.white);
        let plane = quell::Plane::from_vec(format.width, format.height, plane).unwrap();
        all.push(crate::common::psnr(&quell::Frame::grey(plane, 255.0).unwrap()));
    }
    all
}

#[test]
fn a_clip_is_filtered_to_a_clip_with_everything_else_kept() {
    let f = Folder::new("clip");
    fs::write(f.path("a.y4m"), clip(33, 25, 4)).unwrap();
    let run = f.quell(&with(&["a.y4m"])).expect(0);
    let said = run.err().trim();
    assert!(said.starts_with("a.y4m: 33 x 25 4:2:0, 8 bits, 4 frames, sigma 15 -> a.quell.y4m, "), "{said}");
    assert!(said.ends_with(" fps"), "{said}");
    let (noisy, clean) = (psnr(&f, "a.y4m"), psnr(&f, "a.quell.y4m"));
    assert_eq!(clean.len(), 4);
    noisy.iter().zip(clean).for_each(|(n, c)| assert!(c > n + 3.0, "{n} to {c} dB"));
    let bytes = fs::read(f.path("a.quell.y4m")).unwrap();
    assert!(bytes.starts_with(b"YUV4MPEG2 W33 H25 F25:1 Ip A1:1 C420jpeg XA=1\nFRAME\n"));
    assert_eq!(bytes.len(), fs::read(f.path("a.y4m")).unwrap().len());
    assert!(bytes.windows(14).any(|w| w == b"FRAME Xsecond\n"));
    assert_eq!(f.files(), ["a.quell.y4m", "a.y4m"]);
    // Its result is no input; of a batch what is done is left out.
    f.quell(&with(&["a.y4m", "a.quell.y4m"])).expect(0).says("1 result of quell left out");
    f.quell(&with(&["a.y4m", "a.quell.y4m"])).expect(0).says("1 skipped");
}

#[test]
fn deep_clips_are_filtered_alike() {
    let f = Folder::new("deep");
    let shallow = clip(24, 24, 2);
    let frame = 24 * 24 * 3 / 2;
    let mut deep = b"YUV4MPEG2 W24 H24 C420p10\n".to_vec();
    let mut at = shallow.iter().position(|b| *b == b'\n').unwrap() + 1;
    for _ in 0..2 {
        at += shallow[at..].iter().position(|b| *b == b'\n').unwrap() + 1;
        deep.extend(b"FRAME\n");
        let ten = |v: &u8| ((u32::from(*v) * 1023 + 127) / 255) as u16;
        deep.extend(shallow[at..at + frame].iter().flat_map(|v| ten(v).to_le_bytes()));
        at += frame;
    }
    fs::write(f.path("a.y4m"), shallow).unwrap();
    fs::write(f.path("b.y4m"), deep).unwrap();
    f.quell(&with(&["a.y4m", "b.y4m"]))
        .expect(0)
        .says("24 x 24 4:2:0, 10 bits, 2 frames")
        .says("2 files done");
    for (a, b) in psnr(&f, "a.quell.y4m").into_iter().zip(psnr(&f, "b.quell.y4m")) {
        assert!((a - b).abs() < 0.3, "{a} and {b} dB");
    }
}

#[test]
fn clips_and_pictures_share_a_batch_and_json_tells_of_both() {
    let f = Folder::new("mixed");
    f.picture("in/a.pgm");
    fs::write(f.path("in/b.y4m"), clip(16, 16, 3)).unwrap();
    fs::write(f.path("in/c.mp4"), "clips of other kinds must be named").unwrap();
    let run = f.quell(&with(&["in", "-o", "out", "--json"])).expect(0).says("2 files done");
    assert_eq!(f.files(), ["in/a.pgm", "in/b.y4m", "in/c.mp4", "out/a.pgm", "out/b.y4m"]);
    let json = run.json();
    assert_eq!(json[0]["channels"], 1);
    let clip = &json[1];
    assert_eq!((&clip["layout"], &clip["bits"], &clip["frames"]), (&"4:2:0".into(), &8.into(), &3.into()));
    assert_eq!((&clip["rate"], &clip["sigma"]), (&25.0.into(), &15.0.into()));
    assert!(clip["fps"].as_f64().unwrap() > 0.0);
}

/// Runs `quell - -o -` with `input`.
fn pipe(f: &Folder, args: &[&str], input: Vec<u8>) -> (Vec<u8>, String, Option<i32>) {
    let mut child =
        f.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let out = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    (out.stdout, String::from_utf8(out.stderr).unwrap(), out.status.code())
}

#[test]
fn standard_input_and_output_give_what_files_give() {
    let f = Folder::new("pipe");
    fs::write(f.path("a.y4m"), clip(20, 18, 5)).unwrap();
    f.quell(&with(&["a.y4m"])).expect(0);
    let want = fs::read(f.path("a.quell.y4m")).unwrap();
    for args in [&["-", "-o", "-"][..], &["-"]] {
        let (out, said, code) = pipe(&f, &with(&[args, &["--quiet"]].concat()), clip(20, 18, 5));
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert!(out == want);
    }
    let (out, said, code) = pipe(&f, &with(&["-", "-o", "b.y4m"]), clip(20, 18, 5));
    assert_eq!((code, out.len()), (Some(0), 0), "{said}");
    assert!(fs::read(f.path("b.y4m")).unwrap() == want);
    let run = f.quell(&with(&["a.y4m", "-o", "-", "--quiet"]));
    assert_eq!(run.code(), 0);
}

/// Frames come out as early as they can: after as many later ones as are looked at, and without waiting for the end.
#[test]
fn frames_come_out_before_the_input_ends() {
    for (future, held_back) in [(Some("0"), 0), (Some("1"), 1), (None, 2)] {
        let f = Folder::new("live");
        let clip = clip(16, 16, 4);
        // Where the frame after those that the first one waits for begins.
        let frames: Vec<_> = (0..clip.len()).filter(|&i| clip[i..].starts_with(b"FRAME")).collect();
        let (first, sent) = (frames[1], frames[1 + held_back]);
        let mut command = f.command(&with(&["-", "-q"]));
        if let Some(future) = future {
            command.args(["--future", future]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        stdin.write_all(&clip[..sent]).unwrap();
        stdin.flush().unwrap();
        // Another thread reads: a frame that is held back would block for ever.
        let (said, first_frame) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut out = vec![0; first];
            stdout.read_exact(&mut out).unwrap();
            said.send(()).unwrap();
            stdout.read_to_end(&mut out).unwrap();
            out
        });
        if first_frame.recv_timeout(Duration::from_secs(60)).is_err() {
            child.kill().unwrap();
            panic!("--future {future:?}: the first frame is held back after {held_back} later ones");
        }
        stdin.write_all(&clip[sent..]).unwrap();
        drop(stdin);
        assert_eq!(reader.join().unwrap().len(), clip.len());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let f = Folder::new("closed");
    fs::write(f.path("a.y4m"), clip(64, 64, 100)).unwrap();
    let mut child = f
        .command(&with(&["a.y4m", "-o", "-"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), String::from_utf8_lossy(&out.stderr).as_ref()), (Some(0), ""));
    assert!(some.starts_with(b"YUV4MPEG2 W64 H64 "));
}

#[test]
fn a_clip_that_is_cut_off_keeps_its_whole_frames_and_fails() {
    let f = Folder::new("cut");
    let mut cut = clip(16, 16, 3);
    cut.truncate(cut.len() - 100);
    fs::write(f.path("a.y4m"), &cut).unwrap();
    f.quell(&with(&["a.y4m"]))
        .expect(1)
        .says("error: a.y4m: 2 of 3 frames: the stream is cut off inside frame 3; a.quell.y4m has what could be read");
    assert_eq!(psnr(&f, "a.quell.y4m").len(), 2);
    let whole = fs::read(f.path("a.quell.y4m")).unwrap();
    let (out, said, code) = pipe(&f, &with(&["-"]), cut);
    assert_eq!(code, Some(1));
    assert!(said.contains("error: -: 2 of 3 frames: the stream is cut off inside frame 3\n"), "{said}");
    assert!(out == whole);
}

#[test]
fn bad_clips_fail_with_their_reason_and_leave_nothing() {
    let f = Folder::new("bad");
    let header = b"YUV4MPEG2 W16 H16 F25:1\n";
    let mut changed = clip(16, 16, 3);
    changed.extend(clip(18, 16, 1));
    let mut shifted = clip(16, 16, 3);
    shifted.remove(300);
    for (name, bytes, message) in [
        ("header.y4m", b"YUV4MPEG2 W16\n".to_vec(), "the header has no height (H)"),
        ("tag.y4m", b"YUV4MPEG2 W16 H16 C411\n".to_vec(), "the layout 411 is not supported; convert it to"),
        (
            "huge.y4m",
            b"YUV4MPEG2 W90000 H90000\n".to_vec(),
            "90000 x 90000 pixels are more than the limit of",
        ),
        ("none.y4m", header.to_vec(), "the stream has no frames"),
        ("first.y4m", [&header[..], b"FRAME\nabc"].concat(), "the stream ends inside its first frame"),
        ("text.y4m", b"Dear all,\n".to_vec(), "not a YUV4MPEG2 stream: text that begins \"Dear all,\""),
        ("empty.y4m", Vec::new(), "the stream is empty"),
        (
            "changed.y4m",
            changed,
            "frame 4 is 18 x 16 4:2:0, 8 bits, those before it are 16 x 16 4:2:0, 8 bits: a clip cannot change",
        ),
        (
            "shifted.y4m",
            shifted,
            "frame 2 does not begin with FRAME: the stream is damaged, or its frames changed",
        ),
    ] {
        fs::write(f.path(name), &bytes).unwrap();
        f.quell(&with(&[name])).expect(1).says(&format!("error: {name}: {message}"));
        let (_, said, code) = pipe(&f, &with(&["-"]), bytes);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("error: -: {message}")), "{said}");
        fs::remove_file(f.path(name)).unwrap();
    }
    assert_eq!(f.files(), Vec::<String>::new());
}

#[test]
fn interlaced_clips_are_filtered_with_a_warning() {
    let f = Folder::new("interlaced");
    let text = String::from_utf8_lossy(&clip(16, 16, 1)[..30]).replace("Ip", "Ib");
    let whole = clip(16, 16, 1);
    fs::write(f.path("a.y4m"), [text.as_bytes(), &whole[30..]].concat()).unwrap();
    let run = f.quell(&with(&["a.y4m"])).expect(0);
    assert_eq!(
        run.err().matches("note: a.y4m: interlaced (bottom field first): ").count(),
        1,
        "{}",
        run.err()
    );
    assert!(fs::read(f.path("a.quell.y4m")).unwrap().starts_with(b"YUV4MPEG2 W16 H16 F25:1 Ib "));
}

#[test]
fn what_makes_no_sense_is_refused_before_the_work() {
    let f = Folder::new("senseless");
    f.picture("a.pgm");
    fs::write(f.path("a.y4m"), clip(16, 16, 1)).unwrap();
    for (args, message) in [
        (&["a.y4m", "-o", "b.png"][..], "a.y4m is a clip, and b.png is one picture"),
        (&["a.pgm", "-o", "b.y4m"], "a.pgm is a picture, and b.y4m is a clip"),
        (&["a.pgm", "-o", "-"], "a.pgm is a picture; only clips can go to standard output"),
        (&["a.y4m", "-o", "-", "--json"], "--json prints on standard output, where the clip goes"),
        (&["a.y4m", "b.y4m", "-o", "-"], "-o -: one stream for 2 inputs"),
        (&["a.y4m", "b.y4m", "-o", "c.mkv"], "-o c.mkv: one file for 2 inputs"),
        (&["-", "--in-place"], "--in-place: standard input cannot be overwritten"),
        (&["a.y4m", "--rate", "0"], "must be a rate such as"),
        (
            &["a.y4m", "--method", "classic", "--past", "2"],
            "error: --past 2: method classic does not look at other frames",
        ),
        (&["a.y4m", "--past", "9"], "--past 9: must be from 0 to 8"),
    ] {
        f.quell(args).expect(2).says(message);
    }
    f.quell(&["a.y4m", "-o", "b_%d.png"])
        .expect(1)
        .says("4:2:0 frames cannot be stored as .png pictures, which are grey or RGB")
        .says("hint: name a .y4m");
    assert_eq!(f.files(), ["a.pgm", "a.y4m"]);
}

#[test]
fn numbered_pictures_are_a_clip() {
    let f = Folder::new("numbered");
    (7..11).for_each(|i| drop(f.save(&format!("in/f_{i:03}.png"), &[noisy(16, 12, i)], SampleType::U16)));
    f.picture("in/f_none.png");
    f.quell(&with(&["in/f_%03d.png", "-o", "c_%04d.tif"])).expect(0).says("16 x 12 mono, 16 bits, 4 frames");
    f.quell(&with(&["in/f_%03d.png", "-o", "c.y4m"])).expect(0);
    let names: Vec<String> = f.files().into_iter().filter(|n| !n.starts_with("in/")).collect();
    assert_eq!(names, ["c.y4m", "c_0007.tif", "c_0008.tif", "c_0009.tif", "c_0010.tif"]);
    for (i, from_clip) in (7..11).zip(psnr(&f, "c.y4m")) {
        let picture = crate::common::psnr(&f.load(&format!("c_{i:04}.tif"))[0]);
        assert!((picture - from_clip).abs() < 1e-3, "{picture} and {from_clip} dB");
    }
    // A gap, another size, none at all.
    fs::remove_file(f.path("in/f_008.png")).unwrap();
    f.quell(&with(&["in/f_%03d.png"])).expect(1).says("f_008.png is missing, but f_009.png is there");
    f.save("in/f_008.png", &[noisy(18, 12, 1)], SampleType::U16);
    f.quell(&with(&["in/f_%03d.png", "-o", "d.y4m"])).expect(1).says(
        "error: in/f_%03d.png: f_008.png: is 18 x 12 mono, 16 bits, those before it are 16 x 12 mono, 16 bits",
    );
    f.quell(&with(&["in/g_%d.png"])).expect(1).says("no such files, g_1.png for one");
    assert!(!f.path("d.y4m").exists());
}

#[test]
fn without_ffmpeg_other_clips_are_refused_with_a_remedy() {
    let f = Folder::new("no-ffmpeg");
    fs::write(f.path("a.mp4"), "whatever").unwrap();
    fs::write(f.path("a.y4m"), clip(16, 16, 1)).unwrap();
    for (args, files) in [(["a.mp4", "-o", "b.y4m"], ".mp4 files"), (["a.y4m", "-o", "b.mkv"], ".mkv files")]
    {
        let mut command = f.command(&with(&args));
        command.env("PATH", "").env_remove("QUELL_FFMPEG");
        let run = crate::common::Run::of(command).expect(1);
        assert!(run.err().contains(&format!("was not found, and is needed for {files}")), "{}", run.err());
        run.says("hint: install ffmpeg").says("or use .y4m");
    }
    assert_eq!(f.files(), ["a.mp4", "a.y4m"]);
}

#[test]
fn containers_keep_their_sound_and_metadata() {
    let ffmpeg = |args: &[&str], f: &Folder| {
        let ran =
            Command::new("ffmpeg").current_dir(f.path("")).args(["-v", "error", "-y"]).args(args).status();
        ran.is_ok_and(|s| s.success())
    };
    let f = Folder::new("containers");
    let made = ffmpeg(
        &["-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=0.4", "-f", "lavfi", "-i", "sine=d=0.4"]
            .into_iter()
            .chain(["-c:v", "mpeg4", "-c:a", "aac", "-metadata", "title=A title", "a.mp4"])
            .collect::<Vec<_>>(),
        &f,
    );
    if !made {
        eprintln!("skipped: ffmpeg was not found, or lacks what the test needs");
        return;
    }
    let run = f.quell(&with(&["a.mp4", "--encode", "-c:v mpeg4 -q:v 2"])).expect(0);
    assert!(run.err().starts_with("a.mp4: 64 x 48 4:2:0, 8 bits, 10 frames, "), "{}", run.err());
    let probe = |name: &str| {
        let entries = "stream=codec_name,nb_frames,r_frame_rate,duration:format_tags=title";
        let out = Command::new("ffprobe")
            .args(["-v", "error", "-show_entries", entries, "-of", "default=nw=1"])
            .arg(f.path(name))
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(probe("a.quell.mp4"), probe("a.mp4"));
    // To pictures, as RGB, and back.
    f.quell(&with(&["a.mp4", "-o", "p_%02d.png"])).expect(0).says("64 x 48 RGB, 8 bits, 10 frames");
    assert!(f.path("p_01.png").is_file() && f.path("p_10.png").is_file() && !f.path("p_11.png").exists());
    f.quell(&with(&["a.mp4", "-o", "b.y4m"])).expect(0);
    assert_eq!(VideoReader::open(&f.path("b.y4m"), &VideoReadOptions::default()).unwrap().frames(), Some(10));
    // What ffmpeg refuses is told in its words, and leaves nothing.
    let run = f.quell(&with(&["a.mp4", "-o", "c.mp4", "--encode", "-c:v nonsense"])).expect(1);
    assert!(
        run.err().contains("cannot write c.mp4: ffmpeg: ") && run.err().contains("nonsense"),
        "{}",
        run.err()
    );
    assert!(f.files().iter().all(|n| !n.starts_with('.') && !n.starts_with("c.")), "{:?}", f.files());
}

/// The frames of a 4:2:0 clip of 8 bits, without their headers.
fn frames(clip: &[u8], size: usize) -> Vec<&[u8]> {
    let begins: Vec<usize> = (0..clip.len()).filter(|&i| clip[i..].starts_with(b"FRAME")).collect();
    let samples = |&i: &usize| {
        let end = clip[i..].iter().position(|&b| b == b'\n').unwrap();
        &clip[i + end + 1..][..size]
    };
    begins.iter().map(samples).collect()
}

#[test]
fn a_part_of_a_clip_is_what_it_is_in_the_whole() {
    let f = Folder::new("part");
    fs::write(f.path("a.y4m"), clip(32, 24, 9)).unwrap();
    f.quell(&with(&["a.y4m", "-o", "all.y4m"])).expect(0);
    let all = fs::read(f.path("all.y4m")).unwrap();
    for (part, range) in [("4-6", 3..6), ("1", 0..1), ("8-", 7..9), ("7-99", 6..9)] {
        f.quell(&with(&["a.y4m", "-o", "part.y4m", "--frames", part])).expect(0);
        let got = fs::read(f.path("part.y4m")).unwrap();
        assert_eq!(frames(&got, 32 * 24 * 3 / 2), frames(&all, 32 * 24 * 3 / 2)[range], "{part}");
    }
    f.quell(&with(&["a.y4m", "-o", "none.y4m", "--frames", "10-12"]))
        .expect(1)
        .says("a.y4m: it has only 9 frames, and --frames begins behind them");
    assert!(!f.path("none.y4m").exists());
    f.quell(&with(&["a.y4m", "-o", "none.y4m", "--frames", "5-3"]))
        .expect(2)
        .says("must be frames such as 100-150");
}

#[test]
fn compare_shows_the_clip_beside_its_result() {
    let f = Folder::new("beside");
    let before = clip(32, 24, 3);
    fs::write(f.path("a.y4m"), &before).unwrap();
    f.quell(&with(&["a.y4m", "-o", "clean.y4m"])).expect(0);
    f.quell(&with(&["a.y4m", "-o", "both.y4m", "--compare"])).expect(0);
    let [clean, both] = ["clean.y4m", "both.y4m"].map(|name| fs::read(f.path(name)).unwrap());
    let luma = |clip: &[u8], t: usize| frames(clip, 32 * 24 * 3 / 2)[t][..32 * 24].to_vec();
    for t in 0..3 {
        let (before, clean, both) = (luma(&before, t), luma(&clean, t), luma(&both, t));
        for y in 0..24 {
            let row = |plane: &[u8], x: std::ops::Range<usize>| plane[32 * y..][x].to_vec();
            assert_eq!(row(&both, 0..15), row(&before, 0..15));
            assert_eq!(row(&both, 15..17), [255, 255]);
            assert_eq!(row(&both, 17..32), row(&clean, 17..32));
        }
    }
    fs::write(
        f.path("a.pgm"),
        b"P5 8 8 255\n0123456789012345678901234567890123456789012345678901234567890123",
    )
    .unwrap();
    f.quell(&["a.pgm", "--compare"]).expect(2).says("--compare is for clips; a.pgm is a picture");
}

#[test]
fn the_grain_that_is_removed_is_described_for_encoders() {
    let f = Folder::new("grain");
    // A ramp with noise of deviation 8: grain needs flat parts of every brightness.
    let (w, h, count) = (128, 96, 4);
    let mut bytes = format!("YUV4MPEG2 W{w} H{h} F25:1 Ip C420jpeg\n").into_bytes();
    let mut state = 1u32;
    let mut noise = || {
        let mut sum = 0.0;
        for _ in 0..12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sum += f64::from(state >> 8) / f64::from(1 << 24);
        }
        8.0 * (sum - 6.0)
    };
    for _ in 0..count {
        bytes.extend_from_slice(b"FRAME\n");
        for i in 0..w * h {
            bytes.push((40.0 + (i % w) as f64 + noise()).round().clamp(0.0, 255.0) as u8);
        }
        bytes.extend(std::iter::repeat_n(128, w * h / 2));
    }
    fs::write(f.path("a.y4m"), &bytes).unwrap();
    let table = ["a.y4m", "-o", "clean.y4m", "--sigma", "8", "--grain-table", "grain.tbl"];
    f.quell(&table).expect(0);
    let text = fs::read_to_string(f.path("grain.tbl")).unwrap();
    assert!(text.starts_with("filmgrn1\nE 0 "), "{text}");
    // How many points, and of each brightness and level.
    let luma = text.lines().find(|l| l.trim_start().starts_with("sY")).unwrap();
    let points: Vec<u32> = luma.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
    assert!(points[0] > 0 && points[1..].chunks_exact(2).any(|p| p[1] > 10), "{text}");
    f.quell(&["a.y4m", "-o", "clean.y4m", "--force", "--grain-table", "x.tbl", "--compare"]).expect(2);
    fs::write(f.path("a.pgm"), b"P5 2 2 255\n0123").unwrap();
    f.quell(&["a.pgm", "--grain-table", "x.tbl"]).expect(2).says("--grain-table is for clips");
    fs::copy(f.path("a.y4m"), f.path("b.y4m")).unwrap();
    f.quell(&["a.y4m", "b.y4m", "-o", "out/", "--grain-table", "x.tbl"])
        .expect(2)
        .says("one table for 2 clips");
    assert!(!f.path("x.tbl").exists());
}
