//! Clips that are damaged, cut off or not what they seem: nothing good is lost for something worse.

use std::fs;

use crate::clips::{SOURCE, ffmpeg, files, frames, quick, stand_in, with_stand_in, y4m};
use crate::common::{Folder, noisy};
use quell_io::SampleType;

/// `a.NAME` of 30 frames with sound.
fn make(f: &Folder, name: &str) -> bool {
    ffmpeg(f, &format!("{SOURCE} -c:v mpeg4 -q:v 4 -c:a aac {name}"))
}

/// Puts garbage in the middle of a file.
fn spoil(f: &Folder, name: &str) -> Vec<u8> {
    let mut bytes = fs::read(f.path(name)).unwrap();
    let middle = bytes.len() / 2;
    assert!(bytes.len() > 30_000, "{}", bytes.len());
    let mut garbage = 12345_u32;
    for b in &mut bytes[middle - 5000..middle + 5000] {
        garbage = garbage.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *b = (garbage >> 24) as u8;
    }
    fs::write(f.path(name), &bytes).unwrap();
    bytes
}

#[test]
fn a_damaged_container_replaces_nothing_and_a_short_result_ends_with_1() {
    let f = Folder::new("garbage");
    for name in ["a.mkv", "a.mp4"] {
        if !make(&f, name) {
            return;
        }
        let bytes = spoil(&f, name);
        let run = f.quell(&quick(&[name, "--in-place"])).expect(1).says(" of 30 frames: ffmpeg: ");
        assert_eq!(run.err().lines().count(), 1, "{}", run.err());
        run.says(&format!("{name} is left as it was"));
        assert!(fs::read(f.path(name)).unwrap() == bytes);
        // Without --in-place it is kept, but not in place of another.
        let output = name.replace('.', ".quell.");
        f.quell(&quick(&[name])).expect(1).says(&format!("{output} has what could be read"));
        assert!(frames(&f, &output) > 0);
        fs::write(f.path(&output), "better than nothing").unwrap();
        f.quell(&quick(&[name, "-f"])).expect(1).says(" of 30 frames: ");
        assert_eq!(fs::read(f.path(&output)).unwrap(), b"better than nothing");
    }
    assert_eq!(f.files(), ["a.mkv", "a.mp4", "a.quell.mkv", "a.quell.mp4"]);
}

#[test]
fn a_container_that_is_cut_off_is_never_replaced() {
    let f = Folder::new("cut-container");
    // The second ends where it was cut without a word of ffmpeg's.
    for name in ["a.mkv", "a.avi"] {
        if !make(&f, name) {
            return;
        }
        let mut bytes = fs::read(f.path(name)).unwrap();
        bytes.truncate(bytes.len() / 2);
        fs::write(f.path(name), &bytes).unwrap();
        f.quell(&quick(&[name, "--in-place"]))
            .expect(1)
            .says(" of 3")
            .says(" frames: ")
            .says("left as it was");
        assert!(fs::read(f.path(name)).unwrap() == bytes);
    }
    assert_eq!(f.files(), ["a.avi", "a.mkv"]);
}

#[test]
fn a_y4m_file_that_is_cut_off_is_never_replaced() {
    let f = Folder::new("cut-y4m");
    let mut bytes = y4m(16, 16, 4);
    bytes.truncate(bytes.len() - 100);
    fs::write(f.path("a.y4m"), &bytes).unwrap();
    let message = "error: a.y4m: 3 of 4 frames: the stream is cut off inside frame 4; ";
    f.quell(&quick(&["a.y4m", "--in-place"])).expect(1).says(&format!("{message}a.y4m is left as it was"));
    assert!(fs::read(f.path("a.y4m")).unwrap() == bytes);
    f.quell(&quick(&["a.y4m"])).expect(1).says(&format!("{message}a.quell.y4m has what could be read"));
    fs::write(f.path("b.y4m"), "older").unwrap();
    f.quell(&quick(&["a.y4m", "-o", "b.y4m", "-f"])).expect(1).says("b.y4m is left as it was");
    assert_eq!(fs::read(f.path("b.y4m")).unwrap(), b"older");
    assert_eq!(f.files(), ["a.quell.y4m", "a.y4m", "b.y4m"]);
}

/// The arguments with `-frames:v 6` before the pipe that frames come out of.
const STOPS: &str = r#"n=$#
while [ $n -gt 0 ]; do
    a=$1; shift
    [ "$a" = pipe:1 ] && set -- "$@" -frames:v 6
    set -- "$@" "$a"; n=$((n - 1))
done
exec ffmpeg "$@""#;

#[test]
fn a_decoder_that_stops_early_without_a_word_is_found_out() {
    let f = Folder::new("stops");
    if !make(&f, "a.mkv") {
        return;
    }
    stand_in(&f, STOPS);
    let bytes = fs::read(f.path("a.mkv")).unwrap();
    with_stand_in(&f, &["a.mkv", "--in-place"]).expect(1).says("error: a.mkv: 6 of 30 frames: ");
    assert!(fs::read(f.path("a.mkv")).unwrap() == bytes);
    with_stand_in(&f, &["a.mkv"]).expect(1).says("6 of 30 frames: ");
    assert_eq!(frames(&f, "a.quell.mkv"), 6);
    assert_eq!(files(&f), ["a.mkv", "a.quell.mkv"]);
}

/// Files that the encoder writes end at 10 KB, as on a full disk.
const FULL: &str = r#"case "$*" in *pipe:0*) trap '' XFSZ; ulimit -f 20;; esac
exec ffmpeg "$@""#;

/// The encoder is content, but what it wrote is not all there.
const LOSES: &str = r#"ffmpeg "$@" || exit
case "$*" in *pipe:0*) for last; do :; done; truncate -s 12000 "${last#file:}";; esac"#;

/// The same, but the last frames are not there, and all is well otherwise.
const FORGETS: &str = r#"case "$*" in *pipe:0*) ;; *) exec ffmpeg "$@";; esac
n=$#
while [ $n -gt 0 ]; do
    a=$1; shift
    [ "$a" = -y ] && set -- "$@" -frames:v 25
    set -- "$@" "$a"; n=$((n - 1))
done
ffmpeg "$@"; s=$?; cat > /dev/null; exit $s"#;

#[test]
fn an_encoder_that_loses_something_replaces_nothing() {
    let f = Folder::new("loses");
    for (name, scripts) in [("a.mkv", &[FULL, LOSES, FORGETS][..]), ("a.mp4", &[FULL])] {
        if !make(&f, name) {
            return;
        }
        let bytes = fs::read(f.path(name)).unwrap();
        for script in scripts {
            stand_in(&f, script);
            for args in [&[name, "--in-place"][..], &[name]] {
                with_stand_in(&f, args).expect(1).says(&format!("error: {name}: cannot write a."));
                assert!(fs::read(f.path(name)).unwrap() == bytes, "{script}");
            }
        }
    }
    assert_eq!(files(&f), ["a.mkv", "a.mp4"]);
}

#[test]
fn frames_of_any_time_are_no_damage() {
    let f = Folder::new("times");
    let made = ffmpeg(&f, &format!("{SOURCE} -c:v mpeg4 -bf 2 -g 12 -c:a aac long.mp4"))
        // Every third frame behind the fifth: the rate varies.
        && ffmpeg(&f, "-i long.mp4 -vf select=lt(n\\,5)+not(mod(n\\,3)) -vsync vfr -c:v mpeg4 vary.mp4")
        && ffmpeg(&f, "-i vary.mp4 -c copy vary.mkv")
        // An edit list that begins inside a group of pictures.
        && ffmpeg(&f, "-ss 0.7 -i long.mp4 -c copy edit.mp4")
        && ffmpeg(&f, "-i long.mp4 -c copy long.avi")
        && ffmpeg(&f, "-i long.mp4 -c:v mpeg2video -bf 2 -g 12 -an open.ts");
    if !made {
        return;
    }
    for name in ["long.mp4", "vary.mp4", "vary.mkv", "edit.mp4", "long.avi", "open.ts"] {
        f.quell(&quick(&[name, "--in-place"])).expect(0);
        assert!(frames(&f, name) > 10, "{name}");
    }
}

#[test]
fn repeated_frames_are_said() {
    let f = Folder::new("repeated");
    let made = ffmpeg(&f, &format!("{SOURCE} -c:v mpeg4 -an long.mp4"))
        && ffmpeg(&f, "-i long.mp4 -vf select=lt(n\\,10)+gte(n\\,15) -vsync vfr -c:v mpeg4 gap.mkv");
    if made {
        f.quell(&quick(&["gap.mkv", "-o", "b.y4m"])).expect(0).says(", 30 frames, ").says("note: gap.mkv: ");
    }
}

#[test]
fn playlists_under_the_name_of_a_clip_are_refused() {
    let f = Folder::new("playlists");
    if !make(&f, "secret.mkv") {
        return;
    }
    let secret = f.path("secret.mkv");
    for (name, text, kind) in [
        ("a.mkv", "ffconcat version 1.0\nfile secret.mkv\n".to_owned(), "ffconcat"),
        ("b.mkv", "\u{feff}ffconcat version 1.0\nfile secret.mkv\n".to_owned(), "ffconcat"),
        (
            "c.ts",
            format!("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.2,\n{}\n", secret.to_str().unwrap()),
            "M3U",
        ),
        ("d.mp4", "<?xml version=\"1.0\"?><MPD></MPD>".to_owned(), "XML"),
    ] {
        fs::write(f.path(name), text).unwrap();
        let message = format!("error: {name}: the content is no clip but a playlist ({kind}), ");
        f.quell(&quick(&[name, "-o", "o.mkv"])).expect(1).says(&message);
    }
    // Whatever else ffmpeg would take.
    f.save("e.png", &[noisy(16, 16, 1)], SampleType::U8);
    fs::rename(f.path("e.png"), f.path("e.mkv")).unwrap();
    f.quell(&quick(&["e.mkv", "-o", "o.mkv"]))
        .expect(1)
        .says("error: e.mkv: the content is no container of a clip");
    assert!(!f.path("o.mkv").exists());
}

#[test]
fn ffprobe_is_the_one_beside_the_named_ffmpeg() {
    let f = Folder::new("beside");
    if !make(&f, "a.mkv") {
        return;
    }
    // A name without ffmpeg in it must not be run as ffprobe.
    stand_in(&f, "exec ffmpeg \"$@\"");
    fs::rename(f.path("bin/ffmpeg"), f.path("bin/wrapper.sh")).unwrap();
    let run = |args: &[&str]| {
        let mut command = f.command(&quick(args));
        command.env("QUELL_FFMPEG", f.path("bin/wrapper.sh"));
        crate::common::Run::of(command)
    };
    run(&["a.mkv"]).expect(0).says("30 frames");
    fs::remove_file(f.path("bin/ffprobe")).unwrap();
    run(&["a.mkv", "-f"])
        .expect(1)
        .says("wrapper.sh, which QUELL_FFMPEG names, was not found, and is needed for .mkv files");
}

fn save(f: &Folder, folder: &str, numbers: std::ops::Range<u64>) {
    numbers
        .for_each(|i| drop(f.save(&format!("{folder}/f_{i:02}.png"), &[noisy(16, 12, i)], SampleType::U8)));
}

#[test]
fn numbered_pictures_are_replaced_only_when_all_could_be_read() {
    let f = Folder::new("numbered-damaged");
    save(&f, "in", 1..7);
    let whole = fs::read(f.path("in/f_05.png")).unwrap();
    fs::write(f.path("in/f_05.png"), &whole[..whole.len() / 2]).unwrap();
    let before: Vec<_> = f.files().iter().map(|n| fs::read(f.path(n)).unwrap()).collect();
    f.quell(&quick(&["in/f_%02d.png", "--in-place"])).expect(1).says("f_05.png: ");
    let after: Vec<_> = f.files().iter().map(|n| fs::read(f.path(n)).unwrap()).collect();
    assert!(before == after, "{:?}", f.files());
    fs::write(f.path("in/f_05.png"), whole).unwrap();
    f.quell(&quick(&["in/f_%02d.png", "--in-place"])).expect(0);
    for (i, name) in f.files().iter().enumerate() {
        assert!(fs::read(f.path(name)).unwrap() != before[i], "{name} is filtered");
    }
    assert_eq!(f.files().len(), 6);
}

#[test]
fn a_shorter_result_leaves_no_pictures_of_a_longer_one() {
    let f = Folder::new("shorter");
    save(&f, "long", 1..8);
    save(&f, "short", 1..5);
    f.quell(&quick(&["long/f_%02d.png", "-o", "c_%02d.png"])).expect(0);
    // One that does not belong to them.
    fs::copy(f.path("c_01.png"), f.path("c_20.png")).unwrap();
    f.quell(&quick(&["short/f_%02d.png", "-o", "c_%02d.png"])).expect(0).says(
        "note: short/f_%02d.png: c_05.png to c_07.png left from an earlier, longer result; --force removes",
    );
    assert!(f.path("c_07.png").exists());
    f.quell(&quick(&["short/f_%02d.png", "-o", "c_%02d.png", "--force"]))
        .expect(0)
        .says("note: short/f_%02d.png: c_05.png to c_07.png removed: left from an earlier, longer result");
    let names: Vec<_> = f.files().into_iter().filter(|n| n.starts_with("c_")).collect();
    assert_eq!(names, ["c_01.png", "c_02.png", "c_03.png", "c_04.png", "c_20.png"]);
    // Pictures that nobody replaced are not ours.
    fs::rename(f.path("c_01.png"), f.path("d_05.png")).unwrap();
    f.quell(&quick(&["short/f_%02d.png", "-o", "d_%02d.png", "--force"])).expect(0);
    assert!(f.path("d_05.png").exists());
}
