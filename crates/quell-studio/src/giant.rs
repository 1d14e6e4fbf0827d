//! Pictures that are read in parts: what is looked at, and once all of it for a smaller one.

use std::sync::{Mutex, OnceLock, PoisonError};

use quell::{Frame, Plane};
use quell_io::Camera;
use quell_io::bands::{Band, BandReader};

use crate::page::Page;
use crate::tile::{Area, Samples, Shape, tile};
use crate::{Problem, Program};

/// Pixels of the smaller picture, at most.
const OVERVIEW: usize = 4 << 20;
/// Rows that are read at once, at least.
const ROWS: usize = 64;

/// Such a picture.
pub(crate) struct Giant {
    reader: Mutex<BandReader>,
    shape: Shape,
    has_alpha: bool,
    camera: Camera,
    notes: Vec<String>,
    /// The level of the smaller picture.
    small: u32,
    overview: OnceLock<Page>,
    some: OnceLock<(Frame, Option<Plane>)>,
}

impl Giant {
    pub(crate) fn new(reader: BandReader) -> Self {
        let size = (reader.width(), reader.height(), reader.channels());
        let shape = Shape::new(size, reader.white(), reader.samples(), Some(reader.format()));
        let pixels = |level: &u32| {
            let (width, height) = shape.at_level(*level);
            width * height
        };
        let small = (1..=16).find(|level| pixels(level) <= OVERVIEW).unwrap_or(16);
        Self {
            shape,
            has_alpha: reader.has_alpha(),
            camera: reader.metadata().camera(),
            notes: reader.notes().to_vec(),
            small,
            overview: OnceLock::new(),
            some: OnceLock::new(),
            reader: Mutex::new(reader),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn has_alpha(&self) -> bool {
        self.has_alpha
    }

    pub(crate) fn camera(&self) -> Camera {
        self.camera.clone()
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let some =
            self.some.get().map_or(0, |(frame, _)| 4 * frame.channels() * frame.width() * frame.height());
        self.overview.get().map_or(0, Page::bytes) + some as u64
    }

    /// Rows that noise is estimated from, read once.
    pub(crate) fn some_rows(&self, program: &dyn Program) -> Result<&(Frame, Option<Plane>), Problem> {
        if let Some(some) = self.some.get() {
            return Ok(some);
        }
        let some = program.some_rows(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(self.some.get_or_init(|| some))
    }

    /// A rectangle as planes of floats.
    pub(crate) fn planes(&self, area: Area) -> Result<Vec<Vec<f32>>, Problem> {
        let mut band = Band::default();
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).rows(area.rows(), &mut band)?;
        let frame = band.frame()?;
        frame.check_finite()?;
        let crop = |plane: &quell::PlaneView<'_>| {
            plane.rows().flat_map(|row| &row[area.columns()]).copied().collect()
        };
        Ok(frame.planes().iter().map(crop).collect())
    }

    /// A rectangle of a level.
    pub(crate) fn tile(&self, level: u32, area: Area) -> Result<Samples, Problem> {
        if level >= self.small {
            let overview = self.overview()?;
            return tile(overview, level - self.small, area);
        }
        self.read(level, area)
    }

    /// A rectangle of a level, read from the file.
    fn read(&self, level: u32, area: Area) -> Result<Samples, Problem> {
        let mut out = self.shape.room(area.pixels() * self.shape.channels);
        let step = (ROWS >> level).max(1);
        for top in area.rows().step_by(step) {
            let some = Area { y: top, height: step.min(area.rows().end - top), ..area };
            let fine = some.of_level(level).within(self.shape.width, self.shape.height);
            let planes = self.planes(fine)?;
            let part = crate::page::frame(planes, fine, self.shape.white)?;
            let shape = Shape { width: fine.width, height: fine.height, ..self.shape };
            let page = Page::new(shape, shape.interleaved(&part.view()));
            let all = Area { x: 0, y: 0, ..some };
            let tile = tile(&page, level, all)?;
            out.extend(&tile, 0..tile.len());
        }
        Ok(out)
    }

    /// The smaller picture.
    pub(crate) fn overview(&self) -> Result<&Page, Problem> {
        if let Some(overview) = self.overview.get() {
            return Ok(overview);
        }
        let (width, height) = self.shape.at_level(self.small);
        let all = Area { x: 0, y: 0, width, height };
        let samples = self.read(self.small, all)?;
        Ok(self.overview.get_or_init(|| Page::new(Shape { width, height, ..self.shape }, samples)))
    }
}
