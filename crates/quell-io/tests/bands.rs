//! Pictures in bands of rows: the same samples, metadata and files as when they are read and written as a whole.

mod common;

use std::fs;
use std::io::Cursor;
use std::path::Path;

use common::bands::*;
use common::fields::*;
use common::*;
use quell_io::bands::{Band, BandReader, BandWriter};
use quell_io::{Error, Format, Metadata, Picture, ReadOptions, SampleType, WriteOptions};

/// Files of every format that is read in bands, in every sample type and layout; each of one page.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for format in [Format::Tiff, Format::Npy, Format::Pnm, Format::Pfm] {
        for samples in SAMPLES {
            // Arrays of two samples could be anything.
            for channels in (1..=4).filter(|n| *n != 2 || format != Format::Npy) {
                let (file, _) = to_bytes(&simple(format, samples, channels), format);
                files.push((format!("{} {samples:?} {channels}", format.name()), file));
            }
        }
    }
    for code in [1, 5, 8, 32946, 32773, 50000] {
        for (samples, predictor, big_endian, channels, planar) in [
            (SampleType::U8, 2, false, 3, false),
            (SampleType::U16, 1, true, 1, false),
            (SampleType::U16, 2, false, 4, true),
            (SampleType::I16, 2, true, 2, false),
            (SampleType::F32, 3, false, 3, true),
            (SampleType::F64, 3, true, 1, false),
        ] {
            let layout = Layout { code, predictor, samples, big_endian, channels, planar };
            let name = format!("{code} {samples:?} {channels} {planar}");
            files.push((format!("tiles {name}"), layout.tiles(70, 50)));
            files.push((format!("strips {name}"), layout.strips(13, 29, 7)));
        }
    }
    // Several strips of the usual size.
    for code in [1, 8] {
        let layout = Layout { code, samples: SampleType::F64, channels: 3, ..Layout::default() };
        files.push((format!("long {code}"), layout.like(31, 1200)));
    }
    let bits = Dir::new(11, 3, &[2], 1, vec![0x1b, 0xe4, 0x10, 0xff, 0x00, 0xc0, 0x33, 0x77, 0x20]);
    files.push(("two bits".into(), tiff_chain(false, std::slice::from_ref(&bits))));
    files.push(("two bits, reversed".into(), tiff_chain(false, &[bits.with(266, 3, &[2])])));
    let zero = Dir::new(3, 2, &[16], 0, (0..12).collect());
    files.push(("white is zero".into(), tiff_chain(true, &[zero])));
    let map: Vec<u64> = (0..3 * 16).map(|i| i * 1000).collect();
    let palette = Dir::new(3, 2, &[4], 3, vec![0x01, 0x50, 0xff, 0x70]).with(320, 3, &map);
    files.push(("palette".into(), tiff_chain(false, &[palette])));
    let (jpeg, _) = to_bytes(&simple(Format::Jpeg, SampleType::U8, 1), Format::Jpeg);
    files.push(("jpeg".into(), tiff_chain(false, &[Dir::new(13, 7, &[8], 1, jpeg).with(259, 3, &[7])])));
    let small = Dir::new(2, 1, &[8], 1, vec![1, 2]).with(254, 4, &[1]);
    let one = Dir::new(2, 2, &[8], 1, vec![7; 4]).text(270, "a holiday").text(305, "a program");
    files.push(("thumbnail".into(), tiff_chain(false, &[one, small])));
    for file in [
        &b"P5 3 2 1\n\x00\x01\x01\x00\x00\x01"[..],
        b"P5 2 3 1023\n\x03\xff\x00\x00\x01\x02\x00\x09\x03\x00\x02\x02and more",
        b"P6\n# a comment\n1 2 200\n\x01\x02\x03\xc8\x05\x06",
        b"P7\nWIDTH 1\nHEIGHT 2\nDEPTH 2\nMAXVAL 99\nENDHDR\n\x01\x02\x03\x04",
        b"Pf 1 2 2.5\n\x00\x00\x80\x3f\x00\x00\x00\x40",
    ] {
        files.push((String::from_utf8_lossy(&file[..8]).into(), file.to_vec()));
    }
    for (kind, shape) in [(">u2", "(3, 4)"), ("<f2", "(4, 3, 1)"), ("|u1", "(4, 6, 1)")] {
        let dict = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        files.push((dict.clone(), npy(&dict, &(0..24).collect::<Vec<u8>>())));
    }
    files
}

fn open(bytes: &[u8]) -> quell_io::Result<Option<BandReader>> {
    BandReader::new(Cursor::new(bytes.to_vec()), None, &ReadOptions::default())
}

#[test]
fn bands_of_any_height_and_overlap_are_the_rows_of_the_whole_picture() {
    for (name, bytes) in files() {
        let want = from_bytes(&bytes).unwrap();
        let mut reader = open(&bytes).unwrap().unwrap_or_else(|| panic!("{name}"));
        let page = &want.pages[0];
        assert_eq!((reader.width(), reader.height()), (page.frame.width(), page.frame.height()), "{name}");
        assert_eq!((reader.channels(), reader.has_alpha()), (page.frame.channels(), page.alpha.is_some()));
        assert_eq!((reader.white(), reader.samples()), (page.frame.white(), page.samples), "{name}");
        assert_eq!((reader.format(), reader.metadata()), (want.format, &want.metadata), "{name}");
        assert_eq!(reader.notes(), want.notes, "{name}");
        let (height, mut band) = (reader.height(), Band::default());
        for (rows, overlap) in [(1, 0), (5, 0), (7, 3), (16, 15), (33, 8), (4000, 0)] {
            let mut top = 0;
            while top < height {
                let range = top..height.min(top + rows);
                reader.rows(range.clone(), &mut band).unwrap_or_else(|e| panic!("{name}: {e}"));
                same_rows(&band, range, page, &name);
                top += rows - overlap;
            }
        }
        // Upwards, which costs more, but gives the same.
        for top in (0..height).rev().step_by(6) {
            reader.rows(top..height.min(top + 2), &mut band).unwrap();
            same_rows(&band, top..height.min(top + 2), page, &name);
        }
    }
}

/// Writes what is read in bands of some rows; what the writer says.
fn copy(input: &Path, output: &Path, rows: &[usize]) -> Vec<String> {
    let mut reader = BandReader::open(input, &ReadOptions::default()).unwrap().unwrap();
    let mut writer = BandWriter::create(output, &reader, &WriteOptions::default()).unwrap().unwrap();
    let (mut band, mut top) = (Band::default(), 0);
    for rows in rows.iter().cycle() {
        let end = reader.height().min(top + rows);
        reader.rows(top..end, &mut band).unwrap();
        writer.rows(band.frame().unwrap().planes(), band.alpha()).unwrap();
        top = end;
        if top == reader.height() {
            break;
        }
    }
    writer.finish().unwrap()
}

#[test]
fn what_is_written_in_bands_is_byte_for_byte_what_is_written_as_a_whole() {
    let folder = Folder::new("bands-written");
    for (i, (name, bytes)) in files().into_iter().enumerate() {
        let input = folder.0.join("input");
        fs::write(&input, &bytes).unwrap();
        let want = from_bytes(&bytes).unwrap();
        let heights: &[usize] = [&[1][..], &[5, 1, 17], &[16], &[30, 2], &[9999]][i * 7 / 5 % 5];
        // Every file has to reach the disk, which takes its time: a selection.
        let formats: &[&str] = match name.get(..5).unwrap_or("") {
            "tiles" => &["tif"],
            "strip" if i % 3 == 0 => &["tif"],
            "strip" => &[],
            _ if i % 5 == 0 => &["tif", "npy", "pgm", "pfm"],
            _ if bytes.len() < 100 => &["npy", "pfm"],
            _ => &[],
        };
        for &extension in formats {
            let output = folder.0.join(format!("{i}.{extension}"));
            let remarks = copy(&input, &output, heights);
            let (whole, whole_remarks) = to_bytes(&want, Format::from_extension(extension).unwrap());
            assert_eq!(remarks, whole_remarks, "{name}, {extension}");
            let got = fs::read(&output).unwrap();
            // Planes that lie one after the other come strip by strip.
            if extension == "tif" && name.contains("tiles") && name.ends_with("true") {
                let (got, want) = (from_bytes(&got).unwrap(), from_bytes(&whole).unwrap());
                assert_same_page(&got.pages[0], &want.pages[0]);
                assert_eq!((got.metadata, got.notes), (want.metadata, want.notes), "{name}");
            } else {
                assert!(got == whole, "{name}, {extension}, {heights:?}");
            }
        }
    }
}

#[test]
fn rounding_clipping_and_metadata_are_those_of_the_whole_picture() {
    let folder = Folder::new("bands-metadata");
    let exif = b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    let metadata = Metadata {
        icc: Some(b"profile".to_vec()),
        exif: Some(exif),
        xmp: Some(b"<x/>".to_vec()),
        premultiplied: true,
        ..Metadata::default()
    };
    for samples in SAMPLES {
        let picture = Picture { metadata: metadata.clone(), ..simple(Format::Tiff, samples, 4) };
        let input = folder.0.join("a.tif");
        fs::write(&input, to_bytes(&picture, Format::Tiff).0).unwrap();
        for extension in ["tif", "npy", "pam", "pfm"] {
            let (whole, bands) = (folder.0.join("b").with_extension(extension), folder.0.join("c"));
            let bands = bands.with_extension(extension);
            // Samples between the levels, below and above.
            let change = |v: f32| v * 1.37 - 0.4;
            let mut picture = quell_io::read(&input, &ReadOptions::default()).unwrap();
            for plane in picture.pages[0].frame.planes_mut() {
                plane.as_mut_slice().iter_mut().for_each(|v| *v = change(*v));
            }
            let want = quell_io::write(&whole, &picture, &WriteOptions::default()).unwrap();
            let mut reader = BandReader::open(&input, &ReadOptions::default()).unwrap().unwrap();
            assert_eq!(reader.metadata(), &picture.metadata);
            let mut writer = BandWriter::create(&bands, &reader, &WriteOptions::default()).unwrap().unwrap();
            let mut band = Band::default();
            for top in (0..reader.height()).step_by(3) {
                reader.rows(top..reader.height().min(top + 3), &mut band).unwrap();
                let mut frame = band.frame().unwrap().to_frame();
                for plane in frame.planes_mut() {
                    plane.as_mut_slice().iter_mut().for_each(|v| *v = change(*v));
                }
                writer.rows(frame.view().planes(), band.alpha()).unwrap();
            }
            assert_eq!(writer.finish().unwrap(), want, "{samples:?} {extension}");
            assert!(fs::read(&bands).unwrap() == fs::read(&whole).unwrap(), "{samples:?} {extension}");
        }
    }
}

#[test]
fn what_cannot_be_had_in_bands_is_left_to_the_reader_of_whole_pictures() {
    let mut files = Vec::new();
    for format in [Format::Png, Format::Jpeg, Format::WebP, Format::Exr] {
        files.push(to_bytes(&simple(format, SampleType::U8, 3), format).0);
    }
    let two = picture(Format::Tiff, vec![page(3, 2, SampleType::U8, 1); 2]);
    files.push(to_bytes(&two, Format::Tiff).0);
    files.push(tiff_chain(false, &[Dir::new(2, 1, &[8; 5], 1, vec![7; 10]).with(338, 3, &[0; 4])]));
    files.push(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", &[7; 6]));
    files.push(b"P4 3 1\n\xa0".to_vec());
    files.push(b"P2 2 1 1023 0 7".to_vec());
    files.push([&b"P5 # "[..], &[b'x'; 1 << 16], b"\n1 1 255\n\x07"].concat());
    for bytes in files {
        from_bytes(&bytes).unwrap();
        assert!(open(&bytes).unwrap().is_none(), "{:?}", &bytes[..8]);
    }
    // Slices, and colours in planes.
    let dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2, 2), }";
    for axes in ["ZYX", "SYX", "CYX"] {
        let options = ReadOptions { axes: Some(axes.parse().unwrap()), ..ReadOptions::default() };
        let reader = BandReader::new(Cursor::new(npy(dict, &[7; 12])), None, &options).unwrap();
        assert!(reader.is_none(), "{axes}");
    }
    let folder = Folder::new("bands-formats");
    let input = folder.0.join("a.pgm");
    fs::write(&input, b"P5 1 1 255\n\x07").unwrap();
    let reader = BandReader::open(&input, &ReadOptions::default()).unwrap().unwrap();
    for name in ["b.png", "b.jpg", "b.webp", "b.exr"] {
        let writer = BandWriter::create(&folder.0.join(name), &reader, &WriteOptions::default()).unwrap();
        assert!(writer.is_none(), "{name}");
    }
    assert!(BandReader::open(&folder.0, &ReadOptions::default()).unwrap().is_none());
    assert_eq!(folder.names(), ["a.pgm"]);
}

#[test]
fn names_that_say_another_format_and_raw_files_are_treated_alike() {
    let options = ReadOptions::default();
    let pgm = || Cursor::new(b"P5 1 1 255\n\x07".to_vec());
    let reader = BandReader::new(pgm(), Some("TIF"), &options).unwrap().unwrap();
    assert_eq!(reader.notes(), ["named .tif, but the content is PNM"]);
    assert!(matches!(BandReader::new(pgm(), Some("nef"), &options), Err(Error::Unsupported(_))));
    let Err(e) = BandReader::new(Cursor::new(b"Dear all,".to_vec()), None, &options) else { panic!() };
    assert_eq!(e.to_string(), "not a picture: text that begins \"Dear all,\"");
    let white = ReadOptions { white: Some(4095.0), ..options };
    assert_eq!(BandReader::new(pgm(), None, &white).unwrap().unwrap().white(), 4095.0);
}

#[test]
fn rows_that_are_not_there_are_errors() {
    let mut reader = open(b"P5 1 3 255\n\x07\x08\x09").unwrap().unwrap();
    let mut band = Band::default();
    assert!(band.frame().is_err() && band.alpha().is_none() && band.rows().is_empty());
    for rows in [0..0, 2..4, 3..4, usize::MAX - 1..usize::MAX] {
        assert!(reader.rows(rows, &mut band).is_err());
    }
    reader.rows(1..3, &mut band).unwrap();
    assert_eq!((band.rows(), band.frame().unwrap().planes()[0].row(0)), (1..3, &[8.0][..]));
}

#[test]
fn an_unfinished_file_leaves_nothing_behind_and_the_old_one_as_it_was() {
    let folder = Folder::new("bands-unfinished");
    let (input, output) = (folder.0.join("a.tif"), folder.0.join("b.tif"));
    let layout = Layout { code: 8, ..Layout::default() };
    fs::write(&input, layout.tiles(70, 50)).unwrap();
    fs::write(&output, "old").unwrap();
    let mut reader = BandReader::open(&input, &ReadOptions::default()).unwrap().unwrap();
    let create = |reader: &BandReader| BandWriter::create(&output, reader, &WriteOptions::default());
    let mut band = Band::default();
    reader.rows(0..40, &mut band).unwrap();

    let mut dropped = create(&reader).unwrap().unwrap();
    dropped.rows(band.frame().unwrap().planes(), None).unwrap();
    assert_eq!(folder.names().len(), 3);
    drop(dropped);
    assert_eq!(folder.names(), ["a.tif", "b.tif"]);

    let mut early = create(&reader).unwrap().unwrap();
    early.rows(band.frame().unwrap().planes(), None).unwrap();
    assert_eq!(early.finish().unwrap_err().to_string(), "40 of 50 rows were written");

    let mut wrong = create(&reader).unwrap().unwrap();
    let frame = band.frame().unwrap();
    wrong.rows(frame.planes(), None).unwrap();
    assert!(wrong.rows(frame.planes(), None).is_err(), "80 rows of 50");
    assert!(wrong.rows(&[frame.planes()[0]; 3], None).is_err(), "colours for grey");
    assert!(wrong.rows(frame.planes(), Some(frame.planes()[0])).is_err(), "alpha");
    let narrow = quell::PlaneView::new(69, 1, 69, frame.planes()[0].row(0)).unwrap();
    assert!(wrong.rows(&[narrow], None).is_err(), "another width");
    drop(wrong);
    assert_eq!(folder.names(), ["a.tif", "b.tif"]);
    assert_eq!(fs::read(&output).unwrap(), b"old");
}

#[test]
fn a_file_can_be_replaced_by_its_own_result() {
    let folder = Folder::new("bands-in-place");
    for (name, bytes) in [
        ("a.tif", Layout { code: 5, ..Layout::default() }.tiles(70, 50)),
        ("a.npy", to_bytes(&simple(Format::Npy, SampleType::F32, 3), Format::Npy).0),
        ("a.pfm", to_bytes(&simple(Format::Pfm, SampleType::F32, 3), Format::Pfm).0),
    ] {
        let path = folder.0.join(name);
        fs::write(&path, &bytes).unwrap();
        copy(&path, &path, &[3, 9]);
        let (got, want) = (from_bytes(&fs::read(&path).unwrap()).unwrap(), from_bytes(&bytes).unwrap());
        assert_same_page(&got.pages[0], &want.pages[0]);
        assert_eq!(got.metadata, want.metadata);
        fs::remove_file(path).unwrap();
        assert!(folder.names().is_empty());
    }
}

#[test]
fn damage_in_the_middle_is_an_error_at_its_rows_only() {
    let bytes = Layout { code: 8, ..Layout::default() }.tiles(70, 50);
    // Tiles lie in their order: spoil the third row of them.
    let places = directories(&bytes)[0].iter().find(|f| f.0 == 324).unwrap().2.clone();
    let mut spoilt = bytes;
    spoilt[places[2 * 5 + 1] as usize..][..8].fill(0xff);
    let mut reader = open(&spoilt).unwrap().unwrap();
    let mut band = Band::default();
    reader.rows(0..32, &mut band).unwrap();
    let e = reader.rows(20..40, &mut band).unwrap_err();
    assert!(e.to_string().starts_with("damaged TIFF: "), "{e}");
    assert!(band.frame().is_err(), "no half of the rows");
    reader.rows(48..50, &mut band).unwrap();
}

#[test]
fn cut_and_spoilt_files_are_refused_in_bands_when_they_are_as_a_whole() {
    let small = |code, planar| {
        let layout = Layout { code, planar, channels: 3, samples: SampleType::U16, ..Layout::default() };
        layout.strips(5, 6, 2)
    };
    let files = [
        small(1, true),
        small(8, false),
        small(5, true),
        small(32773, false),
        small(50000, false),
        tiff_chain(false, &[Dir::new(16, 16, &[8], 0, vec![1; 256]).with(322, 4, &[16]).with(323, 4, &[16])]),
        to_bytes(&simple(Format::Npy, SampleType::U16, 3), Format::Npy).0,
        to_bytes(&simple(Format::Pnm, SampleType::U16, 4), Format::Pnm).0,
        to_bytes(&simple(Format::Pfm, SampleType::F32, 1), Format::Pfm).0,
    ];
    for (n, file) in files.iter().enumerate() {
        for end in 0..file.len() {
            agree(&file[..end], &format!("file {n} up to {end}"));
        }
        for i in 0..file.len().min(700) {
            for value in [0, 0x7f, 0xff, file[i] ^ 1, file[i] ^ 0x80, file[i].wrapping_add(1)] {
                let mut spoilt = file.clone();
                spoilt[i] = value;
                agree(&spoilt, &format!("file {n}, byte {i}, {value}"));
            }
        }
    }
}

/// Whatever can be read in bands is what is read as a whole, and whatever cannot be read as a whole is an error.
#[track_caller]
fn agree(bytes: &[u8], what: &str) {
    const PIXELS: usize = 1 << 16;
    let options = ReadOptions { max_pixels: PIXELS as u64, ..ReadOptions::default() };
    let whole = quell_io::decode(bytes, None, &options);
    let reader = BandReader::new(Cursor::new(bytes.to_vec()), None, &options);
    let mut reader = match reader {
        Ok(Some(reader)) => reader,
        Ok(None) => return,
        Err(e) => {
            assert!(!e.to_string().contains("gave up"), "{what}: {e}");
            assert!(whole.is_err(), "{what}: {e}");
            return;
        }
    };
    if reader.width().saturating_mul(reader.height()) > PIXELS {
        return;
    }
    let mut band = Band::default();
    let read = reader.rows(0..reader.height(), &mut band);
    match (read, whole) {
        (Ok(()), Ok(whole)) => {
            assert_eq!(whole.pages.len(), 1, "{what}");
            same_rows(&band, 0..reader.height(), &whole.pages[0], what);
            assert_eq!((reader.metadata(), reader.notes()), (&whole.metadata, &whole.notes[..]), "{what}");
        }
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "{what}"),
        // Padding of tiles counts as pixels where they are unpacked together.
        (Ok(()), Err(Error::TooLarge { .. })) => {}
        (a, b) => panic!("{what}: {a:?}, but {:?}", b.map(|p| p.format)),
    }
}

#[test]
fn a_picture_of_ten_gigabytes_costs_its_rows() {
    let side = 100_000;
    for (rows_per_strip, tiles) in [(side, false), (1, false), (0, true)] {
        let (file, read) = Vast::new(side, rows_per_strip, tiles);
        let mut reader = BandReader::new(file.clone(), None, &ReadOptions::default()).unwrap().unwrap();
        assert_eq!((reader.width(), reader.height()), (side as usize, side as usize));
        let header = read.take();
        assert!(header < 32 << 20, "{header} bytes for the header");
        let mut band = Band::default();
        for rows in [0..3, 49_990..50_010, 99_999..100_000] {
            reader.rows(rows.clone(), &mut band).unwrap();
            let got = band.frame().unwrap();
            for (y, x) in [(0, 0), (rows.len() - 1, 99_999), (rows.len() / 2, 54_321)] {
                let want = file.sample(rows.start + y, x);
                assert_eq!(got.planes()[0].row(y)[x], f32::from(want), "row {y} of {rows:?}, column {x}");
            }
            // A row of tiles is one read for each, of the rows that are wanted.
            let read = read.take();
            assert!(read <= (rows.len() * 110_000) as u64, "{read} bytes for {rows:?}");
        }
    }
}

#[test]
fn strips_and_tiles_are_read_once_on_the_way_down() {
    for layout in [(8, false), (5, true)] {
        let (code, planar) = layout;
        let layout = Layout { code, planar, channels: 3, ..Layout::default() };
        for bytes in [layout.tiles(70, 130), layout.like(300, 2000)] {
            let (file, read) = Counted::new(bytes.clone());
            let mut reader = BandReader::new(file, None, &ReadOptions::default()).unwrap().unwrap();
            read.take();
            let mut band = Band::default();
            for top in (0..reader.height() - 10).step_by(23) {
                reader.rows(top..reader.height().min(top + 33), &mut band).unwrap();
            }
            let read = read.take();
            assert!(read <= bytes.len() as u64, "{read} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn headers_that_promise_too_much_are_refused() {
    let refusal = |bytes: &[u8]| open(bytes).map(|r| r.is_some()).unwrap_err().to_string();
    let early = |format: &str| format!("damaged {format}: the file ends before the picture is complete");
    assert_eq!(refusal(b"P5 99999 99999 255\n\x07"), early("PNM"));
    assert_eq!(refusal(b"PF 4294967295 4294967295 1.0\n\x07"), early("PFM"));
    assert!(refusal(b"P5 18446744073709551615 3 255\n\x07").contains("more than the limit"));
    assert_eq!(refusal(b"P5 0 3 255\n\x07"), "the header says 0 x 3 pixels");
    let dict = "{'descr': '<u2', 'fortran_order': False, 'shape': (99999, 99999), }";
    assert_eq!(refusal(&npy(dict, &[7; 12])), early("NPY"));
    let dir = |width, height, code| Dir::new(width, height, &[8], 1, vec![7; 100]).with(259, 3, &[code]);
    let tiff = |dir: Dir| tiff_chain(false, &[dir]);
    assert_eq!(refusal(&tiff(dir(100, 2, 1))), early("TIFF"));
    assert_eq!(refusal(&tiff(dir(100, 2, 8).with(278, 3, &[1]))), early("TIFF"));
    assert!(refusal(&tiff(dir(1 << 29, 1, 1))).contains("rows of more than 268435456 samples"));
    assert!(refusal(&tiff(dir(50_000, 50_000, 8).with(278, 3, &[1]))).contains("bomb"));
    // One strip of 2.5 GB: not in bands, and as a whole it is too large.
    assert!(open(&tiff(dir(50_000, 50_000, 8))).is_ok_and(|r| r.is_none()));
}
