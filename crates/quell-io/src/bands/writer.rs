//! Rows into a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use quell::PlaneView;

use super::BandReader;
use crate::atomic::{self, Pending};
use crate::codec::band::{self, Begun, WriteRows};
use crate::codec::{Outline, Remarks, Rows, Stored};
use crate::{Error, Format, Result, WriteOptions};

/// A picture file that is written in bands of rows, from the top down.
///
/// It appears under its name when it is finished; dropped before that, it leaves nothing behind.
pub struct BandWriter {
    page: Outline,
    stored: Stored,
    rows: Box<dyn WriteRows<BufWriter<File>>>,
    /// Rows that the encoder has.
    top: usize,
    /// Rows behind those that are too few for a strip or a row of tiles, by plane.
    waiting: Vec<Vec<f32>>,
    remarks: Vec<String>,
    pending: Pending,
}

impl BandWriter {
    /// Begins a file in the format of the path's extension, with the size, samples and metadata of what is read.
    /// Nothing where that format cannot be written in bands, nor into pipes and devices: [`write()`](crate::write())
    /// can.
    pub fn create(path: &Path, from: &BandReader, options: &WriteOptions) -> Result<Option<Self>> {
        let format = Format::from_path(path).ok_or_else(|| Error::UnknownExtension(path.to_path_buf()))?;
        let Some((pending, writer)) = atomic::begin(path, options.source.as_deref())? else {
            return Ok(None);
        };
        let mut remarks = Remarks::default();
        let begun = band::begin(&from.page, from.format(), from.metadata(), format, writer, &mut remarks)?;
        Ok(begun.map(|Begun { stored, rows }| Self {
            page: from.page,
            stored,
            rows,
            top: 0,
            waiting: vec![Vec::new(); from.page.channels()],
            remarks: remarks.into_vec(),
            pending,
        }))
    }

    /// Appends rows: planes of colour, and alpha if the picture has it, in the units of what was read. They are rounded
    /// and clipped only where integers are stored.
    pub fn rows(&mut self, colors: &[PlaneView<'_>], alpha: Option<PlaneView<'_>>) -> Result<()> {
        let Outline { width, height, .. } = self.page;
        if (colors.len(), alpha.is_some()) != (self.page.colors, self.page.alpha) {
            return Err(Error::Encode(format!(
                "rows of {} planes {} alpha do not belong to this picture",
                colors.len(),
                if alpha.is_some() { "with" } else { "without" }
            )));
        }
        let planes: Vec<PlaneView> = colors.iter().copied().chain(alpha).collect();
        let count = planes[0].height();
        if planes.iter().any(|p| (p.width(), p.height()) != (width, count)) {
            return Err(Error::Encode(format!(
                "rows that are not all {width} pixels wide, or not all there"
            )));
        }
        if self.top + self.waiting_rows() + count > height {
            return Err(Error::Encode(format!("more rows than the {height} of the picture")));
        }
        let step = self.rows.step();
        let mut from = 0;
        while from < count {
            let (waiting, left) = (self.waiting_rows(), count - from);
            let last = self.top + waiting + left == height;
            // As many as can go without being copied.
            let whole = if last { left } else { left / step * step };
            if waiting == 0 && whole > 0 {
                let band = planes.iter().map(|p| p.band(from..from + whole));
                self.rows.rows(&Rows::band(self.stored, self.top, band))?;
                self.top += whole;
                from += whole;
                continue;
            }
            let some = left.min(step - waiting);
            for (to, plane) in self.waiting.iter_mut().zip(&planes) {
                let memory = |_| Error::Memory { bytes: 4 * (some * width) as u64 };
                to.try_reserve(some * width).map_err(memory)?;
                (from..from + some).for_each(|y| to.extend_from_slice(plane.row(y)));
            }
            from += some;
            if waiting + some == step || self.top + waiting + some == height {
                self.write_waiting(waiting + some)?;
            }
        }
        Ok(())
    }

    fn waiting_rows(&self) -> usize {
        self.waiting[0].len() / self.page.width
    }

    fn write_waiting(&mut self, count: usize) -> Result<()> {
        let view = |plane| PlaneView::new(self.page.width, count, self.page.width, plane);
        let planes = self.waiting.iter().map(|p| view(p)).collect::<Result<Vec<_>, _>>()?;
        self.rows.rows(&Rows::band(self.stored, self.top, planes.into_iter()))?;
        self.top += count;
        self.waiting.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Completes the file and puts it in its place. Returns remarks on what the format could not keep.
    pub fn finish(self) -> Result<Vec<String>> {
        if self.top < self.page.height {
            return Err(Error::Encode(format!(
                "{} of {} rows were written",
                self.top + self.waiting_rows(),
                self.page.height
            )));
        }
        atomic::complete(self.rows.finish()?)?;
        self.pending.commit()?;
        Ok(self.remarks)
    }
}
