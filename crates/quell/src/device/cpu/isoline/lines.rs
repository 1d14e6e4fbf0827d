//! PI-LD, PI-PD and the hybrid filter.
use super::Cpu;
use crate::isoline::{Map, Plan, reference};
use crate::{Control, Plane, PlaneView, Result};
pub(super) fn run(_: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], _: &Control) -> Result<Vec<Plane>> {
    Ok(reference::run(plan, planes))
}
pub(super) fn map(_: &Cpu, plan: &Plan, planes: &[PlaneView<'_>], map: Map) -> Result<Plane> {
    Ok(reference::map(plan, planes, map))
}
