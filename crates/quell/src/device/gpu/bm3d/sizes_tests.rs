//! Several sizes on a GPU: the kernels against the host's code, and results against those of the host's way and of the
//! processor. A runtime instantiates these with [`suite!`].

use super::geometry::{Geometry, MARGIN};
use super::program::{self, Format};
use crate::bm3d::{Params, Profile};
use crate::device::cpu::Cpu;
use crate::device::front::{self, Takes};
use crate::device::gpu::sizes::Merge;
use crate::device::gpu::{Arg, Gpu, Runtime, Shape};
use crate::device::{
    Backend, DeviceOptions, Input, SampleBuffer, SampleFormat, Samples, SamplesMut, Sequence,
};
use crate::method::{Front, Plan};
use crate::metrics::largest;
use crate::noise::add_gaussian;
use crate::{ColorMode, Control, Frame, Plane, bm3d};

/// Of two ways on one device: colours are merged or channels, and additions have another order.
const ROUNDING: f32 = 2e-3;
/// Pixels that may be further off: a value of the matching plane that falls to the other side may change a group.
const FLIPPED: usize = 64;
const FAR: f32 = 1.5;
/// Root of the mean square between a device and the processor, in grey levels; with halves.
const RMS: f64 = 0.03;
const HALF_RMS: f64 = 0.3;

const OPP: Option<ColorMode> = Some(ColorMode::Opp);

/// Quick windows and groups.
fn params(sigma: f32) -> Params {
    let mut params = Profile::Normal.params(sigma);
    for pass in [&mut params.hard, &mut params.wiener] {
        (pass.window, pass.group, pass.step) = (13, 8, 4);
    }
    params
}

/// So many sizes of a picture; with a limit, so many times the noise is believed.
fn plan((w, h): (usize, usize), front: &Front, sizes: usize, sigma: f32, limit: Option<f32>) -> Plan {
    let gains: Vec<f32> = match front.color {
        Some(ColorMode::Luma) => vec![ColorMode::Luma.noise_gain()[0] as f32],
        Some(mode) => mode.noise_gain().map(|gain| gain as f32).to_vec(),
        None => vec![1.0],
    };
    let sigmas: Vec<f32> = gains.iter().map(|gain| sigma * gain).collect();
    let work = bm3d::Plan::new(&params(sigma), w, h, &sigmas).unwrap();
    let fine = Plan::new(work, front.clone());
    if sizes == 1 {
        return fine;
    }
    let coarser = plan((w / 2, h / 2), front, sizes - 1, sigma / 2.0, limit);
    match limit {
        None => fine.with_coarser(coarser).unwrap(),
        Some(limit) => {
            let limits: Vec<f32> = sigmas.iter().map(|sigma| limit * sigma).collect();
            fine.with_coarser_within(coarser, &limits).unwrap()
        }
    }
}

fn front(color: Option<ColorMode>, white: f32) -> Front {
    Front { color, ..Front::channels(white) }
}

/// Samples of a picture whose noise is coarse as well.
fn noisy((w, h): (usize, usize), planes: usize, format: SampleFormat) -> Vec<SampleBuffer> {
    let plane = |c: usize| {
        let value = |i: usize| {
            let (x, y) = ((i % w) as f32, (i / w) as f32);
            let edge = if x > 0.6 * y + 9.0 { 70.0 } else { 0.0 };
            let grain = 9.0 * (x * 0.31 + c as f32).sin() * (y * 0.27).cos();
            80.0 + edge + grain
        };
        let clean = Plane::from_vec(w, h, (0..w * h).map(value).collect()).unwrap();
        let noisy = add_gaussian(&Frame::grey(clean, 255.0).unwrap(), 20.0, c as u64).unwrap();
        let mut samples = SampleBuffer::new(format, w * h);
        let white = if format == SampleFormat::F32 { f32::INFINITY } else { format.white() };
        samples.view_mut().store(noisy.planes()[0].as_slice(), format.white() / 255.0, white);
        samples
    };
    (0..planes).map(plane).collect()
}

fn views(planes: &[SampleBuffer]) -> Vec<Samples<'_>> {
    planes.iter().map(SampleBuffer::view).collect()
}

/// The result as floats, all planes one behind the other.
fn result(sequence: &mut dyn Sequence, from: &[Samples<'_>]) -> Vec<f32> {
    let n = from[0].len();
    let mut out = vec![0.0; n * from.len()];
    let mut to: Vec<SamplesMut<'_>> = out.chunks_exact_mut(n).map(SamplesMut::F32).collect();
    sequence.frame(&Input { planes: from, guide: &[] }, &mut to, &Control::new()).unwrap();
    out
}

fn rms(a: &[f32], b: &[f32]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / a.len() as f64).sqrt()
}

/// All within rounding, but for a few pixels whose groups are others. `unit` is a grey level.
fn assert_same(got: &[f32], want: &[f32], unit: f32, what: &str) {
    assert_eq!(got.len(), want.len());
    let off = || got.iter().zip(want).map(|(a, b)| (a - b).abs() / unit);
    let (worst, flipped) = (largest(off()), off().filter(|off| *off > ROUNDING).count());
    assert!(flipped <= FLIPPED && worst < FAR, "{what}: {flipped} pixels are off, by up to {worst}");
}

/// What all ways are tried with: sizes of the picture, colours, type of the samples, number of sizes, limit.
type Case = ((usize, usize), Option<ColorMode>, SampleFormat, usize, Option<f32>);

const CASES: [Case; 7] = [
    ((64, 48), None, SampleFormat::F32, 2, None),
    ((67, 51), None, SampleFormat::U8, 3, None),
    ((65, 50), OPP, SampleFormat::U8, 2, None),
    ((70, 61), OPP, SampleFormat::F32, 3, Some(0.3)),
    ((63, 47), None, SampleFormat::U16, 2, Some(0.5)),
    ((50, 65), Some(ColorMode::Luma), SampleFormat::U8, 2, Some(0.3)),
    ((51, 49), Some(ColorMode::Independent), SampleFormat::U8, 2, Some(0.3)),
];

impl<R: Runtime> Gpu<R> {
    /// As if no device could do several sizes.
    fn apart(&self, plan: &Plan) -> Box<dyn Sequence> {
        self.opened(plan, Takes::Colors).unwrap()
    }
}

fn case_plan(&(size, color, format, sizes, limit): &Case) -> (Plan, Vec<SampleBuffer>) {
    let color_front = front(color, format.white());
    let plan = match color {
        // One channel for all of them.
        Some(ColorMode::Independent) => {
            let grey = plan(size, &front(None, format.white()), sizes, 20.0, limit);
            grey.with_front(color_front)
        }
        _ => plan(size, &color_front, sizes, 20.0, limit),
    };
    (plan, noisy(size, if color.is_some() { 3 } else { 1 }, format))
}

pub(crate) fn sizes_on_the_device_are_those_of_the_host<R: Runtime>(gpu: &Gpu<R>) {
    for case in &CASES {
        let (plan, from) = case_plan(case);
        let unit = case.2.white() / 255.0;
        let got = result(&mut *gpu.open(&plan).unwrap(), &views(&from));
        let want = result(&mut *gpu.apart(&plan), &views(&from));
        assert_same(&got, &want, unit, &format!("{case:?}"));
        let alone = plan.scales().unwrap().0;
        let alone = result(&mut *gpu.open(&alone).unwrap(), &views(&from));
        assert!(rms(&got, &alone) > f64::from(0.2 * unit), "{case:?}: the smaller sizes count");
    }
}

pub(crate) fn sizes_are_those_of_the_processor<R: Runtime>(gpu: &Gpu<R>) {
    let cpu = Cpu::new(DeviceOptions::default()).unwrap();
    for case in &CASES {
        let (plan, from) = case_plan(case);
        let unit = f64::from(case.2.white() / 255.0);
        let got = result(&mut *gpu.open(&plan).unwrap(), &views(&from));
        let want = result(&mut *cpu.open(&plan).unwrap(), &views(&from));
        let off = rms(&got, &want) / unit;
        let limit = if gpu.caps(&plan).full_precision { RMS } else { HALF_RMS };
        assert!(off < limit, "{case:?}: {off} grey levels off");
    }
}

pub(crate) fn results_of_several_sizes_are_rounded<R: Runtime>(gpu: &Gpu<R>) {
    let size = (65, 50);
    for (color, format) in [(None, SampleFormat::U8), (OPP, SampleFormat::U8), (OPP, SampleFormat::U16)] {
        let plan = plan(size, &front(color, format.white()), 2, 20.0, None);
        let from = noisy(size, plan.window().planes, format);
        let floats = result(&mut *gpu.open(&plan).unwrap(), &views(&from));
        let mut out = vec![SampleBuffer::new(format, size.0 * size.1); from.len()];
        let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
        let frame = Input { planes: &views(&from), guide: &[] };
        gpu.open(&plan).unwrap().frame(&frame, &mut to, &Control::new()).unwrap();
        let got: Vec<f32> = out.iter().flat_map(|p| p.view().to_floats(1.0)).collect();
        let off = got.iter().zip(&floats).map(|(a, b)| (a - b.clamp(0.0, format.white())).abs());
        let unit = format.white() / 255.0;
        let far = off.filter(|off| *off > 0.5 + ROUNDING * unit).count();
        assert!(far <= FLIPPED, "{color:?}, {format:?}: {far} samples are not rounded");
    }
}

pub(crate) fn parts_of_several_sizes_are_those_of_the_whole<R: Runtime>(gpu: &Gpu<R>) {
    for (size, color, sizes) in [((33, 423), OPP, 2), ((35, 899), None, 3)] {
        let plan = plan(size, &front(color, 255.0), sizes, 20.0, None);
        let from = noisy(size, plan.window().planes, SampleFormat::U8);
        let whole = result(&mut *gpu.open(&plan).unwrap(), &views(&from));
        let parts = plan.cut(3, plan.halo());
        assert!(parts.len() == 3 && parts[1].read().start > 0 && parts[1].read().end < size.1, "{parts:?}");
        let mut got = vec![f32::NAN; whole.len()];
        for part in &parts {
            let rows = |rows: std::ops::Range<usize>| rows.start * size.0..rows.end * size.0;
            let given: Vec<Samples<'_>> = from.iter().map(|p| p.view().part(rows(part.read()))).collect();
            let out = result(&mut *gpu.open(&plan.of(part)).unwrap(), &given);
            let planes = got.chunks_exact_mut(size.0 * size.1);
            for (to, from) in planes.zip(out.chunks_exact(given[0].len())) {
                to[rows(part.write())].copy_from_slice(&from[rows(part.kept())]);
            }
        }
        assert_same(&got, &whole, 1.0, &format!("{sizes} sizes in parts"));
    }
}

pub(crate) fn frames_of_several_sizes_may_wait<R: Runtime>(gpu: &Gpu<R>) {
    let size = (65, 50);
    let plan = plan(size, &front(OPP, 255.0), 2, 20.0, None);
    let from = noisy(size, 3, SampleFormat::U8);
    let (control, mut sequence) = (Control::new(), gpu.open(&plan).unwrap());
    let want = result(&mut *sequence, &views(&from));
    let frame = Input { planes: &views(&from), guide: &[] };
    // The first time another type is taken for granted.
    for _ in 0..2 {
        sequence.push(&frame, &control).unwrap();
        sequence.push(&frame, &control).unwrap();
        for _ in 0..2 {
            let mut out = vec![0.0; want.len()];
            let mut to: Vec<SamplesMut<'_>> =
                out.chunks_exact_mut(size.0 * size.1).map(SamplesMut::F32).collect();
            sequence.pull(&mut to, &control).unwrap();
            assert_same(&out, &want, 1.0, "pulled");
        }
    }
    assert!(sequence.lent(&[], &[], &control).is_err());
}

pub(crate) fn stages_of_several_sizes_are_timed<R: Runtime>(gpu: &Gpu<R>) {
    let size = (64, 48);
    let from = noisy(size, 1, SampleFormat::U8);
    let frames = [Input { planes: &views(&from), guide: &[] }];
    let names = |sizes| -> Vec<String> {
        let timing = gpu.time(&plan(size, &front(None, 255.0), sizes, 20.0, None), &frames, 2).unwrap();
        timing.stages.into_iter().map(|(name, _)| name).collect()
    };
    let one = names(1);
    assert!(names(3).iter().filter(|n| !one.contains(n)).eq(["down", "merge", "samples"].iter()));
}

/// Numbers in device memory.
fn uploaded<R: Runtime>(runtime: &R, queue: &R::Queue, bytes: &[u8]) -> R::Buffer {
    let (buffer, mut staging) = (runtime.alloc(bytes.len()).unwrap(), runtime.staging(bytes.len()).unwrap());
    staging[..bytes.len()].copy_from_slice(bytes);
    runtime.write(queue, &buffer, &staging, bytes.len()).unwrap();
    runtime.finish(queue).unwrap();
    buffer
}

fn downloaded<R: Runtime>(runtime: &R, queue: &R::Queue, buffer: &R::Buffer, floats: usize) -> Vec<f32> {
    let mut staging = runtime.staging(4 * floats).unwrap();
    runtime.read(queue, &mut staging, buffer, 4 * floats).unwrap();
    runtime.finish(queue).unwrap();
    staging[..4 * floats].as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Numbers in 0..256.
fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 65_536.0
    };
    (0..n).map(|_| next()).collect()
}

const SHAPES: [(usize, usize); 9] =
    [(2, 2), (3, 3), (2, 9), (9, 2), (5, 4), (64, 32), (65, 33), (37, 65), (131, 98)];

pub(crate) fn merging_on_the_device_is_that_of_the_host<R: Runtime>(gpu: &Gpu<R>) {
    let runtime = gpu.runtime();
    let queue = runtime.queue().unwrap();
    let kernels = gpu.library.get(runtime, program::sizes(Format::F32), 0, None).unwrap();
    let any = bm3d::Plan::new(&params(20.0), 64, 64, &[20.0]).unwrap();
    for (w, h) in SHAPES {
        let (fine, coarse) = (noise(w * h, 7), noise((w / 2) * (h / 2), 8));
        let merge = Merge {
            fine: Geometry::new(&any, w, h),
            coarse: Geometry::new(&any, w / 2, h / 2),
            first: (0, 0),
            rows: (h, h / 2),
            offset: 128.0,
        };
        // Whoever reads a margin is found out.
        let padded = |plane: &[f32], g: &Geometry| {
            let mut all = vec![f32::NAN; g.elements()];
            for (y, row) in plane.chunks_exact(g.width).enumerate() {
                all[(y + MARGIN) * g.pitch + MARGIN..][..g.width].copy_from_slice(row);
            }
            all
        };
        for limit in [None, Some(40.0)] {
            let mut want = fine.clone();
            front::merge(&mut want, w, &mut coarse.clone(), limit);
            let less: Vec<f32> = coarse.iter().map(|v| v - merge.offset).collect();
            let planes = (padded(&fine, &merge.fine), padded(&less, &merge.coarse));
            let planes = [bytes(&planes.0), bytes(&planes.1)].map(|plane| uploaded(runtime, &queue, &plane));
            merge.launch(runtime, &queue, &kernels, (&planes[0], &planes[1]), limit).unwrap();
            let all = downloaded(runtime, &queue, &planes[0], merge.fine.elements());
            let row = |y: usize| &all[(y + MARGIN) * merge.fine.pitch + MARGIN..][..w];
            let got = (0..h).flat_map(row);
            let off = largest(got.zip(&want).map(|(a, b)| (a - b).abs()));
            assert!(off < 1e-4, "{w} x {h}, limit {limit:?}: off by {off}");
            assert!(all.iter().filter(|v| !v.is_nan()).count() == w * h, "margins are left alone");
        }
    }
}

pub(crate) fn halving_on_the_device_is_that_of_the_host<R: Runtime>(gpu: &Gpu<R>) {
    let runtime = gpu.runtime();
    let queue = runtime.queue().unwrap();
    for (w, h) in SHAPES {
        let (values, n) = (noise(w * h, 9), (w / 2) * (h / 2));
        for format in SampleFormat::ALL {
            let mut samples = SampleBuffer::new(format, w * h);
            samples.view_mut().store(&values, 1.0, 255.0);
            let stored: Vec<u8> = match &samples {
                SampleBuffer::U8(v) => v.clone(),
                SampleBuffer::U16(v) => v.iter().flat_map(|v| v.to_ne_bytes()).collect(),
                SampleBuffer::F32(v) => bytes(v),
            };
            let mut want = vec![0.0; n];
            front::down(samples.view(), w, &mut want);
            // A sample before the first one, and the last result is another's.
            let stored = [vec![0; format.bytes()], stored].concat();
            let to = uploaded(runtime, &queue, &bytes(&vec![-1.0; n + 1]));
            let from = uploaded(runtime, &queue, &stored);
            let kernels = gpu.library.get(runtime, program::sizes(format.into()), 0, None).unwrap();
            let args = [Arg::Buffer(&from), Arg::Buffer(&to), Arg::I32(1), Arg::I32(0), Arg::I32(w as i32)];
            let shape = Shape { grid: [(w / 2).div_ceil(256), h / 2], items: 256, local: 0 };
            runtime.launch(&queue, kernels.kernel("sizes_down").unwrap(), shape, &args).unwrap();
            want.push(-1.0);
            assert_eq!(downloaded(runtime, &queue, &to, n + 1), want, "{w} x {h}, {format:?}");
        }
    }
}

macro_rules! suite {
    ($gpu:expr) => {
        crate::device::gpu::nlm::tests::suite! {
            $gpu; crate::device::gpu::bm3d::sizes_tests;
            sizes_on_the_device_are_those_of_the_host, sizes_are_those_of_the_processor,
            results_of_several_sizes_are_rounded, parts_of_several_sizes_are_those_of_the_whole,
            frames_of_several_sizes_may_wait, stages_of_several_sizes_are_timed,
            merging_on_the_device_is_that_of_the_host, halving_on_the_device_is_that_of_the_host,
        }
    };
}
pub(crate) use suite;
