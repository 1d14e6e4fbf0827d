//! PSNR and time of the isoline filters with frames around the present one, on the luma of 4:2:0 y4m files of 8 bits:
//! `isoline_video [name=value ...] FILE...` with the names of the parameters, and `profile`, `sigma` (several, with commas),
//! `windows` (past+future, several), `frames`, `threads`.

use std::time::Instant;

use quell::device::{self, Backend, DeviceOptions, Input, Samples, SamplesMut};
use quell::isoline::{PARAMETERS, Params, Plan, Profile};
use quell::noise::add_gaussian;
use quell::{Control, Device, Frame, Plane, metrics};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut profile, mut sigmas, mut most) = (Profile::Normal, vec![10.0f32, 25.0, 50.0], usize::MAX);
    let mut windows = vec![(0, 0), (1, 0), (2, 0), (1, 1), (2, 2)];
    let mut options = DeviceOptions::default();
    let (mut sets, mut files) = (Vec::new(), Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None => files.push(argument),
            Some(("profile", v)) => profile = v.parse()?,
            Some(("sigma", v)) => sigmas = v.split(',').map(str::parse).collect::<Result<_, _>>()?,
            Some(("frames", v)) => most = v.parse()?,
            Some(("threads", v)) => options.threads = v.parse()?,
            Some(("windows", v)) => {
                let window = |w: &str| {
                    let (past, future) = w.split_once('+').ok_or("windows are past+future")?;
                    Ok((past.parse()?, future.parse()?))
                };
                windows = v.split(',').map(window).collect::<Result<_, Box<dyn std::error::Error>>>()?;
            }
            Some((name, v)) => sets.push((name.to_owned(), v.to_owned())),
        }
    }
    let cpu = device::open(Device::Cpu, options)?;
    for file in &files {
        let mut clean = luma(&std::fs::read(file)?).ok_or("not a y4m file of 8 bits, 4:2:0")?;
        clean.truncate(most);
        for &sigma in &sigmas {
            let noisy = clean.iter().zip(1..).map(|(plane, seed)| {
                let frame = Frame::grey(plane.clone(), 255.0)?;
                Ok(add_gaussian(&frame, sigma.into(), seed)?.planes()[0].clone())
            });
            let noisy = noisy.collect::<quell::Result<Vec<Plane>>>()?;
            for &(past, future) in &windows {
                let mut params = Params { past, future, ..profile.params(sigma, 1) };
                for (name, value) in &sets {
                    let known = PARAMETERS.iter().find(|p| p.name == name).ok_or("no such parameter")?;
                    known.set(&mut params, value)?;
                }
                let size = (clean[0].width(), clean[0].height());
                let plan = Plan::new(&params, size, 255.0, &[sigma])?;
                let start = Instant::now();
                let got = run(&*cpu, &plan, &noisy)?;
                let ms = start.elapsed().as_secs_f64() * 1e3 / noisy.len() as f64;
                let psnr = |(a, b): (&Plane, &Plane)| -> quell::Result<f64> {
                    let [a, b] = [a, b].map(|p| Frame::grey(p.clone(), 255.0));
                    Ok(metrics::psnr(&a?, &b?)?.all)
                };
                let all = clean.iter().zip(&got).map(psnr).collect::<quell::Result<Vec<f64>>>()?;
                let mean = all.iter().sum::<f64>() / all.len() as f64;
                println!("{file} sigma {sigma} frames {past}+{future}: {mean:.2} dB, {ms:.1} ms a frame");
            }
        }
    }
    Ok(())
}

/// Every frame through the device.
fn run(device: &dyn Backend, plan: &Plan, frames: &[Plane]) -> quell::Result<Vec<Plane>> {
    let control = Control::new();
    let mut sequence = device.open(&plan.clone().into())?;
    let mut out = Vec::new();
    for t in 0..frames.len() + plan.future {
        if let Some(frame) = frames.get(t) {
            let planes = [Samples::F32(frame.as_slice())];
            sequence.push(&Input { planes: &planes, guide: &[] }, &control)?;
        }
        if t >= plan.future {
            let mut plane = Plane::zeros(plan.width, plan.height);
            sequence.pull(&mut [SamplesMut::F32(plane.as_mut_slice())], &control)?;
            out.push(plane);
        }
    }
    Ok(out)
}

/// The luma of every frame.
fn luma(file: &[u8]) -> Option<Vec<Plane>> {
    let line = |from: usize| Some(from + file.get(from..)?.iter().position(|&c| c == b'\n')? + 1);
    let mut at = line(0)?;
    let header = std::str::from_utf8(&file[..at - 1]).ok()?;
    let number = |c: char| header.split(' ').skip(1).find_map(|f| f.strip_prefix(c)?.parse::<usize>().ok());
    let (width, height) = (number('W')?, number('H')?);
    let mut frames = Vec::new();
    while at < file.len() {
        at = line(at)?;
        let samples = file.get(at..at + width * height)?.iter().map(|&v| f32::from(v)).collect();
        frames.push(Plane::from_vec(width, height, samples).ok()?);
        at += width * height + 2 * width.div_ceil(2) * height.div_ceil(2);
    }
    Some(frames)
}
