//! OpenEXR, through the `exr` crate: float or half, grey (`Y`) or RGB, with or without alpha. Attributes, windows,
//! compression and sample type go from file to file.

use std::io::{Cursor, Seek, Write};

use exr::image::Blocks;
use exr::meta::attribute::LevelMode;
use exr::meta::header::Header;
use exr::meta::{BlockDescription, MetaData};
use exr::prelude::SampleType as Stored;
use exr::prelude::*;

use super::canvas::{Canvas, check_size};
use super::store::Rows;
use super::{Decoded, damaged, ends_early};
use crate::{Error, Format, Metadata, ReadOptions, Result, SampleType};

/// What an OpenEXR file says besides its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct ExrMetadata {
    image: ImageAttributes,
    layer: LayerAttributes,
    encoding: Encoding,
    size: Vec2<usize>,
    /// The name of the only channel of a grey picture.
    grey: Option<String>,
}

// Attributes hold floats, but nobody looks for one that is NaN.
impl Eq for ExrMetadata {}

impl ExrMetadata {
    /// Whether there is anything that a new file would not have by itself.
    fn is_special(&self) -> bool {
        let plain = ImageAttributes::new(IntegerBounds::new((0, 0), self.size));
        self.image != plain
            || self.layer != LayerAttributes::default()
            || self.encoding != encoding(None)
            || self.grey.as_ref().is_some_and(|name| name != "Y")
    }

    /// Whether there is more than every file has.
    pub(super) fn says_something(&self) -> bool {
        !self.names().is_empty()
    }

    /// The attributes that other formats have no place for.
    pub(super) fn names(&self) -> String {
        let (image, layer) = (&self.image, &self.layer);
        let known = [
            ("chromaticities", image.chromaticities.is_some()),
            ("time code", image.time_code.is_some()),
            ("owner", layer.owner.is_some()),
            ("comments", layer.comments.is_some()),
            ("capture date", layer.capture_date.is_some()),
            ("exposure", layer.exposure.or(layer.aperture).or(layer.iso_speed).is_some()),
            ("camera", layer.world_to_camera.is_some() || layer.focus.is_some()),
            ("white luminance", layer.white_luminance.is_some()),
            ("preview", layer.preview.is_some()),
        ];
        let mut names: Vec<String> = known.iter().filter(|k| k.1).map(|k| k.0.to_owned()).collect();
        let mut others: Vec<String> =
            image.other.keys().chain(layer.other.keys()).map(|name| name.to_string()).collect();
        others.sort();
        names.extend(others);
        names.join(", ")
    }
}

/// The layer to use and its colours: the first that is a picture.
fn layer(meta: &MetaData) -> Option<(&Header, Vec<String>)> {
    meta.headers.iter().filter(|h| !h.deep).find_map(|h| {
        if ["R", "G", "B"].iter().all(|c| named(h, c)) {
            Some((h, vec!["R".to_string(), "G".into(), "B".into()]))
        } else if named(h, "Y") && !named(h, "RY") {
            Some((h, vec!["Y".into()]))
        } else {
            match &h.channels.list[..] {
                [only] => Some((h, vec![only.name.to_string()])),
                _ => None,
            }
        }
    })
}

fn named(header: &Header, name: &str) -> bool {
    header.channels.find_index_of_channel(&Text::from(name)).is_some()
}

pub(super) fn decode(bytes: &[u8], options: &ReadOptions) -> Result<Decoded> {
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), false).map_err(error)?;
    let Some((header, colors)) = layer(&meta) else {
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
    let used = |c: &&ChannelDescription| colors.contains(&c.name.to_string()) || (alpha && c.name.eq("A"));
    let others: Vec<String> =
        header.channels.list.iter().filter(|c| !used(c)).map(|c| c.name.to_string()).collect();
    if !others.is_empty() {
        notes.push(format!("channels not used: {}", others.join(", ")));
    }
    let mut kinds = header.channels.list.iter().filter(used).map(|c| c.sample_type);
    let half = kinds.clone().all(|kind| kind == Stored::F16);
    if !half && kinds.any(|kind| kind != Stored::F32) {
        notes.push("samples are read as 32-bit float, and will be written so".into());
    }
    if let BlockDescription::Tiles(tiles) = header.blocks
        && tiles.level_mode != LevelMode::Singular
    {
        notes.push("the smaller copies of the picture (mip maps): not kept".into());
    }

    let create = |size: Vec2<usize>| Canvas::new(size.x() as u64, size.y() as u64, channels, options);
    let read = read().no_deep_data().largest_resolution_level().specific_channels();
    let file = Cursor::new(bytes);
    // The types differ by the number of channels, what is read does not.
    macro_rules! finish {
        ($read:expr) => {{
            let image = $read
                .first_valid_layer()
                .all_attributes()
                .non_parallel()
                .from_buffered(file)
                .map_err(error)?;
            let layer = image.layer_data;
            (layer.channel_data.pixels, image.attributes, layer.attributes, layer.encoding)
        }};
    }
    let (canvas, image, layer, encoding) =
        if colors.len() == 3 {
            finish!(read.required("R").required("G").required("B").optional("A", 1.0_f32).collect_pixels(
                |size, _| create(size),
                |canvas, p, (r, g, b, a): (f32, f32, f32, f32)| set(canvas, p, &[r, g, b, a]),
            ))
        } else if alpha {
            finish!(read.required(colors[0].as_str()).required("A").collect_pixels(
                |size, _| create(size),
                |canvas, p, (y, a): (f32, f32)| set(canvas, p, &[y, a])
            ))
        } else {
            finish!(
                read.required(colors[0].as_str())
                    .collect_pixels(|size, _| create(size), |canvas, p, (y,): (f32,)| set(canvas, p, &[y]))
            )
        };
    let grey = (colors.len() == 1).then(|| colors[0].clone());
    let samples = if half { SampleType::F16 } else { SampleType::F32 };
    Ok(Decoded {
        pages: vec![canvas?.into_page(samples, None, options)?],
        metadata: Metadata {
            premultiplied: alpha,
            exr: Some(ExrMetadata { image, layer, encoding, size, grey }).filter(ExrMetadata::is_special),
            ..Metadata::default()
        },
        notes,
    })
}

/// Stores one pixel; without memory for the picture there is nothing to store it in.
fn set(canvas: &mut Result<Canvas>, p: Vec2<usize>, pixel: &[f32]) {
    if let Ok(canvas) = canvas {
        canvas.put(0..canvas.channels(), p.x(), p.y(), &pixel[..canvas.channels()], |v| v);
    }
}

pub(super) fn encode<W: Write + Seek>(rows: &Rows, metadata: &Metadata, writer: &mut W) -> Result<()> {
    if rows.samples == SampleType::F16 {
        // What is finite stays so.
        let limit = f16::MAX.to_f32();
        write_as(rows, metadata, writer, |v: f32| {
            f16::from_f32(if v.is_finite() { v.clamp(-limit, limit) } else { v })
        })
    } else {
        write_as(rows, metadata, writer, |v: f32| v)
    }
}

/// Writes samples as `store` makes them of floats.
fn write_as<S, W>(
    rows: &Rows,
    metadata: &Metadata,
    writer: &mut W,
    store: impl Fn(f32) -> S + Sync,
) -> Result<()>
where
    S: exr::image::IntoSample + Send + Sync + 'static,
    W: Write + Seek,
{
    let size = Vec2(rows.width(), rows.height());
    // Windows are of no use for a picture of another size.
    let carried = metadata.exr.as_ref().filter(|m| m.size == size);
    let at = |c: usize, p: Vec2<usize>| store(rows.sample(c, p.x(), p.y()));
    let build = SpecificChannels::build();
    let grey = carried.and_then(|m| m.grey.as_deref()).unwrap_or("Y");
    macro_rules! write {
        ($pixels:expr) => {{
            let attributes = carried.map(|m| m.layer.clone()).unwrap_or_default();
            let layer = Layer::new(size, attributes, encoding(carried), $pixels);
            let image = match carried {
                Some(m) => Image::new(m.image.clone(), layer),
                None => Image::from_layer(layer),
            };
            image.write().non_parallel().to_buffered(writer)
        }};
    }
    let done = match (rows.channels(), rows.alpha) {
        (1, _) => write!(build.with_channel::<S>(grey).with_pixel_fn(|p| (at(0, p),))),
        (2, _) => {
            let build = build.with_channel::<S>(grey).with_channel::<S>("A");
            write!(build.with_pixel_fn(|p| (at(0, p), at(1, p))))
        }
        (_, false) => write!(SpecificChannels::rgb(|p| (at(0, p), at(1, p), at(2, p)))),
        (_, true) => write!(SpecificChannels::rgba(|p| (at(0, p), at(1, p), at(2, p), at(3, p)))),
    };
    done.map_err(|e| match e {
        exr::error::Error::Io(e) => Error::Io(e),
        e => Error::Encode(e.to_string()),
    })
}

/// As in the file that was read; else lossless ZIP, 16 lines a block.
fn encoding(carried: Option<&ExrMetadata>) -> Encoding {
    let scan_lines = Encoding {
        compression: Compression::ZIP16,
        blocks: Blocks::ScanLines,
        line_order: LineOrder::Increasing,
    };
    let Some(found) = carried.map(|m| m.encoding) else { return scan_lines };
    // The crate reads DWA no more than it writes it; HTJ2K neither.
    let compression = match found.compression {
        c @ (Compression::Uncompressed
        | Compression::RLE
        | Compression::ZIP1
        | Compression::ZIP16
        | Compression::PIZ
        | Compression::PXR24
        | Compression::B44
        | Compression::B44A) => c,
        _ => Compression::ZIP16,
    };
    Encoding { compression, blocks: found.blocks, ..scan_lines }
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
