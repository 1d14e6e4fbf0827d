//! What can be said of the noise, besides one number: levels of luma and colour, models, profiles, flat parts.

use std::fs;

use crate::common::{Folder, noisy};
use quell::{Frame, Plane};
use quell_io::SampleType;

const CPU: [&str; 4] = ["--profile", "fast", "--device", "cpu"];

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &CPU].concat()
}

/// Three channels with noise of their own.
fn colour(width: usize, height: usize) -> Frame {
    let plane = |seed| noisy(width, height, seed).into_planes().remove(0);
    Frame::new((0..3).map(plane).collect(), 255.0).unwrap()
}

/// Grey of one value with noise that nobody can take for anything else.
fn card(sigma: f64) -> Frame {
    let grey = Frame::grey(Plane::from_vec(96, 80, vec![120.0; 96 * 80]).unwrap(), 255.0).unwrap();
    quell::noise::add_gaussian(&grey, sigma, 3).unwrap()
}

#[test]
fn luma_and_colour_have_levels_of_their_own() {
    let f = Folder::new("levels");
    f.save("in.png", &[colour(96, 80)], SampleType::U8);
    let said = f.quell(&with(&["in.png", "-o", "a.png", "--sigma", "15,9,8"])).expect(0);
    assert!(said.err().contains("luma 15, chroma 9 and 8"), "{}", said.err());
    f.quell(&with(&["in.png", "-o", "all.png", "--sigma", "15"])).expect(0);
    f.quell(&with(&["in.png", "-o", "alike.png", "--sigma", "15,15,15"])).expect(0);
    f.quell(&with(&["in.png", "-o", "luma.png", "--sigma", "15,0,0"])).expect(0);
    f.quell(&with(&["in.png", "-o", "only.png", "--sigma", "15", "--chroma", "0"])).expect(0);
    f.quell(&with(&["in.png", "-o", "mode.png", "--sigma", "15", "--color", "luma"])).expect(0);
    let bytes = |name: &str| fs::read(f.path(name)).unwrap();
    assert!(bytes("all.png") == bytes("alike.png") && bytes("a.png") != bytes("all.png"));
    assert!(bytes("only.png") == bytes("mode.png") && bytes("only.png") != bytes("all.png"));
    for wrong in [
        &["--sigma", "1,2"][..],
        &["--sigma", "0,0,0"],
        &["--sigma", "5", "--luma", "-1"],
        &["--sigma", "5", "--luma", "0", "--chroma", "0"],
        &["--sigma", "5", "--luma", "x"],
        &["--sigma", "5", "--grain", "1.5"],
    ] {
        let run = f.quell(&[&["in.png"], wrong, &["--device", "cpu"]].concat()).expect(2);
        assert!(run.err().starts_with("error: "), "{wrong:?}: {}", run.err());
    }
    // Not every method knows levels.
    for wrong in [["--sigma", "5,6,7", "--method", "isoline"], ["--chroma", "2", "--method", "classic"]] {
        let run = f.quell(&[&["in.png", "--device", "cpu"], &wrong[..]].concat());
        assert!(run.code() != 0 && run.err().contains("bm3d, ridge and nlm know levels"), "{}", run.err());
    }
    f.quell(&["in.png", "-o", "nlm.png", "--sigma", "15,9,8", "--method", "nlm", "--profile", "fast"])
        .expect(0);
}

#[test]
fn some_of_what_was_removed_can_be_given_back() {
    let f = Folder::new("given-back");
    f.save("in.png", &[colour(96, 80)], SampleType::U8);
    let result = |name: &str, more: &[&str]| {
        f.quell(&with(&[&["in.png", "-o", name, "--sigma", "15"], more].concat())).expect(0);
        fs::read(f.path(name)).unwrap()
    };
    let (plain, none) = (result("a.png", &[]), result("b.png", &["--grain", "0", "--detail", "0"]));
    assert!(plain == none);
    let grain = result("c.png", &["--grain", "0.3"]);
    let detail = result("d.png", &["--detail", "0.5"]);
    assert!(grain != plain && detail != plain && grain != detail);
    result("e.png", &["--grain", "1"]);
    let noisy = quell_io::read(&f.path("in.png"), &Default::default()).unwrap();
    let all = quell_io::read(&f.path("e.png"), &Default::default()).unwrap();
    assert_eq!(noisy.pages[0].frame, all.pages[0].frame, "all of the noise is the picture");
}

#[test]
fn noise_that_depends_on_brightness_is_given_as_a_model() {
    let f = Folder::new("poisson");
    f.save("in.tif", &[colour(96, 80)], SampleType::U8);
    for model in ["gauss:12", "poisson:1.5", "poisson-gauss:1.2,9"] {
        f.quell(&with(&["in.tif", "-o", "out.tif", "--noise-model", model])).expect(0);
        assert!(fs::read(f.path("in.tif")).unwrap() != fs::read(f.path("out.tif")).unwrap(), "{model}");
    }
    for (wrong, said) in [
        ("gauss:-3", "must be"),
        ("poisson:x", "must be"),
        ("poisson-gauss:1", "must be"),
        ("gauss", "No such file"),
        ("nothing.toml", "nothing.toml: No such file"),
    ] {
        let run = f.quell(&with(&["in.tif", "-o", "x.tif", "--noise-model", wrong])).expect(2);
        assert!(run.err().contains(said), "{wrong}: {}", run.err());
        assert!(!f.path("x.tif").exists());
    }
    let run = f.quell(&with(&["in.tif", "--noise-model", "gauss:3", "--sigma", "4"])).expect(2);
    assert!(run.err().contains("gives the noise"), "{}", run.err());
}

#[test]
fn what_was_found_is_kept_and_used_again() {
    let f = Folder::new("profile");
    f.save("card.png", &[card(8.0)], SampleType::U8);
    f.save("in.png", &[noisy(96, 80, 1)], SampleType::U8);
    let run = f.quell(&["noise", "card.png", "--save", "camera.toml", "--plot", "camera.svg"]).expect(0);
    assert!(run.out().contains("brightness"), "{}", run.out());
    let text = fs::read_to_string(f.path("camera.toml")).unwrap();
    let saved = quell::noise::Model::from_toml(&text).unwrap();
    assert!((saved.sigma() - 8.0).abs() < 0.6, "{text}");
    assert!(fs::read_to_string(f.path("camera.svg")).unwrap().contains("<svg"));
    let run = f.quell(&with(&["in.png", "--noise-profile", "camera.toml"])).expect(0);
    assert!(run.err().contains(&saved.to_string()), "{}", run.err());
    // A region, or another picture, says the same of an even picture.
    for from in ["0,0,96,80", "10,10,60,50", "card.png"] {
        let run = f.quell(&with(&["card.png", "-o", "out.png", "--noise-from", from])).expect(0);
        let said = run.err().split("sigma ").nth(1).unwrap().split(' ').next().unwrap().trim_end_matches(',');
        assert!((said.parse::<f32>().unwrap() - 8.0).abs() < 0.6, "{from}: {}", run.err());
    }
    for (from, said) in [("50,50,60,20", "not inside"), ("1,1,5,5", "too small"), ("1,2,3", "X,Y,W,H")] {
        let run = f.quell(&with(&["card.png", "-o", "x.png", "--noise-from", from]));
        assert!(run.err().contains(said), "{from}: {}", run.err());
        assert!(!f.path("x.png").exists());
    }
    let clip = [&b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 Cmono\nFRAME\n"[..], &[90; 64 * 48]].concat();
    fs::write(f.path("clip.y4m"), clip).unwrap();
    let run = f.quell(&with(&["clip.y4m", "--noise-from", "0,0,40,40"])).expect(2);
    assert!(
        run.err().contains("clip.y4m is a clip") && run.err().contains("--noise-profile"),
        "{}",
        run.err()
    );
    fs::write(f.path("bad.toml"), "sigma = -3").unwrap();
    let run = f.quell(&with(&["in.png", "--noise-profile", "bad.toml"])).expect(2);
    assert!(run.err().contains("bad.toml") && run.err().contains("positive"), "{}", run.err());
    let run = f.quell(&["noise", "card.png", "in.png", "--save", "two.toml"]).expect(2);
    assert!(run.err().contains("one picture"), "{}", run.err());
    f.quell(&["noise", "card.png", "--plot", "camera.pdf"]).expect(2);
}
