//! Pictures in bands of rows: those that would not fit into memory, and on a GPU all large ones, which are read, filtered
//! and written at the same time then.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use anyhow::Context;
use quell::device::{Kind, Samples, SamplesMut};
use quell::method::Part;
use quell::{Control, Frame, Plane, PlaneView, Resolved};
use quell_io::Format;
use quell_io::bands::{Band, BandReader, BandWriter};

use crate::batch::Made;
use crate::engine::Engine;
use crate::range::Used;

/// Pixels of a band, halo included, on the processor: about a gigabyte with all that is made of them. Smaller bands would
/// spend their time on halos.
const PROCESSOR: usize = 48 << 20;
/// The same on a GPU, which has time for halos while files are read and written.
const GPU: usize = 8 << 20;
/// Rows that noise is estimated from: so many pixels, in so many places.
const SEEN: usize = 8 << 20;
const PLACES: usize = 16;
/// Estimators look at blocks of so many rows.
const BLOCK: usize = 16;

/// A picture that is read and written in bands.
pub(crate) struct Large {
    reader: BandReader,
    writer: BandWriter,
}

/// What was found and done.
pub(crate) struct Outcome {
    /// On the 0..255 scale.
    pub(crate) sigma: Option<f32>,
    /// At half the size.
    pub(crate) coarse: Option<f32>,
    pub(crate) used: Used,
    pub(crate) notes: Vec<String>,
    pub(crate) made: Made,
}

impl Large {
    /// A picture that had better be filtered in bands; nothing, if it is read as a whole.
    pub(crate) fn open(
        engine: &Engine,
        reader: BandReader,
        begin: impl FnOnce(&BandReader) -> quell_io::Result<Option<BandWriter>>,
    ) -> quell_io::Result<Option<Self>> {
        let pixels = reader.width().saturating_mul(reader.height());
        // Samples that are no numbers are worked around over whole pictures, as long as those fit into memory. No device
        // is asked for what is small in any case.
        let whole = |most| pixels <= most || (reader.samples().is_float() && pixels <= PROCESSOR);
        if engine.correlated() || whole(GPU) || whole(room(engine)) {
            return Ok(None);
        }
        Ok(begin(&reader)?.map(|writer| Self { reader, writer }))
    }

    /// Size and channels.
    pub(crate) fn shape(&self) -> (usize, usize, usize) {
        (self.reader.width(), self.reader.height(), self.reader.channels())
    }

    /// Estimates, filters and writes. A picture without noise is left to `copy`, if its format stays the same.
    pub(crate) fn run(
        mut self,
        engine: &Engine,
        control: &Control,
        to: Option<Format>,
        copy: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Outcome> {
        let white = self.reader.white();
        let (frame, alpha) = self.sample()?;
        let mut used = Used::new(white);
        used.add(&frame.view());
        let alpha = alpha.as_ref().map(Plane::view);
        let coarse = engine.coarse_noise(&frame, alpha.as_ref());
        let resolved = engine.denoiser().resolve_rows(self.reader.height(), &frame, alpha.as_ref())?;
        drop(frame);
        let sigma = engine.noise(resolved.as_ref(), white);
        let resolved = resolved.filter(|_| sigma.is_some());
        let (mut notes, same) = (self.reader.notes().to_vec(), to == Some(self.reader.format()));
        let made = match &resolved {
            None if same => {
                drop(self.writer);
                copy()?;
                notes.clear();
                return Ok(Outcome { sigma, coarse, used, notes, made: Made::Copied });
            }
            None => Made::Converted,
            Some(_) => Made::Filtered,
        };
        notes.extend(self.filter(engine, resolved.as_ref(), control)?);
        Ok(Outcome { sigma, coarse, used, notes, made })
    }

    /// Rows from all over the picture, one below the other.
    fn sample(&mut self) -> anyhow::Result<(Frame, Option<Plane>)> {
        let (width, height) = (self.reader.width(), self.reader.height());
        let rows = (SEEN / width / PLACES / BLOCK).max(1) * BLOCK;
        let places = PLACES.min(height.div_ceil(rows)).max(1);
        let mut planes: Vec<Vec<f32>> = vec![Vec::new(); self.reader.channels()];
        let (mut alpha, mut band) = (Vec::new(), Band::default());
        for place in 0..places {
            let first = match places {
                1 => 0,
                n => place * (height - rows.min(height)) / (n - 1) / BLOCK * BLOCK,
            };
            self.reader.rows(first..(first + rows).min(height), &mut band)?;
            for (to, from) in planes.iter_mut().zip(band.frame()?.planes()) {
                from.rows().for_each(|row| to.extend_from_slice(row));
            }
            if let Some(seen) = band.alpha() {
                seen.rows().for_each(|row| alpha.extend_from_slice(row));
            }
        }
        let plane = |data: Vec<f32>| Plane::from_vec(width, data.len() / width, data);
        let frame =
            Frame::new(planes.into_iter().map(plane).collect::<quell::Result<_>>()?, self.reader.white())?;
        let alpha = if alpha.is_empty() { None } else { Some(plane(alpha)?) };
        Ok((frame, alpha))
    }

    /// All bands through the filter, and into the file.
    fn filter(
        self,
        engine: &Engine,
        resolved: Option<&Resolved>,
        control: &Control,
    ) -> anyhow::Result<Vec<String>> {
        let Self { mut reader, mut writer } = self;
        let bands = bands(engine, resolved, reader.width(), reader.height());
        let filter = |i: usize, rows: &Rows, band: &Band| -> anyhow::Result<Option<Vec<Plane>>> {
            let control = control.section(i, bands.len());
            control.check()?;
            match (resolved, &rows.part) {
                (Some(resolved), Some(part)) => Ok(Some(filtered(engine, resolved, part, band, &control)?)),
                _ => Ok(None),
            }
        };
        // On the processor reading takes next to no time, and another band in memory would be felt.
        if !is_gpu(engine) {
            let mut band = Band::default();
            for (i, rows) in bands.iter().enumerate() {
                reader.rows(rows.read.clone(), &mut band)?;
                let planes = filter(i, rows, &band)?;
                store(&mut writer, rows, &band, planes.as_deref())?;
            }
            return Ok(writer.finish()?);
        }
        let (give, read) = mpsc::sync_channel(1);
        let (write, results) = mpsc::sync_channel::<(usize, Band, Option<Vec<Plane>>)>(1);
        let (back, free) = mpsc::channel::<Band>();
        let all = &bands;
        thread::scope(|scope| {
            scope.spawn(move || {
                for rows in all {
                    let mut band = free.try_recv().unwrap_or_default();
                    let done = reader.rows(rows.read.clone(), &mut band).map(|()| band);
                    let failed = done.is_err();
                    if give.send(done).is_err() || failed {
                        return;
                    }
                }
            });
            let written = scope.spawn(move || -> anyhow::Result<Vec<String>> {
                for (i, band, planes) in results {
                    store(&mut writer, &all[i], &band, planes.as_deref())?;
                    // The reader may have ended.
                    let _ = back.send(band);
                }
                // An error, if rows are missing.
                Ok(writer.finish()?)
            });
            let feed = || -> anyhow::Result<()> {
                for (i, rows) in all.iter().enumerate() {
                    let band = read.recv().context("the reader ended early")??;
                    let planes = filter(i, rows, &band)?;
                    if write.send((i, band, planes)).is_err() {
                        break;
                    }
                }
                Ok(())
            };
            let fed = feed();
            drop((write, read));
            let written = written.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            fed.and(written)
        })
    }
}

/// Rows that are read and written together.
struct Rows {
    read: Range<usize>,
    /// Those that are written, counted from the first that is read.
    kept: Range<usize>,
    /// What the engine knows of them, where something is filtered.
    part: Option<Part>,
}

/// The bands of a picture.
fn bands(engine: &Engine, resolved: Option<&Resolved>, width: usize, height: usize) -> Vec<Rows> {
    let most = (room(engine) / width.max(1)).max(BLOCK);
    let Some(plan) = resolved.map(|r| &r.plan) else {
        let rows = (0..height).step_by(most).map(|y| y..(y + most).min(height));
        return rows.map(|read| Rows { kept: 0..read.len(), read, part: None }).collect();
    };
    // Halos are on top: as many rows as leave room for them, or as few as are worth it.
    let margin = plan.parts(1).get(height / 2).map_or(0, |p| p.read().len());
    let parts = plan.parts(most.saturating_sub(margin).max(margin / 2).max(BLOCK));
    parts.into_iter().map(|part| Rows { read: part.read(), kept: part.kept(), part: Some(part) }).collect()
}

/// Filters the colours of a band.
fn filtered(
    engine: &Engine,
    resolved: &Resolved,
    part: &Part,
    band: &Band,
    control: &Control,
) -> anyhow::Result<Vec<Plane>> {
    let frame = band.frame()?;
    frame.check_finite()?;
    let (width, height) = (frame.width(), frame.height());
    let planes: Vec<_> = frame.planes().iter().map(PlaneView::contiguous).collect();
    let from: Vec<Samples<'_>> = planes.iter().map(|p| Samples::F32(p)).collect();
    let mut out: Vec<Plane> = planes.iter().map(|_| Plane::zeros(width, height)).collect();
    let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(|p| SamplesMut::F32(p.as_mut_slice())).collect();
    engine.denoiser().run_part(resolved, part, &from, &mut to, control)?;
    Ok(out)
}

/// Writes the rows of a band that are wanted: filtered, or as they were.
fn store(
    writer: &mut BandWriter,
    rows: &Rows,
    band: &Band,
    filtered: Option<&[Plane]>,
) -> anyhow::Result<()> {
    let alpha = band.alpha();
    let alpha = alpha.as_ref().map(|view| view.band(rows.kept.clone()));
    match filtered {
        Some(planes) => {
            let views: Vec<PlaneView<'_>> = planes.iter().map(|p| p.view().band(rows.kept.clone())).collect();
            writer.rows(&views, alpha)?;
        }
        None => {
            let frame = band.frame()?;
            let views: Vec<PlaneView<'_>> =
                frame.planes().iter().map(|v| v.band(rows.kept.clone())).collect();
            writer.rows(&views, alpha)?;
        }
    }
    Ok(())
}

fn is_gpu(engine: &Engine) -> bool {
    engine.device().kind != Kind::Cpu
}

/// Pixels of a band, halo included.
fn room(engine: &Engine) -> usize {
    if is_gpu(engine) { GPU } else { PROCESSOR }
}
