//! Where the isolines of a pixel go, and how far they are followed.

use quell::device::picture;
use quell::isoline::{Map, Plan as Isoline};
use quell::method::{Front, Work};
use quell::{Control, Plan, Plane};
use serde_json::{Value, json};

use crate::Problem;
use crate::page;
use crate::plans::{How, Planned};
use crate::source::Source;
use crate::tile::Area;

/// The line through a pixel, and what every direction counts.
pub(crate) fn isolines(
    planned: &Planned,
    source: &Source,
    frame: usize,
    (x, y): (usize, usize),
) -> Result<Value, Problem> {
    let How::Parts(resolved) = &planned.how else {
        return Err(Problem::sense("isolines are shown for pictures with noise"));
    };
    let Work::Isoline(isoline) = resolved.plan.work() else {
        return Err(Problem::sense("only method isoline has isolines").hint("choose it in the settings"));
    };
    let shape = source.shape(frame)?;
    if x >= shape.width || y >= shape.height {
        return Err(Problem::sense("the pixel is not in the picture"));
    }
    let part = resolved.plan.region(x..x + 1, y..y + 1);
    let area = Area::new(part.read_columns(), part.read());
    let noisy = page::frame(source.planes(frame, area)?, area, shape.white)?;
    let plan = Isoline { width: area.width, height: area.height, ..(**isoline).clone() };
    let front = resolved.plan.front();
    let mut bare = Front::channels(front.white);
    bare.color = front.color;
    bare.curve = front.curve.clone();
    let map = Plan::new(Work::Map(Box::new(plan.clone()), Map::Directions), bare);
    let views: Vec<_> = noisy.planes().iter().map(Plane::view).collect();
    let backend = planned.setup.denoiser.backend();
    let directions = picture(&**backend, &map, &views, &[], &Control::new())?.remove(0);
    let (cx, cy) = (x - area.x, y - area.y);
    let half = plan.patterns.directions() / 2;
    let best = directions.row(cy)[cx].round() as usize % plan.patterns.directions();
    let luma = match front.color {
        Some(mode) if views.len() == 3 => mode.forward(&views).remove(0),
        _ => noisy.planes()[0].clone(),
    };
    let weights: Vec<f32> = (0..2 * half).map(|d| follow(&plan, &luma, (cx, cy), d).0).collect();
    let mut points = vec![[x, y]];
    for d in [best, (best + half) % (2 * half)] {
        let line = follow(&plan, &luma, (cx, cy), d).1;
        points.extend(line.into_iter().map(|(px, py)| [px + area.x, py + area.y]));
    }
    Ok(json!({"directions": 2 * half, "best": best, "points": points, "weights": weights}))
}

/// Segments one after the other in a direction, as long as their level is that of the pixel: their mean weight, and the
/// pixels of those that count.
fn follow(plan: &Isoline, luma: &Plane, (x, y): (usize, usize), d: usize) -> (f32, Vec<(usize, usize)>) {
    let clamp = |px: isize, py: isize| {
        (px.clamp(0, plan.width as isize - 1) as usize, py.clamp(0, plan.height as isize - 1) as usize)
    };
    let at = |px: isize, py: isize| {
        let (px, py) = clamp(px, py);
        luma.row(py)[px]
    };
    let taps = &plan.pool.blur.taps;
    let level: f32 = (-2..=2isize)
        .flat_map(|dy| (-2..=2isize).map(move |dx| (dx, dy)))
        .map(|(dx, dy)| {
            taps[(dx + 2) as usize] * taps[(dy + 2) as usize] * at(x as isize + dx, y as isize + dy)
        })
        .sum();
    let (mut px, mut py) = (x as isize, y as isize);
    let (mut lambda, mut total, mut pixels) = (0.0, 0.0, Vec::new());
    for _ in 0..plan.segments.max(1) {
        let segment: Vec<(isize, isize)> =
            plan.patterns.segment(d).iter().map(|o| (px + o.dx as isize, py + o.dy as isize)).collect();
        let mean = segment.iter().map(|(x, y)| at(*x, *y)).sum::<f32>() / segment.len().max(1) as f32;
        lambda += plan.pool.slope * (mean - level).powi(2);
        let weight = (1.0 - lambda).max(0.0);
        if weight <= 0.0 {
            break;
        }
        total += weight;
        pixels.extend(segment.iter().map(|(x, y)| clamp(*x, *y)));
        let end = plan.patterns.end(d);
        (px, py) = (px + end.dx as isize, py + end.dy as isize);
    }
    (total / plan.segments.max(1) as f32, pixels)
}
