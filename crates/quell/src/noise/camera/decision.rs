//! Is it noise of a camera, and how much of it? Everything here is a ramp between sure and not at all, so that a picture in
//! doubt is filtered less instead of wrongly.

use super::CameraNoise;
use super::bins::{Bin, Bins};
use super::blocks::{BANDS, SIDE};

/// Full trust and none, by the scatter of the blocks. It is 0.28 for noise of any spectrum (27 coefficients), 0.45 to 1 for
/// texture. Luma alone has to be surer of it: there is no colour to ask.
const SCATTER: [f64; 2] = [0.36, 0.46];
const SCATTER_GREY: [f64; 2] = [0.32, 0.38];
/// By the first band over the second: texture grows towards low frequencies, noise flattens out.
const RISE: [f64; 2] = [1.8, 2.6];
const RISE_GREY: [f64; 2] = [1.3, 1.8];
/// By the second band over the last, of grey pictures: noise that was not smoothed is white, or texture.
const FALL_GREY: [f64; 2] = [4.0, 3.0];
/// Too alike, or with next to nothing below their second band: patterns that repeat. Quiet blocks of noise have 0.6 times
/// as much there, since they were chosen for it.
const REPEATED: [f64; 2] = [0.15, 0.10];
const PATTERN: [f64; 2] = [0.5, 0.35];
/// By evenness: an edge through every quiet block is no noise.
const EVENNESS: [f64; 2] = [0.7, 0.6];
/// By the sum of trust over the bins: noise is there at every brightness, one bin may be an accident.
const AGREEING: [f64; 2] = [1.0, 0.4];
const AGREEING_GREY: [f64; 2] = [2.5, 1.0];
/// Strong noise hides texture: above this level as many times more trust is needed.
const STRONG: f64 = 8.0;
/// Detail is sharp by its third band over its second. So is the texture of sharp pictures: they need up to `SHARP_TIMES`
/// as much trust, unless their detail is less than `FAINT` times the noise.
const SHARP: [f64; 2] = [0.54, 0.38];
const SHARP_TIMES: f64 = 3.5;
const FAINT: f64 = 4.0;
/// By the level itself: what is weaker is hardly seen, and may be the grain of a clean picture.
const LEVEL: [f64; 2] = [5.5, 3.5];
/// Bins with this share of the most trusted one's trust bound the level of the others.
const SURE: f64 = 0.5;
/// Noise of a camera varies by no more than this between brightnesses, but that it falls towards black, in proportion
/// between these two.
const VARIES: f64 = 2.0;
const DARK: (f64, f64) = (8.0, 48.0);
/// White noise falls by less than this from the second band to the last; times the fall of colour where there is colour.
const WHITE: f64 = 3.0;
const WHITE_GREY: f64 = 2.5;
/// White noise has as much of colour as of luma in the last band; noise of a camera may, where the last band has less
/// than one in `FAR` of the second.
const COLOURED: (f64, f64) = (0.75, 1.35);
const FAR: f64 = 6.0;
/// Levels below this are the rounding to 8 bits.
const ROUNDING: f64 = 0.3;
/// BM3D takes noise for white and wants the level of the low frequencies, where the noise of a camera is strongest:
/// so many times the level of the second band, more the steeper the spectrum falls to the third.
const STEEP: (f64, f64) = (2.35, 1.4);
const TIMES: (f64, f64) = (1.0, 1.6);
/// Sharp pictures have more to lose: from this sharpness on the level falls by this power of it, to `LOSS` at most.
const SOFT: f64 = 0.36;
const LOSES: f64 = 0.84;
const LOSS: f64 = 0.6;
/// Energy that detail has in any case, so that it can be divided by.
const NO_DETAIL: f64 = 1e-3;

/// 1 up to `full`, 0 from `none` on, straight in between; `none` may be the smaller.
fn ramp(x: f64, [full, none]: [f64; 2]) -> f64 {
    ((none - x) / (none - full)).clamp(0.0, 1.0)
}

/// What the bins say, on the 0..255 scale; `None` for white noise, none, or doubt. `grey`: they know luma only, and
/// levels are those of a colour picture with equal channels.
pub(super) fn decide(found: &Bins, grey: bool) -> Option<CameraNoise> {
    let bins = &found.list;
    let trust = bounded(bins, &bins.iter().map(|bin| trust(bin, grey)).collect::<Vec<_>>());
    let sum: f64 = trust.iter().sum();
    if sum <= 0.0 {
        return None;
    }
    let level = |c: usize, band: usize| {
        let power = |(bin, trust): (&Bin, &f64)| trust * bin.levels[c][band].powi(2);
        (bins.iter().zip(&trust).map(power).sum::<f64>() / sum).sqrt()
    };
    let luma: [f64; BANDS.len()] = std::array::from_fn(|band| level(0, band));
    let chroma: [f64; BANDS.len()] =
        std::array::from_fn(|band| ((level(1, band).powi(2) + level(2, band).powi(2)) / 2.0).sqrt());
    let detail = |i: usize| (found.detail[i] - luma[1 + i].powi(2)).max(NO_DETAIL);
    let sharpness = (detail(1) / detail(0)).sqrt();
    let is_faint = detail(0) <= (FAINT * luma[1]).powi(2);
    let confidence = {
        let sharp = if is_faint { 0.0 } else { ramp(sharpness, SHARP) };
        let times = (luma[1] / STRONG).max(1.0) * (1.0 + (SHARP_TIMES - 1.0) * sharp);
        let agreeing = if grey { AGREEING_GREY } else { AGREEING };
        ramp(sum, agreeing.map(|wanted| wanted * times)) * ramp(luma[1], LEVEL)
    };
    if confidence <= 0.0 || is_white(&luma, (!grey).then_some(&chroma)) {
        return None;
    }
    let times =
        steepness(&luma) * if is_faint { 1.0 } else { (SOFT / sharpness).powf(LOSES).clamp(LOSS, 1.0) };
    // Grey samples, not the luma of three.
    let unit = if grey { 1.0 / 3.0_f64.sqrt() } else { 1.0 };
    let point = |(bin, trust): (&Bin, &f64)| {
        (*trust > 0.0).then_some((bin.brightness as f32, (unit * bin.levels[0][1]) as f32))
    };
    Some(CameraNoise {
        sigma: (confidence * times * luma[1] * unit) as f32,
        confidence: confidence as f32,
        luma: luma.map(|v| (unit * v) as f32),
        chroma: (!grey).then(|| chroma.map(|v| v as f32)),
        grain: grain(&luma) as f32,
        curve: bins.iter().zip(&trust).filter_map(point).collect(),
    })
}

/// How many times the level of the second band BM3D is to filter for.
pub(super) fn steepness(luma: &[f64; BANDS.len()]) -> f64 {
    (STEEP.0 - STEEP.1 * luma[2] / luma[1]).clamp(TIMES.0, TIMES.1)
}

/// How far a bin is to be trusted.
fn trust(bin: &Bin, grey: bool) -> f64 {
    let [first, second, .., last] = bin.levels[0];
    let by_spectrum = if grey {
        ramp(bin.scatter, SCATTER_GREY) * ramp(first / second, RISE_GREY) * ramp(second / last, FALL_GREY)
    } else {
        ramp(bin.scatter, SCATTER) * ramp(first / second, RISE)
    };
    let by_pattern = ramp(bin.scatter, REPEATED) * ramp(first / second, PATTERN);
    by_spectrum * by_pattern * ramp(bin.evenness, EVENNESS)
}

/// The trust that is left where bins contradict surer ones.
fn bounded(bins: &[Bin], trust: &[f64]) -> Vec<f64> {
    let best = trust.iter().copied().fold(0.0, f64::max);
    let level = |bin: &Bin| bin.levels[0][1];
    let agrees = |bin: &Bin| {
        let (dark, bright) = DARK;
        bins.iter().zip(trust).filter(|(_, t)| **t >= SURE * best).all(|(sure, _)| {
            let lighter = (bin.brightness.min(bright) / sure.brightness.max(dark)).max(1.0);
            level(bin) <= VARIES * level(sure) * lighter
        })
    };
    bins.iter().zip(trust).map(|(bin, t)| if agrees(bin) { *t } else { 0.0 }).collect()
}

/// Noise that other estimators know how to measure.
fn is_white(luma: &[f64; BANDS.len()], chroma: Option<&[f64; BANDS.len()]>) -> bool {
    let [_, second, .., last] = *luma;
    let fall = second / last;
    let Some(chroma) = chroma else { return fall < WHITE_GREY };
    let fall_of_colour = chroma[0].max(chroma[1]) / chroma[3].max(ROUNDING);
    let colour = chroma[4] / last.max(ROUNDING);
    fall * fall_of_colour < WHITE || (fall < FAR && COLOURED.0 < colour && colour < COLOURED.1)
}

/// Size of the grain in pixels: half the wave at which the power of the noise has halved; 1 if it never does.
pub(super) fn grain(luma: &[f64; BANDS.len()]) -> f64 {
    // Cycles per pixel in the middle of each band.
    let frequency = |band: usize| {
        let (from, to) = BANDS[band];
        (from + to - 1) as f64 / 2.0 / (2 * SIDE) as f64
    };
    // The first band has some of the picture.
    let power = |band: usize| (luma[band] / luma[1]).powi(2);
    let Some(below) = (2..BANDS.len()).find(|band| power(*band) < 0.5) else { return 1.0 };
    let part = (power(below - 1) - 0.5) / (power(below - 1) - power(below));
    let halved = frequency(below - 1) + part * (frequency(below) - frequency(below - 1));
    0.5 / halved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(brightness: f64, scatter: f64, level: f64, falls: [f64; 5]) -> Bin {
        let luma = falls.map(|f| level * f);
        let chroma = [1.0, 0.9, 0.5, 0.2, 0.1].map(|f| level * f);
        Bin { brightness, scatter, levels: [luma, chroma, chroma], evenness: 0.9 }
    }

    /// Of a picture with soft detail.
    fn of(list: Vec<Bin>) -> Bins {
        Bins { list, detail: [4000.0, 200.0] }
    }

    const SMOOTHED: [f64; 5] = [1.1, 1.0, 0.7, 0.4, 0.2];

    #[test]
    fn smoothed_noise_is_found_and_white_noise_is_not() {
        let bins = |falls| of((0..12).map(|i| bin(20.0 * f64::from(i), 0.28, 10.0, falls)).collect());
        let found = decide(&bins(SMOOTHED), false).unwrap();
        assert!(found.sigma > 10.0 && found.sigma < 16.0 && found.confidence == 1.0, "{found:?}");
        assert!((1.9..2.3).contains(&found.grain), "{found:?}");
        let grey = decide(&bins(SMOOTHED), true).unwrap();
        assert!((grey.sigma * 3.0_f32.sqrt() / found.sigma - 1.0).abs() < 1e-5, "{grey:?}");
        let mut white = bins([1.0; 5]);
        white.list.iter_mut().for_each(|bin| bin.levels = [[10.0; 5]; 3]);
        assert!(decide(&white, false).is_none() && decide(&white, true).is_none());
        assert!(decide(&Bins::default(), false).is_none());
    }

    #[test]
    fn doubt_filters_less() {
        let sigma = |scatter: f64, count: i32| {
            let list = (0..count).map(|i| bin(20.0 * f64::from(i), scatter, 10.0, SMOOTHED)).collect();
            decide(&of(list), false).map_or(0.0, |found| found.sigma)
        };
        assert!(sigma(0.3, 12) == sigma(0.3, 2) && sigma(0.4, 1) < sigma(0.3, 12));
        assert!(sigma(0.4, 1) > 0.0);
        assert_eq!(sigma(0.5, 12), 0.0);
    }

    #[test]
    fn sharp_pictures_are_filtered_less() {
        let list = || (0..2).map(|i| bin(90.0 + 20.0 * f64::from(i), 0.28, 8.0, SMOOTHED)).collect();
        let sigma = |detail| decide(&Bins { list: list(), detail }, false).map_or(0.0, |found| found.sigma);
        let (soft, sharp) = (sigma([4000.0, 200.0]), sigma([4000.0, 4000.0]));
        assert!(sharp < 0.7 * soft, "{sharp} {soft}");
        // The more of the picture says so, the more.
        assert!(sigma([4000.0, 800.0]) < soft && sigma([4000.0, 800.0]) > sharp);
    }

    #[test]
    fn one_bin_of_texture_does_not_raise_the_level() {
        let mut bins: Vec<Bin> = (1..12).map(|i| bin(20.0 * f64::from(i), 0.28, 8.0, SMOOTHED)).collect();
        let without = decide(&of(bins.clone()), false).unwrap();
        bins.push(bin(240.0, 0.3, 40.0, SMOOTHED));
        let with = decide(&of(bins), false).unwrap();
        assert_eq!((with.sigma, with.curve.len()), (without.sigma, 11));
    }
}
