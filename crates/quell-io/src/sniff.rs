//! Telling formats by content: the first bytes decide, never the name.

use crate::Format;

impl Format {
    /// The format that the first bytes of a file stand for.
    ///
    /// ```
    /// use quell_io::Format;
    /// assert_eq!(Format::from_bytes(b"P5 2 1 255\nab"), Some(Format::Pnm));
    /// assert_eq!(Format::from_bytes(b"Dear all,"), None);
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Self::Png,
            [0xff, 0xd8, 0xff, ..] => Self::Jpeg,
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Self::Tiff,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Self::WebP,
            [b'P', b'1'..=b'7', c, ..] if c.is_ascii_whitespace() || *c == b'#' => Self::Pnm,
            [b'P', b'F' | b'f', c, ..] if c.is_ascii_whitespace() => Self::Pfm,
            [0x76, 0x2f, 0x31, 0x01, ..] => Self::Exr,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Self::Npy,
            _ => return None,
        })
    }
}

/// What a file that is none of our formats looks like, for the error message.
pub(crate) fn describe(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "the file is empty".into();
    }
    if let Some(name) = foreign(bytes) {
        return format!("{name}, which is not supported; convert it to PNG or TIFF first");
    }
    format!("not a picture: {}", beginning(bytes))
}

/// What a stream that is not YUV4MPEG2 looks like.
pub(crate) fn describe_stream(bytes: &[u8]) -> String {
    match foreign(bytes) {
        _ if bytes.is_empty() => "the stream is empty".into(),
        Some(name) if bytes.len() > 8 => format!("not a YUV4MPEG2 stream, but {name}"),
        _ => format!("not a YUV4MPEG2 stream: {}", beginning(bytes)),
    }
}

fn beginning(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(16)];
    let printable = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    if start.iter().all(printable) {
        let text = String::from_utf8_lossy(start);
        return format!("text that begins {:?}", text.trim_end());
    }
    let hex: Vec<String> = start.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("begins with the bytes {}", hex.join(" "))
}

/// Formats that people may well try.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [b'G', b'I', b'F', b'8', ..] => "a GIF file",
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => "a BMP file",
        [0xff, 0x0a, ..] | [0, 0, 0, 12, b'J', b'X', b'L', b' ', ..] => "a JPEG XL file",
        [0, 0, 0, 12, b'j', b'P', ..] | [0xff, 0x4f, 0xff, 0x51, ..] => "a JPEG 2000 file",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "a HEIF, AVIF or video file",
        [b'%', b'P', b'D', b'F', ..] => "a PDF file",
        [b'8', b'B', b'P', b'S', ..] => "a Photoshop file",
        [b'#', b'?', b'R', b'A', b'D', ..] => "a Radiance HDR file",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive (or .npz)",
        [b'Y', b'U', b'V', b'4', b'M', b'P', b'E', b'G', ..] => "a Y4M video",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_empty_and_foreign_files_are_described() {
        assert_eq!(describe(b""), "the file is empty");
        assert_eq!(describe(b"Dear all,\n"), "not a picture: text that begins \"Dear all,\"");
        assert_eq!(describe(&[0, 1, 0xfe, 3]), "not a picture: begins with the bytes 00 01 fe 03");
        assert!(describe(b"GIF89a").starts_with("a GIF file, which is not supported"));
    }

    #[test]
    fn short_prefixes_are_no_format() {
        for bytes in [&b"P"[..], b"P5", b"\x89PNG", b"RIFF", b"II", b"\xff\xd8"] {
            assert_eq!(Format::from_bytes(bytes), None);
        }
    }
}
