//! What is said of HDR pictures beside their colours: the display they were graded on (SMPTE ST 2086) and how bright
//! they get (CTA-861.3), as encoders take it.

use serde_json::Value;

use super::probe::number;

/// Static HDR10 metadata of a stream, and what else there was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hdr {
    /// Green, blue, red and white, x and y, in steps of 0.00002; the largest and the smallest luminance in steps of
    /// 0.0001 candela per square metre.
    display: Option<[u32; 10]>,
    /// The brightest pixel, and the brightest mean of a frame, in candela per square metre.
    light: Option<(u32, u32)>,
    /// Metadata that changes along the clip, which no encoder here takes.
    dynamic: Option<&'static str>,
}

impl Hdr {
    /// From a list of side data.
    pub(super) fn of(list: &[Value]) -> Self {
        let mut hdr = Self::default();
        for side in list {
            match side["side_data_type"].as_str().unwrap_or_default() {
                "Mastering display metadata" => hdr.display = display(side),
                "Content light level metadata" => {
                    let level = |key| number(side, key).filter(|n| (0.0..=65535.0).contains(n));
                    hdr.light =
                        level("max_content").zip(level("max_average")).map(|(c, a)| (c as u32, a as u32));
                }
                kind if kind.starts_with("DOVI") || kind.contains("Dolby Vision") => {
                    hdr.dynamic = Some("Dolby Vision")
                }
                kind if kind.contains("2094-40") => hdr.dynamic = Some("HDR10+"),
                _ => {}
            }
        }
        hdr
    }

    /// From ffprobe's answer on the first frame; what cannot be read is not there.
    pub(super) fn of_frames(text: &str) -> Self {
        let all: Value = serde_json::from_str(text).unwrap_or_default();
        let list = all["frames"][0]["side_data_list"].as_array();
        Self::of(list.map(Vec::as_slice).unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn display_text(&self) -> Option<String> {
        let [gx, gy, bx, by, rx, ry, wx, wy, most, least] = self.display?;
        Some(format!("G({gx},{gy})B({bx},{by})R({rx},{ry})WP({wx},{wy})L({most},{least})"))
    }

    /// Parameters of x265.
    pub(super) fn x265(&self) -> Vec<String> {
        let display = self.display_text().map(|d| format!("hdr10=1:master-display={d}"));
        display.into_iter().chain(self.light.map(|(c, a)| format!("max-cll={c},{a}"))).collect()
    }

    /// Parameters of x264.
    pub(super) fn x264(&self) -> Vec<String> {
        let display = self.display_text().map(|d| format!("mastering-display={d}"));
        display.into_iter().chain(self.light.map(|(c, a)| format!("cll={c},{a}"))).collect()
    }

    /// What is lost with an encoder.
    pub(super) fn notes(&self, encoder: &str) -> Vec<String> {
        let mut notes: Vec<String> =
            self.dynamic.map(|d| format!("{d} metadata is left out")).into_iter().collect();
        let statics = self.display.is_some() || self.light.is_some();
        if statics && !matches!(encoder, "libx264" | "libx265") {
            notes.push(format!("HDR10 metadata is left out: {encoder} has no place for it"));
        }
        notes
    }
}

fn display(side: &Value) -> Option<[u32; 10]> {
    let colour = |key: &str| steps(side[key].as_str()?, 50000.0);
    let light = |key: &str| steps(side[key].as_str()?, 10000.0);
    Some([
        colour("green_x")?,
        colour("green_y")?,
        colour("blue_x")?,
        colour("blue_y")?,
        colour("red_x")?,
        colour("red_y")?,
        colour("white_point_x")?,
        colour("white_point_y")?,
        light("max_luminance")?,
        light("min_luminance")?,
    ])
}

/// `34000/50000` in steps of one by `of`.
fn steps(text: &str, of: f64) -> Option<u32> {
    let (n, d) = text.split_once('/')?;
    let value = n.parse::<f64>().ok()? / d.parse::<f64>().ok()? * of;
    (0.0..=f64::from(u32::MAX)).contains(&value).then_some(value.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: &str = r#"{"frames": [{"side_data_list": [
        {"side_data_type": "Mastering display metadata", "red_x": "34000/50000", "red_y": "16000/50000",
         "green_x": "13250/50000", "green_y": "34500/50000", "blue_x": "7500/50000", "blue_y": "3000/50000",
         "white_point_x": "15635/50000", "white_point_y": "16450/50000", "min_luminance": "1/200",
         "max_luminance": "1000/1"},
        {"side_data_type": "Content light level metadata", "max_content": 1000, "max_average": 400},
        {"side_data_type": "HDR Dynamic Metadata SMPTE2094-40 (HDR10+)"}]}]}"#;

    #[test]
    fn the_words_of_encoders_come_from_side_data() {
        let hdr = Hdr::of_frames(FRAMES);
        let display = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)";
        assert_eq!(hdr.x265(), [format!("hdr10=1:master-display={display}"), "max-cll=1000,400".to_owned()]);
        assert_eq!(hdr.x264(), [format!("mastering-display={display}"), "cll=1000,400".to_owned()]);
        assert_eq!(hdr.notes("libx265"), ["HDR10+ metadata is left out"]);
        assert_eq!(hdr.notes("ffv1").len(), 2);
    }

    #[test]
    fn what_makes_no_sense_is_not_there() {
        let broken = FRAMES.replace("34000/50000", "34000/0").replace("1000,", "-1,");
        assert_eq!((Hdr::of_frames(&broken).x265(), Hdr::of_frames("{").x264()), (vec![], vec![]));
    }
}
