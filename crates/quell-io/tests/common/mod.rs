//! Synthetic pictures and helpers for the tests.
#![allow(dead_code, unreachable_pub, reason = "shared by test files, each of which uses its own part")]

pub mod bands;
pub mod fields;

use std::io::Cursor;
use std::path::PathBuf;

use quell::{Frame, Plane};
use quell_io::{
    Format, Metadata, Page, Picture, ReadOptions, Result, SampleType, WriteOptions, decode, encode,
};

pub const SAMPLES: [SampleType; 8] = [
    SampleType::U8,
    SampleType::U16,
    SampleType::I16,
    SampleType::U32,
    SampleType::I32,
    SampleType::F16,
    SampleType::F32,
    SampleType::F64,
];

/// A plane of values that the sample type can hold exactly; float and signed ones lie below zero too.
pub fn plane(width: usize, height: usize, samples: SampleType, seed: u32) -> Plane {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(12345);
    let data = (0..width * height).map(|i| {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let r = state >> 8;
        match (samples, i) {
            (SampleType::F16 | SampleType::F32 | SampleType::F64, 0) => -0.5,
            (SampleType::F16 | SampleType::F32 | SampleType::F64, 1) => 7.25,
            (SampleType::F32 | SampleType::F64, _) => r as f32 / (1 << 24) as f32,
            (SampleType::F16, _) => (r % 2048) as f32 / 2048.0,
            (SampleType::I16, _) => (r % 65536) as f32 - 32768.0,
            (SampleType::I32, _) => r as f32 - (1 << 23) as f32,
            (SampleType::U32, _) => r as f32,
            (_, 0) => 0.0,
            (_, 1) => samples.white(),
            (SampleType::U8, _) => (r % 256) as f32,
            (SampleType::U16, _) => (r % 65536) as f32,
        }
    });
    Plane::from_vec(width, height, data.collect()).unwrap()
}

/// A page with 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGB, alpha) channels.
pub fn page(width: usize, height: usize, samples: SampleType, channels: usize) -> Page {
    let planes = (0..if channels < 3 { 1 } else { 3 }).map(|c| plane(width, height, samples, c));
    let frame = Frame::new(planes.collect(), samples.white()).unwrap();
    let alpha = channels.is_multiple_of(2).then(|| plane(width, height, samples, 9));
    Page { frame, alpha, samples }
}

pub fn picture(format: Format, pages: Vec<Page>) -> Picture {
    Picture { pages, metadata: Metadata::default(), format, notes: Vec::new() }
}

pub fn simple(format: Format, samples: SampleType, channels: usize) -> Picture {
    picture(format, vec![page(13, 7, samples, channels)])
}

pub fn to_bytes(picture: &Picture, format: Format) -> (Vec<u8>, Vec<String>) {
    let mut file = Cursor::new(Vec::new());
    let remarks = encode(picture, format, &WriteOptions::default(), &mut file).unwrap();
    (file.into_inner(), remarks)
}

/// Reads an array whose axes are said; other formats ignore them.
pub fn from_bytes_as(bytes: &[u8], axes: &str) -> Result<Picture> {
    let axes = Some(axes.parse().unwrap());
    decode(bytes, None, &ReadOptions { axes, ..ReadOptions::default() })
}

pub fn from_bytes(bytes: &[u8]) -> Result<Picture> {
    decode(bytes, None, &ReadOptions::default())
}

/// The error's text; fails if there was none.
pub fn refusal(bytes: &[u8]) -> String {
    match from_bytes(bytes) {
        Ok(p) => panic!("accepted as {:?}", p.format),
        Err(e) => e.to_string(),
    }
}

#[track_caller]
pub fn assert_same_page(got: &Page, want: &Page) {
    assert_eq!(got.samples, want.samples);
    assert_eq!(got.frame, want.frame);
    assert_eq!(got.alpha, want.alpha);
}

/// An empty folder of its own for a test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("quell-io-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A chunk of a PNG file, with its checksum.
pub fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut body = kind.to_vec();
    body.extend(data);
    let crc = body.iter().fold(!0_u32, |crc, b| {
        (0..8).fold(crc ^ u32::from(*b), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    });
    let mut chunk = (data.len() as u32).to_be_bytes().to_vec();
    chunk.extend(body);
    chunk.extend((!crc).to_be_bytes());
    chunk
}

/// A PNG file from its header fields and uncompressed rows (each with its filter byte).
pub fn png_file(
    size: [u32; 2],
    [depth, color, interlace]: [u8; 3],
    extra: &[Vec<u8>],
    rows: &[u8],
) -> Vec<u8> {
    let mut header = size.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<_>>();
    header.extend([depth, color, 0, 0, interlace]);
    // A zlib stream of one stored block.
    let mut zlib = vec![0x78, 0x01, 1];
    zlib.extend((rows.len() as u16).to_le_bytes());
    zlib.extend((!(rows.len() as u16)).to_le_bytes());
    zlib.extend(rows);
    let (a, b) = rows.iter().fold((1_u32, 0_u32), |(a, b), v| {
        let a = (a + u32::from(*v)) % 65521;
        (a, (b + a) % 65521)
    });
    zlib.extend((b << 16 | a).to_be_bytes());
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    file.extend(png_chunk(b"IHDR", &header));
    extra.iter().for_each(|chunk| file.extend(chunk));
    file.extend(png_chunk(b"IDAT", &zlib));
    file.extend(png_chunk(b"IEND", &[]));
    file
}

/// A TIFF file of one directory. Each field is tag, type and values; `pieces` are the strips or tiles, whose
/// places and lengths are added under the two tags.
pub fn tiff_file(fields: &[(u16, u16, &[u32])], tags: [u16; 2], pieces: &[&[u8]]) -> Vec<u8> {
    let mut file = b"II\x2a\0\0\0\0\0".to_vec();
    let mut places = Vec::new();
    for piece in pieces {
        places.push(file.len() as u32);
        file.extend(*piece);
    }
    let lengths: Vec<u32> = pieces.iter().map(|p| p.len() as u32).collect();
    let mut all = fields.to_vec();
    all.push((tags[0], 4, &places));
    all.push((tags[1], 4, &lengths));
    all.sort_unstable();
    let mut entries = (all.len() as u16).to_le_bytes().to_vec();
    for (tag, kind, values) in all {
        let bytes: Vec<u8> = match kind {
            3 => values.iter().flat_map(|v| (*v as u16).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        entries.extend([tag, kind].iter().flat_map(|v| v.to_le_bytes()));
        entries.extend((values.len() as u32).to_le_bytes());
        if bytes.len() > 4 {
            entries.extend((file.len() as u32).to_le_bytes());
            file.extend(bytes);
        } else {
            entries.extend([&bytes[..], &[0; 4][bytes.len()..]].concat());
        }
    }
    let at = (file.len() as u32).to_le_bytes();
    file[4..8].copy_from_slice(&at);
    file.extend(entries);
    file.extend([0; 4]);
    file
}

/// Tags of the places and lengths of strips and of tiles.
pub const STRIPS: [u16; 2] = [273, 279];
pub const TILES: [u16; 2] = [324, 325];

/// A NumPy file.
pub fn npy(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((dict.len() as u16 + 1).to_le_bytes());
    file.extend(dict.bytes());
    file.push(b'\n');
    file.extend(data);
    file
}
