//! Writes the seeds of every target into fuzz/corpus:
//! `cargo +nightly run --manifest-path fuzz/Cargo.toml --example seeds`, in the project's folder.

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    for seed in quell_fuzz::seeds::all(Path::new("."))? {
        let folder = Path::new("fuzz/corpus").join(&seed.target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&seed.name), &seed.bytes)?;
    }
    Ok(())
}
