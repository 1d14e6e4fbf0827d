//! One protocol for every measurement: one run that is not timed, then runs of which the median counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use quell::device::cpu::Level;
use quell::device::{self, Backend, DeviceOptions, Kind, Samples};
use quell::metrics::{psnr, ssim};
use quell::noise::correlated::{Correlation, Kernel, PsdSource};
use quell::noise::{self, Estimator};
use quell::{Cancel, Control, Denoiser, DenoiserBuilder, Device, Frame, Method};

use crate::case::{Case, Place, Row, Setup};
use crate::catalogue::On;
use crate::clip::Clip;
use crate::material::{Material, Subject, drawn};
use crate::{Result, machine};

/// Runs that are timed, at most and at least, and the seconds after which there are enough.
const RUNS: usize = 7;
const LEAST_RUNS: usize = 2;
const ENOUGH: f64 = 2.0;
/// Frames of a clip.
const FRAMES: usize = 12;
const QUICK_FRAMES: usize = 8;
/// Size of a drawn clip: that of Goossens et al.
const CLIP: (usize, usize) = (720, 480);
const QUICK_CLIP: (usize, usize) = (360, 240);

/// Devices that were started, and what is filtered at the moment.
pub(crate) struct Bench<'a> {
    material: &'a Material,
    quick: bool,
    cancel: Cancel,
    backends: HashMap<Setup, Arc<dyn Backend>>,
    subject: Option<(On, Place, Subject)>,
    noisy: Option<(String, Frame)>,
    clip: Option<(Clip, Clip, f32)>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(material: &'a Material, quick: bool, cancel: Cancel) -> Self {
        Self { material, quick, cancel, backends: HashMap::new(), subject: None, noisy: None, clip: None }
    }

    /// Measures a case. That a device refuses it, or has no memory for it, is a result as well.
    pub(crate) fn measure(&mut self, case: &Case) -> Result<Row> {
        let row = Row {
            experiment: case.experiment.clone(),
            sigma: case.sigma,
            variant: case.variant.name.clone(),
            value: case.variant.value,
            device: case.setup.device.clone(),
            threads: case.setup.threads,
            tile: case.setup.tile,
            level: case.setup.level.clone(),
            past: case.past,
            ..Row::default()
        };
        let measured =
            if case.on == On::Clip { self.clip(case, row.clone()) } else { self.picture(case, row.clone()) };
        match measured {
            Err(crate::Error::Quell(e)) if !matches!(e, quell::Error::Cancelled) => {
                Ok(Row { failed: Some(e.to_string()), ..row })
            }
            other => other,
        }
    }

    fn control(&self) -> Control {
        Control::new().with_cancel(self.cancel.clone())
    }

    fn backend(&mut self, setup: &Setup) -> Result<Arc<dyn Backend>> {
        if let Some(backend) = self.backends.get(setup) {
            return Ok(backend.clone());
        }
        let device: Device = setup.device.parse()?;
        let level = Level::ALL.into_iter().find(|l| setup.level.as_deref() == Some(l.name()));
        let options = DeviceOptions { threads: setup.threads, tile: setup.tile, level };
        let backend: Arc<dyn Backend> = device::open(device, options)?.into();
        self.backends.insert(setup.clone(), backend.clone());
        Ok(backend)
    }

    fn denoiser(&mut self, case: &Case, frame: Option<&Frame>) -> Result<Denoiser> {
        let method = Method::named(&case.variant.method, case.variant.profile.as_deref())?;
        let mut builder = DenoiserBuilder::new(method);
        if case.on != On::Pairs {
            builder = builder.sigma(case.sigma);
        }
        for (name, value) in case.variant.sets() {
            builder = builder.set(name, value);
        }
        if let Some(past) = case.past {
            builder = builder.set("past", past).set("future", if case.future { past } else { 0 });
        }
        let psd = match (case.variant.spectrum.as_deref(), frame) {
            (Some("known"), Some(frame)) => {
                let kernel: Kernel = case.noise.parse()?;
                Some(PsdSource::Known(kernel.psd(
                    frame.width(),
                    frame.height(),
                    f64::from(case.sigma).powi(2),
                )?))
            }
            (Some(_), _) => Some(PsdSource::Auto),
            _ => None,
        };
        if psd.is_some() {
            builder = builder.correlation(Correlation { covariance: None, psd });
        }
        Ok(builder.build_on(self.backend(&case.setup)?)?)
    }

    /// The clean picture of a case, and the noisy one.
    fn pictures(&mut self, case: &Case) -> Result<Option<(Subject, Frame)>> {
        let at = |s: &(On, Place, Subject)| (s.0, s.1.clone()) == (case.on, case.place.clone());
        if !self.subject.as_ref().is_some_and(at) {
            let subject = match &case.place {
                Place::Given(index, _) => self.material.subject(case.on, *index)?,
                Place::Drawn(size) => Some(drawn(size)?),
            };
            let Some(subject) = subject else { return Ok(None) };
            self.subject = Some((case.on, case.place.clone(), subject));
            self.noisy = None;
        }
        let Some((_, _, subject)) = &self.subject else { return Ok(None) };
        if let Some(noisy) = &subject.noisy {
            return Ok(Some((subject.clone(), noisy.clone())));
        }
        let key = format!("{} {}", case.noise, case.sigma);
        if self.noisy.as_ref().is_none_or(|(k, _)| *k != key) {
            // As in the tables of quell's own documents: every picture of a set has its own seed.
            let seed = match &case.place {
                Place::Given(index, _) => 1000 + *index as u64,
                Place::Drawn(_) => 1000,
            };
            self.noisy = Some((key, add(&subject.clean, &case.noise, case.sigma, seed)?));
        }
        Ok(self.noisy.as_ref().map(|(_, noisy)| (subject.clone(), noisy.clone())))
    }

    fn picture(&mut self, case: &Case, row: Row) -> Result<Row> {
        let Some((subject, noisy)) = self.pictures(case)? else {
            return Ok(Row { failed: Some("the picture has no colours".into()), ..row });
        };
        let (width, height, channels) = (noisy.width(), noisy.height(), noisy.channels());
        let mut row = Row { picture: subject.name, width, height, channels, ..row };
        if case.variant.method == "estimate" {
            let estimator: Estimator = case.variant.name.parse()?;
            let mut found = 0.0;
            let times = timed(|| {
                found = noise::estimate(&noisy.view(), estimator)?;
                Ok(())
            })?;
            row.found = Some(f64::from(found));
            return Ok(with_times(row, &times));
        }
        let clean = &subject.clean;
        row.psnr_noisy = Some(psnr(clean, &noisy)?.all);
        if case.memory {
            // What a device keeps for the next picture would not be taken again.
            self.backends.clear();
        }
        let denoiser = self.denoiser(case, Some(&noisy))?;
        let control = self.control();
        let before = (case.memory && machine::forget_peak()).then(machine::memory).flatten();
        let result = denoiser.run(&noisy, &control)?.frame;
        row.psnr = Some(psnr(clean, &result)?.all);
        row.ssim = ssim(clean, &result).ok().map(|q| q.all);
        let on_gpu = denoiser.device().kind != Kind::Cpu;
        if !on_gpu {
            let taken =
                |((now, _), (_, most)): ((u64, u64), (u64, u64))| most.saturating_sub(now) as f64 / 1e6;
            row.memory_mb = before.zip(machine::memory()).map(taken);
        }
        drop(result);
        let times = timed(|| Ok(denoiser.run(&noisy, &control)?))?;
        if on_gpu && case.on != On::Pairs && case.variant.spectrum.is_none() {
            let from: Vec<Samples<'_>> = noisy.planes().iter().map(|p| Samples::F32(p.as_slice())).collect();
            if let Ok(timing) = denoiser.time_samples(width, height, noisy.white(), &from, 5) {
                let mut total: Vec<f64> = timing.total_ms.iter().map(|v| f64::from(*v)).collect();
                row.device_ms = median(&mut total);
                row.memory_mb = case.memory.then_some(timing.device_bytes as f64 / 1e6);
                let stages = timing.stages.iter().map(|(name, ms)| format!("{name} {ms:.3}"));
                row.stages = case.stages.then(|| stages.collect::<Vec<_>>().join("; "));
            }
        }
        Ok(with_times(row, &times))
    }

    fn clip(&mut self, case: &Case, row: Row) -> Result<Row> {
        let frames = if self.quick { QUICK_FRAMES } else { FRAMES };
        if self.clip.as_ref().is_none_or(|(_, _, sigma)| *sigma != case.sigma) {
            let given = match self.material.clip() {
                Some(path) => Clip::read(path, frames)?,
                None => None,
            };
            let (w, h) = if self.quick { QUICK_CLIP } else { CLIP };
            let clean = given.map_or_else(|| Clip::draw(w, h, frames), Ok)?;
            let noisy = clean.noisy(case.sigma)?;
            self.clip = Some((clean, noisy, case.sigma));
        }
        let denoiser = self.denoiser(case, None)?;
        let control = self.control();
        let Some((clean, noisy, _)) = &self.clip else { return Ok(row) };
        let (width, height, channels) =
            (clean.format.width, clean.format.height, clean.format.layout.planes());
        let Place::Given(_, name) = &case.place else { return Ok(row) };
        let mut row = Row { picture: name.clone(), width, height, channels, ..row };
        let result = noisy.filter(&denoiser, control.clone())?;
        (row.psnr_noisy, row.psnr) = (Some(noisy.psnr(clean)), Some(result.psnr(clean)));
        let count = noisy.frames.len();
        row.frames = Some(count);
        let times = timed(|| noisy.filter(&denoiser, control.clone()))?;
        let of_one: Vec<f64> = times.iter().map(|ms| ms / count as f64).collect();
        Ok(with_times(row, &of_one))
    }

    /// A noisy picture, filtered: to be looked at.
    pub(crate) fn look(&mut self, case: &Case) -> Result<Option<(Frame, Frame, Frame)>> {
        let Some((subject, noisy)) = self.pictures(case)? else { return Ok(None) };
        let result = self.denoiser(case, Some(&noisy))?.run(&noisy, &self.control())?.frame;
        Ok(Some((subject.clean, noisy, result)))
    }
}

/// A picture with noise.
fn add(clean: &Frame, noise: &str, sigma: f32, seed: u64) -> Result<Frame> {
    Ok(match noise {
        "plain" => noise::add_gaussian(clean, sigma.into(), seed)?,
        "clipped" => {
            let mut noisy = noise::add_gaussian(clean, sigma.into(), seed)?;
            let samples = noisy.planes_mut().iter_mut().flat_map(|p| p.as_mut_slice());
            samples.for_each(|v| *v = v.round().clamp(0.0, 255.0));
            noisy
        }
        kernel => kernel.parse::<Kernel>()?.add(clean, sigma.into(), None, seed)?,
    })
}

/// Milliseconds of runs.
fn timed<T>(mut run: impl FnMut() -> Result<T>) -> Result<Vec<f64>> {
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.len() < RUNS && (times.len() < LEAST_RUNS || began.elapsed().as_secs_f64() < ENOUGH) {
        let start = Instant::now();
        let done = run()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        drop(done);
        if times.len() == 1 && times[0] > 3e3 * ENOUGH {
            break;
        }
    }
    Ok(times)
}

fn with_times(row: Row, times: &[f64]) -> Row {
    let mut sorted = times.to_vec();
    let ms = median(&mut sorted);
    Row { ms, ms_low: sorted.first().copied(), ms_high: sorted.last().copied(), runs: times.len(), ..row }
}

/// The median; `values` are in order afterwards.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let (low, high) = (values.get(n.saturating_sub(1) / 2)?, values.get(n / 2)?);
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }
}
