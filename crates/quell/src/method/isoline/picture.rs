//! Maps as pictures.

use super::{Map, Plan, Variant};
use crate::{Frame, Plane, Result};

impl Map {
    /// A picture of the values that [`Work::Map`](crate::method::Work::Map) gives for a plan, for
    /// the eye, with white 255:
    ///
    /// - directions as hues, twice their angle, counter-clockwise: red is horizontal, yellow-green rises to the right,
    ///   cyan is vertical, violet falls. A line has no beginning, so opposite directions have the same hue.
    /// - edges in grey: black is none, white is an edge in all 8 directions.
    /// - lengths in grey: white is as many pixels as the plan can average ([`Plan::most_pixels`]).
    ///
    /// ```
    /// use quell::isoline::{Map, Plan, Profile};
    /// use quell::Plane;
    /// let plan = Plan::new(&Profile::Normal.params(25.0, 1), (2, 1), 255.0, &[25.0])?;
    /// // Of 32 directions, counter-clockwise from the right.
    /// let picture = Map::Directions.picture(&plan, &Plane::from_vec(2, 1, vec![0.0, 8.0])?)?;
    /// assert_eq!(picture.to_interleaved(), [255.0, 0.0, 0.0, 0.0, 255.0, 255.0]);
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn picture(self, plan: &Plan, values: &Plane) -> Result<Frame> {
        let plane = |of: &dyn Fn(f32) -> f32| {
            Plane::from_vec(
                values.width(),
                values.height(),
                values.as_slice().iter().map(|&v| of(v)).collect(),
            )
        };
        let planes = match self {
            Self::Directions => {
                let turns = 2.0 / plan.patterns.directions() as f32;
                (0..3).map(|c| plane(&|d| 255.0 * hue(d * turns)[c])).collect::<Result<_>>()?
            }
            Self::Edges => vec![plane(&|n| n * 255.0 / 8.0)?],
            Self::Lengths => {
                let most = plan.most_pixels() as f32;
                vec![plane(&|n| n * 255.0 / most)?]
            }
        };
        Frame::new(planes, 255.0)
    }
}

/// Red, green and blue of a pure hue, in turns from red, by way of green.
fn hue(turns: f32) -> [f32; 3] {
    let at = 6.0 * turns.rem_euclid(1.0);
    [0.0, 2.0, 4.0].map(|top: f32| {
        let apart = (at - top).abs();
        (2.0 - apart.min(6.0 - apart)).clamp(0.0, 1.0)
    })
}

impl Plan {
    /// The most pixels that can be averaged into one: along a line, or in every direction where segments are pooled.
    pub fn most_pixels(&self) -> usize {
        let line = 1 + self.segments * self.segment_pixels();
        match self.variant {
            Variant::PiLd | Variant::PiPd => line,
            // The neighbourhood without edges is eight thin segments.
            Variant::Hybrid => line.max(1 + 8 * self.patterns.length()),
            Variant::Pooled | Variant::Line | Variant::TwoRound => {
                1 + self.patterns.directions() * self.segments * self.segment_pixels()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlaneView;
    use crate::isoline::{Params, reference};

    fn plan(variant: Variant, size: (usize, usize)) -> Plan {
        Plan::new(&Params::of(variant, 10.0, 1), size, 255.0, &[10.0]).unwrap()
    }

    #[test]
    fn hues_go_round() {
        assert_eq!([hue(0.0), hue(1.0)], [[1.0, 0.0, 0.0]; 2]);
        assert_eq!(hue(1.0 / 6.0), [1.0, 1.0, 0.0]);
        assert_eq!(hue(0.5), [0.0, 1.0, 1.0]);
        assert_eq!(hue(0.75), [0.5, 0.0, 1.0]);
    }

    #[test]
    fn opposite_directions_look_the_same() {
        let values = Plane::from_vec(32, 1, (0..32).map(|d| d as f32).collect()).unwrap();
        let picture = Map::Directions.picture(&plan(Variant::PiPd, (32, 1)), &values).unwrap();
        let pixel = |x: usize| [0, 1, 2].map(|c| picture.planes()[c].row(0)[x]);
        for d in 0..16 {
            assert_eq!(pixel(d), pixel(d + 16));
            assert!((0..d).all(|other| pixel(other) != pixel(d)), "direction {d} is not told apart");
        }
    }

    #[test]
    fn a_flat_picture_is_white_with_length_and_black_without_edges() {
        let flat = Plane::from_vec(40, 40, vec![90.0; 1600]).unwrap();
        for variant in Variant::ALL {
            let plan = plan(variant, (40, 40));
            let views: [PlaneView<'_>; 1] = [flat.view()];
            let picture = |map: Map| map.picture(&plan, &reference::map(&plan, &views, map)).unwrap();
            let lengths = picture(Map::Lengths);
            // Lines that lead out of the picture count as long.
            let white = lengths.planes()[0].as_slice().iter().all(|v| (v - 255.0).abs() < 0.01);
            assert!(white || variant == Variant::Hybrid, "{variant:?}: {}", lengths.planes()[0].row(20)[20]);
            assert!(lengths.planes()[0].as_slice().iter().all(|&v| v <= 255.01), "{variant:?}");
            assert!(picture(Map::Edges).planes()[0].as_slice().iter().all(|&v| v == 0.0), "{variant:?}");
        }
    }
}
