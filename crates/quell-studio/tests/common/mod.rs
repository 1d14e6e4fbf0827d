//! A studio with a program of a few lines, on a device that can be counted and held up.

pub(crate) mod client;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use quell::device::{self, Backend, Caps, Device, DeviceInfo, Input, SamplesMut, Sequence};
use quell::noise::Model;
use quell::{Cancel, Control, Denoiser, Frame, Plan, Plane};
use quell_io::bands::{Band, BandReader};
use quell_io::{Picture, ReadOptions, WriteOptions};
use quell_studio::{Export, Options, Problem, Program};

pub(crate) use client::Client;

/// The processor, watched.
pub(crate) struct Watched {
    cpu: Box<dyn Backend>,
    /// Plans that were put to work.
    pub(crate) opened: AtomicUsize,
    /// Those that were cancelled.
    pub(crate) cancelled: AtomicUsize,
    /// Nothing is filtered while this is so.
    pub(crate) held: AtomicBool,
}

/// Work that can be held up.
struct Held(Arc<Watched>, Box<dyn Sequence>);

impl Sequence for Held {
    fn push(&mut self, frame: &Input<'_>, control: &Control) -> quell::Result<()> {
        while self.0.held.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
            if let Err(e) = control.check() {
                self.0.cancelled.fetch_add(1, Ordering::Relaxed);
                return Err(e);
            }
        }
        self.1.push(frame, control)
    }

    fn pull(&mut self, to: &mut [SamplesMut<'_>], control: &Control) -> quell::Result<()> {
        self.1.pull(to, control)
    }
}

/// The device, as denoisers have it.
struct Shared(Arc<Watched>);

impl Backend for Shared {
    fn info(&self) -> DeviceInfo {
        self.0.cpu.info()
    }

    fn caps(&self, plan: &Plan) -> Caps {
        self.0.cpu.caps(plan)
    }

    fn open(&self, plan: &Plan) -> quell::Result<Box<dyn Sequence>> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Held(self.0.clone(), self.0.cpu.open(plan)?)))
    }
}

/// Knows one flag: `--strength`.
struct Small(Arc<Watched>);

impl Program for Small {
    fn denoiser(&self, flags: &[String]) -> Result<Denoiser, Problem> {
        let mut builder = Denoiser::bm3d(quell::bm3d::Profile::Fast).sigma(20.0);
        for pair in flags.chunks(2).filter(|pair| pair[0] == "--strength") {
            builder = builder.strength(pair[1].parse().map_err(|_| Problem::sense("no number"))?);
        }
        Ok(builder.build_on(Arc::new(Shared(self.0.clone())))?)
    }

    fn read(&self, path: &Path) -> Result<Picture, Problem> {
        Ok(quell_io::read(path, &ReadOptions::default())?)
    }

    /// Whatever is called so counts as large.
    fn bands(&self, path: &Path) -> Option<BandReader> {
        let named = path.file_name().is_some_and(|name| name == "giant.pgm");
        named.then(|| BandReader::open(path, &ReadOptions::default()).ok().flatten()).flatten()
    }

    fn some_rows(&self, reader: &mut BandReader) -> Result<(Frame, Option<Plane>), Problem> {
        let mut band = Band::default();
        reader.rows(0..reader.height(), &mut band)?;
        Ok((band.frame()?.to_frame(), None))
    }

    fn export(
        &self,
        export: &Export,
        progress: Arc<dyn Fn(f64) + Send + Sync>,
        _: &Cancel,
    ) -> Result<String, Problem> {
        let picture = self.read(&export.input)?;
        progress(0.5);
        quell_io::write(&export.output, &picture, &WriteOptions::default())?;
        Ok("done".to_owned())
    }

    fn another_address(&self, _: &str) {}

    fn describe(&self, _: Option<&Model>, _: bool) -> String {
        "noise".to_owned()
    }
}

/// 300 x 200 pixels of noise.
pub(crate) fn picture() -> Vec<u8> {
    let noise = (0..300u32 * 200).map(|i| (100 + (i.wrapping_mul(2654435761) >> 26)) as u8);
    [b"P5 300 200 255\n".to_vec(), noise.collect()].concat()
}

/// A studio that runs, and a folder of its own.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) device: Arc<Watched>,
    pub(crate) folder: PathBuf,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// With some pictures: `a.pgm`, 300 x 200, and files that are given.
    pub(crate) fn new(name: &str, others: &[(&str, &[u8])]) -> Self {
        let folder = std::env::temp_dir().join(format!("quell-studio-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("out")).unwrap();
        let mut files = vec![folder.join("a.pgm")];
        std::fs::write(&files[0], picture()).unwrap();
        for (name, bytes) in others {
            files.push(folder.join(name));
            std::fs::write(files.last().unwrap(), bytes).unwrap();
        }
        let device = Arc::new(Watched {
            cpu: device::open(Device::Cpu, Default::default()).unwrap(),
            opened: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            held: AtomicBool::new(false),
        });
        let (cancel, program) = (Cancel::new(), Box::new(Small(device.clone())));
        let options = Options { files, folder: folder.join("out"), memory: None };
        let (to, from) = mpsc::channel();
        let ended = cancel.clone();
        let thread = std::thread::spawn(move || {
            quell_studio::serve(options, program, |opened| to.send(opened.url.clone()).unwrap(), &ended)
                .unwrap();
        });
        let url = from.recv_timeout(Duration::from_secs(20)).unwrap();
        let client = Client::open(&url);
        Self { url, client, device, folder, cancel, thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.device.held.store(false, Ordering::Relaxed);
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
