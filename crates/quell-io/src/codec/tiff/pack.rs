//! Compression of strips and tiles.

use std::io::Read;

use flate2::read::{ZlibDecoder, ZlibEncoder};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use weezl::{BitOrder, LzwStatus};

use crate::codec::store::room;
use crate::codec::{damaged, ends_early};
use crate::{Error, Format, Result};

/// How strips and tiles are packed in the file that was read, and will be again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Packing {
    #[default]
    None,
    Lzw,
    /// With the old number or the new one.
    Deflate {
        old: bool,
    },
    PackBits,
    Zstd,
    /// Lossy, so it is read only.
    Jpeg,
}

impl Packing {
    pub(super) fn from_code(code: u64) -> Result<Self> {
        let name = match code {
            1 => return Ok(Self::None),
            5 => return Ok(Self::Lzw),
            7 => return Ok(Self::Jpeg),
            8 => return Ok(Self::Deflate { old: false }),
            32946 => return Ok(Self::Deflate { old: true }),
            32773 => return Ok(Self::PackBits),
            50000 => return Ok(Self::Zstd),
            2..=4 | 32771 => "fax",
            6 => "old JPEG",
            33003 | 33005 | 34712 => "JPEG 2000",
            34887 => "LERC",
            34925 => "LZMA",
            50001 => "WebP",
            50002 => "JPEG XL",
            _ => "unknown",
        };
        Err(Error::Unsupported(format!(
            "a TIFF with {name} compression ({code}); convert it to deflate first"
        )))
    }

    /// The number in the file.
    pub(super) fn code(self) -> u16 {
        match self {
            Self::None => 1,
            Self::Lzw => 5,
            Self::Jpeg => 7,
            Self::Deflate { old: false } => 8,
            Self::Deflate { old: true } => 32946,
            Self::PackBits => 32773,
            Self::Zstd => 50000,
        }
    }
}

/// Unpacks to `len` bytes at most, and fails if there are fewer. Memory is touched only as bytes come out.
pub(super) fn unpack(packing: Packing, data: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| Error::Memory { bytes: len as u64 })?;
    match packing {
        Packing::None => out.extend_from_slice(&data[..len.min(data.len())]),
        Packing::Lzw => unlzw(data, len, &mut out)?,
        Packing::Deflate { .. } => {
            ZlibDecoder::new(data).take(len as u64).read_to_end(&mut out).map_err(broken)?;
        }
        Packing::PackBits => unpack_bits(data, len, &mut out),
        Packing::Zstd => {
            let decoder = StreamingDecoder::new(data).map_err(|e| damaged(Format::Tiff, e))?;
            decoder.take(len as u64).read_to_end(&mut out).map_err(broken)?;
        }
        // Frames of JPEG are read in their own way.
        Packing::Jpeg => {}
    }
    if out.len() < len { Err(ends_early(Format::Tiff)) } else { Ok(out) }
}

fn broken(e: std::io::Error) -> Error {
    match e.kind() {
        std::io::ErrorKind::UnexpectedEof => ends_early(Format::Tiff),
        _ => damaged(Format::Tiff, e),
    }
}

fn unlzw(mut data: &[u8], len: usize, out: &mut Vec<u8>) -> Result<()> {
    // The first code is a clear code of 9 bits; files of before 1991 have their bits the other way round.
    if data.starts_with(&[0]) && data.get(1).is_some_and(|b| b & 1 == 1) {
        return Err(Error::Unsupported("a TIFF with LZW of before 1991; convert it to deflate first".into()));
    }
    let mut decoder = weezl::decode::Configuration::with_tiff_size_switch(BitOrder::Msb, 8)
        .with_yield_on_full_buffer(true)
        .build();
    let mut block = [0; 1 << 14];
    while out.len() < len {
        let room = block.len().min(len - out.len());
        let step = decoder.decode_bytes(data, &mut block[..room]);
        out.extend_from_slice(&block[..step.consumed_out]);
        data = &data[step.consumed_in..];
        match step.status {
            Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
            Ok(_) => return Ok(()),
            Err(e) => return Err(damaged(Format::Tiff, e)),
        }
    }
    Ok(())
}

fn unpack_bits(mut data: &[u8], len: usize, out: &mut Vec<u8>) {
    while let [head, rest @ ..] = data {
        let left = len - out.len();
        data = match *head {
            n @ 0..=127 => {
                let n = (usize::from(n) + 1).min(rest.len());
                out.extend_from_slice(&rest[..n.min(left)]);
                &rest[n..]
            }
            128 => rest,
            n => {
                let Some((value, rest)) = rest.split_first() else { return };
                out.extend(std::iter::repeat_n(*value, (257 - usize::from(n)).min(left)));
                rest
            }
        };
        if out.len() == len {
            return;
        }
    }
}

/// Packs a strip or tile, whose rows have `row` bytes.
pub(super) fn pack(packing: Packing, data: &[u8], row: usize) -> Result<Vec<u8>> {
    Ok(match packing {
        Packing::None => {
            let mut out = room(data.len())?;
            out.extend_from_slice(data);
            out
        }
        Packing::Lzw => weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8)
            .encode(data)
            .map_err(|e| Error::Encode(e.to_string()))?,
        // Lossy compression is not repeated.
        Packing::Deflate { .. } | Packing::Jpeg => {
            let mut out = room(data.len() / 2)?;
            ZlibEncoder::new(data, flate2::Compression::default()).read_to_end(&mut out)?;
            out
        }
        Packing::PackBits => {
            let mut out = room(data.len() + data.len() / 128 + 1)?;
            data.chunks(row).for_each(|row| pack_bits(row, &mut out));
            out
        }
        Packing::Zstd => compress_to_vec(data, CompressionLevel::Fastest),
    })
}

/// Runs of three and more become a repetition; what lies between is copied.
fn pack_bits(row: &[u8], out: &mut Vec<u8>) {
    let run = |at: usize| row[at..].iter().take(128).take_while(|b| **b == row[at]).count();
    let (mut at, mut copied) = (0, 0);
    while at < row.len() {
        let n = run(at);
        if n < 3 {
            at += n;
            continue;
        }
        literal(&row[copied..at], out);
        out.extend([(257 - n) as u8, row[at]]);
        at += n;
        copied = at;
    }
    literal(&row[copied..], out);
}

fn literal(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(128) {
        out.push((part.len() - 1) as u8);
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Packing; 6] = [
        Packing::None,
        Packing::Lzw,
        Packing::Deflate { old: false },
        Packing::Deflate { old: true },
        Packing::PackBits,
        Packing::Zstd,
    ];

    fn samples() -> Vec<u8> {
        let noise = (0..40_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        let runs = (0..40_000_u32).map(|i| (i / 300) as u8);
        noise.chain(runs).chain(std::iter::repeat_n(7, 1000)).collect()
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let data = samples();
        for packing in ALL {
            assert_eq!(Packing::from_code(packing.code().into()).unwrap(), packing);
            for len in [1, 2, 130, data.len()] {
                let packed = pack(packing, &data[..len], 100).unwrap();
                assert_eq!(unpack(packing, &packed, len).unwrap(), data[..len], "{packing:?} {len}");
            }
            let packed = pack(packing, &data, 100).unwrap();
            assert!(unpack(packing, &packed[..packed.len() / 2], data.len()).is_err(), "{packing:?}");
        }
        for packing in [Packing::Lzw, Packing::Deflate { old: false }, Packing::PackBits, Packing::Zstd] {
            assert!(pack(packing, &data[45_000..], 100).unwrap().len() < 9000, "{packing:?}");
        }
    }

    #[test]
    fn more_than_is_wanted_is_not_unpacked() {
        let data = vec![0; 1 << 20];
        for packing in ALL {
            let packed = pack(packing, &data, 1 << 10).unwrap();
            assert_eq!(unpack(packing, &packed, 1000).unwrap(), [0; 1000], "{packing:?}");
        }
    }

    #[test]
    fn spoilt_bytes_never_panic() {
        let data = &samples()[39_000..42_000];
        for packing in ALL {
            let packed = pack(packing, data, 100).unwrap();
            for i in 0..packed.len().min(300) {
                for bit in 0..8 {
                    let mut spoilt = packed.clone();
                    spoilt[i] ^= 1 << bit;
                    let _ = unpack(packing, &spoilt, data.len());
                }
            }
        }
    }
}
