//! TIFF files made byte by byte, and a plain reader for what was written.

/// A field: tag, type, and its values as numbers (text and blobs: one number for each byte; fractions: two
/// numbers each).
pub type Entry = (u16, u16, Vec<u64>);

/// A directory of a file to be made.
#[derive(Clone, Default)]
pub struct Dir {
    pub entries: Vec<Entry>,
    pub strips: Vec<Vec<u8>>,
}

impl Dir {
    /// A picture of one strip; bits for each sample of a pixel.
    pub fn new(width: u64, height: u64, bits: &[u64], photometric: u64, strip: Vec<u8>) -> Self {
        let entries = vec![
            (256, 4, vec![width]),
            (257, 4, vec![height]),
            (258, 3, bits.to_vec()),
            (262, 3, vec![photometric]),
            (277, 3, vec![bits.len() as u64]),
        ];
        Self { entries, strips: vec![strip] }
    }

    pub fn with(mut self, tag: u16, kind: u16, values: &[u64]) -> Self {
        self.entries.push((tag, kind, values.to_vec()));
        self
    }

    pub fn text(self, tag: u16, text: &str) -> Self {
        let values: Vec<u64> = text.bytes().chain([0]).map(u64::from).collect();
        self.with(tag, 2, &values)
    }
}

fn number(big: bool, n: u64, bytes: usize) -> Vec<u8> {
    if big { n.to_be_bytes()[8 - bytes..].to_vec() } else { n.to_le_bytes()[..bytes].to_vec() }
}

fn size(kind: u16) -> usize {
    match kind {
        3 => 2,
        4 | 5 | 11 => 4,
        12 => 8,
        _ => 1,
    }
}

/// A classic TIFF file.
pub fn tiff_chain(big_endian: bool, dirs: &[Dir]) -> Vec<u8> {
    let n = |v: u64, bytes: usize| number(big_endian, v, bytes);
    let mut file = if big_endian { b"MM\0\x2a".to_vec() } else { b"II\x2a\0".to_vec() };
    file.extend([0; 4]);
    let mut link = 4;
    for dir in dirs {
        let mut entries = dir.entries.clone();
        let mut places = Vec::new();
        for strip in &dir.strips {
            places.push(file.len() as u64);
            file.extend(strip);
        }
        if !places.is_empty() {
            entries.push((273, 4, places));
            entries.push((279, 4, dir.strips.iter().map(|s| s.len() as u64).collect()));
        }
        entries.sort();
        let mut table = n(entries.len() as u64, 2);
        for (tag, kind, values) in entries {
            let bytes: Vec<u8> = values.iter().flat_map(|v| n(*v, size(kind))).collect();
            let count = if kind == 5 { values.len() / 2 } else { values.len() };
            table.extend([n(tag.into(), 2), n(kind.into(), 2), n(count as u64, 4)].concat());
            if bytes.len() > 4 {
                table.extend(n(file.len() as u64, 4));
                file.extend(bytes);
            } else {
                table.extend([&bytes[..], &[0; 4][bytes.len()..]].concat());
            }
        }
        let at = n(file.len() as u64, 4);
        file[link..link + 4].copy_from_slice(&at);
        file.extend(table);
        link = file.len();
        file.extend([0; 4]);
    }
    file
}

/// The directories of a classic file: tag, type and values of each field.
pub fn directories(file: &[u8]) -> Vec<Vec<Entry>> {
    let big = file.starts_with(b"MM");
    let get = |at: usize, bytes: usize| {
        let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
        let bytes = &file[at..at + bytes];
        if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    };
    let mut all = Vec::new();
    let mut at = get(4, 4) as usize;
    while at != 0 {
        let count = get(at, 2) as usize;
        let entry = |e: usize| {
            let (tag, kind) = (get(e, 2) as u16, get(e + 2, 2) as u16);
            let n = get(e + 4, 4) as usize * if kind == 5 { 2 } else { 1 };
            let start = if n * size(kind) > 4 { get(e + 8, 4) as usize } else { e + 8 };
            (tag, kind, (0..n).map(|i| get(start + i * size(kind), size(kind))).collect())
        };
        all.push((0..count).map(|i| entry(at + 2 + 12 * i)).collect());
        at = get(at + 2 + 12 * count, 4) as usize;
    }
    all
}

/// The values of a field.
pub fn values(dir: &[Entry], tag: u16) -> Option<&[u64]> {
    dir.iter().find(|(t, ..)| *t == tag).map(|(.., values)| &values[..])
}
