//! OpenEXR, through the `exr` crate: float, grey (`Y`) or RGB, with or without alpha.

use std::io::{Cursor, Seek, Write};

use exr::meta::MetaData;
use exr::prelude::*;

use super::canvas::{Canvas, check_size};
use super::store::Rows;
use super::{Decoded, damaged, ends_early};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), false).map_err(error)?;
    let named = |header: &exr::meta::header::Header, name: &str| {
        header.channels.find_index_of_channel(&Text::from(name)).is_some()
    };
    // The first layer that is a picture, and its colours.
    let found = meta.headers.iter().filter(|h| !h.deep).find_map(|h| {
        let single = match &h.channels.list[..] {
            [only] => Some(only.name.to_string()),
            _ => None,
        };
        if ["R", "G", "B"].iter().all(|c| named(h, c)) {
            Some((h, vec!["R".to_string(), "G".into(), "B".into()]))
        } else if named(h, "Y") && !named(h, "RY") {
            Some((h, vec!["Y".into()]))
        } else {
            single.map(|name| (h, vec![name]))
        }
    });
    let Some((header, colors)) = found else {
        return Err(Error::Unsupported(
            "an OpenEXR file without grey (Y) or RGB channels is not supported; extract them first".into(),
        ));
    };
    let size = header.layer_size;
    check_size(size.x() as u64, size.y() as u64, options)?;
    let alpha = colors.len() < header.channels.list.len() && named(header, "A");
    let channels = colors.len() + usize::from(alpha);

    let mut notes = Vec::new();
    if meta.headers.len() > 1 {
        notes.push(format!("only one of {} layers is used", meta.headers.len()));
    }
    let mut others: Vec<String> = header.channels.list.iter().map(|c| c.name.to_string()).collect();
    others.retain(|name| !colors.contains(name) && name != "A");
    if !others.is_empty() {
        notes.push(format!("channels not used: {}", others.join(", ")));
    }
    if header.channels.list.iter().any(|c| c.sample_type != exr::prelude::SampleType::F32) {
        notes.push("samples are read as 32-bit float, and will be written so".into());
    }
    if header.shared_attributes.display_window.size != size {
        notes.push("the data window becomes the whole picture".into());
    }

    let create = |size: Vec2<usize>| Canvas::new(size.x() as u64, size.y() as u64, channels, options);
    let read = read().no_deep_data().largest_resolution_level().specific_channels();
    let file = Cursor::new(bytes);
    let canvas = if colors.len() == 3 {
        read.required("R")
            .required("G")
            .required("B")
            .optional("A", 1.0_f32)
            .collect_pixels(
                |size, _| create(size),
                |canvas, p, (r, g, b, a): (f32, f32, f32, f32)| set(canvas, p, &[r, g, b, a]),
            )
            .first_valid_layer()
            .all_attributes()
            .non_parallel()
            .from_buffered(file)
            .map_err(error)?
            .layer_data
            .channel_data
            .pixels
    } else if alpha {
        read.required(colors[0].as_str())
            .required("A")
            .collect_pixels(|size, _| create(size), |canvas, p, (y, a): (f32, f32)| set(canvas, p, &[y, a]))
            .first_valid_layer()
            .all_attributes()
            .non_parallel()
            .from_buffered(file)
            .map_err(error)?
            .layer_data
            .channel_data
            .pixels
    } else {
        read.required(colors[0].as_str())
            .collect_pixels(|size, _| create(size), |canvas, p, (y,): (f32,)| set(canvas, p, &[y]))
            .first_valid_layer()
            .all_attributes()
            .non_parallel()
            .from_buffered(file)
            .map_err(error)?
            .layer_data
            .channel_data
            .pixels
    };
    Ok(Decoded {
        pages: vec![canvas?.into_page(SampleType::F32, None, options)?],
        metadata: Metadata { premultiplied: alpha, ..Metadata::default() },
        notes,
    })
}

/// Stores one pixel; without memory for the picture there is nothing to store it in.
fn set(canvas: &mut Result<Canvas>, p: Vec2<usize>, pixel: &[f32]) {
    if let Ok(canvas) = canvas {
        canvas.put(0..canvas.channels(), p.x(), p.y(), &pixel[..canvas.channels()], |v| v);
    }
}

pub(super) fn encode<W: Write + Seek>(rows: &Rows, writer: &mut W) -> Result<()> {
    let size = Vec2(rows.width(), rows.height());
    let at = |c: usize, p: Vec2<usize>| rows.sample(c, p.x(), p.y());
    let build = SpecificChannels::build();
    let done = match (rows.channels(), rows.alpha) {
        (1, _) => {
            let pixels = build.with_channel("Y").with_pixel_fn(|p| (at(0, p),));
            Image::from_layer(layer(size, pixels)).write().non_parallel().to_buffered(writer)
        }
        (2, _) => {
            let pixels = build.with_channel("Y").with_channel("A").with_pixel_fn(|p| (at(0, p), at(1, p)));
            Image::from_layer(layer(size, pixels)).write().non_parallel().to_buffered(writer)
        }
        (_, false) => {
            let pixels = SpecificChannels::rgb(|p| (at(0, p), at(1, p), at(2, p)));
            Image::from_layer(layer(size, pixels)).write().non_parallel().to_buffered(writer)
        }
        (_, true) => {
            let pixels = SpecificChannels::rgba(|p| (at(0, p), at(1, p), at(2, p), at(3, p)));
            Image::from_layer(layer(size, pixels)).write().non_parallel().to_buffered(writer)
        }
    };
    done.map_err(|e| match e {
        exr::error::Error::Io(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    })
}

/// A layer in lossless ZIP compression, 16 lines a block.
fn layer<'s, C: exr::image::write::channels::WritableChannels<'s> + 's>(
    size: Vec2<usize>,
    channels: C,
) -> Layer<C> {
    let encoding = Encoding {
        compression: Compression::ZIP16,
        blocks: exr::image::Blocks::ScanLines,
        line_order: LineOrder::Increasing,
    };
    Layer::new(size, LayerAttributes::default(), encoding, channels)
}

fn error(e: exr::error::Error) -> Error {
    match e {
        exr::error::Error::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => ends_early(Format::Exr),
        exr::error::Error::NotSupported(what) => {
            Error::Unsupported(format!("an OpenEXR feature is not supported: {what}"))
        }
        e => damaged(Format::Exr, e),
    }
}
