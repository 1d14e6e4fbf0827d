//! Small tools of the painter: colours, noise that repeats, shapes and letters.

/// Red, green and blue, 0..255.
pub(crate) type Rgb = [f32; 3];

/// From `a` to `b`.
pub(crate) fn mix(a: Rgb, b: Rgb, t: f32) -> Rgb {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
}

/// Lighter or darker.
pub(crate) fn brightness(c: Rgb, f: f32) -> Rgb {
    c.map(|v| (v * f).clamp(0.0, 255.0))
}

/// From 0 to 1 between `from` and `to`, with soft ends.
pub(crate) fn ramp(from: f32, to: f32, v: f32) -> f32 {
    let t = ((v - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Light on a standing cylinder; `u` from -1 to 1 across it.
pub(crate) fn shade(c: Rgb, u: f32) -> Rgb {
    let facing = (1.0 - (u - 0.35).powi(2)).max(0.0).sqrt();
    brightness(c, 0.38 + 0.66 * facing)
}

/// The same number from 0 to 1 for the same cell.
pub(crate) fn hash(x: i32, y: i32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
    h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
    h = (h ^ (h >> 12)).wrapping_mul(0x297A_2D39);
    (h ^ (h >> 15)) as f32 / u32::MAX as f32
}

/// Smooth random hills between 0 and 1, four octaves.
pub(crate) fn fbm(x: f32, y: f32) -> f32 {
    (0..4).map(|o| (x * 2f32.powi(o), y * 2f32.powi(o), 0.5f32.powi(o + 1))).fold(0.03, |sum, (x, y, a)| {
        let (u, v) = (ramp(0.0, 1.0, x - x.floor()), ramp(0.0, 1.0, y - y.floor()));
        let (i, j) = (x.floor() as i32, y.floor() as i32);
        let row = |j| hash(i, j) + (hash(i + 1, j) - hash(i, j)) * u;
        sum + a * (row(j) + (row(j + 1) - row(j)) * v)
    })
}

/// Distance to the line from `a` to `b`.
pub(crate) fn segment(p: (f32, f32), a: (f32, f32), b: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let t = (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
    (p.0 - a.0 - t * dx).hypot(p.1 - a.1 - t * dy)
}

/// Within `r` of a line.
pub(crate) fn capsule(p: (f32, f32), a: (f32, f32), b: (f32, f32), r: f32) -> bool {
    segment(p, a, b) < r
}

/// Below 1 inside an ellipse.
pub(crate) fn ellipse(p: (f32, f32), centre: (f32, f32), radii: (f32, f32)) -> f32 {
    ((p.0 - centre.0) / radii.0).hypot((p.1 - centre.1) / radii.1)
}

/// Inside a convex polygon, in either direction.
pub(crate) fn inside(p: (f32, f32), corners: &[(f32, f32)]) -> bool {
    let side = |i: usize| {
        let (a, b) = (corners[i], corners[(i + 1) % corners.len()]);
        (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0)
    };
    (0..corners.len()).all(|i| side(i) >= 0.0) || (0..corners.len()).all(|i| side(i) <= 0.0)
}

/// A ball lit from the upper right, with a highlight.
pub(crate) fn sphere(p: (f32, f32), centre: (f32, f32), r: f32, c: Rgb) -> Option<Rgb> {
    let (u, v) = ((p.0 - centre.0) / r, (p.1 - centre.1) / r);
    let z2 = 1.0 - u * u - v * v;
    (z2 > 0.0).then(|| {
        let light = (0.45 * u - 0.6 * v + 0.66 * z2.sqrt()).max(0.0);
        mix(brightness(c, 0.3 + 0.8 * light), [255.0, 252.0, 240.0], 0.9 * light.powi(24))
    })
}

/// Whether a point, measured from the top left of the text, lies on a letter; a dot of the 5 x 7 letters has
/// `size` pixels.
pub(crate) fn written(text: &str, (x, y): (f32, f32), size: f32) -> bool {
    let (column, row) = ((x / size).floor() as i32, (y / size).floor() as i32);
    if column < 0 || !(0..7).contains(&row) {
        return false;
    }
    let letter = text.chars().nth(column as usize / 6).map_or([0; 7], glyph);
    column % 6 < 5 && letter[row as usize] >> (4 - column % 6) & 1 == 1
}

fn glyph(c: char) -> [u8; 7] {
    match c {
        'A' => [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        'B' => [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110],
        'E' => [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
        'H' => [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
        'L' => [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
        'O' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        'Q' => [0b01110, 0b10001, 0b10001, 0b10001, 0b10101, 0b10010, 0b01101],
        'R' => [0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001],
        'U' => [0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
        '0' => [0b01110, 0b10011, 0b10101, 0b10101, 0b10101, 0b11001, 0b01110],
        '1' => [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
        '7' => [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
        _ => [0; 7],
    }
}
