//! Encoders that ffmpeg may have, and which belongs to which codec. Quality is nearly without loss: what was filtered
//! once should not be blurred again.

use quell::Layout::{self, Mono, Rgb, Yuv420, Yuv422, Yuv444};

/// An encoder.
#[derive(Debug, PartialEq)]
pub(super) struct Maker {
    /// ffmpeg's name.
    pub(super) name: &'static str,
    /// For messages.
    pub(super) title: &'static str,
    /// How good; left to the user who says so.
    pub(super) quality: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) layouts: &'static [Layout],
    pub(super) depths: &'static [u32],
    /// It has a mode for two fields in a frame.
    pub(super) fields: bool,
}

/// Codecs of one kind, by ffmpeg's names.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) codecs: &'static [&'static str],
    pub(super) title: &'static str,
    /// The best first.
    pub(super) makers: &'static [&'static str],
    /// Extensions of containers that take it.
    pub(super) containers: &'static [&'static str],
}

const ALL: &[Layout] = &[Mono, Yuv420, Yuv422, Yuv444, Rgb];
const YUV: &[Layout] = &[Yuv420, Yuv422, Yuv444];
const DEEP: &[u32] = &[8, 9, 10, 12, 14, 16];

const fn maker(
    name: &'static str,
    title: &'static str,
    quality: &'static [&'static str],
    options: &'static [&'static str],
    layouts: &'static [Layout],
    depths: &'static [u32],
) -> Maker {
    Maker { name, title, quality, options, layouts, depths, fields: false }
}

const fn of_fields(maker: Maker) -> Maker {
    Maker { fields: true, ..maker }
}

/// All that are used.
pub(super) const MAKERS: &[Maker] = &[
    of_fields(maker(
        "libx264",
        "H.264",
        &["-crf", "16"],
        &["-preset", "medium"],
        &[Mono, Yuv420, Yuv422, Yuv444],
        &[8, 10],
    )),
    maker("libx264rgb", "H.264", &["-crf", "12"], &["-preset", "medium"], &[Rgb], &[8]),
    maker("libx265", "HEVC", &["-crf", "14"], &[], ALL, &[8, 10, 12]),
    maker("libsvtav1", "AV1", &["-crf", "18"], &["-preset", "8"], &[Yuv420], &[8, 10]),
    maker(
        "libaom-av1",
        "AV1",
        &["-crf", "14", "-b:v:0", "0"],
        &["-cpu-used", "6", "-row-mt", "1"],
        YUV,
        &[8, 10, 12],
    ),
    maker("libvpx-vp9", "VP9", &["-crf", "18", "-b:v:0", "0"], &["-row-mt", "1"], YUV, &[8, 10, 12]),
    maker("libvpx", "VP8", &["-crf", "4", "-qmin", "0", "-b:v:0", "50M"], &[], &[Yuv420], &[8]),
    maker("ffv1", "FFV1", &[], &["-level", "3", "-slicecrc", "1"], ALL, DEEP),
    maker("ffvhuff", "FFVHUFF", &[], &[], &[Yuv420, Yuv422, Yuv444], &[8, 9, 10, 12, 14]),
    maker("utvideo", "Ut Video", &[], &[], &[Yuv420, Yuv422, Yuv444, Rgb], &[8]),
    of_fields(maker("prores_ks", "ProRes", &[], &["-vendor", "apl0"], &[Yuv422, Yuv444], &[10])),
    maker("dnxhd", "DNxHR", &[], &[], &[Yuv422, Yuv444], &[8, 10]),
    of_fields(maker("mpeg4", "MPEG-4", &["-q:v:0", "2"], &[], &[Yuv420], &[8])),
    of_fields(maker("mpeg2video", "MPEG-2", &["-q:v:0", "2"], &[], &[Yuv420, Yuv422], &[8])),
    maker("mpeg1video", "MPEG-1", &["-q:v:0", "2"], &[], &[Yuv420], &[8]),
    maker("mjpeg", "Motion JPEG", &["-q:v:0", "2"], &[], YUV, &[8]),
    maker("libtheora", "Theora", &["-q:v:0", "10"], &[], YUV, &[8]),
    maker("v210", "uncompressed", &[], &[], &[Yuv422], &[10]),
    maker("rawvideo", "uncompressed", &[], &[], YUV, &[8]),
    maker("png", "PNG", &[], &[], &[Rgb], &[8, 16]),
    maker("qtrle", "QuickTime Animation", &[], &[], &[Rgb], &[8]),
];

/// Codecs that are written again as what they were.
const FAMILIES: &[Family] = &[
    family(
        &["h264"],
        "H.264",
        &["libx264", "libx264rgb"],
        &["mp4", "m4v", "mov", "mkv", "ts", "m2ts", "mts"],
    ),
    family(&["hevc"], "HEVC", &["libx265"], &["mp4", "m4v", "mov", "mkv", "ts", "m2ts", "mts"]),
    family(&["av1"], "AV1", &["libsvtav1", "libaom-av1"], &["mp4", "m4v", "mkv", "webm"]),
    family(&["vp9"], "VP9", &["libvpx-vp9"], &["webm", "mkv", "mp4"]),
    family(&["vp8"], "VP8", &["libvpx"], &["webm", "mkv"]),
    family(&["ffv1"], "FFV1", &["ffv1"], &["mkv", "avi", "mov"]),
    family(&["huffyuv", "ffvhuff"], "HuffYUV", &["ffvhuff"], &["avi", "mkv"]),
    family(&["utvideo"], "Ut Video", &["utvideo"], &["avi", "mkv", "mov"]),
    family(&["prores"], "ProRes", &["prores_ks"], &["mov", "mkv"]),
    family(&["dnxhd"], "DNxHD", &["dnxhd"], &["mov", "mkv"]),
    family(&["mpeg4"], "MPEG-4", &["mpeg4"], &["mp4", "m4v", "mov", "mkv", "avi"]),
    family(
        &["mpeg2video"],
        "MPEG-2",
        &["mpeg2video"],
        &["mpg", "mpeg", "vob", "ts", "m2ts", "mts", "mkv", "mov"],
    ),
    family(&["mpeg1video"], "MPEG-1", &["mpeg1video"], &["mpg", "mpeg", "mkv"]),
    family(&["mjpeg"], "Motion JPEG", &["mjpeg"], &["mov", "avi", "mkv"]),
    family(&["theora"], "Theora", &["libtheora"], &["mkv"]),
    family(&["v210", "rawvideo"], "uncompressed", &["v210", "rawvideo"], &["mov", "avi", "mkv"]),
    family(&["png"], "PNG", &["png"], &["mov", "mkv", "avi"]),
    family(&["qtrle"], "QuickTime Animation", &["qtrle"], &["mov"]),
];

const fn family(
    codecs: &'static [&'static str],
    title: &'static str,
    makers: &'static [&'static str],
    containers: &'static [&'static str],
) -> Family {
    Family { codecs, title, makers, containers }
}

/// The encoder of this name.
pub(super) fn find(name: &str) -> Option<&'static Maker> {
    MAKERS.iter().find(|m| m.name == name)
}

/// The family of a codec.
pub(super) fn family_of(codec: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.codecs.contains(&codec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_makers() {
        for family in FAMILIES {
            assert!(family.makers.iter().all(|m| find(m).is_some()), "{family:?}");
        }
    }
}
