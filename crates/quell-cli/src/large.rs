//! Pictures in bands of rows: those that would not fit into memory, and on a GPU all large ones, which are read, filtered
//! and written at the same time then.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use anyhow::Context;
use quell::device::{Kind, SampleBuffer, SampleFormat, Samples, SamplesMut};
use quell::method::Part;
use quell::{Control, Frame, Plane, PlaneView, Resolved};
use quell_io::bands::{Band, BandReader, BandWriter};
use quell_io::{Format, SampleType};

use crate::args::NanPolicy;
use crate::batch::Made;
use crate::engine::Engine;
use crate::level::Level;
use crate::nan;
use crate::range::Used;

/// Pixels of a band on the processor, without its halo: about a gigabyte with all that is made of them. Smaller bands
/// would spend their time on halos.
const PROCESSOR: usize = 48 << 20;
/// The same on a GPU, which has time for halos while files are read and written.
const GPU: usize = 8 << 20;
/// Rows that noise is estimated from: so many pixels, in so many places.
const SEEN: usize = 2 << 20;
const PLACES: usize = 16;
/// Estimators look at blocks of so many rows.
const BLOCK: usize = 16;

/// A picture that is read and written in bands.
pub(crate) struct Large {
    reader: BandReader,
    writer: BandWriter,
    nan: NanPolicy,
}

/// What was found and done.
pub(crate) struct Outcome {
    pub(crate) level: Option<Level>,
    /// Noise at half the size, on the 0..255 scale.
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
        nan: NanPolicy,
        begin: impl FnOnce(&BandReader) -> quell_io::Result<Option<BandWriter>>,
    ) -> quell_io::Result<Option<Self>> {
        let pixels = reader.width().saturating_mul(reader.height());
        // Samples that are no numbers are worked around over whole pictures, as long as those fit into memory. No device
        // is asked for what is small in any case.
        let whole = match engine.tile() {
            _ if reader.samples().is_float() && pixels <= PROCESSOR => true,
            Some(rows) => reader.height() <= rows,
            None => pixels <= GPU || pixels <= room(engine),
        };
        if whole || engine.correlated() || engine.looks_at_region() {
            return Ok(None);
        }
        Ok(begin(&reader)?.map(|writer| Self { reader, writer, nan }))
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
        let (mut frame, alpha) = sample(&mut self.reader)?;
        nan::apply(&mut frame, self.nan)?;
        let mut used = Used::new(white);
        used.add(&frame.view());
        let alpha = alpha.as_ref().map(Plane::view);
        let coarse = engine.coarse_noise(&frame, alpha.as_ref());
        let resolved = engine.denoiser().resolve_rows(self.reader.height(), &frame, alpha.as_ref())?;
        drop(frame);
        let level = engine.noise(resolved.as_ref());
        let resolved = resolved.filter(|_| level.is_some());
        let (mut notes, same) = (self.reader.notes().to_vec(), to == Some(self.reader.format()));
        let made = match &resolved {
            None if same => {
                drop(self.writer);
                copy()?;
                notes.clear();
                return Ok(Outcome { level, coarse, used, notes, made: Made::Copied });
            }
            None => Made::Converted,
            Some(_) => Made::Filtered,
        };
        notes.extend(self.filter(engine, resolved.as_ref(), control)?);
        Ok(Outcome { level, coarse, used, notes, made })
    }

    /// All bands through the filter, and into the file.
    fn filter(
        self,
        engine: &Engine,
        resolved: Option<&Resolved>,
        control: &Control,
    ) -> anyhow::Result<Vec<String>> {
        let Self { mut reader, mut writer, nan } = self;
        let bands = bands(engine, resolved, reader.width(), reader.height());
        let format = stored(&reader).filter(|_| is_gpu(engine));
        let filter = |i: usize, rows: &Rows, load: &mut Load| -> anyhow::Result<()> {
            let control = control.section(i, bands.len());
            control.check()?;
            match (resolved, &rows.part) {
                (Some(resolved), Some(part)) => load.filter(engine, resolved, part, nan, &control),
                _ => Ok(()),
            }
        };
        // On the processor reading takes next to no time, and another band in memory would be felt.
        if !is_gpu(engine) {
            let mut load = Load::new(format, resolved.is_some());
            for (i, rows) in bands.iter().enumerate() {
                load.read(&mut reader, rows)?;
                filter(i, rows, &mut load)?;
                load.write(&mut writer, rows)?;
            }
            return Ok(writer.finish()?);
        }
        // Nothing waits in between: three bands are in memory, one read, one filtered, one written.
        let (give, read) = mpsc::sync_channel(0);
        let (write, results) = mpsc::sync_channel::<(usize, Load)>(0);
        let (back, free) = mpsc::channel::<Load>();
        let (all, filters) = (&bands, resolved.is_some());
        thread::scope(|scope| {
            scope.spawn(move || {
                for rows in all {
                    let mut load = free.try_recv().unwrap_or_else(|_| Load::new(format, filters));
                    let done = load.read(&mut reader, rows).map(|()| load);
                    let failed = done.is_err();
                    if give.send(done).is_err() || failed {
                        return;
                    }
                }
            });
            let written = scope.spawn(move || -> anyhow::Result<Vec<String>> {
                for (i, mut load) in results {
                    load.write(&mut writer, &all[i])?;
                    // The reader may have ended.
                    let _ = back.send(load);
                }
                // An error, if rows are missing.
                Ok(writer.finish()?)
            });
            let feed = || -> anyhow::Result<()> {
                for (i, rows) in all.iter().enumerate() {
                    let mut load = read.recv().context("the reader ended early")??;
                    filter(i, rows, &mut load)?;
                    if write.send((i, load)).is_err() {
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

/// A band on its way. Its memory is used again: to clear fresh pages takes longer than to filter them on a GPU.
struct Load {
    band: Band,
    /// The type in which samples go to the device and come back, if not floats.
    format: Option<SampleFormat>,
    /// Something is filtered.
    filters: bool,
    from: Vec<SampleBuffer>,
    to: Vec<SampleBuffer>,
    /// Results as floats.
    floats: Vec<Vec<f32>>,
}

impl Load {
    fn new(format: Option<SampleFormat>, filters: bool) -> Self {
        let (band, from, to, floats) = Default::default();
        Self { band, format, filters, from, to, floats }
    }

    /// Reads rows, and makes integers of them where they are.
    fn read(&mut self, reader: &mut BandReader, rows: &Rows) -> anyhow::Result<()> {
        reader.rows(rows.read.clone(), &mut self.band)?;
        let Some(format) = self.format.filter(|_| self.filters) else { return Ok(()) };
        let frame = self.band.frame()?;
        fit(&mut self.from, format, frame.channels(), frame.width() * frame.height());
        for (to, plane) in self.from.iter_mut().zip(frame.planes()) {
            match (to, &*plane.contiguous()) {
                (SampleBuffer::U8(to), from) => to.iter_mut().zip(from).for_each(|(to, v)| *to = *v as u8),
                (SampleBuffer::U16(to), from) => to.iter_mut().zip(from).for_each(|(to, v)| *to = *v as u16),
                (SampleBuffer::F32(to), from) => to.copy_from_slice(from),
            }
        }
        Ok(())
    }

    /// Filters the colours.
    fn filter(
        &mut self,
        engine: &Engine,
        resolved: &Resolved,
        part: &Part,
        nan: NanPolicy,
        control: &Control,
    ) -> anyhow::Result<()> {
        let frame = self.band.frame()?;
        let (channels, pixels) = (frame.channels(), frame.width() * frame.height());
        fit(&mut self.to, self.format.unwrap_or(SampleFormat::F32), channels, pixels);
        let mut to: Vec<SamplesMut<'_>> = self.to.iter_mut().map(SampleBuffer::view_mut).collect();
        if self.format.is_some() {
            let from: Vec<Samples<'_>> = self.from.iter().map(SampleBuffer::view).collect();
            return Ok(engine.denoiser().run_part(resolved, part, &from, &mut to, control)?);
        }
        if frame.check_finite().is_ok() {
            let planes: Vec<_> = frame.planes().iter().map(PlaneView::contiguous).collect();
            let from: Vec<Samples<'_>> = planes.iter().map(|p| Samples::F32(p)).collect();
            return Ok(engine.denoiser().run_part(resolved, part, &from, &mut to, control)?);
        }
        let mut whole = frame.to_frame();
        let holes = nan::apply(&mut whole, nan)?;
        let from: Vec<Samples<'_>> = whole.planes().iter().map(|p| Samples::F32(p.as_slice())).collect();
        engine.denoiser().run_part(resolved, part, &from, &mut to, control)?;
        for (plane, i, value) in holes {
            if let SamplesMut::F32(to) = &mut to[plane] {
                to[i] = value;
            }
        }
        Ok(())
    }

    /// Writes the rows that are wanted: filtered, or as they were.
    fn write(&mut self, writer: &mut BandWriter, rows: &Rows) -> anyhow::Result<()> {
        let frame = self.band.frame()?;
        let width = frame.width();
        let alpha = self.band.alpha();
        let alpha = alpha.as_ref().map(|view| view.band(rows.kept.clone()));
        if !self.filters {
            let views: Vec<PlaneView<'_>> =
                frame.planes().iter().map(|v| v.band(rows.kept.clone())).collect();
            return Ok(writer.rows(&views, alpha)?);
        }
        let kept = rows.kept.start * width..rows.kept.end * width;
        self.floats.resize_with(self.to.len(), Vec::new);
        let view = |data| PlaneView::new(width, rows.kept.len(), width, data);
        let mut views = Vec::new();
        for (floats, plane) in self.floats.iter_mut().zip(&self.to) {
            match plane {
                SampleBuffer::F32(v) => views.push(view(&v[kept.clone()])?),
                SampleBuffer::U8(v) => {
                    floats.clear();
                    floats.extend(v[kept.clone()].iter().map(|v| f32::from(*v)));
                    views.push(view(floats)?);
                }
                SampleBuffer::U16(v) => {
                    floats.clear();
                    floats.extend(v[kept.clone()].iter().map(|v| f32::from(*v)));
                    views.push(view(floats)?);
                }
            }
        }
        Ok(writer.rows(&views, alpha)?)
    }
}

/// As many buffers of a type and length, with any content.
fn fit(buffers: &mut Vec<SampleBuffer>, format: SampleFormat, count: usize, len: usize) {
    let fits = |b: &SampleBuffer| b.view().format() == format && b.view().len() == len;
    if buffers.len() != count || !buffers.iter().all(fits) {
        *buffers = vec![SampleBuffer::new(format, len); count];
    }
}

/// The integers that samples are stored as, where they are read and written as they are.
fn stored(reader: &BandReader) -> Option<SampleFormat> {
    let format = match reader.samples() {
        SampleType::U8 => SampleFormat::U8,
        SampleType::U16 => SampleFormat::U16,
        _ => return None,
    };
    (reader.white() == format.white()).then_some(format)
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
    let all = |parts: Vec<Part>| {
        let rows = |part: Part| Rows { read: part.read(), kept: part.kept(), part: Some(part) };
        parts.into_iter().map(rows).collect()
    };
    // Pictures that are filtered at several sizes depend on many rows around: a band should have as many of its own.
    let least = (2 * plan.halo()).min(PROCESSOR / width.max(1));
    all(plan.parts(engine.tile().unwrap_or(most.max(least))))
}

fn is_gpu(engine: &Engine) -> bool {
    engine.device().kind != Kind::Cpu
}

/// Rows from all over the picture, one below the other.
pub(crate) fn sample(reader: &mut BandReader) -> anyhow::Result<(Frame, Option<Plane>)> {
    let (width, height) = (reader.width(), reader.height());
    let rows = (SEEN / width / PLACES / BLOCK).max(1) * BLOCK;
    let places = PLACES.min(height.div_ceil(rows)).max(1);
    let mut planes: Vec<Vec<f32>> = vec![Vec::new(); reader.channels()];
    let (mut alpha, mut band) = (Vec::new(), Band::default());
    for place in 0..places {
        let first = match places {
            1 => 0,
            n => place * (height - rows.min(height)) / (n - 1) / BLOCK * BLOCK,
        };
        reader.rows(first..(first + rows).min(height), &mut band)?;
        for (to, from) in planes.iter_mut().zip(band.frame()?.planes()) {
            from.rows().for_each(|row| to.extend_from_slice(row));
        }
        if let Some(seen) = band.alpha() {
            seen.rows().for_each(|row| alpha.extend_from_slice(row));
        }
    }
    let plane = |data: Vec<f32>| Plane::from_vec(width, data.len() / width, data);
    let frame = Frame::new(planes.into_iter().map(plane).collect::<quell::Result<_>>()?, reader.white())?;
    let alpha = if alpha.is_empty() { None } else { Some(plane(alpha)?) };
    Ok((frame, alpha))
}

/// Whether the processor would filter such a picture in bands.
pub(crate) fn is_large(reader: &BandReader) -> bool {
    reader.width().saturating_mul(reader.height()) > PROCESSOR
}

/// Pixels of a band, without its halo.
fn room(engine: &Engine) -> usize {
    if is_gpu(engine) { GPU } else { PROCESSOR }
}
