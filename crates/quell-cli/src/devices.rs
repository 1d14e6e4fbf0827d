//! `quell devices`: what there is to work on.

use quell::device::{self, DeviceInfo};
use serde::Serialize;

use crate::failure::Exit;
use crate::report;
use crate::table::{Cell, Style, Table};

/// Runs the command.
pub(crate) fn run(style: Style) -> anyhow::Result<Exit> {
    let devices = device::list();
    if style == Style::Json {
        devices.iter().try_for_each(|d| report::json(&Record { device: d, usable: d.usable() }))?;
        return Ok(Exit::Done);
    }
    table(&devices).print(style)?;
    Ok(Exit::Done)
}

/// What `--json` prints of a device.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    device: &'a DeviceInfo,
    usable: bool,
}

/// One row each. Why a device cannot be used, and what to do, stand at the end, where long words do no harm.
fn table(devices: &[DeviceInfo]) -> Table {
    let columns =
        ["name", "usable", "memory", "units", "detail", "driver", "description", "why_not", "what_to_do"];
    let mut table = Table::new(&columns);
    for d in devices {
        let problem = |text: fn(&device::Problem) -> &String| {
            d.problem.as_ref().map_or(Cell::Missing, |p| Cell::Text(text(p).clone()))
        };
        table.push(vec![
            Cell::Text(d.name.clone()),
            Cell::Flag(d.usable()),
            d.memory_bytes.map_or(Cell::Missing, |b| Cell::Text(gibibytes(b))),
            Cell::Count(d.units),
            Cell::Text(d.detail.clone()),
            Cell::Text(d.driver.clone()),
            Cell::Text(d.description.clone()),
            problem(|p| &p.why),
            problem(|p| &p.remedy),
        ]);
    }
    table
}

/// `139.8 GiB`.
fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use quell::device::{Kind, Problem};

    use super::*;

    #[test]
    fn the_processor_alone_makes_no_empty_columns() {
        let mut cpu = DeviceInfo::new(Kind::Cpu, "cpu");
        (cpu.units, cpu.detail, cpu.description) = (16, "avx2".into(), "A processor".into());
        let lines = table(&[cpu]).lines();
        assert_eq!(
            lines,
            ["name  usable  units  detail  description", "cpu      yes     16  avx2    A processor"]
        );
    }

    #[test]
    fn a_device_that_cannot_be_used_says_why_and_what_to_do() {
        let mut gpu = DeviceInfo::new(Kind::Cuda, "cuda:0");
        (gpu.units, gpu.description, gpu.memory_bytes) = (132, "NVIDIA H200".into(), Some(150_110_011_392));
        (gpu.detail, gpu.driver) = ("sm_90".into(), "570.1".into());
        gpu.problem = Some(Problem::missing("NVRTC was not found", "install it, or set QUELL_NVRTC"));
        let lines = table(&[gpu, DeviceInfo::new(Kind::Cpu, "cpu")]).lines();
        assert!(lines[0].ends_with("why not              what to do"), "{}", lines[0]);
        for text in [
            "cuda:0",
            " no ",
            "139.8 GiB",
            "sm_90",
            "570.1",
            "NVRTC was not found  install it, or set QUELL_NVRTC",
        ] {
            assert!(lines[1].contains(text), "{text:?} in {}", lines[1]);
        }
        assert!(!lines[2].contains("GiB"));
    }
}
