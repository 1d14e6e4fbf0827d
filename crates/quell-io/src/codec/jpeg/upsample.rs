//! From components to rows of grey or RGB: chroma is interpolated, as libjpeg does it.
//!
//! Of two samples that share a chroma sample, each takes three quarters of it and a quarter of the neighbour on
//! its side; the biases alternate, so that rounding does not shift the colour. Other ratios are repeated.

use super::super::canvas::Canvas;
use super::scan::{Component, Frame};

/// How a component's samples become those of the picture.
#[derive(Clone, Copy)]
enum Way {
    Same,
    /// Twice as many across.
    Across,
    /// Twice as many down.
    Down,
    /// Both.
    Both,
    /// So many copies across and down.
    Repeat(usize, usize),
}

/// Whether the ratio of the component to the picture is a whole number.
pub(super) fn is_whole(frame: &Frame, component: &Component) -> bool {
    let ((h, v), (a, b)) = (component.sampling, frame.largest);
    a.is_multiple_of(h) && b.is_multiple_of(v)
}

fn way(frame: &Frame, component: &Component) -> Way {
    let (h, v) = (frame.largest.0 / component.sampling.0, frame.largest.1 / component.sampling.1);
    match (h, v) {
        (1, 1) => Way::Same,
        (1, 2) => Way::Down,
        // Two samples have no neighbours on both sides.
        (2, 1) if component.width > 2 => Way::Across,
        (2, 2) if component.width > 2 => Way::Both,
        (h, v) => Way::Repeat(h, v),
    }
}

/// Row `y` of the picture of this component.
fn row(component: &Component, way: Way, y: usize, sums: &mut Vec<u16>, out: &mut Vec<u8>) {
    out.clear();
    let near = |y: usize| if y.is_multiple_of(2) { y as isize / 2 - 1 } else { y as isize / 2 + 1 };
    match way {
        Way::Same => out.extend(component.row(y as isize)),
        Way::Across => {
            sums.clear();
            sums.extend(component.row(y as isize).iter().map(|v| u16::from(*v)));
            double(sums, 2, (1, 2), out);
        }
        Way::Down => {
            let bias = if y.is_multiple_of(2) { 1 } else { 2 };
            let rows = component.row(y as isize / 2).iter().zip(component.row(near(y)));
            out.extend(rows.map(|(a, b)| ((3 * u16::from(*a) + u16::from(*b) + bias) >> 2) as u8));
        }
        Way::Both => {
            sums.clear();
            let rows = component.row(y as isize / 2).iter().zip(component.row(near(y)));
            sums.extend(rows.map(|(a, b)| 3 * u16::from(*a) + u16::from(*b)));
            double(sums, 4, (8, 7), out);
        }
        Way::Repeat(h, v) => {
            out.extend(component.row((y / v) as isize).iter().flat_map(|s| std::iter::repeat_n(*s, h)));
        }
    }
}

/// Two samples for each of `s`, `shift` bits dropped; `bias` is for the left and the right one.
fn double(s: &[u16], shift: u32, bias: (u16, u16), out: &mut Vec<u8>) {
    let n = s.len();
    out.resize(2 * n, 0);
    // At the ends the neighbour is the sample itself.
    out[0] = ((4 * s[0] + bias.0) >> shift) as u8;
    out[2 * n - 1] = ((4 * s[n - 1] + bias.1) >> shift) as u8;
    for (pair, o) in s.windows(2).zip(out[1..].chunks_exact_mut(2)) {
        o[0] = ((3 * pair[0] + pair[1] + bias.1) >> shift) as u8;
        o[1] = ((3 * pair[1] + pair[0] + bias.0) >> shift) as u8;
    }
}

/// What the red and blue differences add to each colour, in integers with 16 fractional bits (JFIF's formula).
struct Conversion {
    red: [i32; 256],
    green: [(i32, i32); 256],
    blue: [i32; 256],
}

impl Conversion {
    fn new() -> Self {
        let fix = |v: f64| (v * 65536.0 + 0.5) as i32;
        let half = 1 << 15;
        let table = |v: f64| std::array::from_fn(|i| (fix(v) * (i as i32 - 128) + half) >> 16);
        let green = std::array::from_fn(|i| {
            let x = i as i32 - 128;
            (-fix(0.34414) * x + half, -fix(0.71414) * x)
        });
        Self { red: table(1.402), green, blue: table(1.772) }
    }

    fn rgb(&self, y: u8, cb: u8, cr: u8) -> [u8; 3] {
        let (y, cb, cr) = (i32::from(y), usize::from(cb), usize::from(cr));
        let green = (self.green[cb].0 + self.green[cr].1) >> 16;
        [y + self.red[cr], y + green, y + self.blue[cb]].map(|v| v.clamp(0, 255) as u8)
    }
}

/// Fills the canvas; `ycc`: three components are luma and colour differences.
pub(super) fn paint(frame: &Frame, ycc: bool, canvas: &mut Canvas) {
    let conversion = Conversion::new();
    let ways: Vec<Way> = frame.components.iter().map(|c| way(frame, c)).collect();
    let mut rows = vec![Vec::new(); ways.len()];
    let (mut sums, mut pixels) = (Vec::new(), Vec::new());
    for y in 0..frame.height {
        for ((component, way), out) in frame.components.iter().zip(&ways).zip(&mut rows) {
            row(component, *way, y, &mut sums, out);
            out.truncate(frame.width);
        }
        match &rows[..] {
            [a, b, c] if ycc => {
                pixels.clear();
                let all = a.iter().zip(b).zip(c);
                pixels.extend(all.map(|((y, cb), cr)| conversion.rgb(*y, *cb, *cr)));
                canvas.put_row(y, pixels.as_flattened(), f32::from);
            }
            rows => rows.iter().enumerate().for_each(|(c, row)| canvas.put(c..c + 1, 0, y, row, f32::from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_rows_weigh_three_to_one() {
        let mut out = Vec::new();
        double(&[0, 100, 200], 2, (1, 2), &mut out);
        assert_eq!(out, [0, 25, 75, 125, 175, 200]);
    }

    #[test]
    fn grey_stays_grey_and_primaries_come_back() {
        let conversion = Conversion::new();
        for v in 0..=255 {
            assert_eq!(conversion.rgb(v, 128, 128), [v; 3]);
        }
        assert_eq!(conversion.rgb(76, 85, 255), [254, 0, 0]);
        assert_eq!(conversion.rgb(29, 255, 107), [0, 0, 254]);
    }
}
