//! Instruction sets, chosen at run time.

use crate::{Error, Result};

/// An instruction set level, lowest first. All levels compute the same match lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the target always has.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name that `QUELL_LEVEL` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The best level of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                let avx512 = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl");
                return if avx512 { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Portable
    }

    /// What the variable `QUELL_LEVEL` asks for, if it is set; a name that is none is an error.
    pub fn from_env() -> Result<Option<Self>> {
        match std::env::var_os(VARIABLE) {
            Some(value) if !value.is_empty() => value.to_string_lossy().parse().map(Some).map_err(named),
            _ => Ok(None),
        }
    }

    /// The best level that is not above `limit` nor above `QUELL_LEVEL` (which may lower, never raise).
    pub fn pick(limit: Option<Self>) -> Result<Self> {
        Ok([limit, Self::from_env()?].into_iter().flatten().fold(Self::detect(), Self::min))
    }
}

const VARIABLE: &str = "QUELL_LEVEL";

/// The error of a level that came from the environment.
fn named(error: Error) -> Error {
    match error {
        Error::Parameter { value, reason, .. } => Error::Parameter { name: VARIABLE.into(), value, reason },
        other => other,
    }
}

impl std::str::FromStr for Level {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|l| l.name() == s);
        found.ok_or_else(|| Error::parameter("level", s, format!("one of {}", names())))
    }
}

/// The processor's name, where the system tells it.
pub(super) fn model_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with("model name"));
    line.and_then(|l| l.split(':').nth(1)).map_or_else(|| std::env::consts::ARCH.into(), |v| v.trim().into())
}
