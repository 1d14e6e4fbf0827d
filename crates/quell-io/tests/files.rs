//! Reading and writing by path.

mod common;

use common::*;
use quell_io::{Error, Format, ReadOptions, SampleType, WriteOptions, read, write};

#[test]
fn the_extension_chooses_the_format_of_the_output() {
    let folder = Folder::new("extension");
    let want = simple(Format::Png, SampleType::U8, 3);
    for (name, format) in [
        ("a.png", Format::Png),
        ("a.JPG", Format::Jpeg),
        ("a.tiff", Format::Tiff),
        ("a.webp", Format::WebP),
        ("a.ppm", Format::Pnm),
        ("a.pfm", Format::Pfm),
        ("a.exr", Format::Exr),
        ("a.npy", Format::Npy),
    ] {
        let path = folder.0.join(name);
        write(&path, &want, &WriteOptions::default()).unwrap();
        let got = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(got.format, format);
        assert_eq!(got.notes, [""; 0], "{name}");
    }
    assert_eq!(folder.names().len(), 8);
}

#[test]
fn an_unknown_extension_is_refused_before_anything_is_written() {
    let folder = Folder::new("unknown");
    for name in ["a.xyz", "a"] {
        let e =
            write(&folder.0.join(name), &simple(Format::Png, SampleType::U8, 1), &WriteOptions::default());
        assert!(matches!(e, Err(Error::UnknownExtension(_))));
    }
    assert!(folder.names().is_empty());
}

#[test]
fn a_picture_that_does_not_fit_the_format_leaves_the_old_file() {
    let folder = Folder::new("old");
    let path = folder.0.join("a.png");
    std::fs::write(&path, "old").unwrap();
    let pages = picture(Format::Tiff, vec![page(3, 3, SampleType::U8, 1); 2]);
    assert!(matches!(write(&path, &pages, &WriteOptions::default()), Err(Error::Encode(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["a.png"]);
}

#[test]
fn a_folder_that_is_none_is_an_error() {
    let folder = Folder::new("parent");
    std::fs::write(folder.0.join("file"), "").unwrap();
    let inside = folder.0.join("file").join("a.png");
    let e = write(&inside, &simple(Format::Png, SampleType::U8, 1), &WriteOptions::default());
    assert!(matches!(e, Err(Error::Io(_))), "{e:?}");
    assert!(matches!(read(&inside, &ReadOptions::default()), Err(Error::Io(_))));
    assert!(matches!(read(&folder.0, &ReadOptions::default()), Err(Error::Io(_))));
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn the_input_can_be_overwritten() {
    let folder = Folder::new("overwrite");
    let path = folder.0.join("a.png");
    let want = simple(Format::Png, SampleType::U16, 4);
    write(&path, &want, &WriteOptions::default()).unwrap();
    let got = read(&path, &ReadOptions::default()).unwrap();
    write(&path, &got, &WriteOptions::default()).unwrap();
    assert_same_page(&read(&path, &ReadOptions::default()).unwrap().pages[0], &want.pages[0]);
    assert_eq!(folder.names(), ["a.png"]);
}

#[test]
fn a_wrong_name_is_noted_and_the_content_decides() {
    let folder = Folder::new("wrong");
    let path = folder.0.join("a.png");
    std::fs::write(&path, to_bytes(&simple(Format::Jpeg, SampleType::U8, 1), Format::Jpeg).0).unwrap();
    let got = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(got.format, Format::Jpeg);
    assert_eq!(got.notes, ["named .png, but the content is JPEG"]);
}
