//! The small Gaussian that finds a pixel's level.

use crate::device::cpu::frames::{Band, Padded};
use crate::device::cpu::simd::{Kernel, Simd};

/// One band of a blur: the band's only plane becomes the blurred `from`.
pub(super) struct BlurBand<'a, 'b> {
    pub(super) taps: [f32; 5],
    pub(super) from: &'a Padded,
    pub(super) band: &'a mut Band<'b>,
}

impl Kernel for BlurBand<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let layout = self.from.layout;
        let wide = layout.width.next_multiple_of(8);
        let taps = self.taps.map(S::splat);
        // The last five rows, blurred along the row.
        let mut ring = vec![0.0; 5 * wide];
        for i in 0..self.band.rows + 4 {
            // Rows begin two above the band: in the margin, at the top of the picture.
            let row = layout.index(self.band.first + i, 0) - 2 * layout.stride;
            for x in (0..layout.width).step_by(8) {
                let around = &self.from.data()[row + x - 2..][..12];
                let to = &mut ring[i % 5 * wide + x..][..8];
                // SAFETY: `around` has the 12 samples that are read, `to` the 8 that are written.
                unsafe {
                    let p = around.as_ptr();
                    let mut sum = S::mul(taps[0], S::load(p));
                    for (j, &tap) in taps.iter().enumerate().skip(1) {
                        sum = S::fma(tap, S::load(p.add(j)), sum);
                    }
                    S::store(to.as_mut_ptr(), sum);
                }
            }
            let Some(y) = i.checked_sub(4) else { continue };
            for x in (0..layout.width).step_by(8) {
                let to = &mut self.band.planes[0][y * layout.stride + layout.margin + x..][..8];
                // SAFETY: rows of the ring have `wide` samples; `to` has 8.
                unsafe {
                    let p = ring.as_ptr().add(x);
                    let mut sum = S::mul(taps[0], S::load(p.add(y % 5 * wide)));
                    for (j, &tap) in taps.iter().enumerate().skip(1) {
                        sum = S::fma(tap, S::load(p.add((y + j) % 5 * wide)), sum);
                    }
                    S::store(to.as_mut_ptr(), sum);
                }
            }
        }
    }
}
