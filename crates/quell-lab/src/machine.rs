//! What measured: a time means nothing without it.

use quell::device;
use serde::{Deserialize, Serialize};

/// The machine at hand, as the report names it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor, its threads and instruction set.
    pub processor: String,
    /// GPUs that can be used, and their drivers.
    pub gpus: Vec<String>,
    /// Operating system and architecture.
    pub system: String,
    /// quell's own version.
    pub version: String,
}

impl Machine {
    /// Asks the drivers.
    pub fn new() -> Self {
        let all = device::list();
        let of = |d: &device::DeviceInfo| {
            let driver = if d.driver.is_empty() { String::new() } else { format!(", {}", d.driver) };
            format!("{}: {} ({}{driver})", d.name, d.description, d.detail)
        };
        let cpu = all.iter().find(|d| d.kind == device::Kind::Cpu);
        Self {
            processor: cpu
                .map(|d| format!("{}, {} threads, {}", d.description, d.units, d.detail))
                .unwrap_or_default(),
            gpus: all.iter().filter(|d| d.kind != device::Kind::Cpu && d.usable()).map(of).collect(),
            system: format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

/// Memory of this process in bytes, where the system tells: now, and the most since [`forget_peak`].
pub(crate) fn memory() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let of = |key: &str| {
        let line = status.lines().find(|l| l.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    Some((of("VmRSS:")?, of("VmHWM:")?))
}

/// Begins to look for the most memory anew, where the system allows it.
pub(crate) fn forget_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}
