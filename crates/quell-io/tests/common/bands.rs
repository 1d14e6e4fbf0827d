//! Files for the tests of pictures in bands: TIFF of any layout, and files that count what is read of them.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quell::PlaneView;
use quell_io::bands::Band;
use quell_io::{Format, Page, SampleType};

use super::fields::{Dir, tiff_chain};
use super::{from_bytes, page, to_bytes};

/// How a TIFF file is stored.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Compression.
    pub code: u64,
    pub predictor: u64,
    pub samples: SampleType,
    pub big_endian: bool,
    /// Colours and alpha.
    pub channels: usize,
    pub planar: bool,
}

impl Default for Layout {
    fn default() -> Self {
        let samples = SampleType::U8;
        Self { code: 1, predictor: 1, samples, big_endian: false, channels: 1, planar: false }
    }
}

impl Layout {
    /// A picture in tiles of 16 x 16, by the writer.
    pub fn tiles(self, width: usize, height: usize) -> Vec<u8> {
        self.written(16, width, height)
    }

    /// The same in strips of the writer's own size.
    pub fn like(self, width: usize, height: usize) -> Vec<u8> {
        self.written(1, width, height)
    }

    fn written(self, side: u64, width: usize, height: usize) -> Vec<u8> {
        // A picture of zeros has the layout; another one takes its place.
        let (passes, step) = if self.planar { (self.channels, 1) } else { (1, self.channels) };
        let zeros = vec![0; (side * side * self.samples.bytes()) as usize * step];
        let mut dir = self.dir(side, side, vec![packed(self.code, &zeros); passes]);
        if side > 1 {
            dir = dir.with(322, 3, &[side]).with(323, 3, &[side]);
        }
        let mut file = tiff_chain(self.big_endian, &[dir]);
        if side > 1 {
            to_tiles(self.big_endian, &mut file);
        }
        let mut picture = from_bytes(&file).unwrap();
        picture.pages = vec![page(width, height, self.samples, self.channels)];
        to_bytes(&picture, Format::Tiff).0
    }

    /// A picture in strips of some rows, by hand: noise, without a predictor.
    pub fn strips(self, width: usize, height: usize, rows: usize) -> Vec<u8> {
        let (passes, step) = if self.planar { (self.channels, 1) } else { (1, self.channels) };
        let row = width * step * self.samples.bytes() as usize;
        let noise = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 24;
        // Small numbers in every type.
        let byte = |i: usize| if i.is_multiple_of(2) { noise(i) as u8 & 0x3b } else { 0x3b };
        let mut strips = Vec::new();
        for pass in 0..passes {
            for y in (0..height).step_by(rows) {
                let start = pass * 7919 + y * row;
                let end = start + row * rows.min(height - y);
                strips.push(packed(self.code, &(start..end).map(byte).collect::<Vec<_>>()));
            }
        }
        let plain = Self { predictor: 1, ..self };
        let dir = plain.dir(width as u64, height as u64, strips).with(278, 3, &[rows as u64]);
        tiff_chain(self.big_endian, &[dir])
    }

    fn dir(self, width: u64, height: u64, strips: Vec<Vec<u8>>) -> Dir {
        let format = match self.samples {
            SampleType::I16 | SampleType::I32 => 2,
            s if s.is_float() => 3,
            _ => 1,
        };
        let colour = if self.channels < 3 { 1 } else { 2 };
        let bits = vec![8 * self.samples.bytes(); self.channels];
        let mut dir = Dir::new(width, height, &bits, colour, vec![])
            .with(259, 3, &[self.code])
            .with(284, 3, &[1 + u64::from(self.planar)])
            .with(339, 3, &vec![format; self.channels]);
        if self.channels.is_multiple_of(2) {
            dir = dir.with(338, 3, &[2]);
        }
        if self.predictor > 1 {
            dir = dir.with(317, 3, &[self.predictor]);
        }
        Dir { strips, ..dir }
    }
}

/// Gives the fields of places and lengths the tags of tiles; they stand behind those of their values.
fn to_tiles(big_endian: bool, file: &mut [u8]) {
    for (strip, tile) in [(273_u16, 324_u16), (279, 325)] {
        let bytes = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let entry = [bytes(strip), bytes(4)].concat();
        let at = file.windows(4).rposition(|w| w == entry).unwrap();
        file[at..at + 2].copy_from_slice(&bytes(tile));
    }
}

/// Bytes as a strip, packed by hand and not well.
fn packed(code: u64, data: &[u8]) -> Vec<u8> {
    match code {
        1 => data.to_vec(),
        5 => {
            // Codes of 9 bits: clear, some bytes for themselves, and so on.
            let codes =
                data.chunks(200).flat_map(|c| [256].into_iter().chain(c.iter().map(|b| u32::from(*b))));
            let bits: Vec<bool> =
                codes.chain([257]).flat_map(|c| (0..9).rev().map(move |i| c >> i & 1 == 1)).collect();
            bits.chunks(8).map(|b| b.iter().enumerate().map(|(i, b)| u8::from(*b) << (7 - i)).sum()).collect()
        }
        8 | 32946 => {
            let len = (data.len() as u16).to_le_bytes();
            let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), v| {
                let a = (a + u32::from(*v)) % 65521;
                (a, (b + a) % 65521)
            });
            let head = [0x78, 1, 1, len[0], len[1], !len[0], !len[1]];
            [&head[..], data, &(b << 16 | a).to_be_bytes()].concat()
        }
        32773 => data.chunks(128).flat_map(|c| [&[(c.len() - 1) as u8][..], c].concat()).collect(),
        50000 => {
            // One raw block in a frame whose size has four bytes.
            let block = ((data.len() << 3 | 1) as u32).to_le_bytes();
            let size = (data.len() as u32).to_le_bytes();
            [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &size, &block[..3], data].concat()
        }
        _ => panic!("{code}"),
    }
}

/// Fails unless the band is these rows of the page, bit by bit.
#[track_caller]
pub fn same_rows(band: &Band, rows: Range<usize>, page: &Page, what: &str) {
    assert_eq!(band.rows(), rows, "{what}");
    let frame = band.frame().unwrap();
    assert_eq!((frame.channels(), frame.white()), (page.frame.channels(), page.frame.white()), "{what}");
    assert_eq!(band.alpha().is_some(), page.alpha.is_some(), "{what}");
    let got = frame.planes().iter().copied().chain(band.alpha());
    for (c, (got, want)) in got.zip(page.frame.planes().iter().chain(&page.alpha)).enumerate() {
        let bits = |p: PlaneView<'_>| p.rows().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert!(bits(got) == bits(want.view().band(rows.clone())), "{what}: rows {rows:?}, plane {c}");
    }
}

/// Bytes that were read.
#[derive(Clone, Default)]
pub struct Count(Arc<AtomicU64>);

impl Count {
    fn add(&self, n: usize) -> usize {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
        n
    }

    /// Since the last time.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A file that counts what is read of it.
pub struct Counted(Cursor<Vec<u8>>, Count);

impl Counted {
    pub fn new(bytes: Vec<u8>) -> (Self, Count) {
        let count = Count::default();
        (Self(Cursor::new(bytes), count.clone()), count)
    }
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map(|n| self.1.add(n))
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// A grey BigTIFF of 8 bits, not packed, that is nowhere: its samples are made as they are read.
#[derive(Clone)]
pub struct Vast {
    header: Arc<Vec<u8>>,
    side: u64,
    /// Tiles of 256 x 256, or strips.
    tiles: bool,
    len: u64,
    at: u64,
    count: Count,
}

impl Vast {
    pub fn new(side: u64, rows_per_strip: u64, tiles: bool) -> (Self, Count) {
        let across = side.div_ceil(256);
        let (pieces, bytes) = match tiles {
            true => (across * across, 1 << 16),
            false => (side.div_ceil(rows_per_strip), rows_per_strip * side),
        };
        let mut fields: Vec<(u16, Vec<u64>)> =
            vec![(256, vec![side]), (257, vec![side]), (258, vec![8]), (262, vec![1])];
        let tags = if tiles { [324, 325] } else { [273, 279] };
        match tiles {
            true => fields.extend([(322, vec![256]), (323, vec![256])]),
            false => fields.push((278, vec![rows_per_strip])),
        }
        let tables = 16 + 8 + 20 * (fields.len() as u64 + 2) + 8;
        let start = tables + 16 * pieces;
        fields.push((tags[0], (0..pieces).map(|i| start + i * bytes).collect()));
        fields.push((tags[1], vec![bytes; pieces as usize]));
        let mut header = b"II\x2b\0\x08\0\0\0".to_vec();
        header.extend(16_u64.to_le_bytes());
        header.extend((fields.len() as u64).to_le_bytes());
        let mut values = Vec::new();
        for (tag, list) in fields {
            header.extend([tag.to_le_bytes(), 16_u16.to_le_bytes()].concat());
            header.extend((list.len() as u64).to_le_bytes());
            match &list[..] {
                [one] => header.extend(one.to_le_bytes()),
                _ => {
                    header.extend((tables + values.len() as u64).to_le_bytes());
                    values.extend(list.iter().flat_map(|v| v.to_le_bytes()));
                }
            }
        }
        header.extend([0; 8]);
        header.extend(values);
        header.resize(start as usize, 0);
        let count = Count::default();
        let len = start + pieces * bytes;
        (Self { header: Arc::new(header), side, tiles, len, at: 0, count: count.clone() }, count)
    }

    fn byte(&self, at: u64) -> u8 {
        let made = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        self.header.get(at as usize).copied().unwrap_or_else(|| made(at - self.header.len() as u64))
    }

    /// The sample that row `y` has in column `x`.
    pub fn sample(&self, y: usize, x: usize) -> u8 {
        let (y, x, start) = (y as u64, x as u64, self.header.len() as u64);
        self.byte(match self.tiles {
            true => start + ((y / 256 * self.side.div_ceil(256) + x / 256) << 16) + y % 256 * 256 + x % 256,
            false => start + y * self.side + x,
        })
    }
}

impl Read for Vast {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = to.len().min(self.len.saturating_sub(self.at) as usize);
        for (i, to) in to[..n].iter_mut().enumerate() {
            *to = self.byte(self.at + i as u64);
        }
        self.at += n as u64;
        Ok(self.count.add(n))
    }
}

impl Seek for Vast {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(n) => n,
            SeekFrom::End(n) => self.len.saturating_add_signed(n),
            SeekFrom::Current(n) => self.at.saturating_add_signed(n),
        };
        Ok(self.at)
    }
}
