//! Processor time of NL-means for a synthetic picture (all threads; Linux): `nlm_speed [name=value ...]` with the names of the
//! parameters, and `width`, `height`, `planes`, `sample` (u8, u16, f32), `frames`, `threads`, `level`, `sigma`, `repeat`.

use std::time::Instant;

use quell::device::{self, DeviceOptions, Input, SampleBuffer, SampleFormat, SamplesMut};
use quell::nlm::{PARAMETERS, Plan, Profile};
use quell::{Control, Device, Error};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut width, mut height, mut planes, mut frames, mut repeat) = (512, 512, 1, 1, 10);
    let (mut sample, mut sigma) = (SampleFormat::U8, 25.0f32);
    let mut options = DeviceOptions { threads: 1, ..DeviceOptions::default() };
    let mut params = Profile::Fast.params(25.0, 1);
    (params.patch, params.search) = (7, 21);
    for argument in std::env::args().skip(1) {
        let (name, value) = argument.split_once('=').ok_or("name=value is wanted")?;
        match name {
            "width" => width = value.parse()?,
            "height" => height = value.parse()?,
            "planes" => planes = value.parse()?,
            "frames" => frames = value.parse()?,
            "repeat" => repeat = value.parse()?,
            "sigma" => sigma = value.parse()?,
            "threads" => options.threads = value.parse()?,
            "level" => options.level = Some(value.parse()?),
            "sample" => {
                let known = SampleFormat::ALL.into_iter().find(|f| f.name() == value);
                sample = known.ok_or("sample is u8, u16 or f32")?;
            }
            _ => {
                let known = PARAMETERS.iter().find(|p| p.name == name).ok_or("no such parameter")?;
                known.set(&mut params, value)?;
            }
        }
    }
    let white = sample.white();
    let plan = Plan::new(&params, (width, height), planes, 0, white, sigma * white / 255.0)?;
    let cpu = device::open(Device::Cpu, options)?;
    let clip: Vec<Vec<SampleBuffer>> = (0..frames)
        .map(|t| (0..planes).map(|c| plane(width, height, sigma, sample, t * 7 + c)).collect())
        .collect();
    let (mut wall, mut busy) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeat {
        let (start, before) = (Instant::now(), busy_ms());
        run(&*cpu, &plan, &clip)?;
        wall = wall.min(start.elapsed().as_secs_f64() * 1e3);
        busy = busy.min(busy_ms() - before);
    }
    println!("CPU {:.2} ms, wall {:.2} ms a frame", busy / frames as f64, wall / frames as f64);
    Ok(())
}

/// Milliseconds that the threads of this process have been running.
fn busy_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|t| std::fs::read_to_string(t.path().join("schedstat")).ok());
    times.filter_map(|t| t.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e6
}

fn run(cpu: &dyn device::Backend, plan: &Plan, clip: &[Vec<SampleBuffer>]) -> Result<(), Error> {
    let control = Control::new();
    let mut sequence = cpu.open(&plan.clone().into())?;
    let format = clip[0][0].view().format();
    let mut out: Vec<SampleBuffer> =
        clip[0].iter().map(|p| SampleBuffer::new(format, p.view().len())).collect();
    for t in 0..clip.len() + plan.future {
        if let Some(frame) = clip.get(t) {
            let planes: Vec<_> = frame.iter().map(SampleBuffer::view).collect();
            sequence.push(&Input { planes: &planes, guide: &[] }, &control)?;
        }
        if t >= plan.future {
            let mut to: Vec<SamplesMut<'_>> = out.iter_mut().map(SampleBuffer::view_mut).collect();
            sequence.pull(&mut to, &control)?;
        }
    }
    Ok(())
}

/// Waves and noise.
fn plane(width: usize, height: usize, sigma: f32, format: SampleFormat, seed: usize) -> SampleBuffer {
    let mut state = seed as u32 ^ 0x9e37_79b9;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let pixel = |i: usize| {
        let (x, y) = ((i % width) as f32, (i / width) as f32);
        // The sum of four has a deviation of 0.577.
        let noise = (random() + random() + random() + random()) * 1.73 * sigma;
        128.0 + 60.0 * (x * 0.05).sin() + 50.0 * (y * 0.03 + x * 0.01).cos() + noise
    };
    let values: Vec<f32> = (0..width * height).map(pixel).collect();
    let mut samples = SampleBuffer::new(format, values.len());
    samples.view_mut().store(&values, format.white() / 255.0, format.white());
    samples
}
