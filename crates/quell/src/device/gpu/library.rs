//! Programs that are built, kept for the next picture.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Every program built so far, or being built.
pub(crate) struct Library<R: Runtime>(Mutex<HashMap<Program, Entry<R>>>);

type Entry<R> = Arc<Mutex<Option<Arc<Loaded<R>>>>>;

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
        let entry = lock(&self.0).entry(program.clone()).or_default().clone();
        // Others that want the same program wait while one builds it; other programs are built at the same time.
        let mut entry = lock(&entry);
        if let Some(loaded) = &*entry {
            return Ok(loaded.clone());
        }
        let module = runtime.build(&program)?;
        let kernels = program.kernels.iter().map(|&name| Ok((name, runtime.kernel(&module, name, local)?)));
        let kernels = kernels.collect::<GpuResult<_>>()?;
        let tables = tables.map(|t| upload(runtime, t)).transpose()?;
        let loaded = Arc::new(Loaded { kernels, tables, _module: module });
        *entry = Some(loaded.clone());
        Ok(loaded)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
