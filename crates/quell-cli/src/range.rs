//! Which part of the range up to white is used. Sensors of 10 to 14 bits are often stored in 16 bits or floats without a
//! word about their white level, which noise and parameters are relative to.

use quell::FrameView;

/// White levels of sensors, and of integers in floats.
const SENSORS: [f32; 3] = [1023.0, 4095.0, 16383.0];
const INTEGERS: [f32; 5] = [255.0, 1023.0, 4095.0, 16383.0, 65535.0];
/// The most usual one.
const USUAL: f32 = 4095.0;
/// Floats that stay below this part of white do not use it.
const SMALL: f32 = 1.0 / 64.0;
/// Floats that go beyond this many times white with more than a few samples are in other units; highlights may.
const BEYOND: f32 = 4.0;

/// What is used by the pictures or frames seen so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    white: f32,
    low: f32,
    high: f32,
    /// The same but for a thousandth of the samples.
    most: f32,
    /// There are values that fewer bits in the upper part of the samples would not give.
    fine: bool,
}

impl Used {
    /// Of pictures with this white level.
    pub(crate) fn new(white: f32) -> Self {
        Self { white, low: f32::INFINITY, high: f32::NEG_INFINITY, most: f32::NEG_INFINITY, fine: false }
    }

    /// Whether there could be something to say.
    pub(crate) fn matters(white: f32) -> bool {
        white == 1.0 || white == 65535.0
    }

    /// Looks at a picture.
    pub(crate) fn add(&mut self, frame: &FrameView<'_>) {
        if !Self::matters(self.white) {
            return;
        }
        for row in frame.planes().iter().flat_map(|p| p.rows()) {
            self.low = row.iter().fold(self.low, |low, v| low.min(*v));
            self.high = row.iter().fold(self.high, |high, v| high.max(*v));
            // One is enough, and most pictures have it in the first row.
            self.fine = self.fine || row.iter().any(|v| v % 16.0 != 0.0 && v % 257.0 != 0.0);
        }
        self.most = self.most.max(frame.range().1);
    }

    /// A remark, if the white level is likely to be another one. `flag`: whether `--white` can say so.
    pub(crate) fn note(&self, flag: bool) -> Option<String> {
        let Self { white, low, high, most, fine } = *self;
        // Also where nothing was seen.
        if !Self::matters(white) || high.is_nan() || high <= 0.0 {
            return None;
        }
        let level = |list: &[f32]| list.iter().copied().find(|l| *l >= high).unwrap_or(high);
        let (what, remedy) = if white == 65535.0 {
            let likely: Vec<f32> = SENSORS.into_iter().filter(|l| *l >= high).take(2).collect();
            let best = *likely.iter().find(|l| **l == USUAL).or(likely.first()).filter(|_| fine)?;
            let names: Vec<String> = likely.iter().map(f32::to_string).collect();
            (
                format!("values use {low} to {high} of {white}"),
                format!("is white {}? --white {best}", names.join(" or ")),
            )
        } else if most > BEYOND * white {
            (format!("values reach {high} where white is {white}"), format!("--white {}", level(&INTEGERS)))
        } else if high < SMALL * white {
            (format!("values use {low} to {high} of {white}"), format!("--white {high}"))
        } else {
            return None;
        };
        Some(if flag { format!("{what}: {remedy}") } else { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell::{Frame, Plane};

    fn note(values: &[f32], white: f32) -> Option<String> {
        let plane = Plane::from_vec(values.len(), 1, values.to_vec()).unwrap();
        let mut used = Used::new(white);
        used.add(&Frame::grey(plane, white).unwrap().view());
        used.note(true)
    }

    #[test]
    fn likely_white_levels_are_named() {
        let say = |values: &[f32], white| note(values, white).unwrap_or_default();
        assert_eq!(
            say(&[0.0, 17.0, 900.0], 65535.0),
            "values use 0 to 900 of 65535: is white 1023 or 4095? --white 4095"
        );
        assert_eq!(
            say(&[3.0, 5000.0], 65535.0),
            "values use 3 to 5000 of 65535: is white 16383? --white 16383"
        );
        assert_eq!(say(&[0.5, 3000.0], 1.0), "values reach 3000 where white is 1: --white 4095");
        assert_eq!(say(&[0.0, 0.0075], 1.0), "values use 0 to 0.0075 of 1: --white 0.0075");
    }

    #[test]
    fn ordinary_and_dark_pictures_are_left_alone() {
        for values in [[0.0, 40000.0], [257.0, 2570.0], [16.0, 3200.0], [0.0, 0.0]] {
            assert_eq!(note(&values, 65535.0), None, "{values:?}");
        }
        assert_eq!(note(&[0.0, 30.0], 255.0), None);
        assert_eq!(note(&[0.0, 900.0], 4095.0), None);
        assert_eq!(note(&[0.1, 3.5], 1.0), None);
        // A few highlights of a scene in floats.
        let mut scene = vec![0.4; 5000];
        scene[7] = 2000.0;
        assert_eq!(note(&scene, 1.0), None);
        assert_eq!(Used::new(65535.0).note(true), None);
    }
}
