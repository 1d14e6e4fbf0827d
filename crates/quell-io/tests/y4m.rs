//! YUV4MPEG2: every layout and depth there and back, and every stream that is wrong.

use std::io::{self, Read};

use quell::device::SampleBuffer;
use quell::{Layout, VideoFrame};
use quell_io::video::{Fields, VideoInfo, Y4mReader, Y4mWriter};

const LIMIT: u64 = 1 << 20;

/// Frames whose samples are all different from their neighbours, as bytes behind a header.
fn stream(header: &str, frames: usize, bytes: usize) -> Vec<u8> {
    let mut stream = header.as_bytes().to_vec();
    for f in 0..frames {
        stream.extend_from_slice(b"FRAME\n");
        stream.extend((0..bytes).map(|i| (i * 7 + f * 31 + i / 256) as u8));
    }
    stream
}

fn open(stream: &[u8]) -> quell_io::Result<Y4mReader<&[u8]>> {
    Y4mReader::new(stream, LIMIT)
}

/// All frames, and the reader behind them.
fn read(stream: &[u8]) -> quell_io::Result<(Vec<VideoFrame>, Y4mReader<&[u8]>)> {
    let mut reader = open(stream)?;
    let mut frames = Vec::new();
    let mut frame = reader.info().format.frame();
    while reader.next(&mut frame)? {
        frames.push(frame.clone());
    }
    assert!(!reader.next(&mut frame)?, "the end stays the end");
    Ok((frames, reader))
}

fn refusal(stream: &[u8]) -> String {
    read(stream).map(|(f, _)| f.len()).expect_err("a refusal").to_string()
}

/// Reads and writes a stream.
fn copy(stream: &[u8]) -> Vec<u8> {
    let mut reader = open(stream).unwrap();
    let mut writer = Y4mWriter::new(Vec::new(), reader.info()).unwrap();
    let mut frame = reader.info().format.frame();
    while reader.next(&mut frame).unwrap() {
        writer.write(&frame, reader.parameters()).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn every_tag_and_depth_comes_back_byte_by_byte() {
    let layouts =
        [("420", Layout::Yuv420), ("422", Layout::Yuv422), ("444", Layout::Yuv444), ("mono", Layout::Mono)];
    let mut tags = vec![("420jpeg".to_owned(), Layout::Yuv420, 8)];
    tags.extend(["420mpeg2", "420paldv"].map(|t| (t.to_owned(), Layout::Yuv420, 8)));
    for (tag, layout) in layouts {
        tags.push((tag.to_owned(), layout, 8));
        let p = if layout == Layout::Mono { "" } else { "p" };
        tags.extend([9, 10, 12, 14, 16].map(|b| (format!("{tag}{p}{b}"), layout, b)));
    }
    assert_eq!(tags.len(), 27);
    // Even, odd in one direction and both, a single pixel, larger than the buffers.
    for (width, height) in [(16_usize, 8_usize), (17, 8), (16, 9), (17, 9), (1, 1), (301, 247)] {
        for (tag, layout, bits) in &tags {
            let (cw, ch) = match layout {
                Layout::Mono => (0, 0),
                Layout::Yuv420 => (width.div_ceil(2), height.div_ceil(2)),
                Layout::Yuv422 => (width.div_ceil(2), height),
                _ => (width, height),
            };
            let bytes = (width * height + 2 * cw * ch) * if *bits > 8 { 2 } else { 1 };
            let source =
                stream(&format!("YUV4MPEG2 W{width} H{height} F30000:1001 Ip A1:1 C{tag}\n"), 3, bytes);
            let (frames, reader) = read(&source).unwrap();
            let info = reader.info();
            assert_eq!((info.format.layout, info.bits(), frames.len()), (*layout, Some(*bits), 3), "{tag}");
            assert_eq!(info.format.plane_size(0), (width, height));
            assert!(reader.notes().is_empty());
            assert_eq!(copy(&source), source, "{tag} {width} x {height}");
        }
    }
}

#[test]
fn planes_are_where_they_belong() {
    let (frames, _) = read(b"YUV4MPEG2 W3 H1 C422\nFRAME\nabcuuvv").unwrap();
    let planes = [&b"abc"[..], b"uu", b"vv"].map(|p| SampleBuffer::U8(p.to_vec()));
    assert_eq!(frames[0].planes, planes);
    let (frames, _) = read(b"YUV4MPEG2 W2 H1 Cmono10\nFRAME\n\x01\x02\xff\x03").unwrap();
    assert_eq!(frames[0].planes, [SampleBuffer::U16(vec![0x0201, 0x03ff])]);
}

#[test]
fn parameters_are_kept_and_passed_on() {
    let source = b"YUV4MPEG2 W2 H2 F24:1 It A4:3 Cmono12 XYSCSS=MONO12 XCOLORRANGE=FULL Xa note\n\
        FRAME Ixyz Xone=1\n12345678FRAME\n12345678FRAME Xthree\n12345678";
    let reader = open(source).unwrap();
    let info = reader.info();
    assert_eq!((info.rate, info.aspect, info.fields), (Some((24, 1)), Some((4, 3)), Fields::TopFirst));
    assert_eq!(info.extra, ["XYSCSS=MONO12", "XCOLORRANGE=FULL", "Xa", "note"]);
    assert_eq!(
        reader.notes(),
        ["interlaced (top field first): both fields of a frame are filtered as one picture"]
    );
    assert_eq!(copy(source), source);
}

#[test]
fn what_a_header_leaves_out_has_the_usual_meaning() {
    let (frames, reader) = read(b"YUV4MPEG2 W2 H2 F0:0 A0:0 I?\nFRAME\nabcduv").unwrap();
    let info = reader.info();
    assert_eq!((info.format.layout, info.bits(), frames.len()), (Layout::Yuv420, Some(8), 1));
    assert_eq!((info.rate, info.aspect, info.fields), (None, None, Fields::Unknown));
    // Colour tags as they were before there were any.
    let old = open(b"YUV4MPEG2 W2 H2 XYSCSS=422\n").unwrap();
    assert_eq!(old.info().format.layout, Layout::Yuv422);
}

#[test]
fn a_wrong_header_is_described() {
    for (stream, message) in [
        (&b""[..], "the stream is empty"),
        (b"Dear all,\n", "not a YUV4MPEG2 stream: text that begins \"Dear all,\""),
        (b"YUV4MPEG", "not a YUV4MPEG2 stream: text that begins \"YUV4MPEG\""),
        (b"\x00\x00\x01\xba", "not a YUV4MPEG2 stream: begins with the bytes 00 00 01 ba"),
        (b"\x89PNG\r\n\x1a\n123", "not a YUV4MPEG2 stream: begins with the bytes 89 50 4e 47 0d 0a"),
        (b"\0\0\0\x20ftypisom1234", "not a YUV4MPEG2 stream, but a HEIF, AVIF or video file"),
        (b"YUV4MPEG2", "the header is cut off"),
        (b"YUV4MPEG2 W16 H16 F25:1", "the header is cut off"),
        (b"YUV4MPEG20 W16 H16\n", "the header is damaged"),
        (b"YUV4MPEG2 W16 H16 X\xff\n", "the header is damaged"),
        (b"YUV4MPEG2\n", "the header has no width (W)"),
        (b"YUV4MPEG2 H16\n", "the header has no width (W)"),
        (b"YUV4MPEG2 W16\n", "the header has no height (H)"),
        (b"YUV4MPEG2 W0 H16\n", "frames of 0 x 16 pixels are empty"),
        (b"YUV4MPEG2 W16 H0\n", "frames of 16 x 0 pixels are empty"),
        (b"YUV4MPEG2 W-16 H16\n", "\"W-16\" in the header: no width"),
        (b"YUV4MPEG2 W16 Hten\n", "\"Hten\" in the header: no height"),
        (b"YUV4MPEG2 W16 H\n", "\"H\" in the header: no height"),
        (b"YUV4MPEG2 W99999999999999999999 H2\n", "\"W99999999999999999999\" in the header: no width"),
        (b"YUV4MPEG2 W16 H16 F25\n", "\"F25\" in the header: the frame rate must be like F25:1"),
        (b"YUV4MPEG2 W16 H16 F25:0\n", "\"F25:0\" in the header: the frame rate must be like F25:1"),
        (b"YUV4MPEG2 W16 H16 A1\n", "\"A1\" in the header: the aspect must be like A1:1"),
        (b"YUV4MPEG2 W16 H16 Iz\n", "\"Iz\" in the header: the interlacing must be Ip, It, Ib or Im"),
        (
            b"YUV4MPEG2 W16 H16 C420p11\n",
            "\"C420p11\" in the header: unknown; known are 420, 422 and 444 (p9, p10, p12, p14, p16 behind), \
             mono (9, 10, 12, 14, 16 behind)",
        ),
        (
            b"YUV4MPEG2 W16 H16 C411\n",
            "the layout 411 is not supported; convert it to 4:2:0, 4:2:2, 4:4:4 or mono first",
        ),
        (
            b"YUV4MPEG2 W16 H16 C444alpha\n",
            "the layout 444alpha is not supported; convert it to 4:2:0, 4:2:2, 4:4:4 or mono first",
        ),
        (
            b"YUV4MPEG2 W16 H16 C440p10\n",
            "the layout 440p10 is not supported; convert it to 4:2:0, 4:2:2, 4:4:4 or mono first",
        ),
    ] {
        assert_eq!(refusal(stream), message, "{}", String::from_utf8_lossy(stream));
    }
    let endless = [b"YUV4MPEG2 W16 H16 X".to_vec(), vec![b'x'; 10_000]].concat();
    assert_eq!(refusal(&endless), "the header has no end");
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_taken() {
    for size in ["W70000 H70000", "W4294967296 H4294967296", "W1048577 H1", "W18446744073709551615 H2"] {
        let e = open(format!("YUV4MPEG2 {size}\n").as_bytes()).unwrap_err();
        assert!(matches!(e, quell_io::Error::TooLarge { limit: LIMIT, .. }), "{size}: {e}");
    }
    assert!(open(b"YUV4MPEG2 W1048576 H1 Cmono\n").is_ok());
}

#[test]
fn a_stream_without_frames_is_an_error() {
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2\n"), "the stream has no frames");
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2\nFRAME\nabc"), "the stream ends inside its first frame");
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2\nFRA"), "the stream ends inside its first frame");
}

#[test]
fn a_stream_that_is_cut_off_ends_with_its_whole_frames() {
    let header = "YUV4MPEG2 W5 H3 C420p10\n";
    let frame = 2 * (15 + 2 * 6);
    let whole = stream(header, 3, frame);
    let two = header.len() + 2 * (6 + frame);
    for end in two + 1..whole.len() {
        let (frames, reader) = read(&whole[..end]).unwrap();
        assert_eq!(frames.len(), 2, "{end}");
        let short = reader.shortfall().unwrap();
        assert_eq!(short.to_string(), "2 of 3 frames: the stream is cut off inside frame 3");
    }
    let (frames, reader) = read(&whole[..two]).unwrap();
    assert_eq!((frames.len(), reader.shortfall()), (2, None));
    let (_, reader) = read(&whole[..two - 1]).unwrap();
    let short = reader.shortfall().unwrap();
    assert_eq!((short.read, short.of), (1, 2));
}

#[test]
fn frames_that_are_not_where_they_should_be_are_an_error() {
    let damaged = "frame 2 does not begin with FRAME: the stream is damaged, or its frames changed size";
    // Frames of another size, garbage behind the last, a word that only begins like FRAME.
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nabcdeFRAME\nabcde"), damaged);
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nabcd\n"), damaged);
    assert_eq!(refusal(b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nabcdFRAMES\nabcd"), damaged);
    let garbage = [b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nabcd".to_vec(), vec![0; 100_000]].concat();
    assert_eq!(refusal(&garbage), damaged);
    let endless = [b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nabcdFRAME ".to_vec(), vec![b'x'; 100_000]].concat();
    assert_eq!(refusal(&endless), "the parameters of frame 2 have no end");
    assert_eq!(refusal(b"YUV4MPEG2 W1 H1 Cmono\nFRAME \xff\na"), "the parameters of frame 1 are no text");
}

#[test]
fn a_second_header_must_say_the_same() {
    let one = stream("YUV4MPEG2 W4 H4 F25:1 Cmono\n", 2, 16);
    let three = one.repeat(3);
    let (frames, reader) = read(&three).unwrap();
    assert_eq!(frames.len(), 6);
    assert_eq!(reader.notes(), ["several streams one behind the other, read as one"]);
    let other = stream("YUV4MPEG2 W8 H4 F25:1 Cmono10\n", 2, 64);
    assert_eq!(
        refusal(&[one, other].concat()),
        "frame 3 is 8 x 4 mono, 10 bits, those before it are 4 x 4 mono, 8 bits: a clip cannot change its format"
    );
}

/// Gives one byte at a time, as a slow pipe may.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = to.len().min(1);
        self.0.read(&mut to[..n])
    }
}

#[test]
fn a_slow_pipe_gives_the_same_frames() {
    let source = stream("YUV4MPEG2 W7 H5 C422p12\n", 2, 2 * (35 + 2 * 20));
    let (want, _) = read(&source).unwrap();
    let mut reader = Y4mReader::new(Drops(&source), LIMIT).unwrap();
    for want in want {
        // A frame of another format is replaced.
        let mut frame = VideoFrame { planes: Vec::new() };
        assert!(reader.next(&mut frame).unwrap());
        assert_eq!(frame, want);
    }
}

#[test]
fn failures_of_the_source_are_not_the_end_of_the_stream() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let start = b"YUV4MPEG2 W2 H2 Cmono\nFRAME\nab";
    let mut reader = Y4mReader::new(start.chain(Broken), LIMIT).unwrap();
    let e = reader.next(&mut reader.info().format.frame()).unwrap_err();
    assert!(matches!(e, quell_io::Error::Io(ref e) if e.kind() == io::ErrorKind::ConnectionReset), "{e}");
}

#[test]
fn what_has_no_tag_is_refused() {
    let refusal = |layout, bits| {
        let format = quell::VideoFormat::with_bits(4, 4, layout, bits).unwrap();
        Y4mWriter::new(Vec::new(), &VideoInfo::new(format)).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refusal(Layout::Rgb, 8), "a .y4m file cannot hold RGB");
    assert_eq!(refusal(Layout::Mono, 11), "a .y4m file cannot hold samples whose white is 2047");
}

#[test]
fn spoilt_bytes_never_panic() {
    let whole = [
        stream("YUV4MPEG2 W5 H3 F25:1 Ip A1:1 C420p10 XA=1\n", 2, 54),
        stream("YUV4MPEG2 W5 H3 C420p10\n", 1, 54),
    ]
    .concat();
    for i in 0..whole.len() {
        for value in [0, b' ', b'\n', b'9', 0x7f, 0xff, whole[i] ^ 1, whole[i].wrapping_add(1)] {
            let mut spoilt = whole.clone();
            spoilt[i] = value;
            let _ = read(&spoilt);
        }
    }
}
