//! Which kernels carry out the rounds of a plan on a device: the one place where that is decided.

use std::sync::Arc;

use super::program::{self, GroupShape};
use super::tensor::{TensorGroup, TensorMatch};
use super::{search, tensor};
use crate::ColorMode;
use crate::device::gpu::bm3d::kernels::{Kind, general_matching, joined};
use crate::device::gpu::bm3d::program::{self as bm3d, Cut, Format, MatchShape, PlaneFormat};
use crate::device::gpu::library::{Library, Loaded};
use crate::device::gpu::{GpuError, GpuResult, Runtime};
use crate::method::group::Search;
use crate::ridge::{GroupSize, Plan};

/// The kernels of a plan.
pub(crate) struct Kernels<R: Runtime> {
    /// Noisy channels as floats, where the pilot has them as halves.
    pub(crate) ingest: Option<Arc<Loaded<R>>>,
    pub(super) planes: Arc<Loaded<R>>,
    pub(super) norms: Arc<Loaded<R>>,
    pub(super) matching: Matching<R>,
    pub(super) regression: Regression<R>,
}

/// Who groups.
pub(super) enum Matching<R: Runtime> {
    General { loaded: Arc<Loaded<R>>, shape: MatchShape },
    Tensor { loaded: Arc<Loaded<R>>, kernel: TensorMatch },
}

impl<R: Runtime> Matching<R> {
    fn new(runtime: &R, library: &Library<R>, search: &Search, size: GroupSize) -> GpuResult<Self> {
        if let Some(kernel) = TensorMatch::new(search, size, runtime.limits()) {
            let loaded = library.get(runtime, kernel.program(), kernel.local, None)?;
            return Ok(Self::Tensor { loaded, kernel });
        }
        let (loaded, shape) = general_matching(runtime, library, search, false, Cut::Size(size))?;
        Ok(Self::General { loaded, shape })
    }
}

/// Who filters groups.
pub(super) enum Regression<R: Runtime> {
    General { loaded: Arc<Loaded<R>>, shape: GroupShape },
    Tensor { loaded: Arc<Loaded<R>>, kernel: TensorGroup },
}

impl<R: Runtime> Regression<R> {
    fn new(runtime: &R, library: &Library<R>, key: &KernelsKey) -> GpuResult<Self> {
        let KernelsKey { search, halves, counted, .. } = key;
        if let Some(kernel) = TensorGroup::new(search, runtime.limits()).filter(|_| *halves) {
            let loaded = library.get(runtime, kernel.program(*counted), kernel.local, None)?;
            return Ok(Self::Tensor { loaded, kernel });
        }
        let shape = GroupShape::new(search, runtime.limits()).ok_or_else(|| {
            let reason = format!("a search window of {} does not fit", 2 * search.radius + 1);
            GpuError::Driver { call: "local memory", reason }
        })?;
        let loaded = library.get(runtime, program::group(search, shape, *counted), 0, None)?;
        Ok(Self::General { loaded, shape })
    }
}

/// What the kernels of a plan depend on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KernelsKey {
    search: Search,
    size: GroupSize,
    formats: (Format, Format),
    /// Of the pilot's planes.
    planes: PlaneFormat,
    /// Whether patches are precise enough as halves.
    halves: bool,
    /// Of colours that come.
    color: Option<ColorMode>,
    /// Of averages of frames.
    counted: bool,
}

impl KernelsKey {
    /// For such samples, which the pilot has in these planes.
    pub(crate) fn new(plan: &Plan, kind: &Kind, planes: PlaneFormat) -> Self {
        let search = search(plan, 0).clone();
        let halves = tensor::precise(plan, &search, kind.frames.unwrap_or(1.0));
        let Kind { formats, frames, averaged, .. } = *kind;
        let color = kind.color.filter(|_| !averaged);
        Self { search, size: plan.size, formats, planes, halves, color, counted: frames.is_some() }
    }
}

impl<R: Runtime> Kernels<R> {
    /// Builds what is not built yet.
    pub(crate) fn new(runtime: &R, library: &Library<R>, key: &KernelsKey) -> GpuResult<Self> {
        let get = |p| library.get(runtime, p, 0, None);
        let KernelsKey { search, size, formats, .. } = key;
        let ingest = (key.planes != PlaneFormat::Float).then(|| match key.color {
            Some(mode) => bm3d::color(*formats, PlaneFormat::Float, mode),
            None => bm3d::ingest(formats.0, PlaneFormat::Float),
        });
        std::thread::scope(|threads| {
            let matching = threads.spawn(|| Matching::new(runtime, library, search, *size));
            let regression = threads.spawn(|| Regression::new(runtime, library, key));
            let others = threads.spawn(|| -> GpuResult<_> {
                Ok((ingest.map(get).transpose()?, get(program::planes())?, get(bm3d::norms(search.patch))?))
            });
            let (matching, regression) = (joined(matching), joined(regression));
            let (ingest, planes, norms) = joined(others)?;
            Ok(Self { ingest, planes, norms, matching: matching?, regression: regression? })
        })
    }
}
