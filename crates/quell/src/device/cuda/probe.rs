//! A test of the runtime on the devices of this machine. Continuous integration has none, so a person starts it.

use std::time::Instant;

use super::handles::Buffer;
use super::{CudaRuntime, compile_only, devices, open, usage};
use crate::bm3d::Profile;
use crate::device::gpu::{Arg, GpuError, GpuResult, Program, Runtime, Shape};
use crate::device::{DeviceOptions, DeviceSamples, SampleFormat, Samples, SamplesMut, Which};
use crate::{Control, Denoiser, Device, Error, Result};

const SOURCE: &str = r#"
extern "C" __global__ void add(float* to, const float* a, const float* b, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += scale * (a[i] + b[i]) + OFFSET;
}
// Turns WORDS numbers round through shared memory: more of it than a kernel may have unasked.
extern "C" __global__ void turn(int* data) {
    extern __shared__ int tile[];
    int* mine = data + blockIdx.x * WORDS;
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) tile[i] = mine[i];
    __syncthreads();
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) mine[i] = tile[WORDS - 1 - i];
}
extern "C" __global__ void place(int* data) {
    if (threadIdx.x == 0) data[blockIdx.y * gridDim.x + blockIdx.x] = 1000 * blockIdx.y + blockIdx.x;
}
extern "C" __global__ void out_of_bounds(int* data) { data[(1ll << 40) + threadIdx.x] = 1; }
"#;
/// 64 KB.
const WORDS: usize = 16 * 1024;
const N: usize = 1 << 22;

/// Lists the CUDA devices and exercises the runtime on each usable one: compiling, the cache, copies, launches on two
/// queues and two threads, times, errors, and a picture in device memory. Returns a report, or the first thing that went wrong. `lose` ends with a
/// kernel that writes out of bounds, after which CUDA cannot be used in this process.
#[doc(hidden)]
pub fn self_test(lose: bool) -> Result<String> {
    let fail = |device: &str, reason: String| Error::Device { device: device.into(), reason };
    let mut report = Vec::new();
    let found = devices().map_err(|p| fail("cuda", p.to_string()))?;
    for d in &found {
        let gib = d.memory_bytes as f64 / f64::from(1 << 30);
        let (major, minor) = d.capability;
        let compiler = d.compiler.as_deref().unwrap_or("no compiler");
        let state = d.problem.as_ref().map_or("usable".into(), ToString::to_string);
        report.push(format!(
            "cuda:{} {}: {gib:.1} GiB, {} multiprocessors, sm_{major}{minor}, driver {}, {compiler}; {state}",
            d.index, d.name, d.units, d.driver
        ));
    }
    for d in found.iter().filter(|d| d.problem.is_none()) {
        let device = format!("cuda:{}", d.index);
        device_memory(d.index, &mut report)?;
        let done = exercise(d.index, lose, &mut report);
        done.map_err(|e| fail(&device, format!("{e}\n{}", report.join("\n"))))?;
    }
    if let Some(e) = open(found.len()).err() {
        report.push(format!("one device more: {e}"));
        return Ok(report.join("\n"));
    }
    Err(fail("cuda", "a device that is not there was opened".into()))
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// An error unless `is` holds.
fn expect(what: &str, is: bool) -> GpuResult<()> {
    if is { Ok(()) } else { Err(GpuError::Driver { call: "self test", reason: what.into() }) }
}

fn exercise(index: usize, lose: bool, report: &mut Vec<String>) -> GpuResult<()> {
    let start = Instant::now();
    let runtime = open(index)?;
    report.push(format!("{} opened in {:.1} ms: {:?}", runtime.name(), ms(start), runtime.limits()));
    let mut program = Program {
        name: "probe",
        sources: vec![SOURCE],
        defines: vec![("OFFSET", "0.5f".into())],
        kernels: vec!["add", "turn", "place", "out_of_bounds"],
    };
    program.define("WORDS", WORDS);
    for _ in 0..2 {
        let start = Instant::now();
        let module = runtime.build(&program)?;
        report.push(format!("program built, or taken from the cache, in {:.1} ms", ms(start)));
        drop(module);
    }
    let (_, log) = compile_only(&program, "sm_90")?;
    report.extend(usage(&log).iter().map(ToString::to_string));
    let module = runtime.build(&program)?;
    two_threads(&runtime, &module, report)?;
    shared_memory(&runtime, &module, report)?;
    refused(&runtime, &module, &program, report)?;
    if lose {
        lost(&runtime, &module, report)?;
    }
    Ok(())
}

/// A picture in memory that was allocated beside the denoiser, against the same picture by way of host memory: whole,
/// in tiles, and in place.
fn device_memory(index: usize, report: &mut Vec<String>) -> Result<()> {
    const WIDTH: usize = 320;
    const HEIGHT: usize = 240;
    const PITCH: usize = 384;
    const GAP: u8 = 99;
    let device = format!("cuda:{index}");
    let gpu = |e: GpuError| Error::Device { device: device.clone(), reason: e.to_string() };
    let runtime = open(index).map_err(gpu)?;
    let queue = runtime.queue().map_err(gpu)?;
    let bytes = PITCH * HEIGHT;
    let [a, b] = [runtime.alloc(bytes).map_err(gpu)?, runtime.alloc(bytes).map_err(gpu)?];
    let mut host = runtime.staging(bytes).map_err(gpu)?;
    let level = |i: usize| {
        let (x, y) = (i % WIDTH, i / WIDTH);
        let edge = if x + y / 2 > WIDTH / 2 { 70 } else { 0 };
        (60 + edge + (i * 7919 % 997) * 60 / 997) as u8
    };
    let noisy: Vec<u8> = (0..WIDTH * HEIGHT).map(level).collect();
    // SAFETY: allocated above with this pitch, in the primary context, and kept to the end; every copy is waited for.
    let at = |buffer: &Buffer| unsafe { DeviceSamples::new(buffer.pointer, PITCH, SampleFormat::U8) };
    for (what, tile, from, to) in [("whole", 0, &a, &b), ("in tiles", 100, &a, &b), ("in place", 0, &a, &a)] {
        let denoiser = Denoiser::bm3d(Profile::Fast).sigma(17.0).device(Device::Cuda(Which::One(index)));
        let denoiser = denoiser.options(DeviceOptions { tile, ..Default::default() }).build()?;
        let (mut want, control) = (vec![0; noisy.len()], Control::new());
        let planes = (&[Samples::U8(&noisy)], &mut [SamplesMut::U8(&mut want)]);
        denoiser.denoise_samples(WIDTH, HEIGHT, 255.0, planes.0, planes.1, &control)?;

        host.fill(GAP);
        runtime.write(&queue, to, &host, bytes).map_err(gpu)?;
        runtime.finish(&queue).map_err(gpu)?;
        host.chunks_exact_mut(PITCH)
            .zip(noisy.chunks_exact(WIDTH))
            .for_each(|(to, from)| to[..WIDTH].copy_from_slice(from));
        runtime.write(&queue, from, &host, bytes).map_err(gpu)?;
        runtime.finish(&queue).map_err(gpu)?;
        denoiser.denoise_device(WIDTH, HEIGHT, 255.0, &[at(from)], &[at(to)], &control)?;
        runtime.read(&queue, &mut host, to, bytes).map_err(gpu)?;
        runtime.finish(&queue).map_err(gpu)?;

        let rows = || host.chunks_exact(PITCH);
        let got = rows().flat_map(|row| &row[..WIDTH]);
        let worst = got.zip(&want).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(u8::MAX);
        report.push(format!("a picture in device memory, {what}: off by {worst} at most"));
        // Sums are added up in another order each time, and rounded.
        expect("a picture in device memory is wrong", worst <= 1 && want != noisy).map_err(gpu)?;
        let gaps = rows().all(|row| row[WIDTH..].iter().all(|&v| v == GAP));
        expect("something was written between the rows", gaps).map_err(gpu)?;
    }
    Ok(())
}

type Module = <CudaRuntime as Runtime>::Module;

/// Each of two threads has a queue of its own, and both run at once.
fn two_threads(runtime: &CudaRuntime, module: &Module, report: &mut Vec<String>) -> GpuResult<()> {
    let lines = std::thread::scope(|scope| {
        let threads = [1_u8, 2].map(|seed| scope.spawn(move || add(runtime, module, f32::from(seed))));
        threads.map(|t| t.join().unwrap_or_else(|_| Err(GpuError::Lost("a thread panicked".into()))))
    });
    for line in lines {
        report.push(line?);
    }
    Ok(())
}

fn add(runtime: &CudaRuntime, module: &Module, seed: f32) -> GpuResult<String> {
    let kernel = runtime.kernel(module, "add", 0)?;
    let queue = runtime.queue()?;
    let bytes = 4 * N;
    let (to, a, b) = (runtime.alloc(bytes)?, runtime.alloc(bytes)?, runtime.alloc(bytes)?);
    let (mut host_a, mut host_b) = (runtime.staging(bytes)?, runtime.staging(bytes)?);
    let mut result = runtime.staging(bytes)?;
    let value = |i: usize| (i % 1021) as f32 * seed;
    for (i, (x, y)) in host_a.chunks_exact_mut(4).zip(host_b.chunks_exact_mut(4)).enumerate() {
        x.copy_from_slice(&value(i).to_ne_bytes());
        y.copy_from_slice(&(value(i) + 1.0).to_ne_bytes());
    }
    let shape = Shape { grid: [N.div_ceil(256), 1], items: 256, local: 0 };
    let args = [Arg::Buffer(&to), Arg::Buffer(&a), Arg::Buffer(&b), Arg::F32(2.0), Arg::I32(N as i32)];
    let mut times = [0.0; 3];
    for _ in 0..3 {
        let start = runtime.mark(&queue)?;
        runtime.write(&queue, &a, &host_a, bytes)?;
        runtime.write(&queue, &b, &host_b, bytes)?;
        let written = runtime.mark(&queue)?;
        runtime.zero(&queue, &to, bytes)?;
        runtime.launch(&queue, &kernel, shape, &args)?;
        let added = runtime.mark(&queue)?;
        runtime.read(&queue, &mut result, &to, bytes)?;
        let read = runtime.mark(&queue)?;
        runtime.finish(&queue)?;
        times = [
            runtime.elapsed(&start, &written)?,
            runtime.elapsed(&written, &added)?,
            runtime.elapsed(&added, &read)?,
        ];
    }
    let right = |(i, r): (usize, &[u8])| *r == (2.0 * (2.0 * value(i) + 1.0) + 0.5).to_ne_bytes();
    expect("sums are wrong", result.chunks_exact(4).enumerate().all(right))?;
    let rate = |bytes: usize, ms: f32| bytes as f64 / 1e6 / f64::from(ms);
    Ok(format!(
        "sum of {N} numbers right; write {:.1}, zero and add {:.0}, read {:.1} GB/s, two queues at once",
        rate(2 * bytes, times[0]),
        rate(5 * bytes, times[1]),
        rate(bytes, times[2])
    ))
}

/// More dynamic shared memory than the 48 KB that need no asking, and a grid of two dimensions.
fn shared_memory(runtime: &CudaRuntime, module: &Module, report: &mut Vec<String>) -> GpuResult<()> {
    let groups = 3;
    let queue = runtime.queue()?;
    let data = runtime.alloc(4 * WORDS * groups)?;
    let mut host = runtime.staging(4 * WORDS * groups)?;
    if runtime.limits().local_bytes >= 4 * WORDS {
        let turn = runtime.kernel(module, "turn", 4 * WORDS)?;
        // Asking again for less must not take away from the first.
        let _small = runtime.kernel(module, "turn", 64)?;
        for (i, x) in host.chunks_exact_mut(4).enumerate() {
            x.copy_from_slice(&(i as i32).to_ne_bytes());
        }
        runtime.write(&queue, &data, &host, host.len())?;
        let shape = Shape { grid: [groups, 1], items: 256, local: 4 * WORDS };
        runtime.launch(&queue, &turn, shape, &[Arg::Buffer(&data)])?;
        let bytes = host.len();
        runtime.read(&queue, &mut host, &data, bytes)?;
        runtime.finish(&queue)?;
        let right = |(i, x): (usize, &[u8])| {
            let (group, place) = (i / WORDS, i % WORDS);
            *x == ((group * WORDS + WORDS - 1 - place) as i32).to_ne_bytes()
        };
        expect("64 KB of shared memory: wrong order", host.chunks_exact(4).enumerate().all(right))?;
        report.push("64 KB of dynamic shared memory: right".into());
    } else {
        report.push("64 KB of dynamic shared memory: skipped, this device has less".into());
    }
    let place = runtime.kernel(module, "place", 0)?;
    runtime.launch(&queue, &place, Shape { grid: [7, 5], items: 32, local: 0 }, &[Arg::Buffer(&data)])?;
    runtime.launch(&queue, &place, Shape { grid: [7, 0], items: 32, local: 0 }, &[Arg::Buffer(&data)])?;
    runtime.read(&queue, &mut host, &data, 4 * 35)?;
    runtime.finish(&queue)?;
    let right = |(i, x): (usize, &[u8])| *x == ((1000 * (i / 7) + i % 7) as i32).to_ne_bytes();
    expect("grid of 7 x 5: wrong", host[..4 * 35].chunks_exact(4).enumerate().all(right))
}

/// Everything that must be an error and leave the device usable.
fn refused(
    runtime: &CudaRuntime,
    module: &Module,
    program: &Program,
    report: &mut Vec<String>,
) -> GpuResult<()> {
    let mut note = |what: &str, error: GpuError| report.push(format!("{what}: {error}"));
    match runtime.alloc(usize::try_from(4 * runtime.limits().memory_bytes).unwrap_or(usize::MAX)) {
        Err(e @ GpuError::OutOfMemory { .. }) => note("four times its memory", e),
        _ => expect("four times its memory is not OutOfMemory", false)?,
    }
    match runtime.build(&Program { sources: vec!["nonsense"], ..program.clone() }) {
        Err(e @ GpuError::Compile { .. }) => note("wrong source", e),
        _ => expect("wrong source is not a Compile error", false)?,
    }
    match runtime.kernel(module, "missing", 0) {
        Err(e @ GpuError::Driver { .. }) => note("missing kernel", e),
        _ => expect("a missing kernel is found", false)?,
    }
    match runtime.kernel(module, "turn", runtime.limits().local_bytes + 1) {
        Err(e @ GpuError::Driver { .. }) => note("too much shared memory", e),
        _ => expect("too much shared memory is granted", false)?,
    }
    let (queue, buffer) = (runtime.queue()?, runtime.alloc(16)?);
    let place = runtime.kernel(module, "place", 0)?;
    let shape = Shape { grid: [1, 1], items: 32, local: 0 };
    match runtime.launch(&queue, &place, shape, &[Arg::Buffer(&buffer), Arg::I32(1)]) {
        Err(e @ GpuError::Driver { .. }) => note("an argument too many", e),
        _ => expect("an argument too many is accepted", false)?,
    }
    match runtime.launch(&queue, &place, Shape { items: 4096, ..shape }, &[Arg::Buffer(&buffer)]) {
        Err(e @ GpuError::Driver { .. }) => note("a work-group too large", e),
        _ => expect("a work-group of 4096 is accepted", false)?,
    }
    match runtime.zero(&queue, &buffer, 20) {
        Err(e @ GpuError::Driver { .. }) => note("zero beyond the end", e),
        _ => expect("zeroing beyond the end is accepted", false)?,
    }
    // Still alive.
    runtime.zero(&queue, &buffer, 16)?;
    runtime.finish(&queue)
}

/// A kernel that ends the context: said so, and everything can still be dropped.
fn lost(runtime: &CudaRuntime, module: &Module, report: &mut Vec<String>) -> GpuResult<()> {
    let kernel = runtime.kernel(module, "out_of_bounds", 0)?;
    let (queue, buffer, _staging) = (runtime.queue()?, runtime.alloc(128)?, runtime.staging(128)?);
    let _event = runtime.mark(&queue)?;
    runtime.launch(&queue, &kernel, Shape { grid: [1, 1], items: 32, local: 0 }, &[Arg::Buffer(&buffer)])?;
    match runtime.finish(&queue) {
        Err(e @ GpuError::Lost(_)) => report.push(format!("out of bounds: {e}")),
        _ => expect("writing out of bounds does not lose the device", false)?,
    }
    expect("memory from a lost device", matches!(runtime.alloc(16), Err(GpuError::Lost(_))))
}
