//! The cases of the suite.

use super::picture::{changed, clean, eight_bit, noisy};
use crate::bm3d::{Params, Plan, Profile, Weight};
use crate::device::SampleFormat;
use crate::method::{self, Front};
use crate::transform::Transform;
use crate::{ColorMode, Plane, Result};

/// What a device is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    /// The scalar reference: slow.
    Reference,
    /// The processor.
    Processor,
}

/// One picture and what is done to it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    params: Params,
    /// Of each channel that is filtered.
    pub(super) sigma: Vec<f32>,
    pub(super) noisy: Vec<Plane>,
    /// For the PSNR, where that means something.
    pub(super) clean: Option<Vec<Plane>>,
    pub(super) yardstick: Yardstick,
    /// Of the samples.
    range: (f32, f32),
}

impl Case {
    pub(super) fn plan(&self) -> Result<Plan> {
        self.halved(0)
    }

    /// The same for the picture halved so many times: means of four samples have half the noise.
    fn halved(&self, times: usize) -> Result<Plan> {
        let (w, h) = (self.noisy[0].width() >> times, self.noisy[0].height() >> times);
        let sigma: Vec<f32> = self.sigma.iter().map(|s| s / (1 << times) as f32).collect();
        Ok(Plan::new(&self.params, w, h, &sigma)?.for_range(self.range.0, self.range.1))
    }

    /// Grey noise of deviation `sigma` on the picture of the suite.
    fn grey(name: impl Into<String>, params: Params, (w, h): (usize, usize), sigma: f32) -> Self {
        let clean = clean(w, h, 0.0);
        // Noise that cannot be made is a deviation that makes no sense; the cases have none.
        let noisy = noisy(&clean, sigma, (w * 1000 + h) as u64).unwrap_or_else(|_| clean.clone());
        Self {
            name: name.into(),
            params,
            sigma: vec![sigma],
            noisy: vec![noisy],
            clean: Some(vec![clean]),
            yardstick: Yardstick::Reference,
            range: (0.0, 255.0),
        }
    }

    fn yardstick(mut self, yardstick: Yardstick) -> Self {
        self.yardstick = yardstick;
        self
    }

    fn eight_bit(mut self) -> Self {
        self.noisy.iter_mut().for_each(|p| *p = eight_bit(p));
        self
    }

    /// Without a PSNR: there is hardly any noise in it.
    fn unclean(mut self) -> Self {
        self.clean = None;
        self
    }
}

fn with(profile: Profile, sigma: f32, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = profile.params(sigma);
    change(&mut params);
    params
}

/// Both passes alike, with small windows so that the reference is quick.
fn both(change: impl Fn(&mut crate::bm3d::PassParams)) -> Params {
    with(Profile::Original, 25.0, |p| {
        (p.hard.window, p.wiener.window) = (15, 11);
        change(&mut p.hard);
        change(&mut p.wiener);
    })
}

/// Profiles, sizes, steps, groups, and whatever else a plan can say.
pub(super) fn conformance(quick: bool) -> Vec<Case> {
    let some = |n: usize| if quick { n } else { usize::MAX };
    let mut cases = Vec::new();
    for profile in Profile::ALL {
        for sigma in [25.0, 60.0, 5.0].into_iter().take(some(1)) {
            let name = format!("profile {}, sigma {sigma}", profile.name());
            cases.push(Case::grey(name, profile.params(sigma), (61, 50), sigma));
        }
    }
    for profile in
        [Profile::Original, Profile::Fast, Profile::Normal, Profile::High].into_iter().take(some(2))
    {
        let name = format!("profile {}, 150 x 140, 8-bit", profile.name());
        cases.push(Case::grey(name, profile.params(25.0), (150, 140), 25.0).eight_bit());
    }
    let sizes =
        [(8, 8), (9, 17), (97, 53), (17, 9), (8, 61), (61, 8), (31, 37), (64, 64), (65, 63), (16, 131)];
    for size in sizes.into_iter().take(some(3)) {
        let name = format!("{} x {}", size.0, size.1);
        cases.push(Case::grey(name, Profile::Original.params(25.0), size, 25.0));
    }
    for step in [1, 3, 8, 2, 4, 5, 6, 7].into_iter().take(some(3)) {
        cases.push(Case::grey(format!("step {step}"), both(|p| p.step = step), (53, 47), 25.0));
    }
    let mixed = with(Profile::Original, 25.0, |p| (p.hard.step, p.wiener.step) = (5, 2));
    cases.push(Case::grey("steps 5 and 2", mixed, (53, 47), 25.0));
    // What the fast kernels do not serve.
    let general = both(|p| (p.stack, p.group, p.patch) = (Transform::Dct, 4, 7));
    cases.push(Case::grey("patch 7, stack dct, groups of 4", general, (53, 47), 25.0));
    for group in [1, 8, 32, 128, 2, 4, 16, 64].into_iter().take(some(4)) {
        cases.push(Case::grey(format!("groups of {group}"), both(|p| p.group = group), (53, 47), 25.0));
    }
    for window in [1, 39, 9, 59, 75].into_iter().take(some(2)) {
        let params = both(|p| (p.window, p.group) = (window, 16));
        cases.push(Case::grey(format!("window {window}"), params, (70, 45), 25.0));
    }
    for patch in [4, 12, 5, 7, 16].into_iter().take(some(2)) {
        let params = both(|p| (p.patch, p.step) = (patch, p.step.min(patch)));
        cases.push(Case::grey(format!("patch {patch}"), params, (45, 41), 25.0));
    }
    if !quick {
        for transform in Transform::ALL {
            let name = format!("transform {}", transform.name());
            cases.push(Case::grey(name, both(|p| p.transform = transform), (45, 41), 25.0));
            for group in [2, 16, 64] {
                let name = format!("stack {}, groups of {group}", transform.name());
                let params = both(|p| (p.stack, p.group) = (transform, group));
                cases.push(Case::grey(name, params, (45, 41), 25.0));
            }
        }
        cases.push(Case::grey("no aggregation window", both(|p| p.beta = 0.0), (45, 41), 25.0));
        cases.push(Case::grey("exact variances", both(|p| p.exact = true), (45, 41), 25.0));
        for weight in [Weight::Variance, Weight::Deviation] {
            cases.push(Case::grey(format!("weight {weight:?}"), both(|p| p.weight = weight), (45, 41), 25.0));
        }
        for tau in [0.0, 100.0, 20000.0] {
            cases.push(Case::grey(format!("tau {tau}"), both(|p| p.tau = tau), (45, 41), 25.0));
        }
        cases.push(Case::grey(
            "prefilter",
            with(Profile::Original, 25.0, |p| p.hard.lambda2d = 2.0),
            (40, 33),
            25.0,
        ));
    }
    cases.push(Case::grey("one pass", with(Profile::Normal, 25.0, |p| p.passes = 1), (61, 50), 25.0));
    cases.extend(colours(quick));
    cases.extend(peculiar(quick));
    for (profile, size) in [
        (Profile::Original, (300, 200)),
        (Profile::Original, (640, 512)),
        (Profile::Normal, (643, 481)),
        (Profile::Fast, (1031, 717)),
        (Profile::High, (520, 512)),
    ]
    .into_iter()
    .take(some(1))
    {
        let name = format!("profile {}, {} x {}", profile.name(), size.0, size.1);
        cases.push(
            Case::grey(name, profile.params(25.0), size, 25.0).eight_bit().yardstick(Yardstick::Processor),
        );
    }
    cases
}

/// Three channels that share their groups.
fn colours(quick: bool) -> Vec<Case> {
    let profiles = [Profile::Normal, Profile::Original, Profile::Fast].into_iter();
    profiles
        .take(if quick { 1 } else { 3 })
        .map(|profile| {
            let sigma = [14.4, 17.7, 15.3];
            let name = format!("three channels, profile {}", profile.name());
            let mut case = Case::grey(name, profile.color_params(25.0), (58, 49), sigma[0]);
            let clean: Vec<Plane> = (0..3).map(|c| clean(58, 49, c as f32)).collect();
            let made = clean.iter().zip(sigma).enumerate().map(|(c, (p, s))| noisy(p, s, c as u64));
            case.noisy = made.collect::<Result<_>>().unwrap_or_else(|_| clean.clone());
            (case.sigma, case.clean) = (sigma.to_vec(), Some(clean));
            case
        })
        .collect()
}

/// Ties, flat pictures, and samples far from black and white.
fn peculiar(quick: bool) -> Vec<Case> {
    let original = |sigma: f32| Profile::Original.params(sigma);
    let mut cases = Vec::new();
    let mut flat = Case::grey("flat", original(25.0), (45, 41), 25.0).unclean();
    flat.noisy[0] = changed(&flat.noisy[0], |_| 77.0);
    cases.push(flat);
    // All have the same matching value: the order of candidates alone decides.
    let mut ties = Case::grey("ties", original(25.0), (48, 40), 25.0).unclean();
    ties.noisy[0] = changed(&ties.noisy[0], |v| 100.0 + 0.3 * (0.7 * v).sin());
    ties.sigma = vec![0.2];
    cases.push(ties);
    // Few levels and long runs: many equal distances beside different ones. The noise is such that no sum of levels is
    // exactly at the threshold, where rounding would decide for many coefficients at once.
    let mut runs = Case::grey("few levels", original(25.1), (64, 52), 25.1).unclean();
    runs.noisy[0] = changed(&runs.noisy[0], |v| (v / 40.0).round() * 40.0);
    cases.push(runs);
    if !quick {
        let mut far = Case::grey("far from black", original(25.0), (45, 41), 25.0).unclean();
        far.noisy[0] = changed(&far.noisy[0], |v| v + 2000.0);
        far.range = (2000.0, 2255.0);
        cases.push(far);
        let mut wide = Case::grey("highlights", original(25.0), (45, 41), 25.0).unclean();
        wide.noisy[0] = changed(&wide.noisy[0], |v| if v > 130.0 { v * 8.0 } else { v });
        wide.range = (0.0, 2000.0);
        cases.push(wide);
        let mut black = Case::grey("black and white", original(25.1), (45, 41), 25.1).unclean();
        black.noisy[0] = changed(&black.noisy[0], |v| if v > 100.0 { 255.0 } else { 0.0 });
        cases.push(black);
    }
    cases
}

/// A picture in samples of some type.
pub(super) struct Stored {
    pub(super) case: Case,
    pub(super) format: SampleFormat,
    pub(super) color: Option<ColorMode>,
    /// At how many sizes it is filtered.
    sizes: usize,
}

impl Stored {
    pub(super) fn plan(&self) -> Result<method::Plan> {
        let front = Front { color: self.color, ..Front::channels(self.format.white()) };
        let size = |times| Ok(method::Plan::new(self.case.halved(times)?, front.clone()));
        let smallest = size(self.sizes - 1);
        (0..self.sizes - 1).rev().fold(smallest, |smaller, times| size(times)?.with_coarser(smaller?))
    }
}

/// Sample types, grey and in colour; and several sizes.
pub(super) fn stored(quick: bool) -> Vec<Stored> {
    let mut cases = Vec::new();
    for format in SampleFormat::ALL {
        let name = format!("{} samples", format.name());
        let case = Case::grey(name, Profile::Original.params(25.0), (101, 77), 25.0);
        cases.push(Stored { case, format, color: None, sizes: 1 });
        let modes = [
            (ColorMode::Opp, 1),
            (ColorMode::Opp, 3),
            (ColorMode::YCbCr, 1),
            (ColorMode::Luma, 1),
            (ColorMode::Luma, 2),
        ];
        for (mode, sizes) in modes.into_iter().take(if quick { 2 } else { 5 }) {
            let more = if sizes > 1 { format!(", {sizes} sizes") } else { String::new() };
            let name = format!("{} samples, {}{more}", format.name(), mode.name());
            let mut case = Case::grey(name, Profile::Normal.color_params(25.0), (83, 61), 25.0);
            let clean: Vec<Plane> = (0..3).map(|c| clean(83, 61, c as f32)).collect();
            let made = clean.iter().enumerate().map(|(c, p)| noisy(p, 25.0, c as u64));
            case.noisy = made.collect::<Result<_>>().unwrap_or_else(|_| clean.clone());
            case.clean = Some(clean);
            let channels = if mode == ColorMode::Luma { 1 } else { 3 };
            case.sigma = mode.noise_gain()[..channels].iter().map(|g| 25.0 * *g as f32).collect();
            cases.push(Stored { case, format, color: Some(mode), sizes });
        }
    }
    cases
}

/// Twice the same.
pub(super) fn repeated(quick: bool) -> Case {
    let size = if quick { (150, 140) } else { (640, 480) };
    Case::grey("twice the same", Profile::Original.params(25.0), size, 25.0).eight_bit()
}

/// Pictures of several tiles.
pub(super) fn tiled(quick: bool) -> Vec<Case> {
    let profiles =
        [(Profile::Original, (530, 410)), (Profile::Fast, (403, 611)), (Profile::Normal, (450, 460))];
    profiles
        .into_iter()
        .take(if quick { 1 } else { 3 })
        .map(|(profile, size)| {
            let name = format!("tiles, profile {}, {} x {}", profile.name(), size.0, size.1);
            Case::grey(name, profile.params(25.0), size, 25.0).eight_bit()
        })
        .collect()
}
