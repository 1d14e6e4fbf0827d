//! Predictors: differences along rows, which pack better than samples.

use crate::codec::sample::Order;

/// None, differences of integers, differences of the bytes of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Predictor {
    #[default]
    None,
    Integer,
    Float,
}

/// How samples lie in a row.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of a row.
    pub(super) row: usize,
    /// Samples of a pixel.
    pub(super) step: usize,
    /// Bytes of a sample.
    pub(super) size: usize,
    pub(super) order: Order,
}

/// Differences to samples.
pub(super) fn undo(predictor: Predictor, data: &mut [u8], shape: Shape) {
    match predictor {
        Predictor::None => {}
        Predictor::Integer => {
            data.chunks_exact_mut(shape.row).for_each(|row| integers(row, shape, false));
        }
        Predictor::Float => {
            let mut copy = Vec::new();
            for row in data.chunks_exact_mut(shape.row) {
                for i in shape.step..row.len() {
                    row[i] = row[i].wrapping_add(row[i - shape.step]);
                }
                copy.clear();
                copy.extend_from_slice(row);
                each_byte(row.len(), shape, |sample, plane| row[sample] = copy[plane]);
            }
        }
    }
}

/// Samples to differences.
pub(super) fn apply(predictor: Predictor, data: &mut [u8], shape: Shape) {
    match predictor {
        Predictor::None => {}
        Predictor::Integer => {
            data.chunks_exact_mut(shape.row).for_each(|row| integers(row, shape, true));
        }
        Predictor::Float => {
            let mut copy = Vec::new();
            for row in data.chunks_exact_mut(shape.row) {
                copy.clear();
                copy.extend_from_slice(row);
                each_byte(row.len(), shape, |sample, plane| row[plane] = copy[sample]);
                for i in (shape.step..row.len()).rev() {
                    row[i] = row[i].wrapping_sub(row[i - shape.step]);
                }
            }
        }
    }
}

/// The place of each byte in its sample, and its place when all bytes of the same weight lie together, most
/// significant ones first.
fn each_byte(len: usize, shape: Shape, mut put: impl FnMut(usize, usize)) {
    let n = len / shape.size;
    for i in 0..n {
        for k in 0..shape.size {
            let weight = if shape.order == Order::Big { k } else { shape.size - 1 - k };
            put(i * shape.size + k, weight * n + i);
        }
    }
}

fn integers(row: &mut [u8], shape: Shape, forward: bool) {
    macro_rules! differences {
        ($type:ty) => {{
            let (samples, _) = row.as_chunks_mut::<{ size_of::<$type>() }>();
            let get = |b: [u8; size_of::<$type>()]| match shape.order {
                Order::Little => <$type>::from_le_bytes(b),
                Order::Big => <$type>::from_be_bytes(b),
            };
            let put = |v: $type| match shape.order {
                Order::Little => v.to_le_bytes(),
                Order::Big => v.to_be_bytes(),
            };
            if forward {
                for i in (shape.step..samples.len()).rev() {
                    samples[i] = put(get(samples[i]).wrapping_sub(get(samples[i - shape.step])));
                }
            } else {
                for i in shape.step..samples.len() {
                    samples[i] = put(get(samples[i]).wrapping_add(get(samples[i - shape.step])));
                }
            }
        }};
    }
    match shape.size {
        1 => differences!(u8),
        2 => differences!(u16),
        4 => differences!(u32),
        _ => differences!(u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_cancel_for_every_size_and_order() {
        let samples: Vec<u8> = (0..240_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for predictor in [Predictor::None, Predictor::Integer, Predictor::Float] {
            for size in [1, 2, 4, 8] {
                for step in [1, 3, 5] {
                    for order in [Order::Big, Order::Little] {
                        let shape = Shape { row: 120, step, size, order };
                        let mut data = samples.clone();
                        apply(predictor, &mut data, shape);
                        assert_eq!(data != samples, predictor != Predictor::None);
                        undo(predictor, &mut data, shape);
                        assert_eq!(data, samples, "{predictor:?} {size} {step} {order:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn differences_are_those_of_the_specification() {
        let mut data = [10, 20, 13, 25];
        apply(Predictor::Integer, &mut data, Shape { row: 4, step: 2, size: 1, order: Order::Big });
        assert_eq!(data, [10, 20, 3, 5]);
        // Two 16-bit floats, little-endian: high bytes 0x3c and 0x3d, low bytes 0x01 and 0x03.
        let mut data = [0x01, 0x3c, 0x03, 0x3d];
        apply(Predictor::Float, &mut data, Shape { row: 4, step: 1, size: 2, order: Order::Little });
        assert_eq!(data, [0x3c, 0x01, 0xc4, 0x02]);
    }
}
