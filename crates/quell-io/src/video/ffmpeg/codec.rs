//! How a clip is encoded: as it was where that can be, otherwise as its container is used to.

use quell::Layout;

use super::makers::{self, Family, Maker};
use super::pixels::Pixels;
use super::probe::Probe;
use crate::video::info::{Origin, VideoInfo};
use crate::{Error, Result};

/// Options that name an encoder.
const CODEC: [&str; 8] = ["-c", "-codec", "-c:v", "-c:v:0", "-codec:v", "-codec:v:0", "-vcodec", "-c:V:0"];
/// Options that say how good, without what may stand behind a colon.
const QUALITY: [&str; 9] = ["-crf", "-b", "-vb", "-q", "-qscale", "-qp", "-cq", "-global_quality", "-qmax"];
/// Options that change how many frames there are, without what may stand behind a colon.
const LENGTH: [&str; 11] = [
    "-vf",
    "-filter",
    "-filter_complex",
    "-lavfi",
    "-t",
    "-to",
    "-ss",
    "-frames",
    "-vframes",
    "-fps_mode",
    "-vsync",
];

/// An encoder with what it is to store.
#[derive(Debug, PartialEq)]
pub(super) struct Codec {
    pub(super) maker: &'static Maker,
    pub(super) layout: Layout,
    pub(super) bits: u32,
    /// RGB becomes YUV by the usual matrix, and says so.
    convert: bool,
    /// Options that depend on the clip.
    more: Vec<String>,
}

impl Codec {
    /// The encoder for a container: that of the same kind as the input's, or what players of the container can play.
    /// `has` tells which encoders there are.
    pub(super) fn choose(
        extension: &str,
        info: &VideoInfo,
        has: impl Fn(&str) -> bool,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let usual = usual(extension, info)?;
        let probe = match &info.origin {
            Origin::Container(_, probe) => Some(&**probe),
            _ => None,
        };
        let family = probe.and_then(|p| makers::family_of(&p.codec));
        let same = family.and_then(|f| same(f, extension, info, has));
        if let Some(probe) = probe
            && same.is_none()
            && !family.is_some_and(|f| f.makers.contains(&usual.name))
        {
            let was = family.map_or(&*probe.codec, |f| f.title);
            notes.push(format!("stored as {} instead of {was}", usual.title));
        }
        let maker = same.unwrap_or(usual);
        let bits = info.bits().unwrap_or(16);
        let rgb = info.format.layout == Layout::Rgb;
        let convert =
            rgb && !maker.layouts.contains(&Layout::Rgb) || rgb && same.is_none() && maker.name != "ffv1";
        let mut layout = if convert { Layout::Yuv420 } else { info.format.layout };
        if !maker.layouts.contains(&layout) {
            layout = Layout::Yuv420;
        }
        let (x, y) = layout.subsampling();
        let even = info.format.width.is_multiple_of(x) && info.format.height.is_multiple_of(y);
        if maker.name.starts_with("libx26") && !even {
            layout = Layout::Yuv444;
        }
        if layout != info.format.layout {
            notes.push(format!("stored as {}", layout.name()));
        }
        let most = maker.depths.last().copied().unwrap_or(8);
        let stored = *maker.depths.iter().find(|d| **d >= bits.min(most)).unwrap_or(&most);
        if stored < bits {
            notes.push(format!("stored with {stored} bits instead of {bits}"));
        }
        let more = of_profile(maker.name, layout, stored, probe);
        Ok(Self { maker, layout, bits: stored, convert, more })
    }

    /// Arguments for ffmpeg, before those of the user.
    pub(super) fn args(&self, extension: &str, own: &[String]) -> Vec<String> {
        let mut args: Vec<String> = ["-c:v:0", self.maker.name].map(str::to_owned).into();
        let quality: &[&str] = if own.iter().any(|a| is(a, &QUALITY)) { &[] } else { self.maker.quality };
        args.extend(quality.iter().chain(self.maker.options).map(|o| (*o).to_owned()));
        args.extend(self.more.iter().cloned());
        args.extend(["-pix_fmt:v:0".to_owned(), self.pixels()]);
        if self.maker.name == "libx265" && matches!(extension, "mp4" | "m4v" | "mov") {
            // Without it Apple's players do not know it.
            args.extend(["-tag:v:0", "hvc1"].map(str::to_owned));
        }
        args
    }

    /// What of the user's arguments has no effect: ffmpeg passes over a quality that the encoder does not know.
    pub(super) fn unused(&self, own: &[String]) -> Option<String> {
        let unknown = own.iter().any(|a| is(a, &["-crf"])) && !self.maker.quality.contains(&"-crf");
        unknown.then(|| format!("-crf has no effect: {} has no such quality", self.maker.title))
    }

    /// Filters before it.
    pub(super) fn filters(&self) -> &'static [&'static str] {
        const BT709: &[&str] = &[
            "scale=out_color_matrix=bt709:out_range=tv",
            "setparams=range=tv:colorspace=bt709:color_trc=bt709:color_primaries=bt709",
        ];
        if self.convert { BT709 } else { &[] }
    }

    fn pixels(&self) -> String {
        match (self.maker.name, self.layout, self.bits) {
            // Three bytes and one of nothing, as FFV1 has it.
            ("ffv1", Layout::Rgb, 8) => "bgr0".to_owned(),
            ("libx264rgb", ..) => "bgr24".to_owned(),
            ("png" | "qtrle", _, 8) => "rgb24".to_owned(),
            ("png", ..) => "rgb48be".to_owned(),
            ("mjpeg", layout, _) => Pixels::planar(layout, 8).replace("yuv", "yuvj"),
            (_, layout, bits) => Pixels::planar(layout, bits),
        }
    }
}

/// An encoder of the family that can do it here.
fn same(
    family: &Family,
    extension: &str,
    info: &VideoInfo,
    has: impl Fn(&str) -> bool,
) -> Option<&'static Maker> {
    if !family.containers.contains(&extension) {
        return None;
    }
    let (layout, bits) = (info.format.layout, info.bits().unwrap_or(16));
    let (width, height) = (info.format.width, info.format.height);
    let fits = |m: &&'static Maker| {
        let enough = m.depths.last().is_some_and(|most| bits <= *most) || m.name == "prores_ks";
        let layout =
            m.layouts.contains(&layout) || layout == Layout::Mono && m.layouts.contains(&Layout::Yuv420);
        let size = match m.name {
            "libsvtav1" => width >= 64 && height >= 64 && width % 2 == 0 && height % 2 == 0,
            "dnxhd" => width >= 256 && height >= 120,
            _ => true,
        };
        enough && layout && size && has(m.name)
    };
    family.makers.iter().filter_map(|m| makers::find(m)).find(fits)
}

/// The encoder that a container is used to.
fn usual(extension: &str, info: &VideoInfo) -> Result<&'static Maker> {
    let bits = info.bits().unwrap_or(16);
    let rgb = info.format.layout == Layout::Rgb;
    let name = match extension {
        "mp4" | "m4v" | "mov" | "mkv" | "ts" | "m2ts" | "mts" if bits <= 10 || rgb => "libx264",
        "mkv" if bits > 12 => "ffv1",
        "mp4" | "m4v" | "mov" | "mkv" | "ts" | "m2ts" | "mts" => "libx265",
        "webm" => "libvpx-vp9",
        "avi" => "ffv1",
        "mpg" | "mpeg" | "vob" => "mpeg2video",
        _ => "",
    };
    makers::find(name).ok_or_else(|| {
        Error::Encode(format!(
            ".{extension} files can be read, but not written; name another output, such as .mkv"
        ))
    })
}

/// The options that keep the profile of the input.
fn of_profile(maker: &str, layout: Layout, bits: u32, probe: Option<&Probe>) -> Vec<String> {
    let was = probe.map_or("", |p| &*p.profile);
    let profile = match (maker, layout) {
        ("prores_ks", Layout::Yuv444) => {
            if was == "XQ" {
                "5"
            } else {
                "4"
            }
        }
        ("prores_ks", _) => match was {
            "Proxy" => "0",
            "LT" => "1",
            "Standard" => "2",
            _ => "3",
        },
        ("dnxhd", Layout::Yuv444) => "dnxhr_444",
        ("dnxhd", _) if bits > 8 => "dnxhr_hqx",
        ("dnxhd", _) => match was {
            "DNXHR LB" => "dnxhr_lb",
            "DNXHR SQ" => "dnxhr_sq",
            _ => "dnxhr_hq",
        },
        _ => return Vec::new(),
    };
    ["-profile:v:0", profile].map(str::to_owned).into()
}

/// The encoder that the user names.
pub(super) fn named(own: &[String]) -> Option<&str> {
    own.windows(2).rev().find(|w| CODEC.contains(&&*w[0])).map(|w| &*w[1])
}

/// Whether the user's arguments may change how many frames there are.
pub(super) fn changes_length(own: &[String]) -> bool {
    own.iter().any(|a| is(a, &LENGTH))
}

/// Whether it is one of the options, for all streams or those of pictures.
fn is(argument: &str, options: &[&str]) -> bool {
    let (option, stream) = argument.split_once(':').unwrap_or((argument, "v"));
    options.contains(&option) && !stream.starts_with(['a', 's'])
}

/// What an encoder is told of the clip, whoever chose it: its fields and HDR metadata. `own` are the user's arguments,
/// which come behind.
pub(super) fn of_clip(
    encoder: &str,
    info: &VideoInfo,
    own: &[String],
    notes: &mut Vec<String>,
) -> Vec<String> {
    let mut args = Vec::new();
    let hdr = match &info.origin {
        Origin::Container(_, probe) => probe.hdr.clone(),
        _ => Default::default(),
    };
    notes.extend(hdr.notes(encoder));
    let mut add = |option: &str, words: Vec<String>| {
        // Said twice, the last would win.
        if !words.is_empty() && !own.iter().any(|a| a == option) {
            args.extend([option.to_owned(), words.join(":")]);
        }
    };
    match encoder {
        "libx265" => add("-x265-params", [vec!["log-level=error".to_owned()], hdr.x265()].concat()),
        "libx264" => add("-x264-params", hdr.x264()),
        _ => {}
    }
    if info.fields.interlaced() {
        if makers::find(encoder).is_some_and(|m| m.fields) {
            args.extend(["-flags:v:0", "+ildct+ilme"].map(str::to_owned));
        } else {
            notes.push(format!("the container alone says that it is interlaced: {encoder} has no fields"));
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell::VideoFormat;

    fn info(size: (usize, usize), layout: Layout, bits: u32, codec: &str) -> VideoInfo {
        let mut info = VideoInfo::new(VideoFormat::with_bits(size.0, size.1, layout, bits).unwrap());
        if !codec.is_empty() {
            let probe = Probe { codec: codec.to_owned(), ..Probe::default() };
            info.origin = Origin::Container("a".into(), Box::new(probe));
        }
        info
    }

    fn choose(extension: &str, info: &VideoInfo) -> (Codec, Vec<String>) {
        let mut notes = Vec::new();
        (Codec::choose(extension, info, |_| true, &mut notes).unwrap(), notes)
    }

    #[test]
    fn depth_and_layout_are_kept_where_the_container_has_them() {
        for (extension, layout, bits, name) in [
            ("mp4", Layout::Yuv420, 8, "libx264"),
            ("mkv", Layout::Yuv422, 10, "libx264"),
            ("mov", Layout::Yuv444, 12, "libx265"),
            ("mkv", Layout::Yuv420, 16, "ffv1"),
            ("webm", Layout::Yuv420, 8, "libvpx-vp9"),
            ("avi", Layout::Rgb, 16, "ffv1"),
        ] {
            let (codec, notes) = choose(extension, &info((64, 48), layout, bits, ""));
            assert_eq!((codec.maker.name, codec.layout, codec.bits), (name, layout, bits), "{extension}");
            assert!(notes.is_empty(), "{notes:?}");
        }
    }

    #[test]
    fn what_is_stored_otherwise_is_said() {
        let (codec, notes) = choose("mp4", &info((63, 48), Layout::Yuv420, 8, ""));
        assert_eq!((codec.layout, notes), (Layout::Yuv444, vec!["stored as 4:4:4".to_owned()]));
        let (codec, notes) = choose("mp4", &info((64, 48), Layout::Rgb, 16, ""));
        assert_eq!((codec.layout, codec.bits, notes.len()), (Layout::Yuv420, 10, 2));
        let (codec, notes) = choose("mp4", &info((64, 48), Layout::Mono, 16, ""));
        assert_eq!((codec.maker.name, codec.bits, notes.len()), ("libx265", 12, 1));
        let wmv = info((8, 8), Layout::Mono, 8, "");
        assert!(Codec::choose("wmv", &wmv, |_| true, &mut Vec::new()).is_err());
    }

    #[test]
    fn the_codec_of_the_input_is_kept() {
        for (extension, layout, bits, codec, name) in [
            ("mp4", Layout::Yuv420, 10, "hevc", "libx265"),
            ("mkv", Layout::Yuv420, 8, "av1", "libsvtav1"),
            ("webm", Layout::Yuv444, 10, "av1", "libaom-av1"),
            ("mp4", Layout::Yuv420, 8, "vp9", "libvpx-vp9"),
            ("mov", Layout::Yuv422, 10, "prores", "prores_ks"),
            ("mkv", Layout::Yuv420, 8, "ffv1", "ffv1"),
            ("avi", Layout::Yuv420, 8, "mpeg4", "mpeg4"),
            ("mp4", Layout::Rgb, 8, "h264", "libx264rgb"),
            ("mpg", Layout::Yuv420, 8, "mpeg1video", "mpeg1video"),
        ] {
            let (chosen, notes) = choose(extension, &info((64, 64), layout, bits, codec));
            assert_eq!((chosen.maker.name, chosen.layout, chosen.bits), (name, layout, bits), "{codec}");
            assert_eq!(notes, Vec::<String>::new(), "{codec}");
        }
    }

    #[test]
    fn another_codec_is_said() {
        for (extension, codec, message) in [
            ("mp4", "prores", "stored as H.264 instead of ProRes"),
            ("mkv", "vc1", "stored as H.264 instead of vc1"),
            ("webm", "h264", "stored as VP9 instead of H.264"),
        ] {
            let (_, notes) = choose(extension, &info((64, 64), Layout::Yuv422, 10, codec));
            assert_eq!(notes, [message]);
        }
        let hevc = info((64, 64), Layout::Yuv420, 8, "hevc");
        let mut notes = Vec::new();
        let codec = Codec::choose("mkv", &hevc, |name| name != "libx265", &mut notes).unwrap();
        assert_eq!(
            (codec.maker.name, notes),
            ("libx264", vec!["stored as H.264 instead of HEVC".to_owned()])
        );
    }

    #[test]
    fn profiles_of_prores_are_kept() {
        let mut probe = Probe { profile: "LT".to_owned(), ..Probe::default() };
        assert_eq!(of_profile("prores_ks", Layout::Yuv422, 10, Some(&probe)), ["-profile:v:0", "1"]);
        probe.profile = "XQ".to_owned();
        assert_eq!(of_profile("prores_ks", Layout::Yuv444, 10, Some(&probe)), ["-profile:v:0", "5"]);
    }

    #[test]
    fn what_the_user_says_of_quality_takes_the_place_of_ours() {
        let (codec, _) = choose("mp4", &info((64, 64), Layout::Yuv420, 8, ""));
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let args = |own: &str| codec.args("mp4", &words(own));
        assert!(args("-tune grain").contains(&"-crf".to_owned()));
        assert!(args("-b:a 96k").contains(&"-crf".to_owned()));
        for own in ["-crf 20", "-b:v 5M", "-q:v 3"] {
            assert!(!args(own).contains(&"-crf".to_owned()), "{own}");
            assert_eq!(args(own)[..2], ["-c:v:0", "libx264"]);
            assert_eq!(named(&words(own)), None);
        }
        assert_eq!(codec.unused(&words("-crf 20")), None);
        let (prores, _) = choose("mov", &info((64, 64), Layout::Yuv422, 10, "prores"));
        let said = prores.unused(&words("-crf 20"));
        assert_eq!(said.as_deref(), Some("-crf has no effect: ProRes has no such quality"));
        assert_eq!(named(&words("-crf 20 -c:v libx265")), Some("libx265"));
        assert!(changes_length(&words("-vf:v fps=5")) && !changes_length(&words("-crf 20 -tune film")));
    }
}
