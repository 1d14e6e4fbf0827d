//! The CUDA kernels on the processor: the same source, compiled by the system's C++ compiler and run thread by
//! thread in fibers. Slow and exact; it lets the fast kernels be tested where there is no GPU.

use std::ffi::{CString, c_void};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::DeviceSamples;
use super::gpu::{Arg, GpuError, GpuResult, Limits, Program, Runtime, Shape};

const PRELUDE: &str = include_str!("../../kernels/emulator/emulator.h");

/// The emulated device.
pub(crate) struct Emulator {
    limits: Limits,
    compiler: String,
}

/// A loaded program. Its kernels share one block's memory, so one runs at a time.
pub(crate) struct Module {
    library: libloading::Library,
    running: Mutex<()>,
    file: PathBuf,
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

pub(crate) struct Kernel {
    module: std::sync::Arc<Module>,
    entry: unsafe extern "C" fn(u32, u32, u32, *const *const c_void),
}

/// Host memory in the place of device memory, aligned as a device would.
pub(crate) struct Buffer {
    memory: Memory,
    bytes: usize,
}

enum Memory {
    Own(Mutex<Box<[u128]>>),
    /// Of the caller, at this address.
    Borrowed(u64),
}

impl Buffer {
    fn new(bytes: usize) -> Self {
        // Poison: memory that nobody wrote shows.
        let words = vec![u128::MAX; bytes.div_ceil(16) + 1];
        Self { memory: Memory::Own(Mutex::new(words.into())), bytes }
    }

    fn address(&self) -> *mut u8 {
        match &self.memory {
            Memory::Own(words) => lock(words).as_mut_ptr().cast(),
            Memory::Borrowed(address) => std::ptr::with_exposed_provenance_mut(*address as usize),
        }
    }
}

/// Staging memory.
pub(crate) struct Staging(Vec<u8>);

impl Deref for Staging {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn failed(call: &'static str, reason: impl ToString) -> GpuError {
    GpuError::Driver { call, reason: reason.to_string() }
}

impl Emulator {
    /// Looks for a C++ compiler; says what is missing.
    pub(crate) fn new() -> Result<Self, String> {
        if !cfg!(all(target_arch = "x86_64", unix)) {
            return Err("the emulator runs on x86-64 Unix only".into());
        }
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        match Command::new(&compiler).arg("--version").output() {
            Ok(out) if out.status.success() => {}
            _ => return Err(format!("no C++ compiler `{compiler}` (set CXX)")),
        }
        let limits =
            Limits { local_bytes: 227 * 1024, memory_bytes: 1 << 32, units: 1, tensor: true, is_cpu: true };
        Ok(Self { limits, compiler })
    }

    /// The stub that calls a kernel with arguments behind pointers, as a driver does.
    fn source(program: &Program) -> String {
        let mut text = String::from(PRELUDE);
        for part in &program.sources {
            text += part;
        }
        for name in &program.kernels {
            text += &format!(
                "\nextern \"C\" void quell_start_{name}(unsigned gx, unsigned gy, unsigned items, void** args) {{ \
                 emulator::start({name}, gx, gy, items, args); }}\n"
            );
        }
        text
    }
}

impl Runtime for Emulator {
    type Buffer = Buffer;
    type Module = std::sync::Arc<Module>;
    type Kernel = Kernel;
    type Queue = ();
    type Staging = Staging;
    type Event = ();

    fn name(&self) -> &str {
        "emulator"
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn build(&self, program: &Program) -> GpuResult<Self::Module> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stem = format!("quell-emulator-{}-{number}-{}", std::process::id(), program.name);
        let (source, file) = (
            std::env::temp_dir().join(format!("{stem}.cpp")),
            std::env::temp_dir().join(format!("{stem}.so")),
        );
        std::fs::write(&source, Self::source(program)).map_err(|e| failed("write", e))?;
        let mut compile = Command::new(&self.compiler);
        compile.args([
            "-std=c++17",
            "-O1",
            "-w",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-DQUELL_EMULATOR=1",
        ]);
        compile.args(program.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        let out = compile.arg("-o").arg(&file).arg(&source).output().map_err(|e| failed("c++", e))?;
        if !out.status.success() {
            let log = String::from_utf8_lossy(&out.stderr).into_owned();
            let first_line = log.lines().find(|l| l.contains("error")).unwrap_or("?").to_owned();
            return Err(GpuError::Compile {
                program: program.name,
                target: "the emulator".into(),
                first_line,
                log: source.display().to_string(),
            });
        }
        let _ = std::fs::remove_file(&source);
        // SAFETY: the library was just built from our source and has no initialisers with effects.
        let library = unsafe { libloading::Library::new(&file) }.map_err(|e| failed("dlopen", e))?;
        Ok(Module { library, running: Mutex::new(()), file }.into())
    }

    fn kernel(&self, module: &Self::Module, name: &'static str, local: usize) -> GpuResult<Kernel> {
        if local > self.limits.local_bytes {
            return Err(failed("kernel", format!("{name} asks for {local} bytes of local memory")));
        }
        let symbol = CString::new(format!("quell_start_{name}")).map_err(|e| failed("kernel", e))?;
        // SAFETY: the stub was generated with exactly this signature.
        let entry =
            unsafe { module.library.get(symbol.as_bytes_with_nul()) }.map_err(|e| failed("dlsym", e))?;
        Ok(Kernel { module: module.clone(), entry: *entry })
    }

    fn queue(&self) -> GpuResult<()> {
        Ok(())
    }

    fn alloc(&self, bytes: usize) -> GpuResult<Buffer> {
        Ok(Buffer::new(bytes))
    }

    /// Device memory is host memory here.
    fn lends(&self) -> bool {
        true
    }

    fn borrow(&self, samples: &DeviceSamples, offset: usize, bytes: usize) -> Option<Buffer> {
        Some(Buffer { memory: Memory::Borrowed(samples.address() + offset as u64), bytes })
    }

    fn staging(&self, bytes: usize) -> GpuResult<Staging> {
        Ok(Staging(vec![0; bytes]))
    }

    fn write(&self, (): &(), to: &Buffer, from: &Staging, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= to.bytes && bytes <= from.len(), "copy inside both buffers");
        // SAFETY: both are long enough, and different memory.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.address(), bytes) };
        Ok(())
    }

    fn read(&self, (): &(), to: &mut Staging, from: &Buffer, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= from.bytes && bytes <= to.len(), "copy inside both buffers");
        // SAFETY: both are long enough, and different memory.
        unsafe { std::ptr::copy_nonoverlapping(from.address(), to.as_mut_ptr(), bytes) };
        Ok(())
    }

    fn zero(&self, (): &(), buffer: &Buffer, bytes: usize) -> GpuResult<()> {
        assert!(bytes <= buffer.bytes, "inside the buffer");
        // SAFETY: the buffer is that long.
        unsafe { std::ptr::write_bytes(buffer.address(), 0, bytes) };
        Ok(())
    }

    fn launch(&self, (): &(), kernel: &Kernel, shape: Shape, args: &[Arg<'_, Self>]) -> GpuResult<()> {
        // Values first, so that the pointers to them stay.
        let values: Vec<u64> = args
            .iter()
            .map(|arg| match arg {
                Arg::Buffer(b) => b.address() as u64,
                Arg::I32(v) => u64::from(*v as u32),
                Arg::F32(v) => u64::from(v.to_bits()),
            })
            .collect();
        let pointers: Vec<*const c_void> = values.iter().map(|v| std::ptr::from_ref(v).cast()).collect();
        let _one = lock(&kernel.module.running);
        // SAFETY: the arguments match the kernel's signature, which the pipeline's tests check; buffers are alive.
        unsafe {
            (kernel.entry)(shape.grid[0] as u32, shape.grid[1] as u32, shape.items as u32, pointers.as_ptr())
        };
        Ok(())
    }

    fn finish(&self, (): &()) -> GpuResult<()> {
        Ok(())
    }

    fn wait(&self, (): &()) -> GpuResult<()> {
        Ok(())
    }

    fn mark(&self, (): &()) -> GpuResult<()> {
        Ok(())
    }

    fn elapsed(&self, (): &(), (): &()) -> GpuResult<f32> {
        Ok(0.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::bm3d::{Plan, Profile};
    use crate::device::gpu::Gpu;
    use crate::device::{Backend, DeviceInfo, Input, Kind, SampleBuffer, SampleFormat, Sequence};
    use crate::method::{self, Front};
    use crate::{ColorMode, Control, Error};

    fn first(tile: usize) -> Option<Gpu<Emulator>> {
        let emulator = Emulator::new().inspect_err(|e| println!("skipped: {e}")).ok()?;
        Some(Gpu::new(emulator, DeviceInfo::new(Kind::Cpu, "emulator"), tile))
    }

    fn shared() -> Option<&'static Gpu<Emulator>> {
        static SHARED: OnceLock<Option<Gpu<Emulator>>> = OnceLock::new();
        SHARED.get_or_init(|| first(0)).as_ref()
    }

    // The part of the suite that goes through the tensor kernels; the rest is the general kernels', which run elsewhere.
    crate::device::gpu::bm3d::conformance::suite! {
        shared(), first;
        groups_at_odd_sizes, groups_of_ties, pixels_at_odd_sizes, colour_channels_share_groups,
        psnr_is_that_of_the_reference, samples_of_every_format, colours_are_those_of_the_host, work_is_reported_and_can_be_stopped,
    }

    mod sizes {
        crate::device::gpu::bm3d::sizes_tests::suite!(super::shared());
    }

    mod averages {
        crate::device::gpu::bm3d::counted_tests::suite!(super::shared(), super::first);
    }

    mod clips {
        crate::device::gpu::average::tests::suite!(super::shared());
    }

    mod ridge {
        crate::device::gpu::ridge::tests::suite!(super::shared(), super::first);
    }

    mod nlm {
        crate::device::gpu::nlm::tests::suite!(super::shared());
    }

    mod isoline {
        crate::device::gpu::isoline::tests::suite!(super::shared());
    }

    const SIZE: (usize, usize) = (61, 47);

    /// A plane with `gap` samples behind every row, which nobody may touch.
    struct Padded {
        data: SampleBuffer,
        gap: usize,
    }

    impl Padded {
        fn new(format: SampleFormat, gap: usize) -> Self {
            let mut data = SampleBuffer::new(format, (SIZE.0 + gap) * SIZE.1);
            match &mut data {
                SampleBuffer::U8(v) => v.fill(99),
                SampleBuffer::U16(v) => v.fill(999),
                SampleBuffer::F32(v) => v.fill(f32::NAN),
            }
            Self { data, gap }
        }

        fn filled(from: &SampleBuffer, gap: usize) -> Self {
            let mut new = Self::new(from.view().format(), gap);
            for y in 0..SIZE.1 {
                let row = from.view().part(y * SIZE.0..(y + 1) * SIZE.0);
                new.data.view_mut().copy(y * (SIZE.0 + gap), row);
            }
            new
        }

        /// The samples without the gaps; those must be as they were made.
        fn tight(&self) -> Vec<f32> {
            let fresh = Self::new(self.data.view().format(), self.gap);
            let value = |i| self.data.view().get(i);
            let (inside, gaps): (Vec<usize>, Vec<usize>) =
                (0..self.data.view().len()).partition(|i| i % (SIZE.0 + self.gap) < SIZE.0);
            assert!(gaps.iter().all(|&i| value(i).to_bits() == fresh.data.view().get(i).to_bits()));
            inside.into_iter().map(value).collect()
        }

        fn place(&mut self) -> DeviceSamples {
            let (address, format) = match &mut self.data {
                SampleBuffer::U8(v) => (v.as_mut_ptr().expose_provenance(), SampleFormat::U8),
                SampleBuffer::U16(v) => (v.as_mut_ptr().expose_provenance(), SampleFormat::U16),
                SampleBuffer::F32(v) => (v.as_mut_ptr().expose_provenance(), SampleFormat::F32),
            };
            // SAFETY: host memory is the emulator's device memory; the plane outlives its use, and is not moved.
            unsafe { DeviceSamples::new(address as u64, (SIZE.0 + self.gap) * format.bytes(), format) }
        }
    }

    fn samples(format: SampleFormat, white: f32, seed: usize) -> SampleBuffer {
        let level = |i: usize| {
            let (x, y) = (i % SIZE.0, i / SIZE.0);
            let edge = if x + y / 2 > 40 { 0.3 } else { 0.0 };
            (0.3 + edge + 0.2 * ((i * 7919 + seed * 104_729) % 997) as f32 / 997.0) * white
        };
        let n = SIZE.0 * SIZE.1;
        match format {
            SampleFormat::U8 => SampleBuffer::U8((0..n).map(|i| level(i) as u8).collect()),
            SampleFormat::U16 => SampleBuffer::U16((0..n).map(|i| level(i) as u16).collect()),
            // One is beyond the range of halves: floats of the caller are not looked at, and filtered as floats.
            SampleFormat::F32 => {
                SampleBuffer::F32((0..n).map(|i| if i == 700 { 2.0 * white } else { level(i) }).collect())
            }
        }
    }

    fn plan(channels: usize, white: f32, color: Option<ColorMode>) -> method::Plan {
        let plan = Plan::new(&Profile::Fast.params(20.0), SIZE.0, SIZE.1, &vec![20.0; channels]).unwrap();
        method::Plan::new(plan, Front { color, ..Front::channels(white) })
    }

    fn sequence(gpu: &Gpu<Emulator>, plan: &method::Plan) -> Box<dyn Sequence> {
        gpu.open(plan).unwrap()
    }

    /// From `from` to `to` in device memory, with gaps behind the rows; the same as by way of host memory.
    fn compare(gpu: &Gpu<Emulator>, from: &[SampleBuffer], to: SampleFormat, white: f32) {
        let color = (from.len() == 3).then_some(ColorMode::Opp);
        let (plan, control) = (plan(from.len(), white, color), Control::new());
        let mut want = vec![SampleBuffer::new(to, SIZE.0 * SIZE.1); from.len()];
        let (views, mut outs): (Vec<_>, Vec<_>) =
            (from.iter().map(|s| s.view()).collect(), want.iter_mut().map(|s| s.view_mut()).collect());
        let frame = Input { planes: &views, guide: &[] };
        sequence(gpu, &plan).frame(&frame, &mut outs, &control).unwrap();

        let mut here: Vec<_> = from.iter().zip([3, 16, 0]).map(|(s, gap)| Padded::filled(s, gap)).collect();
        let mut there: Vec<_> = from.iter().zip([7, 0, 2]).map(|(_, gap)| Padded::new(to, gap)).collect();
        let places = |p: &mut [Padded]| p.iter_mut().map(Padded::place).collect::<Vec<_>>();
        let places = (places(&mut here), places(&mut there));
        sequence(gpu, &plan).lent(&places.0, &places.1, &control).unwrap();
        for (c, (got, want)) in there.iter().zip(&want).enumerate() {
            let want: Vec<f32> = (0..want.view().len()).map(|i| want.view().get(i)).collect();
            assert!(want.iter().any(|v| *v > 0.0));
            let off = got.tight().iter().zip(&want).filter(|(a, b)| a != b).count();
            assert_eq!(off, 0, "pixels differ in channel {c} to {to:?}, white {white}");
        }
        for (after, before) in here.iter().zip(from) {
            let before: Vec<f32> = (0..before.view().len()).map(|i| before.view().get(i)).collect();
            assert!(after.tight() == before, "what is read stays");
        }
    }

    #[test]
    fn device_memory_of_every_format() {
        use SampleFormat::{F32, U8, U16};
        let Some(gpu) = shared() else { return };
        for (from, to, white) in
            [(U8, U8, 255.0), (U8, F32, 255.0), (U16, U16, 1023.0), (U16, U8, 255.0), (F32, F32, 1.0)]
        {
            compare(gpu, &[samples(from, white, 1)], to, white);
        }
        compare(gpu, &[samples(U8, 255.0, 2), samples(U8, 255.0, 3)], U16, 255.0);
        for (from, to, white) in [(U8, U8, 255.0), (U16, F32, 1023.0)] {
            compare(gpu, &[2, 3, 4].map(|seed| samples(from, white, seed)), to, white);
        }
    }

    #[test]
    fn device_memory_in_tiles_and_in_place() {
        let Some(tiled) = first(24) else { return };
        let picture = samples(SampleFormat::U16, 65535.0, 4);
        compare(&tiled, std::slice::from_ref(&picture), SampleFormat::U8, 65535.0);
        let colors = [5, 6, 7].map(|seed| samples(SampleFormat::U8, 255.0, seed));
        compare(&tiled, &colors, SampleFormat::U8, 255.0);

        let (plan, control) = (plan(1, 65535.0, None), Control::new());
        let mut plane = Padded::filled(&picture, 5);
        let at = plane.place();
        let e = sequence(&tiled, &plan).lent(&[at], &[at], &control).unwrap_err();
        assert!(matches!(&e, Error::Unsupported(_)) && e.to_string().contains("one tile"), "{e}");
        let Some(gpu) = shared() else { return };
        let mut want = SampleBuffer::new(SampleFormat::U16, SIZE.0 * SIZE.1);
        let frame = Input { planes: &[picture.view()], guide: &[] };
        sequence(gpu, &plan).frame(&frame, &mut [want.view_mut()], &control).unwrap();
        sequence(gpu, &plan).lent(&[at], &[at], &control).unwrap();
        let want: Vec<f32> = (0..want.view().len()).map(|i| want.view().get(i)).collect();
        assert!(plane.tight() == want, "in place");
    }

    #[test]
    fn device_memory_that_cannot_be_used_is_refused() {
        let Some(gpu) = shared() else { return };
        let mut plane = Padded::new(SampleFormat::U16, 3);
        let good = plane.place();
        let run = |from: DeviceSamples, color, to: &[DeviceSamples]| {
            let run = |mut s: Box<dyn Sequence>| s.lent(&[from], to, &Control::new());
            gpu.open(&plan(1, 65535.0, color)).and_then(run).unwrap_err()
        };
        // SAFETY: refused before anything is read.
        let at = |address, pitch| unsafe { DeviceSamples::new(address, pitch, SampleFormat::U16) };
        let bad = [
            at(good.address(), 2 * SIZE.0 - 2),
            at(good.address(), 2 * SIZE.0 + 1),
            at(good.address() + 1, 2 * SIZE.0),
            at(0, 2 * SIZE.0),
            at(good.address(), 1 << 40),
            at(good.address(), usize::MAX - 1),
        ];
        for bad in bad {
            for e in [run(bad, None, &[good]), run(good, None, &[bad])] {
                assert!(matches!(e, Error::Shape(_)), "{bad:?}: {e}");
            }
        }
        assert!(matches!(run(good, None, &[]), Error::Shape(_)));
        let e = run(good, Some(ColorMode::Opp), &[good]);
        assert!(matches!(&e, Error::Shape(_)) && e.to_string().contains("3 channels"), "{e}");
        let e = run(good, Some(ColorMode::Luma), &[good]);
        assert!(matches!(&e, Error::Unsupported(_)) && e.to_string().contains("luma"), "{e}");
        plane.tight();
    }
}
