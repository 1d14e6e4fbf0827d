//! `--compare`: the clip as it was on the left, the result on the right, and a line between them.

use std::collections::VecDeque;

use quell::device::{SampleBuffer, Samples, SamplesMut};
use quell::{Layout, VideoFormat, VideoFrame};

use super::pipeline::Filter;

/// Puts what goes into a filter beside what comes out.
pub(super) struct Compared<'a, F> {
    filter: &'a mut F,
    format: VideoFormat,
    /// Frames that have not come out.
    before: VecDeque<VideoFrame>,
}

impl<'a, F: Filter> Compared<'a, F> {
    pub(super) fn new(filter: &'a mut F, format: VideoFormat) -> Self {
        Self { filter, format, before: VecDeque::new() }
    }

    fn beside(&mut self, after: Option<VideoFrame>) -> Option<VideoFrame> {
        let mut after = after?;
        if let Some(before) = self.before.pop_front() {
            for (i, (before, after)) in before.planes.iter().zip(&mut after.planes).enumerate() {
                let (width, _) = self.format.plane_size(i);
                // Colour differences are none in their middle.
                let is_chroma = i > 0 && self.format.layout != Layout::Rgb;
                let line = if is_chroma { self.format.white / 2.0 } else { self.format.white };
                // Of two pixels, where the colours have half as many.
                let wide = if is_chroma { 2 / self.format.layout.subsampling().0 } else { 2 };
                join(before, after, width, wide.min(width), line);
            }
        }
        Some(after)
    }
}

impl<F: Filter> Filter for Compared<'_, F> {
    fn push(&mut self, frame: VideoFrame) -> quell::Result<Option<VideoFrame>> {
        self.before.push_back(frame.clone());
        let after = self.filter.push(frame)?;
        Ok(self.beside(after))
    }

    fn flush(&mut self) -> quell::Result<Option<VideoFrame>> {
        let after = self.filter.flush()?;
        Ok(self.beside(after))
    }
}

/// The left half of every row of `before` into `after`, and a line behind it.
fn join(before: &SampleBuffer, after: &mut SampleBuffer, width: usize, wide: usize, line: f32) {
    fn rows<T: Copy>(before: &[T], after: &mut [T], width: usize, wide: usize, line: T) {
        let half = (width - wide) / 2;
        for (before, after) in before.chunks_exact(width).zip(after.chunks_exact_mut(width)) {
            after[..half].copy_from_slice(&before[..half]);
            after[half..half + wide].fill(line);
        }
    }
    match (before.view(), after.view_mut()) {
        (Samples::U8(a), SamplesMut::U8(b)) => rows(a, b, width, wide, line.round() as u8),
        (Samples::U16(a), SamplesMut::U16(b)) => rows(a, b, width, wide, line.round() as u16),
        (Samples::F32(a), SamplesMut::F32(b)) => rows(a, b, width, wide, line),
        // A filter gives samples of the type that it got.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes everything 7, one frame late.
    #[derive(Default)]
    struct Seven(VecDeque<VideoFrame>);

    impl Filter for Seven {
        fn push(&mut self, mut frame: VideoFrame) -> quell::Result<Option<VideoFrame>> {
            for plane in &mut frame.planes {
                *plane = SampleBuffer::U8(vec![7; plane.view().len()]);
            }
            self.0.push_back(frame);
            Ok(if self.0.len() > 1 { self.0.pop_front() } else { None })
        }

        fn flush(&mut self) -> quell::Result<Option<VideoFrame>> {
            Ok(self.0.pop_front())
        }
    }

    #[test]
    fn the_left_is_as_it_was_and_the_right_is_the_result() {
        let format = VideoFormat::with_bits(8, 2, Layout::Yuv420, 8).unwrap();
        let frame = |v: u8| VideoFrame {
            planes: vec![
                SampleBuffer::U8(vec![v; 16]),
                SampleBuffer::U8(vec![v; 4]),
                SampleBuffer::U8(vec![v; 4]),
            ],
        };
        let mut filter = Seven::default();
        let mut compared = Compared::new(&mut filter, format);
        assert!(compared.push(frame(1)).unwrap().is_none());
        let first = compared.push(frame(2)).unwrap().unwrap();
        let second = compared.flush().unwrap().unwrap();
        for (v, got) in [(1, first), (2, second)] {
            let luma = [v, v, v, 255, 255, 7, 7, 7].repeat(2);
            let chroma = SampleBuffer::U8(vec![v, 128, 7, 7]);
            assert!(got.planes == [SampleBuffer::U8(luma), chroma.clone(), chroma]);
        }
        assert!(compared.flush().unwrap().is_none());
    }
}
