//! The scans of a picture: sequential and progressive, into samples or coefficients (ITU-T T.81, annexes F and G).

use super::super::canvas::buffer;
use super::super::{damaged, ends_early, memory};
use super::huffman::{Bits, Table};
use super::idct;
use crate::{Format, Result};

/// Where the coefficients of a file's order stand in a block.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Tables as they stand when a scan begins.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) quantisers: [Option<[u16; 64]>; 4],
    pub(super) dc: [Option<Table>; 4],
    pub(super) ac: [Option<Table>; 4],
    /// Units between restart markers; 0: there are none.
    pub(super) restart: usize,
}

/// One component: its samples, and its coefficients while they are collected.
pub(super) struct Component {
    pub(super) id: u8,
    /// Samples of this component for each unit of the picture, across and down.
    pub(super) sampling: (usize, usize),
    quantiser: usize,
    /// Samples that belong to the picture.
    pub(super) width: usize,
    pub(super) height: usize,
    /// Blocks across and down, with those that only fill up a unit.
    blocks: (usize, usize),
    /// Rows of `8 * blocks.0` samples.
    samples: Vec<u8>,
    coefficients: Vec<i16>,
    table: Option<[u16; 64]>,
}

impl Component {
    /// Row `y`, or the nearest one that is there.
    pub(super) fn row(&self, y: isize) -> &[u8] {
        let y = y.clamp(0, self.height as isize - 1) as usize;
        &self.samples[y * 8 * self.blocks.0..][..self.width]
    }

    fn put(&mut self, x: usize, y: usize, coefficients: &[i16; 64]) {
        let stride = 8 * self.blocks.0;
        // A scan does not begin without its table.
        if let Some(table) = &self.table {
            idct::block(coefficients, table, &mut self.samples[8 * y * stride + 8 * x..], stride);
        }
    }
}

/// The picture as its frame header describes it.
pub(super) struct Frame {
    pub(super) progressive: bool,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) components: Vec<Component>,
    /// The largest sampling factors, across and down.
    pub(super) largest: (usize, usize),
    /// Units across and down.
    units: (usize, usize),
    scans: usize,
}

/// What a scan header says.
struct Scan {
    /// Index, DC table and AC table of each component.
    parts: Vec<(usize, usize, usize)>,
    /// First and last coefficient.
    band: (usize, usize),
    /// Bit that is refined, or 0 in a first scan, and the lowest bit of this scan.
    high: u32,
    low: u32,
}

/// More scans than any encoder makes: only to take up time.
const SCANS: usize = 200;

impl Frame {
    /// From a frame header's content; `bytes` is how long the file is.
    pub(super) fn new(progressive: bool, content: &[u8], bytes: usize) -> Result<Self> {
        let wrong = || damaged(Format::Jpeg, "the frame header makes no sense");
        let [_, h0, h1, w0, w1, count, list @ ..] = content else { return Err(wrong()) };
        let (width, height): (usize, usize) =
            (u16::from_be_bytes([*w0, *w1]).into(), u16::from_be_bytes([*h0, *h1]).into());
        let (list, _) = list.as_chunks::<3>();
        if list.len() < (*count).into() || *count == 0 || width == 0 || height == 0 {
            return Err(wrong());
        }
        let list = &list[..(*count).into()];
        let factors = |f: u8| (usize::from(f >> 4), usize::from(f & 15));
        if list.iter().any(|[_, f, q]| !(1..=4).contains(&(f >> 4)) || !(1..=4).contains(&(f & 15)) || *q > 3)
        {
            return Err(wrong());
        }
        let largest =
            list.iter().fold((1, 1), |(h, v), [_, f, _]| (h.max(factors(*f).0), v.max(factors(*f).1)));
        let units = (width.div_ceil(8 * largest.0), height.div_ceil(8 * largest.1));
        let blocks: usize =
            list.iter().map(|[_, f, _]| units.0 * units.1 * factors(*f).0 * factors(*f).1).sum();
        // Every block takes at least a bit; a picture of that size cannot be in a file of this one.
        let own: usize = list
            .iter()
            .map(|[_, f, _]| {
                (width * factors(*f).0).div_ceil(8 * largest.0)
                    * (height * factors(*f).1).div_ceil(8 * largest.1)
            })
            .sum();
        if own.min(blocks) / 8 > bytes {
            return Err(ends_early(Format::Jpeg));
        }
        let mut components = Vec::new();
        for [id, f, q] in list {
            let sampling = factors(*f);
            let blocks = (units.0 * sampling.0, units.1 * sampling.1);
            let n = 64 * blocks.0 * blocks.1;
            let mut coefficients = Vec::new();
            if progressive {
                coefficients.try_reserve_exact(n).map_err(|_| memory(2 * n))?;
                coefficients.resize(n, 0);
            }
            components.push(Component {
                id: *id,
                sampling,
                quantiser: (*q).into(),
                width: (width * sampling.0).div_ceil(largest.0),
                height: (height * sampling.1).div_ceil(largest.1),
                blocks,
                samples: buffer(n)?,
                coefficients,
                table: None,
            });
        }
        Ok(Self { progressive, width, height, components, largest, units, scans: 0 })
    }

    /// Decodes the scan whose header is `content` and whose bits begin at `at`; returns where it ends.
    pub(super) fn scan(&mut self, tables: &Tables, content: &[u8], file: &[u8], at: usize) -> Result<usize> {
        self.scans += 1;
        if self.scans > SCANS {
            return Err(damaged(Format::Jpeg, format!("more than {SCANS} scans")));
        }
        let scan = self.parse(content)?;
        for (c, ..) in &scan.parts {
            let component = &mut self.components[*c];
            // The table of the first scan holds: it may be replaced for the next component.
            if component.table.is_none() {
                component.table = tables.quantisers[component.quantiser];
            }
            if component.table.is_none() {
                return Err(damaged(Format::Jpeg, "a quantisation table is missing"));
            }
        }
        let mut bits = Bits::new(file, at);
        let mut state = State { dc: vec![0; scan.parts.len()], run: 0 };
        // One component alone has no units of several blocks.
        let alone = scan.parts.len() == 1;
        let (across, down) = match &scan.parts[..] {
            [(c, ..)] => {
                let c = &self.components[*c];
                (c.width.div_ceil(8), c.height.div_ceil(8))
            }
            _ => self.units,
        };
        let mut number = 0_u8;
        for unit in 0..across * down {
            if tables.restart > 0 && unit > 0 && unit % tables.restart == 0 {
                bits.restart(number)?;
                number = (number + 1) % 8;
                state.dc.fill(0);
                state.run = 0;
            }
            let (x, y) = (unit % across, unit / across);
            for (i, &(c, dc, ac)) in scan.parts.iter().enumerate() {
                let (h, v) = if alone { (1, 1) } else { self.components[c].sampling };
                for block in 0..h * v {
                    let place = (x * h + block % h, y * v + block / h);
                    let tables = (&tables.dc[dc], &tables.ac[ac]);
                    self.block(&mut bits, &mut state, &scan, tables, i, place)?;
                }
            }
            if x + 1 == across {
                bits.check()?;
            }
        }
        Ok(bits.end())
    }

    fn parse(&self, content: &[u8]) -> Result<Scan> {
        let wrong = || damaged(Format::Jpeg, "a scan header makes no sense");
        let (&count, rest) = content.split_first().ok_or_else(wrong)?;
        let (list, tail) = rest.split_at_checked(2 * usize::from(count)).ok_or_else(wrong)?;
        let &[first, last, bits, ..] = tail else { return Err(wrong()) };
        let mut parts: Vec<(usize, usize, usize)> = Vec::new();
        for &[id, tables] in list.as_chunks().0 {
            let c = self.components.iter().position(|c| c.id == id).ok_or_else(wrong)?;
            let (dc, ac) = (usize::from(tables >> 4), usize::from(tables & 15));
            if dc > 3 || ac > 3 || parts.iter().any(|(other, ..)| *other == c) {
                return Err(wrong());
            }
            parts.push((c, dc, ac));
        }
        let blocks: usize =
            parts.iter().map(|(c, ..)| self.components[*c].sampling).map(|(h, v)| h * v).sum();
        if parts.is_empty() || (parts.len() > 1 && blocks > 10) {
            return Err(wrong());
        }
        let (first, last, high, low) = (usize::from(first), usize::from(last), bits >> 4, bits & 15);
        if !self.progressive {
            return Ok(Scan { parts, band: (0, 63), high: 0, low: 0 });
        }
        let band_fits = if first == 0 { last == 0 } else { first <= last && last < 64 && parts.len() == 1 };
        if !band_fits || low > 13 || (high > 0 && high != low + 1) {
            return Err(wrong());
        }
        Ok(Scan { parts, band: (first, last), high: high.into(), low: low.into() })
    }

    /// One block of part `part` at `place`.
    fn block(
        &mut self,
        bits: &mut Bits<'_>,
        state: &mut State,
        scan: &Scan,
        (dc, ac): (&Option<Table>, &Option<Table>),
        part: usize,
        (x, y): (usize, usize),
    ) -> Result<()> {
        let missing = || damaged(Format::Jpeg, "a Huffman table is missing");
        let component = &mut self.components[scan.parts[part].0];
        if !self.progressive {
            let mut block = [0; 64];
            block[0] = state.difference(bits, dc.as_ref().ok_or_else(missing)?, part)?;
            sequential(bits, ac.as_ref().ok_or_else(missing)?, &mut block)?;
            component.put(x, y, &block);
            return Ok(());
        }
        let start = 64 * (y * component.blocks.0 + x);
        let Some(block) = component.coefficients[start..].first_chunk_mut() else { return Ok(()) };
        match (scan.band.0, scan.high) {
            (0, 0) => block[0] = state.difference(bits, dc.as_ref().ok_or_else(missing)?, part)? << scan.low,
            (0, _) => block[0] |= i16::from(bits.bit()) << scan.low,
            (_, 0) => state.first(bits, ac.as_ref().ok_or_else(missing)?, scan, block)?,
            _ => state.refine(bits, ac.as_ref().ok_or_else(missing)?, scan, block)?,
        }
        Ok(())
    }

    /// Every component has been in a scan; makes samples of coefficients that were collected.
    pub(super) fn finish(&mut self) -> Result<()> {
        for component in &mut self.components {
            let Some(table) = component.table else { return Err(ends_early(Format::Jpeg)) };
            let (across, stride) = (component.blocks.0, 8 * component.blocks.0);
            for (i, block) in component.coefficients.as_chunks().0.iter().enumerate() {
                let start = 8 * (i / across) * stride + 8 * (i % across);
                idct::block(block, &table, &mut component.samples[start..], stride);
            }
            component.coefficients = Vec::new();
        }
        Ok(())
    }
}

/// The AC coefficients of a block of a sequential scan.
fn sequential(bits: &mut Bits<'_>, table: &Table, block: &mut [i16; 64]) -> Result<()> {
    let mut k = 1;
    while k < 64 {
        let symbol = bits.symbol(table)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        match (run, size) {
            (15, 0) => k += 16,
            (_, 0) => break,
            _ => {
                k += run;
                let place = ZIGZAG.get(k).ok_or_else(too_many)?;
                block[usize::from(*place)] = bits.value(size) as i16;
                k += 1;
            }
        }
    }
    Ok(())
}

fn too_many() -> crate::Error {
    damaged(Format::Jpeg, "a block has too many coefficients")
}

/// What is carried from block to block.
struct State {
    /// The last DC value of each part.
    dc: Vec<i32>,
    /// Blocks that have nothing more in this band.
    run: u32,
}

impl State {
    fn difference(&mut self, bits: &mut Bits<'_>, table: &Table, part: usize) -> Result<i16> {
        let size = bits.symbol(table)?;
        if size > 15 {
            return Err(damaged(Format::Jpeg, "a DC difference is too large"));
        }
        self.dc[part] = self.dc[part].wrapping_add(bits.value(size.into()));
        Ok(self.dc[part] as i16)
    }

    /// A band's highest bits.
    fn first(
        &mut self,
        bits: &mut Bits<'_>,
        table: &Table,
        scan: &Scan,
        block: &mut [i16; 64],
    ) -> Result<()> {
        if self.run > 0 {
            self.run -= 1;
            return Ok(());
        }
        let (mut k, last) = scan.band;
        while k <= last {
            let symbol = bits.symbol(table)?;
            let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            match (run, size) {
                (15, 0) => k += 16,
                (_, 0) => {
                    self.run = (1 << run) - 1 + bits.take(run);
                    break;
                }
                _ => {
                    k += run as usize;
                    if k > last {
                        return Err(too_many());
                    }
                    block[usize::from(ZIGZAG[k])] = (bits.value(size) << scan.low) as i16;
                    k += 1;
                }
            }
        }
        Ok(())
    }

    /// One more bit of a band: of what is not zero already, and new coefficients of one bit.
    fn refine(
        &mut self,
        bits: &mut Bits<'_>,
        table: &Table,
        scan: &Scan,
        block: &mut [i16; 64],
    ) -> Result<()> {
        let (mut k, last) = scan.band;
        let step = 1_i16 << scan.low;
        let correct = |bits: &mut Bits<'_>, c: &mut i16| {
            if bits.bit() && *c & step == 0 {
                *c = if *c > 0 { c.wrapping_add(step) } else { c.wrapping_sub(step) };
            }
        };
        if self.run == 0 {
            while k <= last {
                let symbol = bits.symbol(table)?;
                let (mut run, size) = (u32::from(symbol >> 4), symbol & 15);
                let mut new = 0;
                match (run, size) {
                    (15, 0) => {}
                    (_, 0) => {
                        // The rest of this block is part of the run.
                        self.run = (1 << run) + bits.take(run);
                        break;
                    }
                    _ => new = if bits.bit() { step } else { -step },
                }
                // Passes over `run` zeros; what is not zero on the way is corrected.
                loop {
                    if k > last {
                        if new != 0 {
                            return Err(too_many());
                        }
                        break;
                    }
                    let c = &mut block[usize::from(ZIGZAG[k])];
                    k += 1;
                    if *c != 0 {
                        correct(bits, c);
                    } else if run == 0 {
                        *c = new;
                        break;
                    } else {
                        run -= 1;
                    }
                }
            }
        }
        if self.run > 0 {
            for k in k..=last {
                let c = &mut block[usize::from(ZIGZAG[k])];
                if *c != 0 {
                    correct(bits, c);
                }
            }
            self.run -= 1;
        }
        Ok(())
    }
}
