//! Programs that are built, kept for the next picture.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{GpuError, GpuResult, Program, Runtime};

/// A built program with its kernels, and the tables that they read.
pub(crate) struct Loaded<R: Runtime> {
    kernels: HashMap<&'static str, R::Kernel>,
    tables: Option<R::Buffer>,
    /// Kernels live in it.
    _module: R::Module,
}

impl<R: Runtime> Loaded<R> {
    /// One of the kernels that the program names.
    pub(crate) fn kernel(&self, name: &'static str) -> GpuResult<&R::Kernel> {
        let missing = || GpuError::Driver { call: "kernel", reason: format!("there is no {name}") };
        self.kernels.get(name).ok_or_else(missing)
    }

    /// The tables it was built with.
    pub(crate) fn tables(&self) -> GpuResult<&R::Buffer> {
        let missing = || GpuError::Driver { call: "tables", reason: "there are none".into() };
        self.tables.as_ref().ok_or_else(missing)
    }
}

/// Every program built so far.
pub(crate) struct Library<R: Runtime>(Mutex<HashMap<Program, Arc<Loaded<R>>>>);

impl<R: Runtime> Default for Library<R> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<R: Runtime> Library<R> {
    /// The program, built if it is new, its kernels with up to `local` bytes of dynamic local memory. `tables` must be a
    /// function of the program's constants.
    pub(crate) fn get(
        &self,
        runtime: &R,
        program: Program,
        local: usize,
        tables: Option<&[f32]>,
    ) -> GpuResult<Arc<Loaded<R>>> {
        // Others wait while one builds: they mostly want the same program.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = all.get(&program) {
            return Ok(loaded.clone());
        }
        let module = runtime.build(&program)?;
        let kernels = program.kernels.iter().map(|&name| Ok((name, runtime.kernel(&module, name, local)?)));
        let kernels = kernels.collect::<GpuResult<_>>()?;
        let tables = tables.map(|t| upload(runtime, t)).transpose()?;
        let loaded = Arc::new(Loaded { kernels, tables, _module: module });
        all.insert(program, loaded.clone());
        Ok(loaded)
    }
}

/// A buffer with these numbers.
pub(crate) fn upload<R: Runtime>(runtime: &R, numbers: &[f32]) -> GpuResult<R::Buffer> {
    let bytes = size_of_val(numbers);
    let (queue, buffer, mut staging) = (runtime.queue()?, runtime.alloc(bytes)?, runtime.staging(bytes)?);
    for (to, v) in staging.chunks_exact_mut(4).zip(numbers) {
        to.copy_from_slice(&v.to_ne_bytes());
    }
    runtime.write(&queue, &buffer, &staging, bytes)?;
    runtime.finish(&queue)?;
    Ok(buffer)
}
