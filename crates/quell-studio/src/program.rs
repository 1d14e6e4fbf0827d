//! What the studio needs of the program around it: flags, files and messages are the command line's business.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quell::noise::Model;
use quell::{Cancel, Denoiser, Frame, Plane};
use quell_io::Picture;
use quell_io::bands::BandReader;

use crate::Problem;

/// One file to filter into another.
#[derive(Clone, Debug)]
pub struct Export {
    /// Read from here.
    pub input: PathBuf,
    /// Written here.
    pub output: PathBuf,
    /// How.
    pub flags: Vec<String>,
    /// What is there may be replaced.
    pub replace: bool,
}

/// The program that understands flags, reads files and writes results. Everything is called from several threads.
pub trait Program: Send + Sync + 'static {
    /// The denoiser that flags ask for, checked as on the command line; those for one device share it.
    fn denoiser(&self, flags: &[String]) -> Result<Denoiser, Problem>;

    /// Reads a picture whose samples are all finite.
    fn read(&self, path: &Path) -> Result<Picture, Problem>;

    /// A picture that is so large that it is read and filtered in bands of rows.
    fn bands(&self, path: &Path) -> Option<BandReader>;

    /// Rows of such a picture that its noise is estimated from, and their alpha.
    fn some_rows(&self, reader: &mut BandReader) -> Result<(Frame, Option<Plane>), Problem>;

    /// Filters a file as the command line does, and gives the line that it says then; `progress` gets numbers from 0 to 1.
    fn export(
        &self,
        export: &Export,
        progress: Arc<dyn Fn(f64) + Send + Sync>,
        cancel: &Cancel,
    ) -> Result<String, Problem>;

    /// The address that was opened cannot be opened again: this one can.
    fn another_address(&self, url: &str);

    /// What the command line says of noise that was found, or given.
    fn describe(&self, noise: Option<&Model>, given: bool) -> String;
}
