//! The harbour: layers from back to front, each a function of a point that paints it or lets it through.

use super::brush::{
    Rgb, brightness, capsule, ellipse, fbm, hash, inside, mix, ramp, segment, shade, sphere, written,
};

/// Size of the scene in pixels.
pub(crate) const SIZE: (usize, usize) = (456, 304);

const HORIZON: f32 = 150.0;
const SUN: (f32, f32) = (196.0, 104.0);
const QUAY: f32 = 244.0;

/// The colour at a point, 0..255.
pub(crate) fn colour(x: f32, y: f32) -> Rgb {
    let layers = [
        hills, sea, boat, buoys, rock, lighthouse, roof, wall, windows, sign, awning, quay, barrel, post,
        grass,
    ];
    layers.iter().rev().find_map(|layer| layer(x, y)).unwrap_or_else(|| sky(x, y))
}

fn sky(x: f32, y: f32) -> Rgb {
    let t = (y / HORIZON).clamp(0.0, 1.0);
    let mut c = mix([74.0, 122.0, 176.0], [246.0, 214.0, 176.0], t.powf(1.4));
    let d = (x - SUN.0).hypot(y - SUN.1);
    c = mix(c, [255.0, 238.0, 196.0], 0.75 * (-d / 42.0).exp());
    c = mix([255.0, 250.0, 228.0], c, ramp(11.0, 12.5, d));
    let cloud = fbm(x / 85.0 + 3.0, y / 26.0 + 9.0);
    mix(c, [252.0, 240.0, 230.0], 0.7 * ramp(0.5, 0.75, cloud) * ramp(150.0, 90.0, y))
}

fn hills(x: f32, y: f32) -> Option<Rgb> {
    let far = 130.0 + 9.0 * (x / 61.0).sin() + 5.0 * (x / 23.0 + 1.0).sin();
    let near = 142.0 + 6.0 * (x / 39.0 + 2.0).sin() + 2.5 * fbm(x / 5.0, 4.0);
    if y > HORIZON {
        return None;
    }
    if y > near {
        return Some(brightness([78.0, 104.0, 84.0], 0.8 + 0.45 * fbm(x / 3.5, y / 2.5)));
    }
    (y > far).then(|| mix([132.0, 146.0, 172.0], [188.0, 182.0, 186.0], (y - far) / 30.0))
}

fn sea(x: f32, y: f32) -> Option<Rgb> {
    if !(HORIZON..QUAY).contains(&y) {
        return None;
    }
    let depth = (y - HORIZON + 6.0) / 100.0;
    let ripple = fbm(x / (40.0 * depth) + 11.0, (2.2 + 1.0 / depth) * 3.0);
    let wave = (x / (7.0 * depth + 2.0) + 9.0 * ripple).sin() * (26.0 / (depth + 0.12) + 4.0 * ripple).sin();
    let base = mix([190.0, 186.0, 184.0], [34.0, 82.0, 112.0], ramp(0.0, 0.75, depth));
    let c = mix(base, [214.0, 222.0, 220.0], (0.34 * wave + 0.9 * (ripple - 0.5)).clamp(0.0, 1.0));
    let glitter =
        (-((x - SUN.0) / (10.0 + 40.0 * depth)).powi(2)).exp() * ramp(0.1, 0.7, wave + ripple - 0.3);
    Some(mix(c, [255.0, 236.0, 190.0], 0.9 * glitter))
}

fn boat(x: f32, y: f32) -> Option<Rgb> {
    let line = |a, b, w: f32, c| (segment((x, y), a, b) < w).then_some(c);
    let rope = [66.0, 58.0, 52.0];
    if let Some(c) = line((226.0, 62.0), (226.0, 206.0), 1.5, [112.0, 74.0, 44.0]) {
        return Some(c);
    }
    if let Some(c) = line((226.0, 62.0), (172.0, 204.0), 0.5, rope)
        .or_else(|| line((226.0, 62.0), (284.0, 203.0), 0.5, rope))
        .or_else(|| line((224.0, 195.0), (284.0, 192.0), 1.1, [112.0, 74.0, 44.0]))
    {
        return Some(c);
    }
    let sail = |light: f32, seams: f32| {
        let seam = (seams / 13.0).rem_euclid(1.0) < 0.06;
        brightness([250.0, 244.0, 226.0], light * if seam { 0.82 } else { 1.0 })
    };
    if inside((x, y), &[(229.0, 72.0), (278.0, 189.0), (229.0, 191.0)]) {
        let badge = (x - 243.0).hypot(y - 158.0);
        if badge < 9.0 {
            return Some(if badge < 4.0 { [250.0, 244.0, 226.0] } else { [190.0, 44.0, 40.0] });
        }
        return Some(sail(1.0 - 0.3 * (x - 229.0) / 50.0, y));
    }
    if inside((x, y), &[(222.0, 84.0), (222.0, 186.0), (182.0, 194.0)]) {
        return Some(sail(0.72 + 0.28 * (x - 182.0) / 40.0, y + 0.6 * x));
    }
    if inside((x, y), &[(168.0, 203.0), (290.0, 200.0), (274.0, 222.0), (186.0, 222.0)]) {
        let plank = ((y - 0.02 * x) / 4.0).rem_euclid(1.0) < 0.2;
        let c = if y < 207.0 { [236.0, 228.0, 208.0] } else { [30.0, 86.0, 116.0] };
        return Some(brightness(c, (1.1 - (y - 200.0) / 50.0) * if plank { 0.8 } else { 1.0 }));
    }
    None
}

fn buoys(x: f32, y: f32) -> Option<Rgb> {
    sphere((x, y), (146.0, 222.0), 10.0, [232.0, 96.0, 36.0])
        .or_else(|| sphere((x, y), (120.0, 196.0), 6.0, [236.0, 190.0, 52.0]))
        .or_else(|| sphere((x, y), (160.0, 182.0), 4.5, [210.0, 60.0, 50.0]))
}

fn rock(x: f32, y: f32) -> Option<Rgb> {
    let edge = 212.0 + ((x - 62.0) / 54.0).powi(2) * 38.0 - 9.0 * fbm(x / 11.0, 1.0);
    (y > edge && y < QUAY && x < 130.0).then(|| {
        let crack = (fbm(x / 9.0 + 5.0, y / 7.0) - 0.5).abs();
        brightness([126.0, 116.0, 106.0], 0.55 + 0.7 * fbm(x / 15.0, y / 10.0) + 0.3 * ramp(0.0, 0.05, crack))
    })
}

fn lighthouse(x: f32, y: f32) -> Option<Rgb> {
    let dx = x - 66.0;
    let round = |half: f32, c: Rgb| (dx.abs() < half).then(|| shade(c, dx / half));
    if (66.0..218.0).contains(&y) {
        let half = 13.0 + 9.0 * (y - 66.0) / 150.0;
        if (dx + 1.0).abs() < 3.5 && [(96.0, 108.0), (146.0, 158.0)].iter().any(|&(a, b)| y > a && y < b) {
            return Some([48.0, 52.0, 66.0]);
        }
        // The bands bend as they go round the tower.
        let band = ((y + 3.0 * (1.0 - (dx / half).powi(2)).max(0.0).sqrt() - 62.0) / 25.0).floor() as i32;
        return round(half, if band % 2 == 0 { [238.0, 234.0, 226.0] } else { [198.0, 48.0, 42.0] });
    }
    if (62.0..66.0).contains(&y) {
        return round(19.0, [72.0, 70.0, 76.0]);
    }
    if (52.0..62.0).contains(&y) && dx.abs() < 18.5 && (y < 53.0 || (dx + 18.0).rem_euclid(4.0) < 0.7) {
        return Some([60.0, 58.0, 64.0]);
    }
    if (38.0..62.0).contains(&y) && dx.abs() < 9.0 {
        let bar = (dx + 9.0).rem_euclid(6.0) < 1.0;
        let glow = mix([255.0, 244.0, 170.0], [196.0, 200.0, 184.0], (dx.hypot(y - 50.0) / 12.0).min(1.0));
        return Some(if bar { [64.0, 60.0, 64.0] } else { glow });
    }
    if y > 24.0 && y <= 38.0 && ellipse((x, y), (66.0, 38.0), (11.5, 13.0)) < 1.0 {
        return round(11.5, [176.0, 40.0, 38.0]);
    }
    (segment((x, y), (66.0, 12.0), (66.0, 26.0)) < 0.7).then_some([70.0, 66.0, 70.0])
}

fn roof(x: f32, y: f32) -> Option<Rgb> {
    if (352.0..366.0).contains(&x) && (50.0..84.0).contains(&y) {
        let joint = y.rem_euclid(5.0) < 0.9;
        return Some(if joint { [170.0, 158.0, 146.0] } else { [148.0, 84.0, 68.0] });
    }
    if !inside((x, y), &[(322.0, 68.0), (438.0, 68.0), (456.0, 112.0), (300.0, 112.0)]) {
        return None;
    }
    // Scalloped slates: each row is shifted by half a slate.
    let row = ((y - 68.0) / 7.0).floor();
    let (u, v) = ((x / 9.0 + 0.5 * row).rem_euclid(1.0) - 0.5, (y - 68.0) / 7.0 - row);
    let slate = (x / 9.0 + 0.5 * row).floor();
    let tint = 0.75 + 0.4 * hash(slate as i32, row as i32);
    let edge = v - 0.55 - 0.4 * (1.0 - 4.0 * u * u).max(0.0).sqrt();
    Some(brightness([104.0, 112.0, 136.0], if edge > 0.0 { 0.5 } else { tint * (0.85 + 0.25 * v) }))
}

fn wall(x: f32, y: f32) -> Option<Rgb> {
    if !((308.0..450.0).contains(&x) && (112.0..QUAY).contains(&y)) {
        return None;
    }
    let row = (y / 5.5).floor();
    let column = x / 13.0 + 0.5 * (row % 2.0);
    let (u, v) = (column.fract() * 13.0, y - 5.5 * row);
    if u < 1.1 || v < 1.1 {
        return Some([206.0, 194.0, 178.0]);
    }
    let tone = hash(column as i32, row as i32);
    let c = mix([178.0, 84.0, 62.0], [142.0, 62.0, 52.0], tone);
    Some(brightness(c, 0.92 + 0.16 * fbm(x / 2.0, y / 2.0) + if v < 2.0 { 0.08 } else { 0.0 }))
}

fn windows(x: f32, y: f32) -> Option<Rgb> {
    for left in [322.0, 368.0, 414.0] {
        let (u, v) = (x - left, y - 156.0);
        if (0.0..24.0).contains(&u) && (0.0..30.0).contains(&v) {
            let frame = !(2.0..22.0).contains(&u) || !(2.0..28.0).contains(&v);
            let bar = (u - 12.0).abs() < 0.8 || (v - 10.0).abs() < 0.7 || (v - 19.0).abs() < 0.7;
            if frame || bar {
                return Some([240.0, 236.0, 224.0]);
            }
            let sky = mix([52.0, 66.0, 88.0], [150.0, 176.0, 196.0], ramp(30.0, 0.0, v + 0.7 * u));
            return Some(sky);
        }
        if (-2.0..26.0).contains(&u) && (30.0..34.0).contains(&v) {
            return Some([196.0, 184.0, 166.0]);
        }
    }
    None
}

fn sign(x: f32, y: f32) -> Option<Rgb> {
    if !((322.0..438.0).contains(&x) && (120.0..148.0).contains(&y)) {
        return None;
    }
    if !((324.0..436.0).contains(&x) && (122.0..146.0).contains(&y)) {
        return Some([222.0, 186.0, 96.0]);
    }
    if written("QUELL", (x - 329.0, y - 125.5), 2.4) || written("1007", (x - 404.5, y - 126.0), 1.2) {
        return Some([246.0, 238.0, 214.0]);
    }
    if written("HARBOUR", (x - 404.5, y - 138.0), 0.7) {
        return Some([222.0, 186.0, 96.0]);
    }
    Some(brightness([28.0, 70.0, 66.0], 0.95 + 0.15 * fbm(x / 14.0, y / 1.2)))
}

fn awning(x: f32, y: f32) -> Option<Rgb> {
    let t = (y - 194.0) / 22.0;
    let (left, right) = (314.0 - 8.0 * t, 444.0 + 6.0 * t);
    let hem = 216.0 + 4.0 * (1.0 - ((x / 12.0).rem_euclid(1.0) * 2.0 - 1.0).powi(2)).sqrt();
    if y < 194.0 || y > hem || x < left || x > right {
        // The open door in the shade.
        if (194.0..QUAY).contains(&y) && (340.0..418.0).contains(&x) {
            return Some(mix([44.0, 32.0, 28.0], [96.0, 66.0, 44.0], ramp(216.0, QUAY, y) * 0.7));
        }
        return None;
    }
    let stripe = ((x / 12.0).floor() as i32).rem_euclid(2) == 0;
    let c = if stripe { [244.0, 238.0, 222.0] } else { [44.0, 116.0, 110.0] };
    let weave = 0.05 * (x * 2.1).sin() * (y * 2.1).sin();
    let fold = if y > 215.0 { 0.8 } else { 1.0 };
    Some(brightness(c, (0.82 + 0.2 * t + weave) * fold))
}

fn quay(x: f32, y: f32) -> Option<Rgb> {
    if y < QUAY {
        return None;
    }
    if y < QUAY + 5.0 {
        let joint = (x / 38.0).fract() < 0.03;
        return Some(brightness(
            [188.0, 180.0, 168.0],
            if joint { 0.55 } else { 0.9 + 0.15 * fbm(x / 3.0, y) },
        ));
    }
    // Cobbles: rows grow towards the viewer.
    let t = (y - QUAY) / 60.0;
    let row_position = 9.0 * (1.0 + 2.2 * t).ln();
    let row = row_position.floor();
    let width = 9.0 * (1.0 + 2.2 * (row / 9.0).exp_m1() / 2.2);
    let column = (x - 228.0) / width + 0.5 * row;
    let (u, v) = (2.0 * column.rem_euclid(1.0) - 1.0, 2.0 * (row_position - row) - 1.0);
    let r = u.powi(4) + v.powi(4);
    let tone = hash(column.floor() as i32, row as i32);
    let c = mix([150.0, 144.0, 140.0], [112.0, 104.0, 108.0], tone);
    if r > 0.72 {
        return Some([66.0, 62.0, 58.0]);
    }
    Some(brightness(c, 1.06 - 0.18 * v - 0.08 * u + 0.12 * (fbm(x / 2.5, y / 2.5) - 0.5)))
}

fn barrel(x: f32, y: f32) -> Option<Rgb> {
    let v = (y - 258.0) / 28.0;
    let half = 19.0 - 4.0 * v * v;
    let dx = x - 402.0;
    if v.abs() < 1.0 && dx.abs() < half {
        let u = dx / half;
        let bend = y - 3.0 * (1.0 - u * u).sqrt();
        if [234.0, 246.0, 265.0, 277.0].iter().any(|h| (bend - h).abs() < 1.5) {
            return Some(shade([96.0, 98.0, 104.0], u));
        }
        let stave = (u.asin() * 4.0).rem_euclid(1.0) < 0.1;
        let c = if stave { [84.0, 54.0, 32.0] } else { [164.0, 112.0, 66.0] };
        return Some(brightness(shade(c, u), 0.9 + 0.2 * fbm(x / 1.6, y / 14.0)));
    }
    (ellipse((x, y), (410.0, 286.0), (26.0, 5.0)) < 1.0).then_some([58.0, 54.0, 52.0])
}

fn post(x: f32, y: f32) -> Option<Rgb> {
    // Two sagging ropes with a twist, and the bollard that they are tied to.
    for sag in [26.0, 34.0] {
        let t = (x - 196.0) / 98.0;
        let rope = 226.0 + 16.0 * t + sag * (t - t * t);
        if (0.0..1.0).contains(&t) && (y - rope).abs() < 1.7 {
            let twist = ((x + 1.4 * (y - rope)) / 3.0).rem_euclid(1.0);
            return Some(brightness([214.0, 190.0, 140.0], 0.6 + 0.45 * twist));
        }
    }
    if let Some(c) = sphere((x, y), (294.0, 240.0), 11.0, [70.0, 72.0, 82.0]) {
        return Some(c);
    }
    if capsule((x, y), (294.0, 244.0), (294.0, 276.0), 8.0) {
        return Some(shade([70.0, 72.0, 82.0], (x - 294.0) / 8.0));
    }
    None
}

fn grass(x: f32, y: f32) -> Option<Rgb> {
    let top = |x: f32| 258.0 + (x / 15.0).sin() * 4.0 + (x / 160.0).powi(3) * 46.0;
    // Blades lean and end at different heights; nearer rows cover the ones behind.
    for row in (0..16).rev() {
        let root = top(x) + 4.0 * row as f32;
        let up = root - y;
        if !(-4.5..14.0).contains(&up) {
            continue;
        }
        let lean = 0.012 * up * up.abs() * (hash(row, 77) - 0.3);
        let cell = (x - lean) / 2.6 + 0.37 * row as f32;
        let blade = hash(cell.floor() as i32, row);
        let thin = (2.0 * cell.rem_euclid(1.0) - 1.0).abs();
        let tall = 5.0 + 9.0 * blade;
        if up < tall * (1.0 - thin) {
            let tip = (up / tall).clamp(0.0, 1.0);
            if blade > 0.985 && tip > 0.5 {
                return Some([250.0, 226.0, 90.0]);
            }
            let c = mix([50.0, 86.0, 38.0], [128.0, 160.0, 66.0], blade);
            return Some(brightness(c, 0.55 + 0.55 * tip));
        }
    }
    (y > top(x) + 2.0).then_some([42.0, 68.0, 34.0])
}
