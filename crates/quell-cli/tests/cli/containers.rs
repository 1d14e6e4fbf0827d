//! What containers hold besides pictures, and how these are stored: kept, or said.

use std::fs;

use crate::clips::{SOURCE, ffmpeg, frames, probe, quick, y4m};
use crate::common::Folder;

#[test]
fn clips_keep_their_codec_and_pixels() {
    let f = Folder::new("codecs");
    for (name, codec) in [
        ("a.mp4", "libx264 -pix_fmt yuv420p"),
        ("b.mkv", "libx264 -pix_fmt yuv422p10le"),
        ("c.mkv", "libx265 -pix_fmt yuv420p10le -x265-params log-level=error"),
        ("d.webm", "libvpx-vp9 -pix_fmt yuv420p"),
        ("e.mov", "prores_ks -profile:v 1"),
        ("f.mkv", "ffv1 -pix_fmt yuv420p16le"),
        ("g.avi", "mpeg4 -q:v 3"),
        ("h.mpg", "mpeg2video -q:v 3 -pix_fmt yuv420p"),
        ("i.mov", "mjpeg -q:v 3 -pix_fmt yuvj422p"),
        ("j.mp4", "libx264rgb -pix_fmt bgr24"),
    ] {
        if !ffmpeg(&f, &format!("-f lavfi -i testsrc2=s=128x96:r=25:d=0.2 -c:v {codec} {name}")) {
            continue;
        }
        let run = f.quell(&quick(&[name])).expect(0);
        assert!(!run.err().contains("note:"), "{}", run.err());
        let (output, entries) = (name.replace('.', ".quell."), "stream=codec_name,profile,pix_fmt");
        assert_eq!(probe(&f, &output, entries), probe(&f, name, entries));
        assert_eq!(frames(&f, &output), 5);
    }
}

#[test]
fn another_codec_is_said_in_a_note() {
    let f = Folder::new("changed");
    if ffmpeg(&f, "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -c:v prores_ks a.mov") {
        f.quell(&quick(&["a.mov", "-o", "b.mp4"])).expect(0).says("stored as H.264 instead of ProRes");
    }
}

#[test]
fn quality_alone_does_not_change_the_encoder() {
    let f = Folder::new("quality");
    fs::write(f.path("a.y4m"), y4m(32, 32, 3)).unwrap();
    if !ffmpeg(&f, "-i a.y4m -c:v libx264 a.mkv") {
        return;
    }
    for (name, encode) in [("b.mkv", "-crf 20"), ("c.mkv", "-crf 45"), ("d.mkv", "-b:v 100k")] {
        f.quell(&quick(&["a.y4m", "-o", name, "--encode", encode])).expect(0);
        assert_eq!(probe(&f, name, "stream=codec_name"), "stream|codec_name=h264");
    }
    let size = |name: &str| fs::metadata(f.path(name)).unwrap().len();
    assert!(size("c.mkv") < size("b.mkv"), "it is used");
}

#[test]
fn hdr_metadata_and_colours_are_kept() {
    let f = Folder::new("hdr");
    let display = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)";
    let params = format!("log-level=error:hdr10=1:master-display={display}:max-cll=1000,400");
    let made = ffmpeg(
        &f,
        &format!(
            "-f lavfi -i testsrc2=s=128x96:r=25:d=0.2 -pix_fmt yuv420p10le -c:v libx265 -x265-params {params} \
             -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc a.mkv"
        ),
    );
    if !made {
        return;
    }
    let colours = "stream=codec_name,pix_fmt,color_range,color_space,color_transfer,color_primaries";
    let side = |name: &str| {
        let all = probe(&f, name, "frame=side_data_list:frame_side_data");
        let wanted = |l: &&str| l.contains("Mastering display") || l.contains("Content light");
        all.lines().filter(wanted).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(!side("a.mkv").is_empty(), "the input has it");
    for args in [&["a.mkv", "-o", "b.mkv"][..], &["a.mkv", "-o", "c.mkv", "--encode", "-c:v libx265 -crf 20"]]
    {
        let run = f.quell(&quick(args)).expect(0);
        assert!(!run.err().contains("note:"), "{}", run.err());
        assert_eq!(probe(&f, args[2], colours), probe(&f, "a.mkv", colours));
        assert_eq!(side(args[2])[0], side("a.mkv")[0]);
    }
    f.quell(&quick(&["a.mkv", "-o", "d.mkv", "--encode", "-c:v ffv1"]))
        .expect(0)
        .says("note: a.mkv: HDR10 metadata is left out: ffv1 has no place for it");
}

#[test]
fn interlaced_clips_stay_interlaced() {
    let f = Folder::new("fields");
    for (name, codec) in [
        ("a.mkv", "libx264 -pix_fmt yuv420p -top 0"),
        ("b.mpg", "mpeg2video -q:v 3 -top 1"),
        ("c.mov", "prores_ks -top 1"),
    ] {
        let scan = if codec.ends_with('0') { "bff" } else { "tff" };
        let made = ffmpeg(
            &f,
            &format!(
                "-f lavfi -i testsrc2=s=128x96:r=50:d=0.4 -vf interlace=scan={scan} -flags +ildct+ilme -c:v {codec} {name}"
            ),
        );
        if !made {
            continue;
        }
        f.quell(&quick(&[name])).expect(0).says("note: ").says("interlaced");
        let flags = |name: &str| {
            let all = probe(&f, name, "frame=interlaced_frame,top_field_first");
            all.lines().next().unwrap_or_default().split("|side_data").next().unwrap_or_default().to_owned()
        };
        assert!(flags(name).contains("interlaced_frame=1"), "{}", flags(name));
        assert_eq!(flags(&name.replace('.', ".quell.")), flags(name));
    }
    // An encoder without fields: the container tells.
    if f.path("a.mkv").exists() {
        f.quell(&quick(&["a.mkv", "-o", "d.mkv", "--encode", "-c:v ffv1"]))
            .expect(0)
            .says("the container alone says that it is interlaced: ffv1 has no fields");
        assert_eq!(probe(&f, "d.mkv", "stream=field_order"), "stream|field_order=bt");
    }
}

#[test]
fn shape_time_code_and_tags_of_the_stream_are_kept() {
    let f = Folder::new("tags");
    let made = ffmpeg(&f, &format!("{SOURCE} -vf setsar=16/15 -c:v mpeg4 -c:a aac a.mp4"))
        && ffmpeg(
            &f,
            "-i a.mp4 -c copy -metadata:s:v:0 handler_name=Camera -timecode 01:00:00:00 -metadata title=All b.mov",
        )
        && ffmpeg(&f, "-i a.mp4 -c copy -metadata:s:v:0 language=ger -metadata:s:v:0 title=Picture c.mkv");
    if !made {
        return;
    }
    for (name, entries) in [
        ("b.mov", "stream=sample_aspect_ratio,nb_frames:stream_tags=handler_name,timecode:format_tags=title"),
        ("c.mkv", "stream=sample_aspect_ratio:stream_tags=language,title"),
    ] {
        f.quell(&quick(&[name])).expect(0);
        assert_eq!(probe(&f, &name.replace('.', ".quell."), entries), probe(&f, name, entries));
    }
    // Frames are turned upright, and must not be turned once more.
    if ffmpeg(&f, "-i a.mp4 -c copy -metadata:s:v:0 rotate=90 d.mov")
        && probe(&f, "d.mov", "stream_side_data=rotation").contains("90")
    {
        f.quell(&quick(&["d.mov"])).expect(0);
        assert!(!probe(&f, "d.quell.mov", "stream_side_data=rotation").contains("90"));
        let shape = probe(&f, "d.quell.mov", "stream=width,height,sample_aspect_ratio");
        assert_eq!(
            shape.split("|side").next(),
            Some("stream|width=240|height=320|sample_aspect_ratio=15:16")
        );
    }
}

#[test]
fn what_is_left_out_is_said() {
    let f = Folder::new("left-out");
    if ffmpeg(&f, &format!("{SOURCE} -map 0:v -map 0:v -c:v mpeg4 a.mkv")) {
        f.quell(&quick(&["a.mkv"])).expect(0).says("note: a.mkv: a second video stream is left out");
    }
}
