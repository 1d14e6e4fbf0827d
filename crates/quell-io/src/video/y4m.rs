//! YUV4MPEG2: a line of parameters, then frames, each a line `FRAME` and its planes. Samples of more than 8 bits are
//! two bytes, the lower one first.

use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};

use quell::VideoFrame;
use quell::device::{Samples, SamplesMut};

use super::Shortfall;
use super::info::VideoInfo;
use crate::{Error, Result, sniff};

/// What every stream begins with.
pub(crate) const MAGIC: &[u8] = b"YUV4MPEG2";
/// Before every frame.
const FRAME: &[u8] = b"FRAME";
/// Longer lines of parameters are none.
const LINE: u64 = 4096;
/// Planes that are larger go past this buffer, straight from and to the file.
const BUFFER: usize = 1 << 16;

/// Reads a YUV4MPEG2 stream from anything. Nothing is allocated per frame.
///
/// ```
/// use quell_io::video::{Y4mReader, Y4mWriter};
/// let stream = b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\nabcdFRAME Xkey\nefgh";
/// let mut reader = Y4mReader::new(&stream[..], 1 << 20)?;
/// let mut frame = reader.info().format.frame();
/// let mut copy = Y4mWriter::new(Vec::new(), reader.info())?;
/// while reader.next(&mut frame)? {
///     copy.write(&frame, reader.parameters())?;
/// }
/// assert_eq!(copy.finish()?, stream);
/// # Ok::<(), quell_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Y4mReader<R> {
    from: BufReader<R>,
    info: VideoInfo,
    max_pixels: u64,
    frames: u64,
    ended: bool,
    line: Vec<u8>,
    bytes: Vec<u8>,
    parameters: String,
    notes: Vec<String>,
    shortfall: Option<Shortfall>,
    header_bytes: usize,
}

impl<R: Read> Y4mReader<R> {
    /// Reads the header. Frames of more than `max_pixels` are refused before memory is taken.
    pub fn new(from: R, max_pixels: u64) -> Result<Self> {
        let mut from = BufReader::with_capacity(BUFFER, from);
        let mut line = Vec::new();
        from.by_ref().take(LINE).read_until(b'\n', &mut line)?;
        let header = header_text(&line)?;
        let info = VideoInfo::parse_y4m(header, max_pixels)?;
        let mut notes = Vec::new();
        if info.fields.interlaced() {
            notes.push(format!(
                "interlaced ({}): both fields of a frame are filtered as one picture",
                info.fields.name()
            ));
        }
        let header_bytes = line.len();
        let (bytes, parameters) = (Vec::new(), String::new());
        Ok(Self {
            from,
            info,
            max_pixels,
            frames: 0,
            ended: false,
            line,
            bytes,
            parameters,
            notes,
            shortfall: None,
            header_bytes,
        })
    }

    /// What the header says.
    pub fn info(&self) -> &VideoInfo {
        &self.info
    }

    /// Remarks for the user so far: interlacing, several streams in one.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What is missing of a stream that was cut off, known at the end.
    pub fn shortfall(&self) -> Option<&Shortfall> {
        self.shortfall.as_ref()
    }

    /// The parameters of the frame that was read last, as they stood behind `FRAME`.
    pub fn parameters(&self) -> &str {
        &self.parameters
    }

    /// Bytes of the header.
    pub(crate) fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Reads a frame; `false` at the end. A frame that is not whole ends the stream with a shortfall, unless it is the
    /// first. A `frame` of another format is replaced.
    pub fn next(&mut self, frame: &mut VideoFrame) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.info.format.check(frame).is_err() {
            *frame = self.info.format.frame();
        }
        let whole = self.read_frame(frame);
        self.ended = !matches!(whole, Ok(Part::Whole));
        match (whole?, self.frames) {
            (Part::Whole, _) => {
                self.frames += 1;
                Ok(true)
            }
            (Part::Nothing, 0) => Err(Error::Decode("the stream has no frames".to_owned())),
            (Part::Nothing, _) => Ok(false),
            (Part::Some, 0) => Err(Error::Decode("the stream ends inside its first frame".to_owned())),
            (Part::Some, n) => {
                let why = format!("the stream is cut off inside frame {}", n + 1);
                self.shortfall = Some(Shortfall { read: n, of: n + 1, why });
                Ok(false)
            }
        }
    }

    fn read_frame(&mut self, frame: &mut VideoFrame) -> Result<Part> {
        match self.frame_line()? {
            Part::Whole => {}
            part => return Ok(part),
        }
        for plane in &mut frame.planes {
            match fill(&mut self.from, plane.view_mut(), &mut self.bytes) {
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(Part::Some),
                other => other?,
            }
        }
        Ok(Part::Whole)
    }

    /// The line before a frame. Streams that were put one behind the other are one, if their frames are alike.
    fn frame_line(&mut self) -> Result<Part> {
        let number = self.frames + 1;
        loop {
            self.line.clear();
            if self.from.by_ref().take(LINE).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(Part::Nothing);
            }
            let ended = self.line.pop_if(|b| *b == b'\n').is_some();
            let cut = !ended && (self.line.len() as u64) < LINE;
            if self.line.starts_with(FRAME) && matches!(self.line.get(FRAME.len()), None | Some(b' ')) && !cut
            {
                let text = std::str::from_utf8(self.line.get(FRAME.len() + 1..).unwrap_or_default());
                let (Ok(text), true) = (text, ended) else {
                    let what = if ended { "are no text" } else { "have no end" };
                    return Err(Error::Decode(format!("the parameters of frame {number} {what}")));
                };
                self.parameters.clear();
                self.parameters.push_str(text);
                return Ok(Part::Whole);
            }
            if cut && (FRAME.starts_with(&self.line) || self.line.starts_with(FRAME)) {
                return Ok(Part::Some);
            }
            if !self.line.starts_with(MAGIC) || !ended {
                return Err(Error::Decode(format!(
                    "frame {number} does not begin with FRAME: the stream is damaged, or its frames changed size"
                )));
            }
            let next = VideoInfo::parse_y4m(&String::from_utf8_lossy(&self.line), self.max_pixels)?;
            if next.format != self.info.format {
                return Err(Error::Decode(format!(
                    "frame {number} is {}, those before it are {}: a clip cannot change its format",
                    next.describe(),
                    self.info.describe()
                )));
            }
            if !self.notes.iter().any(|n| n == JOINED) {
                self.notes.push(JOINED.to_owned());
            }
        }
    }
}

const JOINED: &str = "several streams one behind the other, read as one";

/// How much of a frame was there.
enum Part {
    Nothing,
    Some,
    Whole,
}

/// The first line as text, without its end.
fn header_text(line: &[u8]) -> Result<&str> {
    let Some(rest) = line.strip_prefix(MAGIC) else {
        return Err(Error::Decode(sniff::describe_stream(line)));
    };
    let Some((b'\n', rest)) = rest.split_last() else {
        let why = if line.len() as u64 == LINE { "has no end" } else { "is cut off" };
        return Err(Error::Decode(format!("the header {why}")));
    };
    match (rest.first(), std::str::from_utf8(&line[..line.len() - 1])) {
        (None | Some(b' '), Ok(text)) => Ok(text),
        _ => Err(Error::Decode("the header is damaged".to_owned())),
    }
}

/// Reads a plane.
fn fill(from: &mut impl Read, plane: SamplesMut<'_>, bytes: &mut Vec<u8>) -> io::Result<()> {
    match plane {
        SamplesMut::U8(to) => from.read_exact(to),
        SamplesMut::U16(to) => {
            bytes.resize(BUFFER, 0);
            for to in to.chunks_mut(BUFFER / 2) {
                let bytes = &mut bytes[..2 * to.len()];
                from.read_exact(bytes)?;
                let pairs = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
                to.iter_mut().zip(pairs).for_each(|(to, v)| *to = v);
            }
            Ok(())
        }
        // No header leads to such a format.
        SamplesMut::F32(_) => Err(io::Error::new(ErrorKind::InvalidInput, "float samples")),
    }
}

/// Writes a YUV4MPEG2 stream to anything. The header goes out with the first frame.
#[derive(Debug)]
pub struct Y4mWriter<W: Write> {
    to: BufWriter<W>,
    info: VideoInfo,
    header: Option<String>,
    bytes: Vec<u8>,
}

impl<W: Write> Y4mWriter<W> {
    /// Refuses what has no tag: RGB, float.
    pub fn new(to: W, info: &VideoInfo) -> Result<Self> {
        let header = Some(info.to_y4m()?);
        let to = BufWriter::with_capacity(BUFFER, to);
        Ok(Self { to, info: info.clone(), header, bytes: Vec::new() })
    }

    /// Writes a frame with its parameters, which may be empty.
    pub fn write(&mut self, frame: &VideoFrame, parameters: &str) -> Result<()> {
        self.info.format.check(frame)?;
        if let Some(header) = self.header.take() {
            self.to.write_all(header.as_bytes())?;
        }
        self.to.write_all(FRAME)?;
        if !parameters.is_empty() {
            self.to.write_all(b" ")?;
            self.to.write_all(parameters.as_bytes())?;
        }
        self.to.write_all(b"\n")?;
        for plane in &frame.planes {
            store(&mut self.to, plane.view(), &mut self.bytes)?;
        }
        Ok(())
    }

    /// Sends on what is buffered, for those who wait for each frame.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.to.flush()?)
    }

    /// Sends on what is buffered, and hands back what was written to.
    pub fn finish(self) -> Result<W> {
        Ok(self.to.into_inner().map_err(|e| e.into_error())?)
    }
}

/// Writes a plane without gaps; what YUV4MPEG2 and raw video have in common.
pub(super) fn store(to: &mut impl Write, plane: Samples<'_>, bytes: &mut Vec<u8>) -> io::Result<()> {
    match plane {
        Samples::U8(from) => to.write_all(from),
        Samples::U16(from) => {
            bytes.resize(BUFFER, 0);
            for from in from.chunks(BUFFER / 2) {
                let bytes = &mut bytes[..2 * from.len()];
                for (to, v) in bytes.chunks_exact_mut(2).zip(from) {
                    to.copy_from_slice(&v.to_le_bytes());
                }
                to.write_all(bytes)?;
            }
            Ok(())
        }
        Samples::F32(from) => from.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
    }
}

/// Reads planes without gaps and headers, one after the other; `false` at the end, an error inside a frame.
pub(super) fn load_raw(
    from: &mut impl Read,
    frame: &mut VideoFrame,
    order: &[usize],
    bytes: &mut Vec<u8>,
) -> io::Result<bool> {
    for (i, &p) in order.iter().enumerate() {
        let Some(plane) = frame.planes.get_mut(p) else { continue };
        match fill(from, plane.view_mut(), bytes) {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof && i == 0 => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}
