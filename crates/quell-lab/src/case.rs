//! One case of an experiment, and what was measured of it.

use quell::Device;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Devices, Experiment, On, Variant};
use crate::material::Material;

/// One thing that is measured.
#[derive(Clone, Debug)]
pub struct Case {
    /// The experiment.
    pub experiment: String,
    pub(crate) on: On,
    pub(crate) place: Place,
    pub(crate) noise: String,
    pub(crate) sigma: f32,
    pub(crate) variant: Variant,
    pub(crate) setup: Setup,
    pub(crate) past: Option<usize>,
    pub(crate) future: bool,
    pub(crate) memory: bool,
    pub(crate) stages: bool,
}

/// Which picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One of the material.
    Given(usize, String),
    /// A drawn one of a size.
    Drawn(String),
}

/// What carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Setup {
    pub(crate) device: String,
    pub(crate) threads: usize,
    pub(crate) tile: usize,
    pub(crate) level: Option<String>,
}

/// What was measured; what was not is left out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Row {
    /// The experiment.
    pub experiment: String,
    /// The picture or clip.
    pub picture: String,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Channels.
    pub channels: usize,
    /// Deviation of the noise on the 0..255 scale.
    pub sigma: f32,
    /// The method with its settings.
    pub variant: String,
    /// What was varied, as a number.
    pub value: Option<f64>,
    /// The device.
    pub device: String,
    /// Threads of the processor; 0 is all.
    pub threads: usize,
    /// Side of the tiles; 0 is none.
    pub tile: usize,
    /// Instruction set.
    pub level: Option<String>,
    /// Frames before each one of a clip.
    pub past: Option<usize>,
    /// Frames that were filtered.
    pub frames: Option<usize>,
    /// PSNR of what was given, in dB.
    pub psnr_noisy: Option<f64>,
    /// PSNR of the result.
    pub psnr: Option<f64>,
    /// SSIM of the result.
    pub ssim: Option<f64>,
    /// The deviation that was found.
    pub found: Option<f64>,
    /// Milliseconds of a picture or frame from host to host: the median.
    pub ms: Option<f64>,
    /// The least.
    pub ms_low: Option<f64>,
    /// The most.
    pub ms_high: Option<f64>,
    /// Runs that were timed, after one that was not.
    pub runs: usize,
    /// Milliseconds on the device alone.
    pub device_ms: Option<f64>,
    /// Memory beyond what was there before, in megabytes: of the host, or of the device.
    pub memory_mb: Option<f64>,
    /// Milliseconds by stage, as `match 1.20; filter 3.40`.
    pub stages: Option<String>,
    /// Why there is no result.
    pub failed: Option<String>,
}

impl Row {
    /// Millions of pixels.
    pub fn megapixels(&self) -> f64 {
        (self.width * self.height) as f64 / 1e6
    }
}

impl Case {
    /// All that tells it from others; a row that is kept under this name is not measured again.
    pub(crate) fn id(&self) -> String {
        let place = match &self.place {
            Place::Given(_, name) => name.clone(),
            Place::Drawn(size) => format!("drawn {size}"),
        };
        let Setup { device, threads, tile, level } = &self.setup;
        let level = level.as_deref().unwrap_or("best");
        let past = self.past.map_or(String::new(), |p| format!("/past {p}"));
        format!(
            "{}/{place}/{} {}/{}/{device} {threads} {tile} {level}{past}",
            self.experiment, self.noise, self.sigma, self.variant.name
        )
    }

    /// The command line that filters such a picture.
    pub(crate) fn command(&self) -> String {
        if self.variant.method == "estimate" {
            return format!("quell noise NOISY --estimator {}", self.variant.name);
        }
        let frames = match (self.past, self.future) {
            (Some(p), true) => format!(" --past {p} --future {p}"),
            (Some(p), false) => format!(" --past {p}"),
            _ => String::new(),
        };
        let sigma = if self.on == On::Pairs { String::new() } else { format!(" --sigma {}", self.sigma) };
        let tile = if self.setup.tile > 0 { format!(" --tile {}", self.setup.tile) } else { String::new() };
        let threads =
            if self.setup.threads > 0 { format!(" --threads {}", self.setup.threads) } else { String::new() };
        let known = match self.variant.spectrum.as_deref() {
            Some("known") => " --noise-psd FILE",
            Some(_) => " --noise-psd auto",
            None => "",
        };
        format!(
            "quell NOISY -o CLEAN {}{sigma}{known}{frames}{threads}{tile} --device {}",
            self.variant.flags(),
            self.setup.device
        )
    }
}

/// All cases of an experiment with what there is.
pub(crate) fn cases(e: &Experiment, material: &Material, devices: &[Device], quick: bool) -> Vec<Case> {
    let given = |names: Vec<String>| {
        names.into_iter().enumerate().map(|(i, n)| Place::Given(i, n)).collect::<Vec<_>>()
    };
    let sizes = e.sizes.iter().chain(e.full_sizes.iter().filter(|_| !quick));
    let places: Vec<(Place, Vec<f32>)> = if e.tests.is_empty() {
        let places = if e.on == On::Drawn {
            sizes.map(|s| Place::Drawn(s.clone())).collect()
        } else {
            given(material.names(e.on))
        };
        places.into_iter().map(|p| (p, e.sigmas.clone())).collect()
    } else {
        let tests = e.tests.iter().filter(|t| !(quick && t.full));
        tests.map(|t| (Place::Drawn(t.size.clone()), vec![t.sigma])).collect()
    };
    let setups = setups(e, devices);
    let past: Vec<Option<usize>> =
        if e.past.is_empty() { vec![None] } else { e.past.iter().copied().map(Some).collect() };
    let mut all = Vec::new();
    for (place, sigmas) in &places {
        for &sigma in sigmas {
            for variant in e.variants(quick) {
                for setup in &setups {
                    for &past in &past {
                        all.push(Case {
                            experiment: e.name.clone(),
                            on: e.on,
                            place: place.clone(),
                            noise: e.noise.clone(),
                            sigma,
                            variant: variant.clone(),
                            setup: setup.clone(),
                            past,
                            future: e.future,
                            memory: e.memory,
                            stages: e.stages,
                        });
                    }
                }
            }
        }
    }
    all
}

fn setups(e: &Experiment, devices: &[Device]) -> Vec<Setup> {
    let plain = |device: &str| Setup { device: device.into(), threads: 0, tile: 0, level: None };
    if !e.threads.is_empty() {
        let most = std::thread::available_parallelism().map_or(1, |n| n.get());
        let some = e.threads.iter().filter(|n| **n <= most);
        return some.map(|&threads| Setup { threads, ..plain("cpu") }).collect();
    }
    if !e.tiles.is_empty() {
        return e.tiles.iter().map(|&tile| Setup { tile, ..plain("cpu") }).collect();
    }
    if !e.levels.is_empty() {
        let best = quell::device::cpu::Level::detect();
        let there = quell::device::cpu::Level::ALL.into_iter().filter(|l| *l <= best).map(|l| l.name());
        let some = there.filter(|l| e.levels.iter().any(|name| name == l));
        return some.map(|l| Setup { level: Some(l.into()), ..plain("cpu") }).collect();
    }
    let mut names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    if e.devices == Devices::Cpu {
        // What is not about devices is measured on one: the first that was asked for.
        names.truncate(1);
    }
    names.iter().map(|d| plain(d)).collect()
}
