//! Samples as bytes: every type, in both byte orders.

use half::f16;

use crate::{Error, Result, SampleType};

/// Byte order of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

/// The largest integer up to which `f32` holds every one.
const EXACT: u32 = 1 << 24;

/// Appends the samples in `bytes` to `out`, whose room was made beforehand.
pub(super) fn read(samples: SampleType, order: Order, bytes: &[u8], out: &mut Vec<f32>) -> Result<()> {
    macro_rules! take {
        ($type:ty, $value:expr) => {{
            let chunks = bytes.as_chunks::<{ size_of::<$type>() }>().0.iter();
            match order {
                Order::Little => out.extend(chunks.map(|b| $value(<$type>::from_le_bytes(*b)))),
                Order::Big => out.extend(chunks.map(|b| $value(<$type>::from_be_bytes(*b)))),
            }
        }};
    }
    let start = out.len();
    let mut wide = None;
    match samples {
        SampleType::U8 => out.extend(bytes.iter().map(|v| f32::from(*v))),
        SampleType::U16 => take!(u16, f32::from),
        SampleType::I16 => take!(i16, f32::from),
        SampleType::U32 => take!(u32, |v: u32| {
            if v > EXACT {
                wide = Some(i64::from(v));
            }
            v as f32
        }),
        SampleType::I32 => take!(i32, |v: i32| {
            if v.unsigned_abs() > EXACT {
                wide = Some(i64::from(v));
            }
            v as f32
        }),
        SampleType::F16 => take!(u16, |v| f16::from_bits(v).to_f32()),
        SampleType::F32 => take!(f32, |v| v),
        SampleType::F64 => {
            let mut beyond = None;
            take!(f64, |v: f64| {
                let single = v as f32;
                if single.is_infinite() && v.is_finite() {
                    beyond = Some(v);
                }
                single
            });
            if let Some(v) = beyond {
                return Err(Error::Unsupported(format!("a sample of {v:e}: 32-bit float ends at 3.4e38")));
            }
        }
    }
    debug_assert_eq!(out.len() - start, bytes.len() / samples.bytes() as usize);
    match wide {
        Some(v) => Err(Error::Unsupported(format!(
            "a sample of {v}: integers are filtered up to {EXACT}; scale them, or convert them to float"
        ))),
        None => Ok(()),
    }
}

/// The smallest and largest value that the type holds; no limit for float.
pub(super) fn range(samples: SampleType) -> (f32, f32) {
    match samples {
        SampleType::U8 => (0.0, 255.0),
        SampleType::U16 => (0.0, 65535.0),
        SampleType::I16 => (-32768.0, 32767.0),
        SampleType::U32 => (0.0, u32::MAX as f32),
        SampleType::I32 => (i32::MIN as f32, i32::MAX as f32),
        SampleType::F16 | SampleType::F32 | SampleType::F64 => (f32::NEG_INFINITY, f32::INFINITY),
    }
}

/// Appends samples, clipped to `low` and `high`; integers are rounded to the nearest, and NaN becomes 0.
pub(super) fn write(
    samples: SampleType,
    order: Order,
    (low, high): (f32, f32),
    values: &[f32],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + values.len() * samples.bytes() as usize, 0);
    let to = &mut out[start..];
    // Loops that compilers make vectors of.
    macro_rules! put {
        ($store:expr) => {
            match order {
                Order::Little => to
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(values)
                    .for_each(|(to, v)| *to = $store(v.clamp(low, high)).to_le_bytes()),
                Order::Big => to
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(values)
                    .for_each(|(to, v)| *to = $store(v.clamp(low, high)).to_be_bytes()),
            }
        };
    }
    // Half of a unit is not lost below zero, nor above 2^23, where there are no halves.
    let whole = |v: f32| (f64::from(v) + 0.5).floor();
    match samples {
        SampleType::U8 => put!(|v: f32| (v + 0.5) as u8),
        SampleType::U16 => put!(|v: f32| (v + 0.5) as u16),
        SampleType::I16 => put!(|v| whole(v) as i16),
        SampleType::U32 => put!(|v| whole(v) as u32),
        SampleType::I32 => put!(|v| whole(v) as i32),
        SampleType::F16 => put!(|v| f16::from_f32(v).to_bits()),
        SampleType::F32 => put!(|v: f32| v),
        SampleType::F64 => put!(f64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [SampleType; 8] = [
        SampleType::U8,
        SampleType::U16,
        SampleType::I16,
        SampleType::U32,
        SampleType::I32,
        SampleType::F16,
        SampleType::F32,
        SampleType::F64,
    ];

    #[test]
    fn every_type_comes_back_in_both_orders() {
        for samples in ALL {
            for order in [Order::Big, Order::Little] {
                let low = if range(samples).0 < 0.0 { -21.0 } else { 21.0 };
                let want = [0.0, 1.0, low, 127.0, 200.0];
                let (mut bytes, mut got) = (Vec::new(), Vec::new());
                write(samples, order, range(samples), &want, &mut bytes);
                assert_eq!(bytes.len() as u64, 5 * samples.bytes());
                read(samples, order, &bytes, &mut got).unwrap();
                assert_eq!(got, want, "{samples:?} {order:?}");
            }
        }
    }

    #[test]
    fn negative_samples_are_rounded_to_the_nearest() {
        for (v, want) in [(-0.4, 0), (-0.6, -1), (-7.5, -7), (-40000.0, i16::MIN), (f32::NAN, 0)] {
            let mut bytes = Vec::new();
            let range = range(SampleType::I16);
            write(SampleType::I16, Order::Little, range, &[v], &mut bytes);
            assert_eq!(bytes, want.to_le_bytes(), "{v}");
        }
    }

    #[test]
    fn integers_that_float_cannot_hold_are_refused() {
        let mut out = Vec::new();
        read(SampleType::U32, Order::Little, &(1_u32 << 24).to_le_bytes(), &mut out).unwrap();
        read(SampleType::I32, Order::Little, &(-1_i32 << 24).to_le_bytes(), &mut out).unwrap();
        assert_eq!(out, [16_777_216.0, -16_777_216.0]);
        let e = read(SampleType::U32, Order::Little, &16_777_217_u32.to_le_bytes(), &mut out).unwrap_err();
        assert!(e.to_string().starts_with("a sample of 16777217"), "{e}");
        assert!(read(SampleType::I32, Order::Big, &(-16_777_217_i32).to_be_bytes(), &mut out).is_err());
        assert!(read(SampleType::F64, Order::Big, &1e200_f64.to_be_bytes(), &mut out).is_err());
        read(SampleType::F64, Order::Big, &f64::INFINITY.to_be_bytes(), &mut out).unwrap();
    }
}
