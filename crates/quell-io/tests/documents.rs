//! The Rust in the documents stands here too, word for word, and runs. The documents show it without the lines that a
//! doc test needs around it.

mod common;

use std::path::{Path, PathBuf};

use common::Folder;

type Done = Result<(), Box<dyn std::error::Error>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a language in the documents, each with the name of its document.
fn blocks(language: &str) -> Vec<(String, String)> {
    let folders = [root(), root().join("docs"), root().join("docs/algorithms")];
    let files =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|e| e.unwrap().path());
    let mut found = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split(&format!("\n```{language}\n")).skip(1) {
            found.push((path.display().to_string(), block.split("\n```").next().unwrap_or(block).to_owned()));
        }
    }
    found
}

/// Lines without what is before and after them.
fn bare(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_documents_show_is_what_runs_here() {
    let here = bare(include_str!("documents.rs"));
    let blocks = blocks("rust");
    assert!(blocks.len() >= 4, "only {} blocks were found", blocks.len());
    for (name, block) in blocks {
        assert!(here.contains(&bare(&block)), "{name}: not in crates/quell-io/tests/documents.rs:\n{block}");
    }
}

#[test]
fn parameter_files_are_understood() {
    let blocks = blocks("toml");
    assert!(!blocks.is_empty());
    for (name, block) in blocks {
        if block.starts_with("# Noise of a picture") {
            let model = quell::noise::Model::from_toml(&block);
            assert!(model.is_ok(), "{name}: {model:?}");
            continue;
        }
        let params = quell::bm3d::Params::from_toml(&block, &quell::bm3d::Profile::Normal.params(25.0));
        assert!(params.is_ok_and(|p| p.validate().is_ok()), "{name}:\n{block}");
    }
}

#[test]
#[rustfmt::skip]
fn a_picture() -> Done {
    use quell::{Denoiser, Frame, Plane, bm3d::Profile};

    let noisy = Frame::grey(Plane::from_vec(16, 16, vec![100.0; 256])?, 255.0)?;
    let denoiser = Denoiser::bm3d(Profile::Normal).sigma(25.0).build()?;   // once
    let clean = denoiser.denoise(&noisy)?;                                // for many pictures

    assert_eq!((clean.width(), clean.height()), (16, 16));
    Ok(())
}

#[test]
#[rustfmt::skip]
#[expect(unused_variables, reason = "it is shown, not used")]
fn a_video() -> Done {
    use quell::{Denoiser, Layout, VideoFormat, nlm::Profile};

    let format = VideoFormat::with_bits(64, 48, Layout::Yuv420, 8)?;
    let denoiser = Denoiser::nlm(Profile::Fast).sigma(10.0).set("past", 2).build()?;
    let mut stream = denoiser.stream(format)?;
    let clean = stream.push(format.frame())?;       // as late as `future` says, here at once
    while let Some(rest) = stream.flush()? {}       // at the end

    assert!(clean.is_some());
    Ok(())
}

#[test]
#[rustfmt::skip]
fn a_file() -> Done {
    let folder = Folder::new("documents");
    std::fs::create_dir(folder.0.join("samples"))?;
    std::fs::copy(root().join("samples/noisy.png"), folder.0.join("samples/noisy.png"))?;
    // The other tests of this file use whole paths.
    std::env::set_current_dir(&folder.0)?;

    use std::path::Path;
    use quell_io::{ReadOptions, WriteOptions};

    let mut picture = quell_io::read(Path::new("samples/noisy.png"), &ReadOptions::default())?;
    let denoiser = quell::Denoiser::bm3d(quell::bm3d::Profile::Normal).build()?;
    for page in &mut picture.pages {
        page.frame = denoiser.denoise(&page.frame)?;
    }
    quell_io::write(Path::new("clean.png"), &picture, &WriteOptions::default())?;

    assert!(folder.0.join("clean.png").exists());
    Ok(())
}

/// Only compiled: there is no device memory here.
#[rustfmt::skip]
#[expect(dead_code, reason = "see above")]
fn device_memory((width, height): (usize, usize), frame: u64, clean: u64, pitch: usize) -> Done {
    use quell::device::{DeviceSamples, SampleFormat, Which};
    use quell::{Control, Denoiser, Device, bm3d::Profile};

    let denoiser = Denoiser::bm3d(Profile::Fast).sigma(8.0).device(Device::Cuda(Which::One(0))).build()?;
    // SAFETY: `height` rows each, which nothing else uses meanwhile; what fills `from` has been waited for.
    let (from, to) = unsafe {
        (DeviceSamples::new(frame, pitch, SampleFormat::U8), DeviceSamples::new(clean, pitch, SampleFormat::U8))
    };
    denoiser.denoise_device(width, height, 255.0, &[from], &[to], &Control::new())?;
    Ok(())
}
