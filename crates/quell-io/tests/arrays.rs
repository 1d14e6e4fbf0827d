//! NumPy arrays: axes are said or clear, and a result has the shape, order and type of its input.

mod common;

use common::*;
use quell_io::{Error, Format, Picture, ReadOptions, SampleType, decode};

fn dict(kind: &str, fortran: bool, shape: &[usize]) -> String {
    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': ({}), }}", sides.join(", "))
}

/// An array whose samples count up in the order of the file.
fn counting(kind: &str, fortran: bool, shape: &[usize]) -> (String, Vec<u8>) {
    let n: usize = shape.iter().product();
    let data = (0..n as i32).flat_map(|i| match kind {
        "|u1" => vec![i as u8],
        "<u2" => (i as u16).to_le_bytes().to_vec(),
        ">u2" => (i as u16).to_be_bytes().to_vec(),
        "<i2" => (i as i16 - 100).to_le_bytes().to_vec(),
        ">i2" => (i as i16 - 100).to_be_bytes().to_vec(),
        ">u4" => (i as u32 * 1000).to_be_bytes().to_vec(),
        "<i4" => (i * 1000 - 5000).to_le_bytes().to_vec(),
        // Small whole numbers in 16-bit float: 1024 + i.
        "<f2" => (0x6400 + i as u16).to_le_bytes().to_vec(),
        "<f4" => (i as f32 * 0.25).to_le_bytes().to_vec(),
        ">f4" => (i as f32 * 0.25).to_be_bytes().to_vec(),
        "<f8" => (f64::from(i) * 0.25).to_le_bytes().to_vec(),
        ">f8" => (f64::from(i) * 0.25).to_be_bytes().to_vec(),
        _ => panic!("{kind}"),
    });
    (dict(kind, fortran, shape), data.collect())
}

#[track_caller]
fn assert_comes_back(picture: &Picture, dict: &str, data: &[u8]) {
    let (file, remarks) = to_bytes(picture, Format::Npy);
    assert_eq!(remarks, [""; 0], "{dict}");
    assert!(file[10..].starts_with(dict.as_bytes()), "{dict}: {}", String::from_utf8_lossy(&file[10..100]));
    assert!(file.ends_with(data) && (file.len() - data.len()).is_multiple_of(64), "{dict}");
}

#[test]
fn arrays_come_back_with_their_shape_order_type_and_bytes() {
    let cases: [(&str, &[usize]); 9] = [
        ("YX", &[5, 3]),
        ("XY", &[5, 3]),
        ("YXS", &[6, 5, 3]),
        ("YXC", &[4, 5, 2]),
        ("ZYX", &[2, 4, 5]),
        ("CYX", &[3, 2, 5]),
        ("TCYX", &[2, 3, 4, 1]),
        ("ZYXS", &[2, 3, 4, 4]),
        ("XCSTYZ", &[3, 2, 2, 2, 2, 2]),
    ];
    let kinds = ["|u1", "<u2", ">u2", "<i2", ">i2", ">u4", "<i4", "<f2", "<f4", ">f4", "<f8", ">f8"];
    for (axes, shape) in cases {
        for kind in kinds {
            for fortran in [false, true] {
                let (dict, data) = counting(kind, fortran, shape);
                let got = from_bytes_as(&npy(&dict, &data), axes).unwrap();
                assert_comes_back(&got, &dict, &data);
            }
        }
    }
}

#[test]
fn every_axis_but_height_width_and_samples_counts_pictures() {
    let (dict, data) = counting("<u2", false, &[2, 3, 4, 5]);
    let got = from_bytes_as(&npy(&dict, &data), "TCYX").unwrap();
    assert_eq!(got.pages.len(), 6);
    for (i, page) in got.pages.iter().enumerate() {
        assert_eq!((page.frame.channels(), page.frame.width(), page.frame.height()), (1, 5, 4));
        assert!(page.alpha.is_none());
        let want: Vec<f32> = (0..20).map(|k| (i * 20 + k) as f32).collect();
        assert_eq!(page.frame.planes()[0].as_slice(), want);
    }
    // Channels last: nothing of them is colour or alpha.
    let (dict, data) = counting("|u1", false, &[2, 3, 4]);
    let got = from_bytes_as(&npy(&dict, &data), "YXC").unwrap();
    assert_eq!(got.pages.len(), 4);
    assert_eq!(got.pages[1].frame.planes()[0].as_slice(), [1.0, 5.0, 9.0, 13.0, 17.0, 21.0]);
    assert_eq!(got.notes, ["channels are filtered one by one; colours would be S in --axes"]);
    let got = from_bytes_as(&npy(&dict, &data), "YXS").unwrap();
    assert_eq!((got.pages.len(), got.pages[0].frame.channels()), (1, 3));
    assert_eq!(got.pages[0].alpha.as_ref().unwrap().as_slice()[1], 7.0);
}

#[test]
fn pictures_of_colours_need_no_axes() {
    let (dict, data) = counting("|u1", false, &[5, 6, 3]);
    let got = from_bytes(&npy(&dict, &data)).unwrap();
    assert_eq!((got.pages.len(), got.pages[0].frame.channels()), (1, 3));
    let (dict, data) = counting("|u1", true, &[5, 6, 4]);
    let got = from_bytes(&npy(&dict, &data)).unwrap();
    assert!(got.pages[0].alpha.is_some());
    // With Fortran order columns and planes lie one after the other.
    assert_eq!(got.pages[0].frame.planes()[1].row(0)[..2], [30.0, 35.0]);
    assert_comes_back(&got, &dict, &data);
    let (dict, data) = counting("|u1", false, &[2, 2, 1]);
    assert_comes_back(&from_bytes(&npy(&dict, &data)).unwrap(), &dict, &data);
}

#[test]
fn arrays_that_could_be_several_things_are_refused_with_the_choices() {
    for (shape, first) in [
        (&[8, 9, 2][..], "YXC"),
        (&[20, 30, 40], "ZYX"),
        (&[3, 30, 40], "ZYX"),
        (&[2, 30, 3], "YXC"),
        (&[2, 3, 30, 40], "TZYX"),
        (&[2, 30, 40, 3], "ZYXC"),
    ] {
        let (dict, data) = counting("|u1", false, shape);
        match from_bytes(&npy(&dict, &data)) {
            Err(Error::Axes { could_be, shape }) => {
                assert_eq!(could_be[0], first, "{shape}");
                let fits = could_be.iter().filter(|a| from_bytes_as(&npy(&dict, &data), a).is_ok());
                assert!(fits.count() > 1, "{shape}: {could_be:?}");
            }
            other => panic!("{shape:?}: {other:?}"),
        }
    }
}

#[test]
fn axes_that_do_not_fit_are_refused() {
    let (dict, data) = counting("|u1", false, &[5, 6, 7]);
    let e = from_bytes_as(&npy(&dict, &data), "YX").unwrap_err();
    assert_eq!(e.to_string(), "the axes YX do not fit an array of shape (5, 6, 7)");
    let e = from_bytes_as(&npy(&dict, &data), "YXS").unwrap_err();
    assert!(e.to_string().starts_with("axis S has 7 samples"), "{e}");
}

#[test]
fn shapes_beyond_all_numbers_are_refused() {
    for (shape, axes) in [
        ("(100000000000, 100000000000)", "YX"),
        ("(18446744073709551615, 18446744073709551615)", "YX"),
        ("(4294967296, 4294967296, 4)", "YXS"),
    ] {
        let dict = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        match from_bytes_as(&npy(&dict, &[0; 64]), axes) {
            Err(Error::TooLarge { .. }) => {}
            other => panic!("{shape}: {other:?}"),
        }
    }
    // Many small pictures are as large as one; the product of all is beyond 64 bits.
    for shape in ["(100000000000, 100, 100)", "(100000000000, 1000000000, 4)", "(536870913, 1, 1)"] {
        let dict = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': {shape}, }}");
        match from_bytes_as(&npy(&dict, &[0; 64]), "TYX") {
            Err(Error::PagesTooLarge { limit } | Error::TooLarge { limit, .. }) => assert_eq!(limit, 1 << 29),
            other => panic!("{shape}: {other:?}"),
        }
    }
    let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4, 4), }";
    assert!(from_bytes_as(&npy(dict, &[]), "ZYX").unwrap_err().to_string().contains("no pixels"));
    // Without a limit it is the file that is too short, and no memory was taken.
    let dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000), }";
    let options = ReadOptions { max_pixels: u64::MAX, ..ReadOptions::default() };
    let e = decode(&npy(dict, &[0; 64]), None, &options).unwrap_err();
    assert!(e.to_string().contains("ends before"), "{e}");
}

#[test]
fn integers_that_float_cannot_hold_are_refused_by_value() {
    let file = |v: u32| npy(&dict("<u4", false, &[1, 2]), &[7_u32.to_le_bytes(), v.to_le_bytes()].concat());
    assert!(from_bytes(&file(1 << 24)).is_ok());
    assert!(refusal(&file((1 << 24) + 1)).starts_with("a sample of 16777217: integers are filtered up to"));
}

#[test]
fn negative_samples_are_kept() {
    let data = [-32768_i16, -7, 0, 32767].map(i16::to_le_bytes).concat();
    let got = from_bytes(&npy(&dict("<i2", false, &[2, 2]), &data)).unwrap();
    assert_eq!(got.pages[0].frame.planes()[0].as_slice(), [-32768.0, -7.0, 0.0, 32767.0]);
    assert_eq!((got.pages[0].samples, got.pages[0].frame.white()), (SampleType::I16, 32767.0));
    let (_, remarks) = to_bytes(&got, Format::Png);
    assert!(remarks[0].contains("signed 16-bit") && remarks[0].contains("clipped"), "{remarks:?}");
}

#[test]
fn pages_become_an_array_and_back_with_a_remark() {
    let pages = picture(Format::Tiff, (0..3).map(|_| page(7, 5, SampleType::U16, 1)).collect());
    let (file, remarks) = to_bytes(&pages, Format::Npy);
    assert_eq!(remarks, ["the 3 pages are written as the first axis of an array"]);
    let got = from_bytes_as(&file, "ZYX").unwrap();
    assert_eq!(got.pages.len(), 3);
    got.pages.iter().zip(&pages.pages).for_each(|(got, want)| assert_same_page(got, want));
    let (dict, data) = counting("<u2", true, &[2, 3, 4]);
    let (file, remarks) = to_bytes(&from_bytes_as(&npy(&dict, &data), "ZYX").unwrap(), Format::Tiff);
    assert_eq!(remarks, ["the axes ZYX of the array are written as pages"]);
    assert_eq!(from_bytes(&file).unwrap().pages.len(), 2);
    let mixed = picture(Format::Tiff, vec![page(7, 5, SampleType::U16, 1), page(7, 6, SampleType::U16, 1)]);
    let mut file = std::io::Cursor::new(Vec::new());
    let e = quell_io::encode(&mixed, Format::Npy, &Default::default(), &mut file).unwrap_err();
    assert!(e.to_string().contains("differ in size"), "{e}");
}
