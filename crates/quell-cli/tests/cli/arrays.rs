//! Arrays and stacks: axes are asked for, and results have the shape of their inputs.

use std::fs;

use quell_io::{Format, ReadOptions, SampleType};

use crate::common::{Folder, noisy};

/// A NumPy file with the samples of a noisy picture, `n` times over.
fn array(kind: &str, shape: &str, n: u64, put: impl Fn(f32) -> Vec<u8>) -> Vec<u8> {
    let dict = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((dict.len() as u16).to_le_bytes());
    file.extend(dict.bytes());
    for i in 0..n {
        let frame = noisy(24, 24, i + 1);
        file.extend(frame.planes()[0].as_slice().iter().flat_map(|v| put(*v)));
    }
    file
}

#[test]
fn arrays_without_clear_axes_are_refused_with_the_remedy() {
    let f = Folder::new("axes-asked");
    fs::write(f.path("pair.npy"), array("|u1", "(24, 24, 2)", 2, |v| vec![v as u8])).unwrap();
    f.quell(&["pair.npy", "-o", "out.npy"])
        .expect(1)
        .says("pair.npy: an array of shape (24, 24, 2): which axes?")
        .says("hint: --axes YXC, ZYX, TYX, CYX, YXS says it");
    assert_eq!(f.files(), ["pair.npy"]);
    f.quell(&["pair.npy", "-o", "out.npy", "--axes", "YQ"]).expect(2).says("'Q' is no axis");
    f.quell(&["pair.npy", "-o", "out.npy", "--axes", "YX"]).expect(1).says("do not fit");
    f.quell(&["pair.npy", "-o", "out.npy", "--axes", "YXC", "--sigma", "10"]).expect(0).says("2 pages");
}

#[test]
fn every_slice_of_a_stack_is_filtered_and_the_type_stays() {
    let f = Folder::new("axes-stack");
    let put = |v: f32| ((v * 100.0) as i16 - 20000).to_be_bytes().to_vec();
    let input = array(">i2", "(3, 24, 24)", 3, put);
    fs::write(f.path("stack.npy"), &input).unwrap();
    f.quell(&["stack.npy", "-o", "out.npy", "--axes", "ZYX", "--sigma", "25"]).expect(0).says("3 pages");
    let output = fs::read(f.path("out.npy")).unwrap();
    let dict = "{'descr': '>i2', 'fortran_order': False, 'shape': (3, 24, 24), }";
    assert!(output[10..].starts_with(dict.as_bytes()));
    let options = ReadOptions { axes: Some("ZYX".parse().unwrap()), ..ReadOptions::default() };
    let [before, after] = ["stack.npy", "out.npy"].map(|n| quell_io::read(&f.path(n), &options).unwrap());
    assert_eq!((after.format, after.pages[0].samples), (Format::Npy, SampleType::I16));
    for (before, after) in before.pages.iter().zip(&after.pages) {
        let [a, b] = [before, after].map(|p| p.frame.planes()[0].as_slice());
        let changed = a.iter().zip(b).filter(|(a, b)| a != b).count();
        assert!(changed > 400, "{changed} samples were filtered");
        // Values below zero are filtered like those above.
        let [a, b] = [a, b].map(|v| v.iter().sum::<f32>() / v.len() as f32);
        assert!(a < -5000.0 && (a - b).abs() < 100.0, "mean {a} became {b}");
    }
}

/// A TIFF file of black pixels, packed 64 to 1.
#[cfg(target_os = "linux")]
fn black(side: u32) -> Vec<u8> {
    let strip = [0x81, 0].repeat((side * side / 128) as usize);
    let entries = [
        (256_u16, 4_u16, side),
        (257, 4, side),
        (258, 3, 8),
        (259, 3, 32773),
        (262, 3, 1),
        (273, 4, 8),
        (278, 4, side),
        (279, 4, strip.len() as u32),
    ];
    let mut file = b"II\x2a\0".to_vec();
    file.extend((8 + strip.len() as u32).to_le_bytes());
    file.extend(strip);
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, value) in entries {
        file.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        file.extend([1, value].map(u32::to_le_bytes).concat());
    }
    file.extend([0; 4]);
    file
}

#[cfg(target_os = "linux")]
#[test]
fn a_tiff_without_memory_for_it_is_one_failed_file() {
    let f = Folder::new("tiff-memory");
    fs::write(f.path("a.tif"), black(12_288)).unwrap();
    f.picture("b.pgm");
    // 604 MB of samples in 450 MB, a quarter of which is the program itself, and parts of 200 MB that need some more of that kind.
    let mut command = std::process::Command::new("sh");
    let quell = env!("CARGO_BIN_EXE_quell");
    command.current_dir(f.path("."));
    command.args([
        "-c",
        &format!("ulimit -v 450000; exec '{quell}' a.tif b.pgm -o out/ --sigma 10 --jobs 1 --device cpu"),
    ]);
    crate::common::Run::of(command)
        .expect(1)
        .says("a.tif: not enough memory for 12288 x ")
        .says("b.pgm: 24 x 24 grey");
    assert_eq!(f.files(), ["a.tif", "b.pgm", "out/b.pgm"]);
}
