//! What the assembler says about each kernel: registers, spills, shared memory. Needs no GPU, so tests hold the hot
//! kernels to it.

use std::fmt;

/// What one kernel takes on one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Name of the entry point.
    pub(crate) kernel: String,
    /// For example `sm_90`.
    pub(crate) arch: String,
    /// Registers per thread.
    pub(crate) registers: u32,
    /// Bytes of local memory per thread, spills or arrays.
    pub(crate) stack: u32,
    /// Bytes written when registers ran out.
    pub(crate) spill_stores: u32,
    /// Bytes read back.
    pub(crate) spill_loads: u32,
    /// Static shared memory of a block in bytes; what is asked for at launch is not in it.
    pub(crate) shared: u32,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, arch, registers, stack, spill_stores, spill_loads, shared } = self;
        write!(f, "{kernel} on {arch}: {registers} registers, {stack} bytes of stack, ")?;
        write!(f, "spills {spill_stores} + {spill_loads} bytes, {shared} bytes of static shared memory")
    }
}

/// Reads the log of `--ptxas-options=-v`. Lines that it does not know are skipped.
pub(crate) fn usage(log: &str) -> Vec<Usage> {
    let mut all: Vec<Usage> = Vec::new();
    // Properties of device functions that were not inlined come under their own names: not of an entry point.
    let mut of_entry = false;
    for line in log.lines() {
        if let Some((kernel, arch)) = entry(line) {
            all.push(Usage { kernel, arch, ..Usage::default() });
            of_entry = true;
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        if let Some((_, name)) = line.split_once("Function properties for ") {
            of_entry = name.trim() == last.kernel;
        } else if let Some(n) = before(line, " bytes stack frame") {
            if of_entry {
                last.stack = n;
                last.spill_stores = before(line, " bytes spill stores").unwrap_or(0);
                last.spill_loads = before(line, " bytes spill loads").unwrap_or(0);
            }
        } else if let Some(n) = before(line, " registers") {
            last.registers = n;
            last.shared = before(line, " bytes smem").unwrap_or(0);
        }
    }
    all
}

/// `… Compiling entry function 'NAME' for 'sm_90'`
fn entry(line: &str) -> Option<(String, String)> {
    let (_, rest) = line.split_once("Compiling entry function '")?;
    let (kernel, rest) = rest.split_once('\'')?;
    let (_, rest) = rest.split_once('\'')?;
    let (arch, _) = rest.split_once('\'')?;
    Some((kernel.to_owned(), arch.to_owned()))
}

/// The number that stands right before `words`.
fn before(line: &str, words: &str) -> Option<u32> {
    let (head, _) = line.split_once(words)?;
    let digits = head.len() - head.bytes().rev().take_while(u8::is_ascii_digit).count();
    head[digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
test.cu(3): warning #177-D: variable \"x\" was declared but never referenced

ptxas info    : 0 bytes gmem, 24 bytes cmem[4]
ptxas info    : Compiling entry function 'bm3d_match' for 'sm_90'
ptxas info    : Function properties for bm3d_match
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for helper
    400 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 6144 bytes smem, 560 bytes cmem[0]
ptxas info    : Compile time = 4.412 ms
ptxas info    : Compiling entry function 'bm3d_zero' for 'sm_90'
ptxas info    : Function properties for bm3d_zero
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 9 registers, used 0 barriers
";

    #[test]
    fn reads_every_entry_point() {
        let found = usage(LOG);
        let first = Usage {
            kernel: "bm3d_match".into(),
            arch: "sm_90".into(),
            registers: 128,
            stack: 16,
            spill_stores: 12,
            spill_loads: 8,
            shared: 6144,
        };
        let second =
            Usage { kernel: "bm3d_zero".into(), arch: "sm_90".into(), registers: 9, ..Usage::default() };
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn a_log_without_entry_points_is_empty() {
        assert_eq!(usage(""), []);
        assert_eq!(usage("Used 9 registers\n 4 bytes stack frame\nCompiling entry function 'x"), []);
    }
}
