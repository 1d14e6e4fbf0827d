//! EXIF in TIFF files.
//!
//! EXIF is a small TIFF file. In JPEG, PNG and WebP it is one block of bytes, carried untouched; in TIFF its
//! fields live in the picture's own directories. This module takes them out of there into a block, and
//! takes a block apart again. Fields that describe how the samples are laid out belong to the encoder.

use std::borrow::Cow;
use std::cell::Cell;

use crate::input::Input;

/// Pointers to the two directories of EXIF.
pub(crate) const EXIF_IFD: u16 = 34665;
pub(crate) const GPS_IFD: u16 = 34853;

/// Who made the picture, and how sensitive it was.
const MAKE: u16 = 271;
const MODEL: u16 = 272;
const ISO: u16 = 34855;
/// Recommended exposure index, standard output sensitivity, ISO speed.
const EXPOSURE_INDEX: [u16; 3] = [34866, 34865, 34867];

/// The text of a field, without what pads it.
fn text(fields: &[Field], tag: u16) -> Option<String> {
    let field = fields.iter().find(|f| f.tag == tag && f.kind == 2)?;
    let end = field.data.iter().position(|b| *b == 0).unwrap_or(field.data.len());
    let text: String =
        String::from_utf8_lossy(&field.data[..end]).chars().filter(|c| !c.is_control()).collect();
    Some(text.trim().to_owned()).filter(|t| !t.is_empty())
}

/// A field's values, in this machine's byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) tag: u16,
    /// Type number of the TIFF specification, 1 to 12; in TIFF files up to 18.
    pub(crate) kind: u16,
    pub(crate) data: Vec<u8>,
}

/// The fields of a picture, by directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) main: Vec<Field>,
    pub(crate) exif: Vec<Field>,
    pub(crate) gps: Vec<Field>,
    /// There is a second directory: a thumbnail in a block, another page in a file.
    pub(crate) more: bool,
}

impl Fields {
    /// Takes the fields from a TIFF file or an EXIF block. Damaged fields are left out.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Self::read(&Reader::new(bytes.into())?)
    }

    /// As [`Self::parse`], from where the reader reads.
    pub(crate) fn read(reader: &Reader) -> Option<Self> {
        let Listing { fields: first, next, .. } = reader.directory(reader.first()?)?;
        let inner = |tag| {
            let pointer = first.iter().find(|f: &&Field| f.tag == tag)?;
            let at = match *pointer.data.as_slice() {
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                _ => return None,
            };
            Some(reader.directory(at)?.fields)
        };
        let portable = |fields: Vec<Field>| -> Vec<Field> {
            fields.into_iter().filter(|f| (1..=12).contains(&f.kind) && f.tag != INTEROPERABILITY).collect()
        };
        let exif = portable(inner(EXIF_IFD).unwrap_or_default());
        let gps = portable(inner(GPS_IFD).unwrap_or_default());
        let mut main = portable(first.iter().filter(|f| !is_layout(f.tag)).cloned().collect());
        drop_empty_resolution(&mut main);
        Some(Self { main, exif, gps, more: next.is_some_and(|n| n != 0) })
    }

    /// Maker and model of the camera. Most models begin with the maker's name already.
    pub(crate) fn camera(&self) -> Option<String> {
        let (make, model) = (text(&self.main, MAKE), text(&self.main, MODEL));
        let (Some(make), Some(model)) = (&make, &model) else { return model.or(make) };
        let first = |s: &str| s.split_whitespace().next().unwrap_or_default().to_lowercase();
        Some(if first(make) == first(model) { model.clone() } else { format!("{make} {model}") })
    }

    /// Sensitivity. Above 65534 the old field says 65535 and a newer one tells.
    pub(crate) fn iso(&self) -> Option<u32> {
        let number = |tag: u16| {
            let field = self.exif.iter().find(|f| f.tag == tag)?;
            match (field.kind, field.data.as_slice()) {
                (3, [a, b, ..]) => Some(u16::from_ne_bytes([*a, *b]).into()),
                (4, [a, b, c, d, ..]) => Some(u32::from_ne_bytes([*a, *b, *c, *d])),
                _ => None,
            }
        };
        let old = number(ISO).filter(|v| *v != u32::from(u16::MAX));
        old.or_else(|| EXPOSURE_INDEX.into_iter().find_map(number)).filter(|v| *v > 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.main.is_empty() && self.exif.is_empty() && self.gps.is_empty()
    }

    /// Puts the fields into a block.
    pub(crate) fn to_block(&self) -> Vec<u8> {
        let mut block = if cfg!(target_endian = "little") { b"II".to_vec() } else { b"MM".to_vec() };
        block.extend(42_u16.to_ne_bytes());
        block.extend(8_u32.to_ne_bytes());
        // Directories one after the other: main, EXIF, GPS. Their sizes are known beforehand.
        let exif_at = 8 + Self::len(&self.main, [&self.exif, &self.gps]);
        let gps_at = exif_at + if self.exif.is_empty() { 0 } else { Self::len(&self.exif, []) };
        let mut main = self.main.clone();
        for (tag, fields, at) in [(EXIF_IFD, &self.exif, exif_at), (GPS_IFD, &self.gps, gps_at)] {
            if !fields.is_empty() {
                main.push(Field { tag, kind: 4, data: (at as u32).to_ne_bytes().to_vec() });
            }
        }
        Self::append(&mut block, &main);
        for fields in [&self.exif, &self.gps] {
            if !fields.is_empty() {
                Self::append(&mut block, fields);
            }
        }
        block
    }

    /// Bytes that [`Self::append`] takes for `fields` and a pointer to each directory that is not empty.
    fn len<const N: usize>(fields: &[Field], inner: [&Vec<Field>; N]) -> usize {
        let pointers = inner.iter().filter(|d| !d.is_empty()).count();
        let outside = |f: &Field| if f.data.len() > 4 { f.data.len().next_multiple_of(2) } else { 0 };
        2 + 12 * (fields.len() + pointers) + 4 + fields.iter().map(outside).sum::<usize>()
    }

    fn append(block: &mut Vec<u8>, fields: &[Field]) {
        let mut fields: Vec<&Field> = fields.iter().collect();
        fields.sort_by_key(|f| f.tag);
        let mut outside = block.len() + 2 + 12 * fields.len() + 4;
        block.extend((fields.len() as u16).to_ne_bytes());
        for f in &fields {
            block.extend(f.tag.to_ne_bytes());
            block.extend(f.kind.to_ne_bytes());
            block.extend(((f.data.len() / size_of_kind(f.kind)) as u32).to_ne_bytes());
            if f.data.len() > 4 {
                block.extend((outside as u32).to_ne_bytes());
                outside += f.data.len().next_multiple_of(2);
            } else {
                let mut value = [0; 4];
                value[..f.data.len()].copy_from_slice(&f.data);
                block.extend(value);
            }
        }
        block.extend([0; 4]);
        for f in fields.iter().filter(|f| f.data.len() > 4) {
            block.extend(&f.data);
            if f.data.len() % 2 == 1 {
                block.push(0);
            }
        }
    }
}

pub(crate) const X_RESOLUTION: u16 = 282;
pub(crate) const Y_RESOLUTION: u16 = 283;
pub(crate) const RESOLUTION_UNIT: u16 = 296;
/// Pointer inside the EXIF directory, of no use without its target.
const INTEROPERABILITY: u16 = 40965;

/// One pixel to no unit is what encoders write when nobody said anything.
pub(crate) fn drop_empty_resolution(fields: &mut Vec<Field>) {
    let find = |tag| fields.iter().find(|f| f.tag == tag).map(|f| &f.data[..]);
    let one = [1_u32.to_ne_bytes(), 1_u32.to_ne_bytes()].concat();
    let nothing = |v: Option<&[u8]>| v.is_none_or(|v| v == one);
    let unit = find(RESOLUTION_UNIT);
    if nothing(find(X_RESOLUTION))
        && nothing(find(Y_RESOLUTION))
        && unit.is_none_or(|u| u == 1_u16.to_ne_bytes())
    {
        fields.retain(|f| ![X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT].contains(&f.tag));
    }
}

/// Fields that say how samples are stored, point to other places, or are carried in their own right.
fn is_layout(tag: u16) -> bool {
    matches!(tag,
        254..=259 | 262..=266 | 273 | 277..=281 | 284 | 288..=293 | 300 | 301 | 317..=332 | 334 | 336..=347
        | 400..=403 | 433..=436 | 512..=521 | 529..=532 | 559 | 700 | 32781 | 33421 | 33422
        | EXIF_IFD | 34675 | GPS_IFD | LAYERS | INTEROPERABILITY | 50706..=51200)
}

/// Bytes of one value.
pub(crate) fn size_of_kind(kind: u16) -> usize {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => 1,
    }
}

/// A directory as it is in the file.
pub(crate) struct Listing {
    pub(crate) fields: Vec<Field>,
    /// Where the next one is, 0 if there is none; nothing if the file ends here.
    pub(crate) next: Option<u64>,
    /// Fields that point outside the file.
    pub(crate) damaged: u64,
}

/// Turns the byte order of a field's values round.
pub(crate) fn swap(kind: u16, data: &mut [u8]) {
    // A fraction is two numbers.
    let unit = if matches!(kind, 5 | 10) { 4 } else { size_of_kind(kind) };
    data.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
}

/// Bytes of directories and values at most, of files that are not in memory as a whole.
const LONGEST: u64 = 1 << 28;

/// Photoshop's layers: up to gigabytes, and never kept.
const LAYERS: u16 = 37724;

/// Reads directories of classic TIFF and BigTIFF in either byte order.
pub(crate) struct Reader<'a> {
    pub(crate) input: Input<'a>,
    pub(crate) little: bool,
    /// BigTIFF.
    pub(crate) big: bool,
    /// Bytes of directories and values that may still be read. Those of a sound file do not overlap, so
    /// together they are no longer than the file.
    budget: Cell<u64>,
    /// A field was left out because it would be too long to be kept in memory, not because it is damaged.
    pub(crate) omits: Cell<bool>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(input: Input<'a>) -> Option<Self> {
        let (little, big) = match &input.exactly(0, 4)?[..] {
            b"II\x2a\0" => (true, false),
            b"II\x2b\0" => (true, true),
            b"MM\0\x2a" => (false, false),
            b"MM\0\x2b" => (false, true),
            _ => return None,
        };
        let most = match input {
            Input::Memory(bytes) => bytes.len() as u64,
            Input::Disk(_) => input.len().min(LONGEST),
        };
        // Small values that pages share are counted for each.
        let budget = Cell::new(most + (1 << 20));
        Some(Self { input, little, big, budget, omits: Cell::new(false) })
    }

    /// The unsigned number of `N` bytes at `at`.
    fn number<const N: usize>(&self, at: u64) -> Option<u64> {
        let bytes = self.input.exactly(at, N)?;
        let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
        Some(if self.little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) })
    }

    /// An offset: 4 bytes, or 8 in BigTIFF.
    fn offset(&self, at: u64) -> Option<u64> {
        if self.big { self.number::<8>(at) } else { self.number::<4>(at) }
    }

    /// Where the first directory is.
    pub(crate) fn first(&self) -> Option<u64> {
        self.offset(if self.big { 8 } else { 4 })
    }

    /// The fields of the directory at `at`, and where the next one is.
    pub(crate) fn directory(&self, at: u64) -> Option<Listing> {
        let (head, entry, inline) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let count = if self.big { self.number::<8>(at)? } else { self.number::<2>(at)? };
        let (mut fields, mut damaged) = (Vec::new(), count.saturating_sub(4096));
        // More entries than that are not from a camera or a scanner.
        for i in 0..count.min(4096) {
            self.budget.set(self.budget.get().checked_sub(entry)?);
            let budget = self.budget.get();
            let e = at.checked_add(head)?.checked_add(i * entry)?;
            let (tag, kind) = (self.number::<2>(e)? as u16, self.number::<2>(e + 2)? as u16);
            let n = self.offset(e + 4)?;
            let size = size_of_kind(kind);
            let value = e + 4 + inline;
            let len = n.checked_mul(size as u64).filter(|len| *len <= self.input.len());
            let data = len.and_then(|len| {
                let start = if len <= inline { value } else { self.offset(value)? };
                if tag == LAYERS && start.checked_add(len)? <= self.input.len() {
                    return Some(Cow::Borrowed(&[][..]));
                }
                if len > budget {
                    self.omits.set(true);
                    return None;
                }
                self.input.exactly(start, usize::try_from(len).ok()?)
            });
            let Some(data) = data else {
                damaged += 1;
                continue;
            };
            self.budget.set(budget - data.len() as u64);
            fields.push(Field { tag, kind, data: self.native(kind, data) });
        }
        let next = at.checked_add(head)?.checked_add(count.checked_mul(entry)?)?;
        Some(Listing { fields, next: self.offset(next), damaged })
    }

    /// Values in this machine's byte order.
    fn native(&self, kind: u16, data: Cow<[u8]>) -> Vec<u8> {
        let mut data = data.into_owned();
        if self.little != cfg!(target_endian = "little") {
            swap(kind, &mut data);
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Fields {
        let text = |tag, s: &str| Field { tag, kind: 2, data: s.as_bytes().to_vec() };
        Fields {
            main: vec![text(271, "Maker\0"), Field { tag: 274, kind: 3, data: 6_u16.to_ne_bytes().to_vec() }],
            exif: vec![
                Field {
                    tag: 33434,
                    kind: 5,
                    data: [1_u32, 125].iter().flat_map(|v| v.to_ne_bytes()).collect(),
                },
                text(36867, "2024:05:06 07:08:09\0"),
            ],
            gps: vec![text(1, "N\0")],
            more: false,
        }
    }

    #[test]
    fn a_block_is_taken_apart_and_put_together() {
        let fields = sample();
        assert_eq!(Fields::parse(&fields.to_block()), Some(fields));
        let empty = Fields::default();
        assert_eq!(Fields::parse(&empty.to_block()), Some(empty));
    }

    #[test]
    fn the_camera_is_told() {
        let text = |tag, s: &str| Field { tag, kind: 2, data: s.as_bytes().to_vec() };
        let short = |tag, v: u16| Field { tag, kind: 3, data: v.to_ne_bytes().to_vec() };
        let long = |tag, v: u32| Field { tag, kind: 4, data: v.to_ne_bytes().to_vec() };
        let of = |main, exif| {
            let fields = Fields { main, exif, ..Fields::default() };
            (fields.camera(), fields.iso())
        };
        let canon = vec![text(271, "Canon\0"), text(272, "Canon EOS 5D Mark III\0")];
        assert_eq!(of(canon, vec![short(34855, 3200)]), (Some("Canon EOS 5D Mark III".into()), Some(3200)));
        let nikon = vec![text(271, "NIKON CORPORATION"), text(272, "NIKON D800  \0\0")];
        let high = vec![short(34855, 65535), long(34866, 102_400)];
        assert_eq!(of(nikon, high), (Some("NIKON D800".into()), Some(102_400)));
        let phone = vec![text(271, "Google"), text(272, "Pixel 8")];
        assert_eq!(of(phone, vec![short(34855, 0)]), (Some("Google Pixel 8".into()), None));
        assert_eq!(of(vec![text(272, "\0")], vec![]), (None, None));
    }

    #[test]
    fn the_other_byte_order_gives_the_same_fields() {
        // Make = "Ab", Orientation = 6, X and Y resolution of 300/1 a centimetre, big-endian.
        let mut block = b"MM\0\x2a\0\0\0\x08\0\x05".to_vec();
        block.extend(b"\x01\x0f\0\x02\0\0\0\x03Ab\0\0");
        block.extend(b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0");
        block.extend(b"\x01\x1a\0\x05\0\0\0\x01\0\0\0\x4a");
        block.extend(b"\x01\x1b\0\x05\0\0\0\x01\0\0\0\x4a");
        block.extend(b"\x01\x28\0\x03\0\0\0\x01\0\x03\0\0");
        block.extend(b"\0\0\0\0\0\0\x01\x2c\0\0\0\x01");
        let fields = Fields::parse(&block).unwrap();
        let tags: Vec<u16> = fields.main.iter().map(|f| f.tag).collect();
        assert_eq!(tags, [271, 274, 282, 283, 296]);
        assert_eq!(fields.main[1].data, 6_u16.to_ne_bytes());
        assert_eq!(fields.main[2].data[..4], 300_u32.to_ne_bytes());
    }

    #[test]
    fn cut_and_spoilt_blocks_never_panic() {
        let block = sample().to_block();
        for end in 0..block.len() {
            Fields::parse(&block[..end]);
        }
        for i in 0..block.len() {
            for bit in 0..8 {
                let mut spoilt = block.clone();
                spoilt[i] ^= 1 << bit;
                if let Some(fields) = Fields::parse(&spoilt) {
                    fields.to_block();
                }
            }
        }
    }
}
