//! Pictures that are read, filtered and written in bands of rows: the same files as those that go through as a whole.

use quell::{Frame, Plane};
use quell_io::{Format, Metadata, Page, Picture, SampleType, WriteOptions};

use crate::common::{Folder, noisy};

/// A tall picture of several bands.
fn tall(channels: u64) -> Frame {
    let planes = (0..channels).flat_map(|c| noisy(40, 700, c + 1).into_planes());
    Frame::new(planes.collect(), 255.0).unwrap()
}

#[test]
fn bands_give_the_file_of_the_whole_picture() {
    let folder = Folder::new("bands");
    for (name, channels, samples) in [
        ("a.tif", 1, SampleType::U8),
        ("b.tif", 3, SampleType::U16),
        ("c.pgm", 1, SampleType::U8),
        ("d.ppm", 3, SampleType::U8),
        ("e.npy", 1, SampleType::U16),
        ("f.npy", 3, SampleType::I16),
    ] {
        folder.save(name, &[tall(channels)], samples);
        for flags in [
            &["--profile", "fast"][..],
            &["--profile", "fast", "--sigma", "20"],
            &["--method", "classic", "--sigma", "20", "--variant", "gauss"],
        ] {
            let run = |extra: &[&str], out: &str| {
                let mut args = vec![name, "-o", out, "--device", "cpu"];
                args.extend(flags);
                args.extend(extra);
                folder.quell(&args).expect(0);
                std::fs::read(folder.path(out)).unwrap()
            };
            let extension = name.rsplit('.').next().unwrap();
            let whole = run(&[], &format!("whole.{extension}"));
            let bands = run(&["--tile", "100"], &format!("bands.{extension}"));
            // Tiles of 100 rows change nothing, so it is the bands that could.
            assert!(whole == bands, "{name} {flags:?}");
        }
    }
}

#[test]
fn alpha_metadata_and_other_formats_come_along() {
    let folder = Folder::new("bands-alpha");
    let alpha = Plane::from_vec(40, 700, (0..40 * 700).map(|i| (i % 251) as f32).collect()).unwrap();
    let page = Page { frame: tall(3), alpha: Some(alpha.clone()), samples: SampleType::U8 };
    let (metadata, notes) = (Metadata { icc: Some(vec![7; 300]), ..Metadata::default() }, Vec::new());
    let picture = Picture { pages: vec![page], metadata, format: Format::Tiff, notes };
    quell_io::write(&folder.path("a.tif"), &picture, &WriteOptions::default()).unwrap();
    for out in ["b.tif", "b.npy"] {
        folder
            .quell(&["a.tif", "-o", out, "--tile", "100", "--profile", "fast", "--device", "cpu"])
            .expect(0);
        let got = quell_io::read(&folder.path(out), &Default::default()).unwrap();
        assert_eq!(got.pages[0].alpha.as_ref(), Some(&alpha));
        assert_ne!(got.pages[0].frame, tall(3));
        assert!(out != "b.tif" || got.metadata.icc == Some(vec![7; 300]));
    }
}

#[test]
fn nothing_is_lost_in_place_or_when_something_is_wrong() {
    let folder = Folder::new("bands-place");
    let path = folder.save("a.tif", &[tall(1)], SampleType::U8);
    folder.quell(&["a.tif", "-o", "b.tif", "--tile", "100", "--sigma", "20", "--device", "cpu"]).expect(0);
    folder.quell(&["a.tif", "--in-place", "--tile", "100", "--sigma", "20", "--device", "cpu"]).expect(0);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(folder.path("b.tif")).unwrap());
    // A picture without noise is copied.
    let flat = Frame::grey(Plane::from_vec(40, 700, vec![90.0; 40 * 700]).unwrap(), 255.0).unwrap();
    folder.save("flat.tif", &[flat], SampleType::U8);
    folder.quell(&["flat.tif", "-o", "same.tif", "--tile", "100", "--device", "cpu"]).expect(0);
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(read("flat.tif") == read("same.tif"));
    // One that is cut off in the middle leaves nothing behind.
    let text = format!("P5 40 700 255\n{}", "x".repeat(40 * 300));
    std::fs::write(folder.path("short.pgm"), text).unwrap();
    let run =
        folder.quell(&["short.pgm", "-o", "out.pgm", "--tile", "100", "--sigma", "20", "--device", "cpu"]);
    run.expect(1);
    let left = folder.files();
    assert_eq!(left, ["a.tif", "b.tif", "flat.tif", "same.tif", "short.pgm"]);
}
