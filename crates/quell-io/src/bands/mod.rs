//! Pictures larger than memory, in bands of rows.
//!
//! A [`BandReader`] decodes any rows of a file into a [`Band`]; a [`BandWriter`] takes the rows of the result from the
//! top down. Samples, metadata and remarks are those of [`read()`](crate::read()) and [`write()`](crate::write()), and
//! memory does not depend on the height: some rows, and the strips or tiles that they lie in.
//!
//! | format | read and written in bands | as a whole only |
//! |---|---|---|
//! | TIFF, BigTIFF | one page, strips or tiles, every compression and sample type | several pages, stacks, channels; packed strips and tiles of more than 1 GiB |
//! | NumPy `.npy` | one picture whose rows lie one behind the other | stacks, Fortran order, colours in planes |
//! | PNM | PGM, PPM, PAM | PBM, samples as text |
//! | PFM | all | |
//! | PNG, JPEG, WebP, OpenEXR | | all |
//!
//! [`ReadOptions::max_pixels`](crate::ReadOptions::max_pixels) is a limit on memory and does not count here. Headers
//! are refused that promise more than the file holds, or rows of more than 2^28 samples.
//!
//! ```
//! use std::path::Path;
//! use quell_io::bands::{Band, BandReader, BandWriter};
//! use quell_io::{ReadOptions, WriteOptions};
//!
//! # let folder = std::env::temp_dir().join(format!("quell-io-bands-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let (input, output) = (folder.join("in.pgm"), folder.join("out.tif"));
//! # std::fs::write(&input, b"P5 2 3 255\n\x00\x01\x02\x03\x04\x05")?;
//! # let (input, output): (&Path, &Path) = (&input, &output);
//! let (read, write) = (ReadOptions::default(), WriteOptions::default());
//! if let Some(mut reader) = BandReader::open(input, &read)?
//!     && let Some(mut writer) = BandWriter::create(output, &reader, &write)?
//! {
//!     let mut band = Band::default();
//!     for top in (0..reader.height()).step_by(2) {
//!         reader.rows(top..reader.height().min(top + 2), &mut band)?;
//!         writer.rows(band.frame()?.planes(), band.alpha())?;
//!     }
//!     for remark in writer.finish()? {
//!         eprintln!("note: {remark}");
//!     }
//! }
//! # let samples = quell_io::read(output, &read)?.pages[0].frame.to_interleaved();
//! # assert_eq!(samples, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod writer;

pub use reader::{Band, BandReader};
pub use writer::BandWriter;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_writing_can_have_a_thread_each() {
        fn can_move<T: Send>() {}
        can_move::<BandReader>();
        can_move::<BandWriter>();
        can_move::<Band>();
    }
}
