//! What ffprobe tells of a container's first video stream.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::Value;

use super::hdr::Hdr;
use super::pixels::Pixels;
use super::source::{self, file, limits};
use super::tool::output;
use crate::video::Fields;
use crate::{Error, Result};

/// What is to be known of a video stream before it is decoded, and for encoding it again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probe {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Pixels,
    /// Frames a second.
    pub(super) rate: Option<(u32, u32)>,
    /// Frames do not follow each other at that rate.
    pub(super) variable: bool,
    /// As many as come out at that rate: as the container tells, or by its duration.
    pub(super) frames: Option<u64>,
    /// As many as the container tells, or by its duration where the rate is constant. Edit lists and empty packets may
    /// make it fewer: it is for messages.
    pub(super) announced: Option<u64>,
    /// Seconds from the beginning of the file to the first frame.
    pub(super) offset: f64,
    /// Settings of the filter `setparams` that keep the meaning of colours.
    pub(super) colours: Vec<(&'static str, String)>,
    /// ffmpeg's name of the codec, and of its profile.
    pub(super) codec: String,
    pub(super) profile: String,
    pub(super) fields: Fields,
    /// Width of a pixel by its height, as it is shown: upright.
    pub(super) aspect: Option<(u32, u32)>,
    pub(super) hdr: Hdr,
    /// Its number in the file.
    pub(super) index: u64,
    /// Names of what is written beside the stream.
    pub(super) tags: Vec<String>,
    /// Streams that are neither picture, sound nor text, by their kind; time codes are not among them.
    pub(super) data: Vec<String>,
    /// Video streams behind the first.
    pub(super) more: usize,
}

impl Probe {
    /// Asks ffprobe.
    pub(super) fn of(path: &Path, needed: &str) -> Result<Self> {
        let show = ["-show_streams", "-show_format"];
        let mut probe = Self::parse(&ask(path, &show, needed)?)?;
        probe.pixels.describe(needed)?;
        if probe.is_hdr() && probe.hdr.is_empty() {
            // Streams may have it in their frames only.
            let frame = ["-select_streams", "V:0", "-show_frames", "-read_intervals", "%+#1"];
            probe.hdr = Hdr::of_frames(&ask(path, &frame, needed)?);
        }
        Ok(probe)
    }

    fn is_hdr(&self) -> bool {
        self.colours.iter().any(|(k, v)| *k == "color_trc" && (v == "smpte2084" || v == "arib-std-b67"))
    }

    /// From ffprobe's JSON.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let none = || Error::Decode("the file has no video that ffmpeg can decode".to_owned());
        let all: Value =
            serde_json::from_str(text).map_err(|e| Error::Ffmpeg(format!("ffprobe's answer: {e}")))?;
        let streams = all["streams"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_video = |s: &&Value| {
            string(s, "codec_type") == Some("video") && number(&s["disposition"], "attached_pic") != Some(1.0)
        };
        let mut videos = streams.iter().filter(is_video);
        let stream = videos.next().ok_or_else(none)?;
        let (Some(width), Some(height), Some(name)) =
            (size(stream, "width"), size(stream, "height"), string(stream, "pix_fmt"))
        else {
            return Err(none());
        };
        let container = &all["format"];
        let rate = |key| fraction(string(stream, key), '/');
        let (rate, variable) = choose_rate(rate("r_frame_rate"), rate("avg_frame_rate"));
        let start = number(stream, "start_time").unwrap_or(0.0);
        // Matroska has the end of each stream as a tag; the file may end later, with its sound.
        let tagged = || Some(clock(string(&stream["tags"], "DURATION")?)? - start);
        let duration = number(stream, "duration").or_else(tagged).or_else(|| number(container, "duration"));
        let counted = number(stream, "nb_frames");
        let frames = counted.filter(|_| !variable).or_else(|| Some(duration? * value(rate?)));
        let offset = start - number(container, "start_time").unwrap_or(start);
        let colours = [
            ("range", "color_range"),
            ("colorspace", "color_space"),
            ("color_trc", "color_transfer"),
            ("color_primaries", "color_primaries"),
        ];
        let colours = colours.iter().filter_map(|(to, from)| Some((*to, word(stream, from)?)));
        let side = stream["side_data_list"].as_array().map(Vec::as_slice).unwrap_or_default();
        let quarter =
            side.iter().any(|s| number(s, "rotation").is_some_and(|r| (r / 90.0).round() as i64 % 2 != 0));
        let aspect = fraction(string(stream, "sample_aspect_ratio"), ':');
        let is_data = |s: &&Value| {
            string(s, "codec_type") == Some("data") && string(s, "codec_tag_string") != Some("tmcd")
        };
        let kind = |s: &Value| word(s, "codec_name").or_else(|| word(s, "codec_tag_string"));
        Ok(Self {
            width,
            height,
            pixels: Pixels { name: name.to_owned(), ..Pixels::default() },
            rate,
            variable,
            frames: frames.map(whole),
            announced: counted.or(frames.filter(|_| !variable)).map(whole),
            offset: if offset.is_finite() { offset } else { 0.0 },
            colours: colours.collect(),
            codec: word(stream, "codec_name").unwrap_or_default(),
            profile: word(stream, "profile").unwrap_or_default(),
            fields: match string(stream, "field_order") {
                Some("progressive") => Fields::Progressive,
                Some("tt" | "tb") => Fields::TopFirst,
                Some("bb" | "bt") => Fields::BottomFirst,
                _ => Fields::Unknown,
            },
            aspect: aspect.map(|(n, d)| if quarter { (d, n) } else { (n, d) }),
            hdr: Hdr::of(side),
            index: number(stream, "index").map_or(0, |n| n as u64),
            tags: stream["tags"].as_object().map(|t| t.keys().cloned().collect()).unwrap_or_default(),
            data: streams.iter().filter(is_data).map(|s| kind(s).unwrap_or_default()).collect(),
            more: videos.count(),
        })
    }
}

/// What ffprobe answers, as JSON.
fn ask(path: &Path, what: &[&str], needed: &str) -> Result<String> {
    let mut args: Vec<OsString> = ["-v", "level+error", "-of", "json"].map(OsString::from).into();
    args.extend(limits());
    args.extend(what.iter().map(OsString::from));
    args.push(file(path));
    let args: Vec<&OsStr> = args.iter().map(OsString::as_os_str).collect();
    // What it says of damage is said again, and counted, when the file is decoded.
    output("ffprobe", &args, needed).map(|o| o.text).map_err(source::explain)
}

/// For fuzzing: any text as ffprobe's answer.
#[doc(hidden)]
pub fn parse_probe(text: &str) -> bool {
    let of_frames = Hdr::of_frames(text);
    let words = |hdr: &Hdr| (hdr.x265(), hdr.x264(), hdr.notes("x"));
    words(&of_frames);
    match Probe::parse(text) {
        Ok(probe) => {
            words(&probe.hdr);
            let (layout, bits) = probe.pixels.layout(false);
            !Pixels::planar(layout, bits).is_empty() && probe.is_hdr()
        }
        Err(_) => false,
    }
}

/// The frame rate, and whether it varies. The base rate is the smallest that hits every timestamp: for fields it is
/// twice that of the frames, for some files far too many.
fn choose_rate(base: Option<(u32, u32)>, mean: Option<(u32, u32)>) -> (Option<(u32, u32)>, bool) {
    match (base, mean) {
        (Some(b), Some(m)) if alike(value(b), value(m)) => (base, false),
        (Some(b), Some(m)) if alike(value(b), 2.0 * value(m)) => (mean, false),
        (Some(b), Some(_)) => (if value(b) > 120.0 { mean } else { base }, true),
        _ => (base.or(mean), false),
    }
}

/// A text that says something.
fn string<'a>(from: &'a Value, key: &str) -> Option<&'a str> {
    from[key].as_str().filter(|v| !matches!(*v, "N/A" | "unknown" | ""))
}

/// A word that can stand in an argument, between colons.
fn word(from: &Value, key: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    string(from, key).filter(|v| v.chars().all(plain)).map(str::to_owned)
}

/// A number, which ffprobe writes as one or as a text.
pub(super) fn number(from: &Value, key: &str) -> Option<f64> {
    let value = &from[key];
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    number.filter(|n| n.is_finite())
}

fn size(from: &Value, key: &str) -> Option<usize> {
    number(from, key).filter(|n| (1.0..=f64::from(u32::MAX)).contains(n)).map(|n| n as usize)
}

pub(super) fn fraction(text: Option<&str>, between: char) -> Option<(u32, u32)> {
    let (n, d) = text?.split_once(between)?;
    Some((n.parse().ok()?, d.parse().ok()?)).filter(|(n, d)| *n > 0 && *d > 0)
}

/// `00:00:01.240000000` in seconds.
fn clock(text: &str) -> Option<f64> {
    let mut parts = text.splitn(3, ':').map(|p| p.parse::<f64>().ok().filter(|n| n.is_finite()));
    Some(parts.next()?? * 3600.0 + parts.next()?? * 60.0 + parts.next()??)
}

fn whole(n: f64) -> u64 {
    n.max(0.0).round() as u64
}

fn value((n, d): (u32, u32)) -> f64 {
    f64::from(n) / f64::from(d)
}

/// Containers round the mean of a constant rate.
fn alike(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 2e-3
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"streams": [
        {"index": 0, "codec_type": "video", "codec_name": "png", "width": 9, "height": 9, "pix_fmt": "rgb24",
         "disposition": {"attached_pic": 1}},
        {"index": 1, "codec_type": "video", "codec_name": "hevc", "width": 64, "height": 48,
         "pix_fmt": "yuv420p10le", "color_range": "tv", "color_space": "bt709", "color_transfer": "unknown",
         "field_order": "bb", "sample_aspect_ratio": "4:3", "r_frame_rate": "30000/1001",
         "avg_frame_rate": "2997/100", "start_time": "0.040000", "nb_frames": "N/A",
         "tags": {"title": "a\n[STREAM]\nwidth=7"},
         "side_data_list": [{"side_data_type": "Display Matrix", "rotation": -90}]},
        {"index": 2, "codec_type": "data", "codec_tag_string": "tmcd"},
        {"index": 3, "codec_type": "data", "codec_tag_string": "gpmd"}],
        "format": {"start_time": "0.010000", "duration": "10.01"}}"#;

    #[test]
    fn the_first_stream_that_is_no_cover_is_read_with_its_gaps() {
        let p = Probe::parse(FILE).unwrap();
        assert_eq!((p.width, p.height, p.pixels.name.as_str(), p.index), (64, 48, "yuv420p10le", 1));
        assert_eq!((p.rate, p.variable, p.frames), (Some((30000, 1001)), false, Some(300)));
        assert!((p.offset - 0.03).abs() < 1e-9);
        assert_eq!(p.colours, [("range", "tv".to_owned()), ("colorspace", "bt709".to_owned())]);
        assert_eq!((p.codec.as_str(), p.fields, p.more), ("hevc", Fields::BottomFirst, 0));
        assert_eq!((p.tags, p.data), (vec!["title".to_owned()], vec!["gpmd".to_owned()]));
        // Frames are turned upright.
        assert_eq!(p.aspect, Some((3, 4)));
        // The end of this stream, not of the file.
        let tagged = FILE.replace(r#""title":"#, r#""DURATION": "00:00:02.042000000", "title":"#);
        assert_eq!(Probe::parse(&tagged).unwrap().frames, Some(60));
    }

    #[test]
    fn a_variable_rate_is_known_and_an_absurd_one_left_for_the_mean() {
        let p = Probe::parse(&FILE.replace("30000/1001", "50/1")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((50, 1)), true));
        // Two fields a frame.
        let p = Probe::parse(&FILE.replace("30000/1001", "60000/1001")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((2997, 100)), false));
        let p = Probe::parse(&FILE.replace("30000/1001", "90000/1")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((2997, 100)), true));
    }

    #[test]
    fn no_video_is_an_error_and_so_are_answers_that_make_no_sense() {
        let none = "the file has no video that ffmpeg can decode";
        for text in ["{}", r#"{"streams": [7, {"codec_type": "video"}]}"#, &FILE.replace("48", "-48"), "[]"] {
            assert_eq!(Probe::parse(text).unwrap_err().to_string(), none, "{text}");
        }
        assert!(Probe::parse("[STREAM]").unwrap_err().to_string().contains("ffprobe's answer"));
        // What could be taken for another option or filter.
        let p = Probe::parse(&FILE.replace("bt709", "bt709,drawtext=textfile=a")).unwrap();
        assert_eq!(p.colours, [("range", "tv".to_owned())]);
    }
}
