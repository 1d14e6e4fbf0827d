//! The group of similar patches that BM3D finds at a pixel: the picture of every paper, of one's own.

use std::ops::Range;
use std::sync::Arc;

use quell::bm3d::{Match, Plan as Bm3d};
use quell::device::{self, Device, picture};
use quell::method::Work;
use quell::{Control, Plan, Plane, PlaneView, Resolved};
use serde_json::{Value, json};

use crate::Problem;
use crate::page;
use crate::plans::{How, Planned};
use crate::source::Source;
use crate::tile::Area;

/// What the patches of a pass are like around a pixel.
pub(crate) fn groups(
    planned: &Planned,
    source: &Source,
    frame: usize,
    (x, y): (usize, usize),
    pass: usize,
) -> Result<Value, Problem> {
    let How::Parts(resolved) = &planned.how else {
        return Err(Problem::sense("groups are shown for pictures with noise"));
    };
    let Work::Bm3d(bm3d) = resolved.plan.work() else {
        return Err(Problem::sense("only method bm3d has groups that can be shown"));
    };
    if pass == 0 || pass > bm3d.passes.len() {
        return Err(Problem::sense(format!("there is no pass {pass}: there are {}", bm3d.passes.len())));
    }
    let shape = source.shape(frame)?;
    if x >= shape.width || y >= shape.height {
        return Err(Problem::sense("the pixel is not in the picture"));
    }
    let of = &bm3d.passes[pass - 1];
    let nearest = |at: usize, side: usize| {
        let ideal = at.saturating_sub(of.patch / 2);
        let last = side - of.patch;
        let down = (ideal / of.step * of.step).min(last);
        let up = (down + of.step).min(last);
        if up.abs_diff(ideal) < down.abs_diff(ideal) { up } else { down }
    };
    let (rx, ry) = (nearest(x, shape.width), nearest(y, shape.height));
    // As much around as both passes depend on, from where references lie as in the whole picture.
    let grid = bm3d.passes.iter().map(|p| p.step).fold(1, lcm);
    let margin = of.radius + bm3d.passes.iter().map(|p| p.halo()).sum::<usize>();
    let span = |at: usize, side: usize| -> Range<usize> {
        at.saturating_sub(margin) / grid * grid..(at + of.patch + margin).min(side)
    };
    let area = Area::new(span(rx, shape.width), span(ry, shape.height));
    let noisy = channel(resolved, source, frame, area)?;
    let alone = |passes: usize| {
        let mut plan = Bm3d { width: area.width, height: area.height, ..bm3d.clone() };
        plan.passes.truncate(passes);
        plan.passes.iter_mut().for_each(|p| p.sigma.truncate(1));
        plan
    };
    let cpu: Arc<dyn device::Backend> = device::open(Device::Cpu, Default::default())?.into();
    let run = |passes: usize| -> Result<Plane, Problem> {
        let plan = Plan::from(alone(passes));
        Ok(picture(&*cpu, &plan, &[noisy.view()], &[], &Control::new())?.remove(0))
    };
    let guide = if pass == 2 { run(1)? } else { noisy.clone() };
    let after = run(pass)?;
    let probe = cpu.probe().ok_or_else(|| Problem::sense("the processor does not tell its groups"))?;
    let all = probe.groups(&alone(pass), pass - 1, &guide.view())?;
    let (columns, rows) =
        (references(area.width, of.patch, of.step), references(area.height, of.patch, of.step));
    let at = |list: &[usize], v: usize| list.iter().position(|r| *r == v);
    let index = at(&rows, ry - area.y).zip(at(&columns, rx - area.x)).map(|(r, c)| r * columns.len() + c);
    let group = index.and_then(|i| all.get(i)).filter(|_| all.len() == rows.len() * columns.len());
    let group = group.ok_or_else(|| Problem::sense("there is no reference patch at this pixel"))?;
    // Mean squared difference on the 0..255 scale, as tau is.
    let unit = of.matching.scale * of.matching.scale / (of.patch * of.patch) as f32;
    let place =
        |m: &Match| (rx.saturating_add_signed(m.dx as isize), ry.saturating_add_signed(m.dy as isize));
    let matches: Vec<Value> = group
        .iter()
        .map(|m| json!({"x": place(m).0, "y": place(m).1, "distance": m.ssd as f32 * unit}))
        .collect();
    let stack = |from: &PlaneView<'_>| -> Vec<Vec<f32>> {
        group.iter().map(|m| patch(from, (place(m).0 - area.x, place(m).1 - area.y), of.patch)).collect()
    };
    Ok(json!({
        "patch": of.patch,
        "search": 2 * of.radius + 1,
        "reference": [rx, ry],
        "matches": matches,
        "before": stack(&noisy.view()),
        "after": stack(&after.view()),
    }))
}

/// What BM3D groups on: channel 0, on the 0..255 scale.
fn channel(resolved: &Resolved, source: &Source, frame: usize, area: Area) -> Result<Plane, Problem> {
    let front = resolved.plan.front();
    let mut planes = source.planes(frame, area)?;
    for v in planes.iter_mut().flatten() {
        *v *= 255.0 / front.white;
        if let Some(curve) = &front.curve {
            *v = curve.forward(*v);
        }
    }
    let frame = page::frame(planes, area, 255.0)?;
    let views: Vec<PlaneView<'_>> = frame.planes().iter().map(Plane::view).collect();
    Ok(match front.color {
        Some(mode) if views.len() == 3 => mode.forward(&views).remove(0),
        _ => frame.planes()[0].clone(),
    })
}

/// Where reference patches begin along a side.
fn references(side: usize, patch: usize, step: usize) -> Vec<usize> {
    let last = side - patch;
    let mut all: Vec<usize> = (0..=last).step_by(step).collect();
    if !last.is_multiple_of(step) {
        all.push(last);
    }
    all
}

fn patch(from: &PlaneView<'_>, (x, y): (usize, usize), side: usize) -> Vec<f32> {
    (y..y + side).flat_map(|row| from.row(row)[x..x + side].iter().copied()).collect()
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
