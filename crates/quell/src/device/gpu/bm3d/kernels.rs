//! Which kernels carry out a plan on a device: the tensor kernels where they can, the general ones elsewhere. The one place
//! where that is decided.

use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use super::program::{self, Cut, FilterShape, Format, MatchShape, PlaneFormat};
use super::tensor::{TensorFilter, TensorMatch};
use crate::ColorMode;
use crate::bm3d::{PassPlan, Plan, Shrink};
use crate::device::gpu::library::{Library, Loaded, upload};
use crate::device::gpu::{GpuError, GpuResult, Runtime};
use crate::method::group::Search;

/// What kernels have to know of the samples of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    /// In and out.
    pub(crate) formats: (Format, Format),
    /// All are precise enough as halves.
    pub(crate) halves: bool,
    /// They are red, green and blue, and the channels are those of this space.
    pub(crate) color: Option<ColorMode>,
    /// They are averages of up to so many frames, and come with the number of each pixel's.
    pub(crate) frames: Option<f32>,
    /// The device has averaged them: what comes are the channels, whatever goes out.
    pub(crate) averaged: bool,
}

impl Kind {
    /// Channels as floats that may have any value.
    pub(crate) const FLOATS: Self = Self {
        formats: (Format::F32, Format::F32),
        halves: false,
        color: None,
        frames: None,
        averaged: false,
    };
}

/// The kernels of a plan.
pub(crate) struct Kernels<R: Runtime> {
    pub(crate) planes: PlaneFormat,
    /// Of the samples that come.
    pub(crate) from: Format,
    /// They come with the number of frames that each pixel is the average of.
    pub(crate) counted: bool,
    /// The device has averaged them.
    pub(crate) averaged: bool,
    /// Of samples that are channels, or of colours.
    pub(crate) ingest: Arc<Loaded<R>>,
    /// Of colours that go out.
    pub(crate) colors: Option<Arc<Loaded<R>>>,
    pub(crate) passes: Vec<PassKernels<R>>,
}

/// The kernels of one pass.
pub(crate) struct PassKernels<R: Runtime> {
    pub(crate) norms: Arc<Loaded<R>>,
    pub(crate) matching: Matching<R>,
    pub(crate) filter: Filter<R>,
    pub(crate) finish: Arc<Loaded<R>>,
}

/// Who matches.
pub(crate) enum Matching<R: Runtime> {
    General {
        loaded: Arc<Loaded<R>>,
        shape: MatchShape,
    },
    /// The tensor kernel, and the general one for the references that it hands over.
    Tensor {
        loaded: Arc<Loaded<R>>,
        kernel: TensorMatch,
        rest: Arc<Loaded<R>>,
    },
}

impl<R: Runtime> Matching<R> {
    fn new(runtime: &R, library: &Library<R>, pass: &PassPlan) -> GpuResult<Self> {
        let limits = runtime.limits();
        let cut = if matches!(pass.shrink, Shrink::Regress { .. }) { Cut::All } else { Cut::PowerOfTwo };
        let general = |list| general_matching(runtime, library, &pass.search(), list, cut);
        match TensorMatch::new(pass, limits) {
            Some(kernel) => {
                let loaded = library.get(runtime, kernel.program(), kernel.local(), None)?;
                Ok(Self::Tensor { loaded, kernel, rest: general(true)?.0 })
            }
            None => general(false).map(|(loaded, shape)| Self::General { loaded, shape }),
        }
    }
}

/// The general matching of a search.
pub(crate) fn general_matching<R: Runtime>(
    runtime: &R,
    library: &Library<R>,
    search: &Search,
    list: bool,
    cut: Cut,
) -> GpuResult<(Arc<Loaded<R>>, MatchShape)> {
    let shape = MatchShape::new(search, runtime.limits(), list).ok_or_else(|| {
        let reason = format!("a search window of {} does not fit", 2 * search.radius + 1);
        GpuError::Driver { call: "local memory", reason }
    })?;
    Ok((library.get(runtime, program::matching(search, shape, list, cut), 0, None)?, shape))
}

/// Who filters.
pub(crate) enum Filter<R: Runtime> {
    General {
        loaded: Arc<Loaded<R>>,
        shape: FilterShape,
        /// Of correlated noise.
        spectrum: Option<R::Buffer>,
    },
    Tensor {
        loaded: Arc<Loaded<R>>,
        kernel: TensorFilter,
        /// Of each channel.
        constants: Vec<R::Buffer>,
    },
}

impl<R: Runtime> Filter<R> {
    fn new(
        runtime: &R,
        library: &Library<R>,
        pass: &PassPlan,
        planes: PlaneFormat,
        counted: bool,
    ) -> GpuResult<Self> {
        let limits = runtime.limits();
        match TensorFilter::new(pass, limits).filter(|_| planes == PlaneFormat::Half) {
            Some(kernel) => {
                let constants =
                    (0..pass.sigma.len()).map(|c| upload(runtime, &TensorFilter::constants(pass, c)));
                let constants = constants.collect::<GpuResult<_>>()?;
                let loaded = library.get(runtime, kernel.program(counted), kernel.local(), None)?;
                Ok(Self::Tensor { loaded, kernel, constants })
            }
            None => {
                let shape = FilterShape::new(pass, limits);
                let tables = program::tables(pass, shape);
                let filter = program::filter(pass, shape, planes, counted);
                let loaded = library.get(runtime, filter, 0, Some(&tables))?;
                let spectrum = pass.spectrum.as_ref().map(|s| upload(runtime, s.table())).transpose()?;
                Ok(Self::General { loaded, shape, spectrum })
            }
        }
    }
}

impl<R: Runtime> Kernels<R> {
    /// Builds what is not built yet.
    pub(crate) fn new(runtime: &R, library: &Library<R>, plan: &Plan, kind: &Kind) -> GpuResult<Self> {
        let ((from, to), counted) = (kind.formats, kind.frames.is_some());
        // Half planes are for plans that the tensor kernels filter from end to end.
        let tensor = plan.passes.iter().all(|pass| TensorFilter::new(pass, runtime.limits()).is_some());
        let planes = if tensor && kind.halves { PlaneFormat::Half } else { PlaneFormat::Float };
        let get = |p| library.get(runtime, p, 0, None);
        let colors = kind.color.map(|mode| program::color((from, to), planes, mode));
        let ingest = match &colors {
            Some(colors) if !kind.averaged => colors.clone(),
            _ => program::ingest(from, planes),
        };
        // What has to be compiled is compiled at once. Threads of their own: those of a pool might take up other pictures
        // while they wait, and wait for these kernels.
        std::thread::scope(|threads| {
            let ingest = threads.spawn(|| get(ingest));
            let colors = threads.spawn(|| colors.map(get).transpose());
            let passes: Vec<_> = plan
                .passes
                .iter()
                .map(|pass| {
                    let norms = threads.spawn(move || get(program::norms(pass.patch)));
                    let matching = threads.spawn(move || Matching::new(runtime, library, pass));
                    let filter = threads.spawn(move || Filter::new(runtime, library, pass, planes, counted));
                    let finish = threads.spawn(move || get(program::finish(pass, to, planes)));
                    (norms, matching, filter, finish)
                })
                .collect();
            let passes = passes.into_iter().map(|(norms, matching, filter, finish)| {
                Ok(PassKernels {
                    norms: joined(norms)?,
                    matching: joined(matching)?,
                    filter: joined(filter)?,
                    finish: joined(finish)?,
                })
            });
            let passes = passes.collect::<GpuResult<_>>();
            let (ingest, colors, averaged) = (joined(ingest)?, joined(colors)?, kind.averaged);
            Ok(Self { planes, from, counted, averaged, ingest, colors, passes: passes? })
        })
    }
}

pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, GpuResult<T>>) -> GpuResult<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
