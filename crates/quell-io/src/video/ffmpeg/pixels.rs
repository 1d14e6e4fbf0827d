//! Kinds of pixels as ffmpeg names them.

use std::ffi::OsStr;

use quell::Layout;

use super::tool::output;
use crate::{Error, Result};

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

impl Pixels {
    /// Asks ffprobe what the name stands for.
    pub(super) fn describe(&mut self, needed: &str) -> Result<()> {
        let args = ["-v", "error", "-show_pixel_formats", "-of", "compact"].map(OsStr::new);
        let text = output("ffprobe", &args, needed)?.text;
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
