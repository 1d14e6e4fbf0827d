//! NumPy arrays. Height, width and samples make a page; every other axis counts pages. A result has the shape,
//! the order of indices, the type and the byte order of the array that it was made from.

mod header;

use std::io::{Seek, Write};
use std::str::FromStr;

use self::header::Header;
use super::band::{Opened, check_row};
use super::canvas::{Canvas, check_size, floats};
use super::lines::{LineWriter, Lines};
use super::sample::{self, Order};
use super::store::{Outline, Remarks, Rows, Stored, room};
use super::{Decoded, ends_early};
use crate::input::Input;
use crate::picture::ArrayLayout;
use crate::{Axes, Error, Format, Metadata, Page, Picture, ReadOptions, Result, SampleType};

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let array = Array::parse(bytes, bytes.len() as u64, options)?;
    let pages = match array.lines() {
        Some(lines) => {
            let canvas = lines.paint(bytes.into(), options)?;
            vec![canvas.into_page(lines.samples, None, options)?]
        }
        None => array.gather(bytes, options)?,
    };
    let (metadata, notes) = array.keep(&Outline::of(&pages[0]));
    Ok(Decoded { pages, metadata, notes })
}

pub(super) fn open(input: Input, options: &ReadOptions) -> Result<Option<Opened>> {
    let array = Array::parse(&input.get(0, header::LONGEST)?, input.len(), options)?;
    let Some(lines) = array.lines() else { return Ok(None) };
    check_row(lines.width.checked_mul(lines.channels as u64))?;
    let page = Outline::new(&lines, lines.samples.white(), options);
    let (metadata, notes) = array.keep(&page);
    Ok(Some(Opened { page, metadata, notes, rows: Box::new(lines) }))
}

/// An array whose samples are all there.
struct Array {
    header: Header,
    grid: Grid,
    layout: ArrayLayout,
}

impl Array {
    /// Reads the header of a file of `file` bytes, of which `bytes` are the first.
    fn parse(bytes: &[u8], file: u64, options: &ReadOptions) -> Result<Self> {
        let header = Header::parse(bytes)?;
        let axes = match &options.axes {
            Some(axes) => axes.clone(),
            None => Axes::of_shape(&header.shape)?,
        };
        let grid = Grid::new(&header, &axes, options)?;
        if file < header.data_at as u64 || file - (header.data_at as u64) < grid.bytes as u64 {
            return Err(ends_early(Format::Npy));
        }
        let shape = header.shape.iter().map(|n| *n as usize).collect();
        let big_endian = header.order == Order::Big && header.samples.bytes() > 1;
        let layout = ArrayLayout { shape, axes, fortran: header.fortran, big_endian };
        Ok(Self { header, grid, layout })
    }

    /// Where the rows of the only page are, if they lie one behind the other.
    fn lines(&self) -> Option<Lines> {
        self.layout.has_lines().then_some(Lines {
            format: Format::Npy,
            at: self.header.data_at as u64,
            width: self.grid.width as u64,
            height: self.grid.height as u64,
            channels: self.grid.samples,
            samples: self.header.samples,
            order: self.header.order,
            scale: 1.0,
            upwards: false,
        })
    }

    /// All pages, from wherever their samples are.
    fn gather(&self, bytes: &[u8], options: &ReadOptions) -> Result<Vec<Page>> {
        let Self { header, grid, .. } = self;
        let data = &bytes[header.data_at..][..grid.bytes];
        let size = header.samples.bytes() as usize;
        let mut pages = Vec::new();
        for page in 0..grid.pages {
            let first = grid.page_start(page);
            let mut canvas = Canvas::new(grid.width as u64, grid.height as u64, grid.samples, options)?;
            let mut line = floats(grid.width)?;
            let mut gathered = room(if grid.x_step == 1 { 0 } else { grid.width * size })?;
            for y in 0..grid.height {
                for s in 0..grid.samples {
                    let start = first + y * grid.y_step + s * grid.s_step;
                    line.clear();
                    let row = if grid.x_step == 1 {
                        &data[start * size..(start + grid.width) * size]
                    } else {
                        gathered.clear();
                        for x in 0..grid.width {
                            gathered.extend(&data[(start + x * grid.x_step) * size..][..size]);
                        }
                        &gathered[..]
                    };
                    sample::read(header.samples, header.order, row, &mut line)?;
                    canvas.put_plane(s, 0, y, &line, 1);
                }
            }
            pages.push(canvas.into_page(header.samples, None, options)?);
        }
        Ok(pages)
    }

    /// What a result needs to be like its input, and what is to be said; `page` is the first one.
    fn keep(self, page: &Outline) -> (Metadata, Vec<String>) {
        let mut notes = Vec::new();
        if self.header.samples == SampleType::F64 {
            notes.push("float64 is filtered as float32, and written as float64".into());
        }
        if let Some(c) = self.layout.axes.find(b'C')
            && matches!(self.header.shape[c], 3 | 4)
        {
            notes.push("channels are filtered one by one; colours would be S in --axes".into());
        }
        // A single picture in the usual order needs no layout.
        let plain = ArrayLayout::plain(1, page);
        let array = Some(self.layout).filter(|l| Some(l) != plain.as_ref());
        (Metadata { array, ..Metadata::default() }, notes)
    }
}

/// Where samples lie, in units of samples.
struct Grid {
    width: usize,
    height: usize,
    samples: usize,
    pages: usize,
    x_step: usize,
    y_step: usize,
    s_step: usize,
    /// Length and step of each axis of pages.
    outer: Vec<(usize, usize)>,
    /// All samples together.
    bytes: usize,
}

impl Grid {
    /// Refuses what does not fit together or into memory; nothing overflows behind this.
    fn new(header: &Header, axes: &Axes, options: &ReadOptions) -> Result<Self> {
        let shape = &header.shape;
        let text = || format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
        if axes.count() != shape.len() {
            return Err(Error::Unsupported(format!(
                "the axes {axes} do not fit an array of shape {}",
                text()
            )));
        }
        // Height and width are always there.
        let side = |axis| axes.find(axis).map_or(1, |i| shape[i]);
        let (width, height, samples) = (side(b'X'), side(b'Y'), side(b'S'));
        check_size(width, height, options)?;
        if !(1..=4).contains(&samples) {
            return Err(Error::Unsupported(format!(
                "axis S has {samples} samples; grey, grey and alpha, RGB, or RGB and alpha are 1 to 4"
            )));
        }
        let pages = axes.of_pages().try_fold(1_u64, |n, i| n.checked_mul(shape[i]));
        if pages == Some(0) {
            return Err(Error::Decode(format!("an array of shape {} has no pixels", text())));
        }
        let pixels = pages.and_then(|n| n.checked_mul(width)?.checked_mul(height));
        let pixels = pixels
            .filter(|n| *n <= options.max_pixels)
            .ok_or(Error::PagesTooLarge { limit: options.max_pixels })?;
        let bytes = pixels.checked_mul(samples).and_then(|n| n.checked_mul(header.samples.bytes()));
        let bytes = bytes.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| ends_early(Format::Npy))?;

        // No product of sides is larger than that of all.
        let sides: Vec<usize> = shape.iter().map(|n| *n as usize).collect();
        let steps = steps(&sides, header.fortran);
        let step = |axis| axes.find(axis).map_or(0, |i| steps[i]);
        Ok(Self {
            width: width as usize,
            height: height as usize,
            samples: samples as usize,
            pages: (pixels / width / height) as usize,
            x_step: step(b'X'),
            y_step: step(b'Y'),
            s_step: step(b'S'),
            outer: axes.of_pages().map(|i| (shape[i] as usize, steps[i])).collect(),
            bytes,
        })
    }

    /// The first sample of a page; the last axis counts fastest.
    fn page_start(&self, page: usize) -> usize {
        let (mut rest, mut start) = (page, 0);
        for (len, step) in self.outer.iter().rev() {
            start += rest % len * step;
            rest /= len;
        }
        start
    }
}

/// Samples from one index of each side to the next.
fn steps(shape: &[usize], fortran: bool) -> Vec<usize> {
    let mut steps = vec![1; shape.len()];
    let mut step = 1;
    for i in 0..shape.len() {
        let i = if fortran { i } else { shape.len() - 1 - i };
        steps[i] = step;
        step *= shape[i];
    }
    steps
}

impl ArrayLayout {
    /// Whether it is one page whose rows lie one behind the other, pixel by pixel.
    fn has_lines(&self) -> bool {
        let steps = steps(&self.shape, self.fortran);
        let side = |axis| self.axes.find(axis).map_or((1, 1), |i| (self.shape[i], steps[i]));
        let [(height, y), (width, x), (samples, s)] = [b'Y', b'X', b'S'].map(side);
        self.axes.of_pages().all(|i| self.shape[i] == 1)
            && (samples == 1 || s == 1)
            && (width == 1 || x == samples)
            && (height == 1 || y == width * samples)
    }

    /// What pages become without a layout of their own: pages, rows, columns, samples.
    fn plain(pages: usize, page: &Outline) -> Option<Self> {
        let samples = page.channels();
        let mut shape = vec![page.height, page.width];
        let mut axes = "YX".to_owned();
        if pages > 1 {
            shape.insert(0, pages);
            axes.insert(0, 'Z');
        }
        if samples > 1 {
            shape.push(samples);
            axes.push('S');
        }
        let axes = Axes::from_str(&axes).ok()?;
        Some(Self { shape, axes, fortran: false, big_endian: false })
    }

    /// Whether the pages are still those of this array.
    fn fits(&self, all: &[Outline]) -> bool {
        let side = |axis| self.axes.find(axis).map_or(1, |i| self.shape[i]);
        let pages: usize = self.axes.of_pages().map(|i| self.shape[i]).product();
        let size = (side(b'X'), side(b'Y'), side(b'S'));
        all.len() == pages && all.iter().all(|page| (page.width, page.height, page.channels()) == size)
    }

    /// How pages are laid out: as they were, if they still fit; and whether that is so.
    fn of(metadata: &Metadata, pages: &[Outline]) -> Result<(Self, bool)> {
        let own = metadata.array.as_ref().filter(|l| l.fits(pages));
        let layout = own.cloned().or_else(|| Self::plain(pages.len(), pages.first()?));
        Ok((layout.ok_or_else(|| Error::Encode("no axes".into()))?, own.is_some()))
    }

    fn order(&self) -> Order {
        if self.big_endian { Order::Big } else { Order::Little }
    }

    fn header(&self, samples: SampleType) -> Vec<u8> {
        Header::write(samples, self.order(), self.fortran, &self.shape)
    }

    /// Begins an array of rows that lie one behind the other.
    fn begin<W: Write + Seek>(&self, samples: SampleType, mut writer: W) -> Result<LineWriter<W>> {
        writer.write_all(&self.header(samples))?;
        Ok(LineWriter::new(writer, self.order()))
    }
}

pub(super) fn encode<W: Write + Seek>(picture: &Picture, writer: W, remarks: &mut Remarks) -> Result<()> {
    if picture.pages.is_empty() {
        return Err(Error::Encode("the picture has no pages".into()));
    }
    let rows = picture.pages.iter().map(|page| Rows::new(picture, page, Format::Npy, remarks));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let one_kind = |r: &Rows| {
        (r.samples, r.width(), r.height(), r.channels())
            == (rows[0].samples, rows[0].width(), rows[0].height(), rows[0].channels())
    };
    if !rows.iter().all(one_kind) {
        return Err(Error::Encode(
            "the pages differ in size or type, an array cannot hold them; use .tif".into(),
        ));
    }
    let outlines: Vec<Outline> = picture.pages.iter().map(Outline::of).collect();
    let (layout, own) = ArrayLayout::of(&picture.metadata, &outlines)?;
    if !own && rows.len() > 1 {
        remarks.add(format!("the {} pages are written as the first axis of an array", rows.len()));
    }
    match &rows[..] {
        [rows] if layout.has_lines() => layout.begin(rows.samples, writer)?.rows(rows),
        rows => {
            let mut writer = writer;
            writer.write_all(&layout.header(rows[0].samples))?;
            write_samples(rows, &layout, &mut writer)
        }
    }
}

/// Writes the header; nothing if the rows do not lie one behind the other.
pub(super) fn begin<W: Write + Seek>(
    stored: &Stored,
    page: &Outline,
    metadata: &Metadata,
    writer: W,
) -> Result<Option<LineWriter<W>>> {
    let (layout, _) = ArrayLayout::of(metadata, std::slice::from_ref(page))?;
    if layout.has_lines() { layout.begin(stored.samples, writer).map(Some) } else { Ok(None) }
}

/// Samples in the order of the file: an index over all axes, counted up with the fastest one first.
fn write_samples(rows: &[Rows], layout: &ArrayLayout, writer: &mut impl Write) -> Result<()> {
    // Fastest first: length, and what one step adds to the position in (page, sample, y, x).
    let mut page_step = 1;
    let mut axes: Vec<(usize, [usize; 4])> = vec![(0, [0; 4]); layout.shape.len()];
    for (i, len) in layout.shape.iter().enumerate().rev() {
        let step = match i {
            _ if Some(i) == layout.axes.find(b'S') => [0, 1, 0, 0],
            _ if Some(i) == layout.axes.find(b'Y') => [0, 0, 1, 0],
            _ if Some(i) == layout.axes.find(b'X') => [0, 0, 0, 1],
            _ => {
                let step = [page_step, 0, 0, 0];
                page_step *= len;
                step
            }
        };
        axes[i] = (*len, step);
    }
    if !layout.fortran {
        axes.reverse();
    }
    let (&(run, step), outer) = axes.split_first().ok_or_else(|| Error::Encode("no axes".into()))?;
    let (mut buffer, mut values) = (rows[0].room(run)?, floats(run)?);
    let mut index = vec![0_usize; outer.len()];
    loop {
        let mut at = [0; 4];
        for (i, (_, step)) in index.iter().zip(outer) {
            at.iter_mut().zip(step).for_each(|(at, step)| *at += i * step);
        }
        buffer.clear();
        let value = |i: usize| {
            let [page, s, y, x]: [usize; 4] = std::array::from_fn(|k| at[k] + i * step[k]);
            rows[page].sample(s, x, y)
        };
        values.clear();
        values.extend((0..run).map(value));
        rows[0].store(&values, layout.order(), &mut buffer);
        writer.write_all(&buffer)?;
        // The next index; all zero again at the end.
        let carry = index.iter_mut().zip(outer).find_map(|(i, (len, _))| {
            *i += 1;
            if *i == *len {
                *i = 0;
            }
            (*i > 0).then_some(())
        });
        if carry.is_none() {
            return Ok(());
        }
    }
}
