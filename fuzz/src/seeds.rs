//! Small files of every format and layout, small clips, and a parameter file of every profile, to start from.

use std::{error::Error, fs, io::Cursor, path::Path};

use quell::{Frame, Plane, bm3d::Profile};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};

/// What ffprobe says of a clip that has everything.
const STREAM: &str = r#"{"streams": [{"index": 0, "codec_name": "hevc", "profile": "Main 10", "codec_type": "video",
"width": 64, "height": 48, "pix_fmt": "yuv420p10le", "sample_aspect_ratio": "4:3", "field_order": "tt",
"color_range": "tv", "color_space": "bt2020nc", "color_transfer": "smpte2084", "color_primaries": "bt2020",
"r_frame_rate": "30000/1001", "avg_frame_rate": "2997/100", "start_time": "0.04", "duration": "1.2",
"nb_frames": "30", "disposition": {"attached_pic": 0}, "tags": {"DURATION": "00:00:01.240000000"},
"side_data_list": [{"side_data_type": "Mastering display metadata", "red_x": "34000/50000",
"red_y": "16000/50000", "green_x": "13250/50000", "green_y": "34500/50000", "blue_x": "7500/50000",
"blue_y": "3000/50000", "white_point_x": "15635/50000", "white_point_y": "16450/50000",
"min_luminance": "50/10000", "max_luminance": "10000000/10000"},
{"side_data_type": "Content light level metadata", "max_content": 1000, "max_average": 400},
{"side_data_type": "Display Matrix", "rotation": -90}]},
{"codec_type": "data", "codec_tag_string": "tmcd"}], "format": {"start_time": "0.0", "duration": "1.24"}}"#;

/// What a target starts from.
pub struct Seed {
    /// The target.
    pub target: String,
    /// Told apart by this.
    pub name: String,
    /// The input.
    pub bytes: Vec<u8>,
}

/// The seeds of every target; `root` is the project's folder.
pub fn all(root: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut seeds = Vec::new();
    let mut add = |target: &str, name: &str, bytes: &[u8]| {
        seeds.push(Seed { target: target.to_owned(), name: name.to_owned(), bytes: bytes.to_vec() });
    };
    for format in Format::ALL {
        for samples in [SampleType::U8, SampleType::U16, SampleType::F32] {
            for channels in 1..=4 {
                let mut file = Cursor::new(Vec::new());
                let picture = picture(format, samples, channels)?;
                quell_io::encode(&picture, format, &WriteOptions::default(), &mut file)?;
                let name = format!("{}-{samples:?}-{channels}", format.name());
                add(&target(format), &name, &file.into_inner());
            }
        }
    }
    for (name, bytes) in [
        ("plain-pbm", &b"P1 3 1 101"[..]),
        ("pbm", b"P4 3 1\n\xa0"),
        ("plain-pgm", b"P2 2 1 1023 0 7"),
        ("plain-ppm", b"P3 1 1 255 1 2 3"),
    ] {
        add("decode_pnm", name, bytes);
    }
    // One page each.
    for format in [Format::Tiff, Format::Npy, Format::Pnm, Format::Pfm] {
        for (samples, channels) in [(SampleType::U8, 1), (SampleType::U16, 3), (SampleType::F32, 4)] {
            let mut picture = picture(format, samples, channels)?;
            picture.pages.truncate(1);
            let mut file = Cursor::new(Vec::new());
            quell_io::encode(&picture, format, &WriteOptions::default(), &mut file)?;
            add("bands", &format!("{}-{samples:?}", format.name()), &file.into_inner());
        }
    }
    let array = b"\x93NUMPY\x01\0\x3a\0{'descr': '>u2', 'fortran_order': True, 'shape': (1, 2), }\n1234";
    add("decode_npy", "columns", array);
    // Of every sampling, and progressive: the tests have them.
    for entry in fs::read_dir(root.join("crates/quell-io/tests/jpeg"))? {
        let path = entry?.path();
        if let (Some("jpg"), Some(name)) = (path.extension().and_then(|e| e.to_str()), path.file_name()) {
            add("decode_jpeg", &name.to_string_lossy(), &fs::read(&path)?);
        }
    }
    for profile in Profile::ALL {
        add("plan", profile.name(), profile.params(25.0).to_toml().as_bytes());
    }
    add("probe", "stream", STREAM.as_bytes());
    add("probe", "frame", STREAM.replace("streams", "frames").as_bytes());
    for (tag, bytes) in
        [("420jpeg", 23), ("422", 27), ("444", 45), ("mono", 15), ("420p10", 46), ("mono16", 30)]
    {
        let frames = format!("FRAME\n{}FRAME Xkey=1\n{}", "a".repeat(bytes), "b".repeat(bytes));
        let header = format!("YUV4MPEG2 W5 H3 F30000:1001 Ip A1:1 C{tag} XCOLORRANGE=FULL\n");
        add("y4m", tag, (header + &frames).as_bytes());
    }
    Ok(seeds)
}

/// The target of a format.
fn target(format: Format) -> String {
    let name = if format == Format::Exr { "exr".to_owned() } else { format.name().to_ascii_lowercase() };
    format!("decode_{name}")
}

fn picture(format: Format, samples: SampleType, channels: usize) -> Result<Picture, Box<dyn Error>> {
    let plane = |c: usize| {
        let level = |i: usize| ((i * 7 + c * 50) % 256) as f32 / 255.0 * samples.white();
        Plane::from_vec(9, 5, (0..45).map(level).collect())
    };
    let planes = (0..if channels < 3 { 1 } else { 3 }).map(plane).collect::<Result<_, _>>()?;
    let frame = Frame::new(planes, samples.white())?;
    let alpha = channels.is_multiple_of(2).then(|| plane(3)).transpose()?;
    let page = Page { frame, alpha, samples };
    // Two pages where that is possible.
    let pages = if format == Format::Tiff { vec![page.clone(), page] } else { vec![page] };
    let metadata = Metadata {
        icc: Some(b"profile".to_vec()),
        exif: Some(b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec()),
        xmp: Some(b"<x/>".to_vec()),
        ..Metadata::default()
    };
    Ok(Picture { pages, metadata, format, notes: Vec::new() })
}
