//! What ffprobe tells of a container's first video stream.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use quell::Layout;

use super::tool::{file, output};
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
    pub(super) frames: Option<u64>,
    /// Seconds from the beginning of the file to the first frame.
    pub(super) offset: f64,
    /// Settings of the filter `setparams` that keep the meaning of colours.
    pub(super) colours: Vec<(&'static str, String)>,
}

/// How pixels are stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Pixels {
    /// ffmpeg's name.
    pub(super) name: String,
    pub(super) rgb: bool,
    pub(super) alpha: bool,
    pub(super) mono: bool,
    /// Shifts from luma to chroma sizes.
    pub(super) chroma: (u32, u32),
    pub(super) bits: u32,
}

impl Probe {
    /// Asks ffprobe.
    pub(super) fn of(path: &Path, needed: &str) -> Result<Self> {
        let name = file(path);
        let args: [&OsStr; 7] = [
            "-v".as_ref(),
            "error".as_ref(),
            "-select_streams".as_ref(),
            "V:0".as_ref(),
            "-show_entries".as_ref(),
            "stream=width,height,pix_fmt,r_frame_rate,avg_frame_rate,nb_frames,duration,start_time,color_range,\
             color_space,color_transfer,color_primaries:format=start_time,duration"
                .as_ref(),
            &name,
        ];
        let text = output("ffprobe", &args, needed)?;
        let mut probe = Self::parse(&text)?;
        probe.pixels.describe(needed)?;
        Ok(probe)
    }

    fn parse(text: &str) -> Result<Self> {
        let (mut stream, mut container) = (HashMap::new(), HashMap::new());
        let mut section = None;
        for line in text.lines() {
            match (line, line.split_once('=')) {
                ("[STREAM]", _) => section = Some(&mut stream),
                ("[FORMAT]", _) => section = Some(&mut container),
                (_, Some((key, value))) if !matches!(value, "N/A" | "unknown" | "") => {
                    if let Some(s) = &mut section {
                        s.insert(key, value);
                    }
                }
                _ => {}
            }
        }
        let number = |map: &HashMap<&str, &str>, key| map.get(key).and_then(|v| v.parse::<f64>().ok());
        let (Some(width), Some(height), Some(name)) =
            (number(&stream, "width"), number(&stream, "height"), stream.get("pix_fmt"))
        else {
            return Err(Error::Decode("the file has no video that ffmpeg can decode".to_owned()));
        };
        let (base, mean) = (fraction(stream.get("r_frame_rate")), fraction(stream.get("avg_frame_rate")));
        // The base rate is the smallest that hits every timestamp: for fields it is twice that of the frames, for some
        // files far too many.
        let (rate, variable) = match (base, mean) {
            (Some(b), Some(m)) if alike(value(b), value(m)) => (base, false),
            (Some(b), Some(m)) if alike(value(b), 2.0 * value(m)) => (mean, false),
            (Some(b), Some(_)) => (if value(b) > 120.0 { mean } else { base }, true),
            _ => (base.or(mean), false),
        };
        let duration = number(&stream, "duration").or_else(|| number(&container, "duration"));
        let counted = number(&stream, "nb_frames").filter(|_| !variable);
        let frames = counted.or_else(|| Some(duration? * value(rate?))).map(|n| n.round() as u64);
        let start = number(&stream, "start_time").unwrap_or(0.0);
        let offset = start - number(&container, "start_time").unwrap_or(start);
        let colours = [
            ("range", "color_range"),
            ("colorspace", "color_space"),
            ("color_trc", "color_transfer"),
            ("color_primaries", "color_primaries"),
        ];
        let colours = colours.iter().filter_map(|(to, from)| Some((*to, (*stream.get(from)?).to_owned())));
        Ok(Self {
            width: width as usize,
            height: height as usize,
            pixels: Pixels { name: (*name).to_owned(), ..Pixels::default() },
            rate,
            variable,
            frames,
            offset,
            colours: colours.collect(),
        })
    }
}

fn fraction(text: Option<&&str>) -> Option<(u32, u32)> {
    let (n, d) = text?.split_once('/')?;
    Some((n.parse().ok()?, d.parse().ok()?)).filter(|(n, d)| *n > 0 && *d > 0)
}

fn value((n, d): (u32, u32)) -> f64 {
    f64::from(n) / f64::from(d)
}

/// Containers round the mean of a constant rate.
fn alike(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 2e-3
}

impl Pixels {
    /// Asks ffprobe what the name stands for.
    fn describe(&mut self, needed: &str) -> Result<()> {
        let args = ["-v", "error", "-show_pixel_formats", "-of", "compact"].map(OsStr::new);
        let text = output("ffprobe", &args, needed)?;
        self.find(&text)
            .ok_or_else(|| Error::Unsupported(format!("pixels of the kind {} are not supported", self.name)))
    }

    fn find(&mut self, text: &str) -> Option<()> {
        let wanted = format!("name={}", self.name);
        let line = text.lines().find(|l| l.split('|').nth(1) == Some(&wanted))?;
        let number = |key: &str| -> Option<u32> {
            line.split('|').find_map(|w| w.strip_prefix(key)?.strip_prefix('='))?.parse().ok()
        };
        let flag = |key: &str| number(&format!("flags:{key}")) == Some(1);
        self.rgb = flag("rgb") || flag("palette");
        self.alpha = flag("alpha");
        self.mono = !self.rgb && number("nb_components")? < 3;
        self.chroma = (number("log2_chroma_w").unwrap_or(0), number("log2_chroma_h").unwrap_or(0));
        self.bits = number("bit_depth")?;
        Some(())
    }

    /// The layout that holds these pixels without loss of resolution, and the depth that holds their samples.
    pub(super) fn layout(&self, rgb: bool) -> (Layout, u32) {
        let layout = match self.chroma {
            _ if self.rgb || rgb && !self.mono => Layout::Rgb,
            _ if self.mono => Layout::Mono,
            (1.., 1..) => Layout::Yuv420,
            (1.., 0) => Layout::Yuv422,
            _ => Layout::Yuv444,
        };
        let depths: &[u32] =
            if layout == Layout::Mono { &[8, 9, 10, 12, 16] } else { &[8, 9, 10, 12, 14, 16] };
        (layout, *depths.iter().find(|d| **d >= self.bits).unwrap_or(&16))
    }

    /// ffmpeg's name of planar pixels.
    pub(super) fn planar(layout: Layout, bits: u32) -> String {
        let base = match layout {
            Layout::Mono => "gray",
            Layout::Yuv420 => "yuv420p",
            Layout::Yuv422 => "yuv422p",
            Layout::Yuv444 => "yuv444p",
            Layout::Rgb => "gbrp",
        };
        if bits == 8 { base.to_owned() } else { format!("{base}{bits}le") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "[STREAM]\nwidth=64\nheight=48\npix_fmt=yuv420p10le\ncolor_range=tv\ncolor_space=bt709\n\
        color_transfer=unknown\nr_frame_rate=30000/1001\navg_frame_rate=2997/100\nstart_time=0.040000\n\
        duration=N/A\nnb_frames=N/A\n[/STREAM]\n[FORMAT]\nstart_time=0.010000\nduration=10.01\n[/FORMAT]\n";

    #[test]
    fn a_stream_is_read_with_its_gaps() {
        let p = Probe::parse(STREAM).unwrap();
        assert_eq!((p.width, p.height, p.pixels.name.as_str()), (64, 48, "yuv420p10le"));
        assert_eq!((p.rate, p.variable, p.frames), (Some((30000, 1001)), false, Some(300)));
        assert!((p.offset - 0.03).abs() < 1e-9);
        assert_eq!(p.colours, [("range", "tv".to_owned()), ("colorspace", "bt709".to_owned())]);
    }

    #[test]
    fn a_variable_rate_is_known_and_an_absurd_one_left_for_the_mean() {
        let p = Probe::parse(&STREAM.replace("30000/1001", "50/1")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((50, 1)), true));
        // Two fields a frame.
        let p = Probe::parse(&STREAM.replace("30000/1001", "60000/1001")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((2997, 100)), false));
        let p = Probe::parse(&STREAM.replace("30000/1001", "90000/1")).unwrap();
        assert_eq!((p.rate, p.variable), (Some((2997, 100)), true));
    }

    #[test]
    fn no_video_is_an_error() {
        let e = Probe::parse("[FORMAT]\nduration=1\n[/FORMAT]").unwrap_err();
        assert_eq!(e.to_string(), "the file has no video that ffmpeg can decode");
    }

    #[test]
    fn pixels_find_the_layout_that_holds_them() {
        let table = "pixel_format|name=p010le|nb_components=3|log2_chroma_w=1|log2_chroma_h=1|flags:rgb=0|component|index=1|bit_depth=10\n\
            pixel_format|name=yuv411p|nb_components=3|log2_chroma_w=2|log2_chroma_h=0|flags:rgb=0|component|index=1|bit_depth=8\n\
            pixel_format|name=gray14le|nb_components=1|log2_chroma_w=N/A|log2_chroma_h=N/A|flags:rgb=0|component|index=1|bit_depth=14\n\
            pixel_format|name=bgra|nb_components=4|log2_chroma_w=N/A|log2_chroma_h=N/A|flags:rgb=1|flags:alpha=1|component|index=1|bit_depth=8\n";
        for (name, want) in [
            ("p010le", (Layout::Yuv420, 10)),
            ("yuv411p", (Layout::Yuv422, 8)),
            ("gray14le", (Layout::Mono, 16)),
            ("bgra", (Layout::Rgb, 8)),
        ] {
            let mut p = Pixels { name: name.to_owned(), ..Pixels::default() };
            p.find(table).unwrap();
            assert_eq!(p.layout(false), want, "{name}");
        }
        assert!(Pixels { name: "p010".to_owned(), ..Pixels::default() }.find(table).is_none());
    }
}
