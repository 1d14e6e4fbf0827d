//! NumPy arrays. Height, width and samples make a page; every other axis counts pages. A result has the shape,
//! the order of indices, the type and the byte order of the array that it was made from.

mod header;

use std::io::Write;
use std::str::FromStr;

use self::header::Header;
use super::canvas::{Canvas, check_size, floats};
use super::sample::{self, Order};
use super::store::{Remarks, Rows, room};
use super::{Decoded, ends_early};
use crate::picture::ArrayLayout;
use crate::{Axes, Error, Format, Metadata, Picture, ReadOptions, Result, SampleType};

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let header = Header::parse(bytes)?;
    let axes = match &options.axes {
        Some(axes) => axes.clone(),
        None => Axes::of_shape(&header.shape)?,
    };
    let grid = Grid::new(&header, &axes, options)?;
    let data = header.data_at.checked_add(grid.bytes).and_then(|end| bytes.get(header.data_at..end));
    let data = data.ok_or_else(|| ends_early(Format::Npy))?;

    let mut decoded = Decoded { pages: Vec::new(), metadata: Metadata::default(), notes: Vec::new() };
    let size = header.samples.bytes() as usize;
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
        decoded.pages.push(canvas.into_page(header.samples, None, options)?);
    }
    if header.samples == SampleType::F64 {
        decoded.notes.push("float64 is filtered as float32, and written as float64".into());
    }
    if let Some(c) = axes.find(b'C')
        && matches!(header.shape[c], 3 | 4)
    {
        decoded.notes.push("channels are filtered one by one; colours would be S in --axes".into());
    }
    let shape = header.shape.iter().map(|n| *n as usize).collect();
    let big_endian = header.order == Order::Big && size > 1;
    let layout = ArrayLayout { shape, axes, fortran: header.fortran, big_endian };
    // A single picture in the usual order needs no layout.
    let plain = ArrayLayout::plain(1, &decoded.pages[0]);
    decoded.metadata.array = Some(layout).filter(|l| Some(l) != plain.as_ref());
    Ok(decoded)
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
        let mut steps = vec![1_usize; shape.len()];
        let mut step = 1;
        let count = shape.len();
        for i in 0..count {
            let i = if header.fortran { i } else { count - 1 - i };
            steps[i] = step;
            step *= shape[i] as usize;
        }
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

impl ArrayLayout {
    /// What pages become without a layout of their own: pages, rows, columns, samples.
    fn plain(pages: usize, page: &crate::Page) -> Option<Self> {
        let samples = page.frame.channels() + usize::from(page.alpha.is_some());
        let mut shape = vec![page.frame.height(), page.frame.width()];
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
    fn fits(&self, picture: &Picture) -> bool {
        let side = |axis| self.axes.find(axis).map_or(1, |i| self.shape[i]);
        let pages: usize = self.axes.of_pages().map(|i| self.shape[i]).product();
        picture.pages.len() == pages
            && picture.pages.iter().all(|page| {
                let samples = page.frame.channels() + usize::from(page.alpha.is_some());
                (page.frame.width(), page.frame.height(), samples) == (side(b'X'), side(b'Y'), side(b'S'))
            })
    }
}

pub(super) fn encode(picture: &Picture, writer: &mut impl Write, remarks: &mut Remarks) -> Result<()> {
    let first = picture.pages.first().ok_or_else(|| Error::Encode("the picture has no pages".into()))?;
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
    let own = picture.metadata.array.as_ref().filter(|l| l.fits(picture));
    if own.is_none() && rows.len() > 1 {
        remarks.add(format!("the {} pages are written as the first axis of an array", rows.len()));
    }
    let layout = own.cloned().or_else(|| ArrayLayout::plain(rows.len(), first));
    let layout = layout.ok_or_else(|| Error::Encode("no axes".into()))?;
    let order = if layout.big_endian { Order::Big } else { Order::Little };
    writer.write_all(&Header::write(rows[0].samples, order, layout.fortran, &layout.shape))?;
    write_samples(&rows, &layout, order, writer)
}

/// Samples in the order of the file: an index over all axes, counted up with the fastest one first.
fn write_samples(rows: &[Rows], layout: &ArrayLayout, order: Order, writer: &mut impl Write) -> Result<()> {
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
        rows[0].store(&values, order, &mut buffer);
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
