//! The patterns P_l: digital segments in regularly spaced directions (Perrot et al.; Bresenham on the dominant axis).

use serde::Serialize;

/// A displacement in rows (down) and columns (right).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offset {
    /// Rows, downwards.
    pub dy: i32,
    /// Columns, to the right.
    pub dx: i32,
}

/// Segments of one length in every direction, counter-clockwise from the right. The start pixel is not part of its
/// segments, so that segments that follow one another never count a pixel twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Patterns {
    directions: usize,
    length: usize,
    offsets: Vec<Offset>,
}

impl Patterns {
    /// The patterns of `directions` (a multiple of 8) segments of `length` pixels.
    ///
    /// ```
    /// use quell::isoline::Patterns;
    /// let p = Patterns::new(32, 5);
    /// let third: Vec<(i32, i32)> = p.segment(3).iter().map(|o| (o.dy, o.dx)).collect();
    /// assert_eq!(third, [(-1, 1), (-1, 2), (-2, 3), (-3, 4), (-3, 5)]);
    /// ```
    pub fn new(directions: usize, length: usize) -> Self {
        let quarter = directions / 4;
        let mut offsets = Vec::with_capacity(directions * length);
        for d in 0..directions {
            let angle = std::f64::consts::TAU * (d % quarter) as f64 / directions as f64;
            for k in 1..=length as i32 {
                // No rounding tie: the tangents are irrational, and that of 45 degrees is set to 1.
                let near = |v: f64| (v + 0.5).floor() as i32;
                let mut at = match (d % quarter).cmp(&(directions / 8)) {
                    std::cmp::Ordering::Less => Offset { dy: -near(f64::from(k) * angle.tan()), dx: k },
                    std::cmp::Ordering::Equal => Offset { dy: -k, dx: k },
                    std::cmp::Ordering::Greater => Offset { dy: -k, dx: near(f64::from(k) / angle.tan()) },
                };
                for _ in 0..d / quarter {
                    at = Offset { dy: -at.dx, dx: at.dy };
                }
                offsets.push(at);
            }
        }
        Self { directions, length, offsets }
    }

    /// How many directions (D).
    pub fn directions(&self) -> usize {
        self.directions
    }

    /// Pixels of a segment (l).
    pub fn length(&self) -> usize {
        self.length
    }

    /// The pixels of the segment in direction `d`, from its start on.
    pub fn segment(&self, d: usize) -> &[Offset] {
        &self.offsets[d * self.length..][..self.length]
    }

    /// The last pixel of the segment in direction `d`.
    pub fn end(&self, d: usize) -> Offset {
        self.offsets[(d + 1) * self.length - 1]
    }

    /// What the segment in direction `d` has beside each pixel when it is three pixels thick: one step across its
    /// dominant axis.
    pub fn across(&self, d: usize) -> Offset {
        let end = self.end(d);
        if end.dx.abs() >= end.dy.abs() { Offset { dy: 1, dx: 0 } } else { Offset { dy: 0, dx: 1 } }
    }

    /// Directions between two, either way round.
    pub fn turn(&self, a: usize, b: usize) -> usize {
        let apart = a.abs_diff(b);
        apart.min(self.directions - apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(p: &Patterns, d: usize) -> Vec<(i32, i32)> {
        p.segment(d).iter().map(|o| (o.dy, o.dx)).collect()
    }

    #[test]
    fn the_first_quadrant_is_the_papers() {
        let p = Patterns::new(32, 5);
        let want: [[(i32, i32); 5]; 8] = [
            [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)],
            [(0, 1), (0, 2), (-1, 3), (-1, 4), (-1, 5)],
            [(0, 1), (-1, 2), (-1, 3), (-2, 4), (-2, 5)],
            [(-1, 1), (-1, 2), (-2, 3), (-3, 4), (-3, 5)],
            [(-1, 1), (-2, 2), (-3, 3), (-4, 4), (-5, 5)],
            [(-1, 1), (-2, 1), (-3, 2), (-4, 3), (-5, 3)],
            [(-1, 0), (-2, 1), (-3, 1), (-4, 2), (-5, 2)],
            [(-1, 0), (-2, 0), (-3, 1), (-4, 1), (-5, 1)],
        ];
        for (d, want) in want.iter().enumerate() {
            assert_eq!(list(&p, d), want, "direction {d}");
        }
    }

    #[test]
    fn half_a_turn_is_the_opposite() {
        for directions in [8, 16, 32] {
            for length in 1..=10 {
                let p = Patterns::new(directions, length);
                for d in 0..directions / 2 {
                    let back: Vec<_> = list(&p, d + directions / 2).iter().map(|&(y, x)| (-y, -x)).collect();
                    assert_eq!(list(&p, d), back, "direction {d} of {directions}, length {length}");
                }
            }
        }
    }

    #[test]
    fn multiples_of_45_degrees_share_no_pixel() {
        let p = Patterns::new(32, 7);
        let mut seen: Vec<_> = (0..32).step_by(4).flat_map(|d| list(&p, d)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 8 * 7);
    }

    #[test]
    fn turns_go_the_short_way() {
        let p = Patterns::new(32, 3);
        assert_eq!([p.turn(1, 30), p.turn(0, 16), p.turn(5, 5), p.turn(10, 2)], [3, 16, 0, 8]);
    }
}
