//! Clips as they are.

use std::path::Path;

use super::sequence::SequenceWriter;
use super::{VideoInfo, VideoKind, VideoWriteOptions, files, kind};
use crate::{Format, Result};

/// Copies a clip byte for byte where the output is to be of the same kind; `false` if it is not, and nothing was done.
/// An encoder that was asked for is another kind. `info` is that of the input.
pub fn copy(input: &Path, output: &Path, info: &VideoInfo, options: &VideoWriteOptions) -> Result<bool> {
    let extension = |path| kind::extension(path);
    match (VideoKind::of_file(input), VideoKind::of_name(output)) {
        (Some(VideoKind::Y4m), Some(VideoKind::Y4m)) if input.is_file() => crate::copy(input, output)?,
        (Some(VideoKind::Container), Some(VideoKind::Container))
            if extension(input) == extension(output) && options.encode.is_none() =>
        {
            crate::copy(input, output)?;
        }
        (Some(VideoKind::Pictures), Some(VideoKind::Pictures))
            if Format::from_path(input) == Format::from_path(output) =>
        {
            let mut writer = SequenceWriter::create(output, info, options)?;
            files(input)?.iter().try_for_each(|file| writer.copy(file))?;
            writer.finish()?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
