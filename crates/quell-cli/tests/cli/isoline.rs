//! Isoline filters: variants, and maps as pictures.

use crate::common::{Folder, noisy_rgb};
use quell::{Frame, Plane, noise};
use quell_io::SampleType;

/// A grey picture that depends on how far a pixel is from the upper left corner along the falling diagonal: its isolines
/// rise to the right by 45 degrees. With noise of deviation 10.
fn rising(size: usize, value: impl Fn(usize) -> f32) -> Frame {
    let samples = (0..size * size).map(|i| value(i % size + i / size)).collect();
    let frame = Frame::grey(Plane::from_vec(size, size, samples).unwrap(), 255.0).unwrap();
    noise::add_gaussian(&frame, 10.0, 3).unwrap()
}

/// One edge from corner to corner.
fn step(size: usize) -> Frame {
    rising(size, |at| if at < size { 60.0 } else { 180.0 })
}

/// Pixels of [`step`] on either side of its edge, well inside.
fn at_edge(size: usize) -> impl Iterator<Item = usize> {
    (size / 4..size * 3 / 4).flat_map(move |y| [size - 1 - y, size - y].map(|x| y * size + x))
}

/// Pixels far from it and from the borders.
fn in_flat(size: usize) -> impl Iterator<Item = usize> {
    (8..16).flat_map(move |y| (8..16).map(move |x| y * size + x))
}

fn mean(plane: &Plane, at: impl Iterator<Item = usize>) -> f32 {
    let values: Vec<f32> = at.map(|i| plane.as_slice()[i]).collect();
    values.iter().sum::<f32>() / values.len() as f32
}

#[test]
fn maps_show_the_isolines_that_are_there() {
    let f = Folder::new("maps");
    f.save("step.png", &[step(64)], SampleType::U8);
    f.save("stripes.png", &[rising(64, |at| if at / 4 % 2 == 0 { 60.0 } else { 180.0 })], SampleType::U8);
    for variant in ["pi-pd", "line", "two-round"] {
        let map = |name: &str, of: &str| {
            let args = [of, "-o", "m.png", "--method", "isoline", "--variant", variant, "--map", name];
            let run = f.quell(&[&args[..], &["--force", "--sigma", "10"]].concat()).expect(0);
            run.says(&format!("{of}: 64 x 64 grey, map of {name} -> m.png"));
            f.load("m.png").remove(0)
        };
        let directions = map("directions", "stripes.png");
        assert_eq!(directions.channels(), 3);
        // 45 degrees are a quarter of the hues: half of red, all of green, nothing of blue. Three of 16 directions are as
        // near as this, so that chance would give a fifth of the pixels.
        let pixels = directions.to_interleaved();
        let near = |p: &&[f32]| (p[0] - 127.5).abs() < 100.0 && p[1] == 255.0 && p[2] < 70.0;
        let told = pixels.chunks_exact(3).filter(near).count();
        assert!(told > 64 * 64 / 2, "{variant}: {told} of 4096 pixels");

        let edges = map("edges", "step.png");
        assert_eq!(edges.channels(), 1);
        let (edge, flat) = (mean(&edges.planes()[0], at_edge(64)), mean(&edges.planes()[0], in_flat(64)));
        assert!(edge > 60.0 && edge > 3.0 * flat, "{variant}: {edge} and {flat}");

        // Lines of PI-PD go along the edge, but of pooled segments there are fewer.
        let lengths = map("lengths", "step.png");
        let (edge, flat) = (mean(&lengths.planes()[0], at_edge(64)), mean(&lengths.planes()[0], in_flat(64)));
        assert!(variant == "pi-pd" || edge < 0.7 * flat, "{variant}: {edge} and {flat}");
    }
}

#[test]
fn maps_of_a_batch_go_to_a_folder() {
    let f = Folder::new("map-batch");
    f.save("in/grey.pgm", &[step(40)], SampleType::U8);
    f.save("in/colour.tif", &[noisy_rgb(24, 24), noisy_rgb(16, 24)], SampleType::U16);
    let run = f
        .quell(&["in", "-o", "maps/", "--method", "isoline", "--map", "lengths", "--sigma", "15", "--json"])
        .expect(0);
    assert!(run.json().iter().all(|r| r["map"] == "lengths" && r["status"] == "done"));
    assert_eq!(f.load("maps/colour.tif").iter().map(Frame::channels).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(f.load("maps/grey.pgm")[0].width(), 40);
}

#[test]
fn a_picture_without_noise_has_isolines_too() {
    let f = Folder::new("map-clean");
    let clean = Frame::grey(Plane::from_vec(32, 32, vec![100.0; 1024]).unwrap(), 255.0).unwrap();
    f.save("a.pgm", &[clean], SampleType::U8);
    for variant in ["pi-ld", "pi-pd", "pooled", "two-round"] {
        let args = ["a.pgm", "-o", "m.pgm", "--method", "isoline", "--map", "lengths", "--force"];
        f.quell(&[&args[..], &["--variant", variant]].concat()).expect(0);
        assert!(f.load("m.pgm")[0].planes()[0].as_slice().iter().all(|&v| v == 255.0), "{variant}");
    }
}

#[test]
fn maps_that_make_no_sense_are_refused() {
    let f = Folder::new("map-refused");
    f.picture("a.png");
    std::fs::write(f.path("c.y4m"), "YUV4MPEG2 W8 H8 F25:1 Cmono\n").unwrap();
    let isoline = ["--method", "isoline", "--map"];
    f.quell(&["a.png", "-o", "m.png", "--map", "edges"])
        .expect(2)
        .says("error: --map edges shows isolines; method bm3d has none")
        .says("hint: add --method isoline");
    f.quell(&[&["c.y4m", "-o", "m.y4m"], &isoline[..], &["edges"]].concat())
        .expect(2)
        .says("--map edges is for pictures; c.y4m is a clip");
    f.quell(&[&["a.png"], &isoline[..], &["edges"]].concat()).expect(2).says("--output <OUT>");
    f.quell(&[&["a.png", "-o", "m.png"], &isoline[..], &["lines"]].concat())
        .expect(2)
        .says("[possible values: directions, edges, lengths]");
    assert_eq!(f.files(), ["a.png", "c.y4m"]);
}
