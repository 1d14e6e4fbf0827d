//! The picture that `quell bench` makes up. Its statistics are those of photographs, so that what is measured on it
//! carries over: things of every size that hide each other, which gives the spectrum of photographs (the dead leaves
//! model of Lee, Mumford and Huang 2001), edges in and out of focus, shading, and textures of every contrast.

use std::f32::consts::{PI, TAU};

use quell::{Frame, Plane};

/// Half the length of the smallest things, in pixels.
const SMALLEST: f32 = 4.0;
/// And of the largest, as a part of the picture's shorter side.
const LARGEST: f32 = 0.35;
/// How many things lie on a pixel, on the average; behind them all is a plain wall.
const COVER: f32 = 4.0;
/// Below this a thing behind others is not seen.
const HIDDEN: f32 = 1.0 / 256.0;

/// A picture of 1 or 3 channels, 8 bits, the same for the same size.
pub fn draw(width: usize, height: usize, channels: usize) -> quell::Result<Frame> {
    let mut canvas = Canvas {
        planes: vec![Plane::zeros(width, height); channels],
        free: Plane::from_vec(width, height, vec![1.0; width * height])?,
    };
    let mut dice = Dice(1);
    let (w, h) = (width as f32, height as f32);
    let largest = (LARGEST * w.min(h)).max(2.0 * SMALLEST);
    // The mean of the areas: their density falls with the third power of the length.
    let area = 0.65 * PI * 2.0 * SMALLEST * SMALLEST * (largest / SMALLEST).ln();
    let count = COVER * (w + 2.0 * largest) * (h + 2.0 * largest) / area;
    for _ in 0..count as usize {
        canvas.put(&Thing::new(&mut dice, (w, h), largest));
    }
    canvas.put(&Thing::wall(&mut dice, (w, h)));
    for plane in &mut canvas.planes {
        plane.as_mut_slice().iter_mut().for_each(|v| *v = v.clamp(0.0, 255.0).round());
    }
    Frame::new(canvas.planes, 255.0)
}

/// What is in front is put first.
struct Canvas {
    planes: Vec<Plane>,
    /// How much of each pixel is not yet covered.
    free: Plane,
}

impl Canvas {
    fn put(&mut self, thing: &Thing) {
        let tint = if self.planes.len() == 3 { thing.tint } else { [1.0; 3] };
        let (xs, ys) = (thing.span(thing.x, self.free.width()), thing.span(thing.y, self.free.height()));
        for y in ys {
            for x in xs.clone() {
                let free = &mut self.free.row_mut(y)[x];
                if *free < HIDDEN {
                    continue;
                }
                let (cover, light) = thing.at(x as f32, y as f32);
                for (plane, tint) in self.planes.iter_mut().zip(tint) {
                    plane.row_mut(y)[x] += *free * cover * light * tint;
                }
                *free -= *free * cover;
            }
        }
    }
}

/// One thing of the scene: an ellipse or a box with round corners.
struct Thing {
    x: f32,
    y: f32,
    /// Half its length in pixels, and its width as a part of that.
    length: f32,
    aspect: f32,
    /// Sine and cosine of its direction.
    turn: (f32, f32),
    boxy: bool,
    /// Pixels from nothing to all of it at its border.
    blur: f32,
    light: f32,
    /// Change of the light from its middle to its ends, along and across.
    shade: (f32, f32),
    tint: [f32; 3],
    texture: Texture,
    contrast: f32,
    seed: u32,
}

impl Thing {
    fn new(dice: &mut Dice, (w, h): (f32, f32), largest: f32) -> Self {
        let (least, most) = (largest.powi(-2), SMALLEST.powi(-2));
        Self {
            x: dice.range(-largest, w + largest),
            y: dice.range(-largest, h + largest),
            length: dice.range(least, most).powf(-0.5),
            aspect: dice.range(0.3, 1.0),
            turn: dice.range(0.0, PI).sin_cos(),
            boxy: dice.range(0.0, 1.0) < 0.4,
            blur: dice.scale(1.0, 5.0),
            light: dice.range(45.0, 205.0),
            shade: (dice.range(-30.0, 30.0), dice.range(-30.0, 30.0)),
            tint: std::array::from_fn(|_| dice.range(0.8, 1.2)),
            texture: Texture::new(dice),
            contrast: dice.scale(2.0, 30.0),
            seed: dice.next() as u32,
        }
    }

    /// What is behind everything.
    fn wall(dice: &mut Dice, (w, h): (f32, f32)) -> Self {
        Self {
            x: 0.5 * w,
            y: 0.5 * h,
            length: 2.0 * w.max(h),
            aspect: 1.0,
            boxy: true,
            ..Self::new(dice, (w, h), 2.0 * SMALLEST)
        }
    }

    /// Columns or rows that it may touch.
    fn span(&self, middle: f32, size: usize) -> std::ops::Range<usize> {
        let corner = if self.boxy { 1.2 } else { 1.0 };
        let reach = corner * self.length + self.blur;
        let at = |v: f32| v.clamp(0.0, size as f32) as usize;
        at(middle - reach)..at(middle + reach + 1.0)
    }

    /// How much of a pixel it covers, and its light there.
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (dx, dy) = (x - self.x, y - self.y);
        let (sine, cosine) = self.turn;
        let u = (dx * cosine + dy * sine) / self.length;
        let v = (dy * cosine - dx * sine) / (self.length * self.aspect);
        let (u2, v2) = (u * u, v * v);
        let away = if self.boxy { (u2 * u2 + v2 * v2).sqrt().sqrt() } else { (u2 + v2).sqrt() };
        let inside = ((1.0 - away) * self.length * self.aspect / self.blur + 0.5).clamp(0.0, 1.0);
        if inside == 0.0 {
            return (0.0, 0.0);
        }
        let surface = self.contrast * self.texture.at(x, y, self.seed);
        (soft(inside), self.light + self.shade.0 * u + self.shade.1 * v + surface)
    }
}

/// What a surface looks like.
#[derive(Clone, Copy)]
enum Texture {
    /// Skin, metal, sky.
    Smooth,
    /// Hills of so many pixels and of every size below: bark, stone, foliage.
    Rough(f32),
    /// Lines that bend a little, with so much phase per column and row: cloth, boards, grass.
    Lines(f32, f32),
}

impl Texture {
    fn new(dice: &mut Dice) -> Self {
        match dice.range(0.0, 1.0) {
            p if p < 0.45 => Self::Rough(dice.scale(3.0, 24.0)),
            p if p < 0.6 => {
                let (sine, cosine) = dice.range(0.0, PI).sin_cos();
                let phase = TAU / dice.scale(3.0, 16.0);
                Self::Lines(phase * cosine, phase * sine)
            }
            _ => Self::Smooth,
        }
    }

    /// About -1 to 1.
    fn at(self, x: f32, y: f32, seed: u32) -> f32 {
        match self {
            Self::Smooth => 0.0,
            Self::Rough(largest) => {
                let (mut sum, mut size, mut part) = (0.0, largest, 1.0);
                while size > 0.7 {
                    sum += part * hills(x / size, y / size, seed);
                    (size, part) = (0.5 * size, 0.6 * part);
                }
                sum
            }
            Self::Lines(across, down) => {
                let bend = 2.0 * hills(x / 20.0, y / 20.0, seed);
                let depth = 0.6 + 0.4 * hills(x / 9.0, y / 9.0, !seed);
                depth * (across * x + down * y + bend).sin()
            }
        }
    }
}

/// Smooth hills between -1 and 1, one for every pair of whole numbers.
fn hills(x: f32, y: f32, seed: u32) -> f32 {
    let (column, row) = (x.floor(), y.floor());
    let (u, v) = (soft(x - column), soft(y - row));
    let (i, j) = (column as i32 as u32, row as i32 as u32);
    let at = |i: u32, j: u32| {
        let cell = u64::from(i) << 32 | u64::from(j);
        Dice(cell ^ u64::from(seed).wrapping_mul(0xD6E8_FEB8_6659_FD93)).range(-1.0, 1.0)
    };
    let between = |a: f32, b: f32, t: f32| a + (b - a) * t;
    let right = i.wrapping_add(1);
    let line = |j: u32| between(at(i, j), at(right, j), u);
    between(line(j), line(j.wrapping_add(1)), v)
}

/// From 0 to 1 without corners.
fn soft(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// Numbers that look random and are the same everywhere (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Evenly between two numbers.
    fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 40) as f32 / (1 << 24) as f32)
    }

    /// Evenly between their logarithms.
    fn scale(&mut self, low: f32, high: f32) -> f32 {
        self.range(low.ln(), high.ln()).exp()
    }
}

#[cfg(test)]
mod tests {
    use quell::bm3d::Profile;
    use quell::metrics::psnr;
    use quell::{Denoiser, noise};

    use super::*;

    /// The exponent of the power spectrum, from the variance inside cells of 2 x 2 pixels at 5 sizes of the picture,
    /// each half of the one before.
    fn exponent(frame: &Frame) -> f64 {
        let mut plane = frame.planes()[0].clone();
        let mut octaves = Vec::new();
        for _ in 0..5 {
            let (w, h) = (plane.width() / 2, plane.height() / 2);
            let (mut half, mut sum) = (Plane::zeros(w, h), 0.0);
            for y in 0..h {
                let (above, below) = (plane.row(2 * y), plane.row(2 * y + 1));
                for x in 0..w {
                    let cell = [above[2 * x], above[2 * x + 1], below[2 * x], below[2 * x + 1]];
                    let mean = cell.iter().sum::<f32>() / 4.0;
                    sum += cell.iter().map(|v| f64::from(v - mean).powi(2)).sum::<f64>();
                    half.row_mut(y)[x] = mean;
                }
            }
            octaves.push((sum / (4 * w * h) as f64).log2());
            plane = half;
        }
        // Least squares; a spectrum that falls with the square has as much in every octave.
        let slope = (0..5).map(|i| (i as f64 - 2.0) * octaves[i]).sum::<f64>() / 10.0;
        2.0 + slope
    }

    #[test]
    fn the_spectrum_falls_as_that_of_photographs() {
        // Pictures of Set12 and BSD68 have 2.2 to 2.7.
        for size in [256, 512] {
            let alpha = exponent(&draw(size, size, 1).unwrap());
            assert!((2.2..2.7).contains(&alpha), "{size}: {alpha}");
        }
        // White noise has none.
        let flat = Frame::grey(Plane::from_vec(256, 256, vec![128.0; 65536]).unwrap(), 255.0).unwrap();
        assert!(exponent(&noise::add_gaussian(&flat, 20.0, 1).unwrap()).abs() < 0.2);
    }

    /// Mean PSNR over three draws of the noise.
    fn quality(clean: &Frame, sigma: f32, profile: Profile) -> f64 {
        let denoiser = Denoiser::bm3d(profile).sigma(sigma).build().unwrap();
        let one = |seed| {
            let noisy = noise::add_gaussian(clean, sigma.into(), seed).unwrap();
            psnr(clean, &denoiser.denoise(&noisy).unwrap()).unwrap().all
        };
        (0..3).map(one).sum::<f64>() / 3.0
    }

    #[test]
    fn profiles_rank_as_on_photographs() {
        for (channels, sigma) in [(1, 25.0), (1, 50.0), (3, 25.0)] {
            let clean = draw(192, 192, channels).unwrap();
            let of = |profile| quality(&clean, sigma, profile);
            let normal = of(Profile::Normal);
            for other in [Profile::Original, Profile::Np, Profile::Lc] {
                // Over three draws a mean moves by 0.01 dB.
                let loses = of(other);
                assert!(
                    loses < normal - 0.02,
                    "{channels}, {sigma}: {} {loses}, normal {normal}",
                    other.name()
                );
            }
            let (modified, fast, middle) = (of(Profile::Modified), of(Profile::Fast), of(Profile::Middle));
            assert!(modified < fast && fast < middle - 0.2, "{modified}, {fast}, {middle}");
            assert!((middle - normal).abs() < 0.15, "{middle}, {normal}");
        }
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (w, h) in [(1, 1), (24, 16), (3, 300), (200, 2)] {
            let frame = draw(w, h, 3).unwrap();
            assert_eq!((frame.width(), frame.height(), frame.channels()), (w, h, 3));
            assert!(frame.planes().iter().flat_map(Plane::as_slice).all(|v| (0.0..=255.0).contains(v)));
        }
    }
}
