use super::*;
use crate::device::DeviceOptions;
use crate::device::cpu::Level;
use crate::ridge::{Profile, reference};

fn picture(w: usize, h: usize, sigma: f32) -> Plane {
    let mut random = crate::noise::Random::new(7);
    let data = (0..w * h).map(|i| {
        let (x, y) = ((i % w) as f32, (i / w) as f32);
        let edge = if (x - 0.6 * y) % 23.0 < 11.0 { 60.0 } else { 150.0 };
        edge + 20.0 * (0.4 * x).sin() + sigma * random.gaussian() as f32
    });
    Plane::from_vec(w, h, data.collect()).unwrap()
}
