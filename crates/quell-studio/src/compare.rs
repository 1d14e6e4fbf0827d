//! Results against a clean picture and against what they were made from.

use quell::Frame;
use quell::metrics::{psnr, ssim};
use serde_json::{Value, json};

use crate::Problem;
use crate::noise::luma;
use crate::page;
use crate::source::Source;
use crate::spectrum::spectrum;
use crate::store::Sheet;
use crate::tile::{Area, Pixels, Samples, Shape, tile};

/// A rectangle of a result as the engine takes pictures.
fn result(sheet: &Sheet, area: Area) -> Result<Frame, Problem> {
    let shape = sheet.shape();
    let samples = tile(sheet, 0, area)?;
    let part = Shape { width: area.width, height: area.height, ..shape };
    page::Page::new(part, samples).frame(part.area())
}

/// PSNR and SSIM before and after.
pub(crate) fn compare(
    source: &Source,
    frame: usize,
    sheet: &Sheet,
    clean: &Source,
    area: Area,
) -> Result<Value, Problem> {
    let (shape, right) = (source.shape(frame)?, clean.shape(frame.min(clean.frames() - 1))?);
    if (shape.width, shape.height, shape.channels) != (right.width, right.height, right.channels) {
        return Err(Problem::sense(format!(
            "the clean picture has {} x {} pixels in {} channels, this one {} x {} in {}",
            right.width, right.height, right.channels, shape.width, shape.height, shape.channels
        )));
    }
    let scale = shape.white / right.white;
    let mut planes = clean.planes(frame.min(clean.frames() - 1), area)?;
    planes.iter_mut().flatten().for_each(|v| *v *= scale);
    let clean = page::frame(planes, area, shape.white)?;
    let quality = |other: &Frame| -> Result<Value, Problem> {
        let psnr = psnr(&clean, other)?.all;
        // Infinite where nothing differs, which JSON cannot say.
        Ok(json!({"psnr": psnr.is_finite().then_some(psnr), "ssim": ssim(&clean, other).ok().map(|q| q.all)}))
    };
    let before = page::frame(source.planes(frame, area)?, area, shape.white)?;
    Ok(json!({"before": quality(&before)?, "after": quality(&result(sheet, area)?)?}))
}

/// What was removed: deviation of every channel on the 0..255 scale, and the spectrum of brightness.
pub(crate) fn removed(source: &Source, frame: usize, sheet: &Sheet, area: Area) -> Result<Value, Problem> {
    let white = source.shape(frame)?.white;
    let mut planes = source.planes(frame, area)?;
    let after = result(sheet, area)?;
    for (plane, after) in planes.iter_mut().zip(after.planes()) {
        plane.iter_mut().zip(after.as_slice()).for_each(|(v, after)| *v -= after);
    }
    let deviation = |plane: &Vec<f32>| {
        let n = plane.len() as f64;
        let mean = plane.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let square = plane.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        square.sqrt() * 255.0 / f64::from(white)
    };
    let sigma: Vec<f64> = planes.iter().map(deviation).collect();
    let spectrum = luma(planes, white, |plane| spectrum(plane, area.width, area.height));
    Ok(json!({"sigma": sigma, "spectrum": spectrum}))
}

/// Pixels of a side of a thumbnail, at most.
const THUMB: usize = 192;

/// A small PNG of a frame.
pub(crate) fn thumb(source: &Source, frame: usize) -> Result<Vec<u8>, Problem> {
    let shape = source.shape(frame)?;
    let longest = shape.width.max(shape.height);
    let level = (0..16).find(|level| longest.div_ceil(1 << level) <= 2 * THUMB).unwrap_or(15);
    let (width, height) = shape.at_level(level);
    let all = Area { x: 0, y: 0, width, height };
    let samples: Samples = source.tile(frame, level, all)?;
    // The nearest pixels of a picture that is less than twice as large.
    let side = |n: usize| (n * THUMB.min(longest.div_ceil(1 << level)) / longest.div_ceil(1 << level)).max(1);
    let (w, h) = (side(width), side(height));
    let value = |i: usize, c: usize| {
        let (x, y) = (i % w * width / w, i / w * height / h);
        let v = samples.get((y * width + x) * shape.channels + c) * 255.0 / shape.white;
        if v.is_finite() { v.clamp(0.0, 255.0).round() } else { 0.0 }
    };
    let planes = (0..shape.channels).map(|c| (0..w * h).map(|i| value(i, c)).collect()).collect();
    let frame = page::frame(planes, Area { x: 0, y: 0, width: w, height: h }, 255.0)?;
    let page = quell_io::Page { frame, alpha: None, samples: quell_io::SampleType::U8 };
    let picture = quell_io::Picture {
        pages: vec![page],
        metadata: Default::default(),
        format: quell_io::Format::Png,
        notes: Vec::new(),
    };
    let mut bytes = std::io::Cursor::new(Vec::new());
    quell_io::encode(&picture, quell_io::Format::Png, &Default::default(), &mut bytes)?;
    Ok(bytes.into_inner())
}
