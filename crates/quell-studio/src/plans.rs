//! From settings to results: looking at a picture once, planning for it often, and filtering a part of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use quell::noise::{self, Model};
use quell::{Control, Denoiser, Resolved, Seen};

use crate::Problem;
use crate::settings::{Noise, Setup};
use crate::source::{Page, Source};
use crate::store::{Sheet, View};
use crate::tile::Area;

/// What was found out so far.
#[derive(Default)]
pub(crate) struct Plans {
    /// By file, frame, and what was looked for.
    looks: Mutex<HashMap<(u64, usize, String), Arc<Option<Seen>>>>,
    plans: Mutex<HashMap<View, Arc<Planned>>>,
}

/// What is done to a frame.
pub(crate) struct Planned {
    pub(crate) setup: Arc<Setup>,
    /// Nothing, if there is no noise.
    pub(crate) resolved: Option<Resolved>,
}

impl Plans {
    /// What is done for a view. It may take a look at the picture first, which takes its time.
    pub(crate) fn plan(
        &self,
        view: &View,
        setup: &Arc<Setup>,
        source: &Source,
    ) -> Result<Arc<Planned>, Problem> {
        if let Some(known) = self.plans.lock().unwrap_or_else(PoisonError::into_inner).get(view) {
            return Ok(known.clone());
        }
        let looked = (view.file, view.frame, setup.settings.looks_for()?);
        let before = self.looks.lock().unwrap_or_else(PoisonError::into_inner).get(&looked).cloned();
        let seen = match before {
            Some(seen) => seen,
            None => {
                let seen = Arc::new(look(&setup.denoiser, &setup.settings.noise, source, view.frame)?);
                self.looks.lock().unwrap_or_else(PoisonError::into_inner).insert(looked, seen.clone());
                seen
            }
        };
        let resolved = (*seen).as_ref().map(|seen| setup.denoiser.resolve_again(seen)).transpose()?;
        let planned = Arc::new(Planned { setup: setup.clone(), resolved });
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).insert(view.clone(), planned.clone());
        Ok(planned)
    }

    /// Forgets a file.
    pub(crate) fn forget(&self, file: u64) {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).retain(|(f, ..), _| *f != file);
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).retain(|view, _| view.file != file);
    }
}

/// Looks at a picture as the program does.
fn look(denoiser: &Denoiser, noise: &Noise, source: &Source, frame: usize) -> Result<Option<Seen>, Problem> {
    let Source::Picture(pages) = source;
    let page = pages.page(frame)?;
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

/// Computes an area of whole blocks, or more.
pub(crate) fn compute(
    planned: &Planned,
    source: &Source,
    frame: usize,
    area: Area,
    sheet: &Sheet,
    control: &Control,
) -> Result<(), Problem> {
    let Some(resolved) = &planned.resolved else {
        let planes = source.planes(frame, area)?;
        let planes: Vec<&[f32]> = planes.iter().map(Vec::as_slice).collect();
        sheet.put(area, &planes, area.width, (0, 0));
        return Ok(());
    };
    let Source::Picture(pages) = source;
    let page = pages.page(frame)?;
    let all = page.shape().area();
    let clean = planned.setup.denoiser.run_resolved(&page.frame(all)?, resolved, control)?;
    let planes: Vec<&[f32]> = clean.planes().iter().map(quell::Plane::as_slice).collect();
    sheet.put(all, &planes, all.width, (0, 0));
    Ok(())
}
