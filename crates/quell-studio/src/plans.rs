//! From settings to results: looking at a picture once, planning for it often, and filtering a part of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use quell::device::{Samples, SamplesMut};
use quell::noise::{self, Model};
use quell::{ClipNoise, Control, Denoiser, Plane, Resolved, Seen};

use crate::clip::Clip;
use crate::page::{self, Page};
use crate::settings::{Noise, Setup};
use crate::source::Source;
use crate::store::{Sheet, View};
use crate::tile::Area;
use crate::{Problem, Program};

/// File, frame, and what was looked for.
type Look = (u64, usize, String);

/// Plans that are kept.
const MOST: usize = 256;

/// What was found out so far.
#[derive(Default)]
pub(crate) struct Plans {
    looks: Mutex<HashMap<Look, Arc<Option<Seen>>>>,
    clips: Mutex<HashMap<(u64, String), Arc<ClipNoise>>>,
    plans: Mutex<HashMap<View, Arc<Planned>>>,
}

/// What is done to a frame.
pub(crate) struct Planned {
    pub(crate) setup: Arc<Setup>,
    pub(crate) how: How,
}

/// How it is filtered.
pub(crate) enum How {
    /// There is no noise.
    Not,
    /// Any part of a picture.
    Parts(Box<Resolved>),
    /// Whole frames, with those around them.
    Frames(Arc<ClipNoise>),
}

impl Plans {
    /// What is done for a view. It may take a look at the picture first, which takes its time.
    pub(crate) fn plan(
        &self,
        view: &View,
        setup: &Arc<Setup>,
        source: &Source,
        program: &dyn Program,
    ) -> Result<Arc<Planned>, Problem> {
        if let Some(known) = self.plans.lock().unwrap_or_else(PoisonError::into_inner).get(view) {
            return Ok(known.clone());
        }
        let how = match source {
            Source::Clip(clip) => How::Frames(self.clip_noise(view.file, setup, clip)?),
            Source::Giant(giant) => {
                if let Noise::Region { .. } = setup.settings.noise {
                    let what = "so large a picture is read in parts, and its noise cannot be measured in one of them";
                    return Err(
                        Problem::sense(what).hint("save the noise of that part as a profile, and use that")
                    );
                }
                let (some, alpha) = giant.some_rows(program)?;
                let alpha = alpha.as_ref().map(Plane::view);
                parts(setup.denoiser.resolve_rows(giant.shape().height, some, alpha.as_ref())?)
            }
            Source::Picture(_) => {
                let seen = self.seen(view.file, view.frame, setup, source)?;
                parts((*seen).as_ref().map(|seen| setup.denoiser.resolve_again(seen)).transpose()?)
            }
        };
        let planned = Arc::new(Planned { setup: setup.clone(), how });
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MOST {
            // They are quickly made again.
            plans.clear();
        }
        plans.insert(view.clone(), planned.clone());
        Ok(planned)
    }

    /// What is known of a page.
    pub(crate) fn seen(
        &self,
        file: u64,
        frame: usize,
        setup: &Setup,
        source: &Source,
    ) -> Result<Arc<Option<Seen>>, Problem> {
        let looked = (file, frame, setup.settings.looks_for()?);
        if let Some(seen) = self.looks.lock().unwrap_or_else(PoisonError::into_inner).get(&looked) {
            return Ok(seen.clone());
        }
        let page = source.page(frame)?;
        let seen = Arc::new(look(&setup.denoiser, &setup.settings.noise, &page)?);
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).insert(looked, seen.clone());
        Ok(seen)
    }

    /// What is known of a clip.
    pub(crate) fn clip_noise(
        &self,
        file: u64,
        setup: &Setup,
        clip: &Clip,
    ) -> Result<Arc<ClipNoise>, Problem> {
        // Given noise is the denoiser's own.
        let own = if setup.settings.noise == Noise::Auto { String::new() } else { setup.key.to_string() };
        let looked = (file, setup.settings.looks_for()? + &own);
        if let Some(noise) = self.clips.lock().unwrap_or_else(PoisonError::into_inner).get(&looked) {
            return Ok(noise.clone());
        }
        let noise = Arc::new(clip.noise(&setup.denoiser, &setup.settings.noise)?);
        self.clips.lock().unwrap_or_else(PoisonError::into_inner).insert(looked, noise.clone());
        Ok(noise)
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, file: u64) {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).retain(|(f, ..), _| *f != file);
        self.clips.lock().unwrap_or_else(PoisonError::into_inner).retain(|(f, _), _| *f != file);
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).retain(|view, _| view.file != file);
    }
}

fn parts(resolved: Option<Resolved>) -> How {
    resolved.map_or(How::Not, |resolved| How::Parts(Box::new(resolved)))
}

/// Looks at a picture as the program does.
fn look(denoiser: &Denoiser, noise: &Noise, page: &Page) -> Result<Option<Seen>, Problem> {
    let whole = || page.frame(page.shape().area());
    match noise {
        Noise::Auto => {
            let seen = denoiser.see(&whole()?, page.alpha().as_ref())?;
            Ok(seen)
        }
        Noise::Region { region } => {
            let model = measure(page, *region)?;
            match some(denoiser, page, Some(&model))? {
                Some(seen) => Ok(Some(seen)),
                None => Ok(denoiser.see_known(&whole()?, &model)?),
            }
        }
        Noise::Sigma { .. } | Noise::Profile { .. } => match some(denoiser, page, None)? {
            Some(seen) => Ok(Some(seen)),
            None => Ok(denoiser.see(&whole()?, page.alpha().as_ref())?),
        },
    }
}

/// A few samples are enough where the noise is known.
fn some(denoiser: &Denoiser, page: &Page, noise: Option<&Model>) -> Result<Option<Seen>, Problem> {
    let shape = page.shape();
    if !page.is_whole() {
        return Ok(None);
    }
    let sample = |plane, i| page.sample(plane, i);
    Ok(denoiser.see_samples((shape.width, shape.height), shape.channels, shape.white, noise, sample)?)
}

/// The noise of a flat part of a page.
pub(crate) fn measure(page: &Page, region: [usize; 4]) -> Result<Model, Problem> {
    let [x, y, width, height] = region;
    let area = Area { x, y, width, height };
    let shape = page.shape();
    let fits = |at: usize, side: usize, whole: usize| at.checked_add(side).is_some_and(|end| end <= whole);
    if !(fits(x, width, shape.width) && fits(y, height, shape.height)) || area.pixels() == 0 {
        return Err(Problem::sense(format!(
            "the region is not inside the picture, which has {} x {} pixels",
            shape.width, shape.height
        )));
    }
    let part = page.frame(area)?;
    Ok(noise::measure_region(&part.view(), [0, 0, width, height])?)
}

/// A part that needs so much of the picture is not worth computing alone.
const NEARLY_ALL: f64 = 0.7;

impl Planned {
    /// Pixels around a part that it depends on.
    pub(crate) fn halo(&self) -> usize {
        match &self.how {
            How::Parts(resolved) => resolved.plan.halo(),
            How::Not | How::Frames(_) => 0,
        }
    }
}

/// Computes an area of whole blocks, or more.
pub(crate) fn compute(
    planned: &Planned,
    source: &Source,
    frame: usize,
    area: Area,
    sheet: &Sheet,
    control: &Control,
) -> Result<(), Problem> {
    let resolved = match (&planned.how, source) {
        (How::Parts(resolved), _) => resolved,
        (How::Frames(noise), Source::Clip(clip)) => {
            return sheet.put_stored(&clip.filtered(frame, &planned.setup.denoiser, noise, control)?);
        }
        _ => {
            let planes = source.planes(frame, area)?;
            let planes: Vec<&[f32]> = planes.iter().map(Vec::as_slice).collect();
            sheet.put(area, &planes, area.width, (0, 0));
            return Ok(());
        }
    };
    let shape = source.shape(frame)?;
    let part = resolved.plan.region(area.columns(), area.rows());
    let read = Area::new(part.read_columns(), part.read());
    let all = shape.area();
    // Planes that patches are compared on are made of the whole picture.
    let guided = resolved.plan.window().guides > 0;
    if guided || read.pixels() as f64 > NEARLY_ALL * all.pixels() as f64 {
        let noisy = page::frame(source.planes(frame, all)?, all, shape.white)?;
        let clean = planned.setup.denoiser.run_resolved(&noisy, resolved, control)?;
        let planes: Vec<&[f32]> = clean.planes().iter().map(Plane::as_slice).collect();
        sheet.put(all, &planes, all.width, (0, 0));
        return Ok(());
    }
    let from = source.planes(frame, read)?;
    let mut to = vec![vec![0.0f32; read.pixels()]; from.len()];
    {
        let from: Vec<Samples<'_>> = from.iter().map(|plane| Samples::F32(plane)).collect();
        let mut to: Vec<SamplesMut<'_>> = to.iter_mut().map(|plane| SamplesMut::F32(plane)).collect();
        planned.setup.denoiser.run_part(resolved, &part, &from, &mut to, control)?;
    }
    let planes: Vec<&[f32]> = to.iter().map(Vec::as_slice).collect();
    sheet.put(area, &planes, read.width, (part.kept_columns().start, part.kept().start));
    Ok(())
}
