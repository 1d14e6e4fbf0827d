//! What can go wrong in the engine, split by whose fault it is.

/// Result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An engine error. Each variant says what was wrong, its value, and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is out of its range or contradicts another one.
    #[error("{name} = {value}: {reason}")]
    Parameter {
        /// Name as in the parameter list, for example `hard.step`.
        name: String,
        /// The offending value.
        value: String,
        /// What is allowed.
        reason: String,
    },
    /// The picture's size or layout does not fit the request.
    #[error("{0}")]
    Shape(String),
    /// A sample is NaN or infinite.
    #[error("plane {plane}, column {x}, row {y} is {value}, not a finite number")]
    NotFinite {
        /// Index of the plane.
        plane: usize,
        /// Column of the first bad sample.
        x: usize,
        /// Row of the first bad sample.
        y: usize,
        /// NaN or an infinity.
        value: f32,
    },
    /// A sample is so large that its square is not a number any more, or white is out of all proportion.
    #[error(
        "plane {plane}, column {x}, row {y} is {value:e}, more than a float can be computed with (white is {white})"
    )]
    Huge {
        /// Index of the plane.
        plane: usize,
        /// Column of the first such sample.
        x: usize,
        /// Row of the first such sample.
        y: usize,
        /// The sample.
        value: f32,
        /// White, in the same units.
        white: f32,
    },
    /// There is not enough memory for a picture of this size.
    #[error("not enough memory for {width} x {height} pixels: {} are needed", size(*.bytes))]
    Memory {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
        /// What was asked for, beside the picture itself.
        bytes: u64,
    },
    /// Meaningful, but not offered by this build or device.
    #[error("{0}")]
    Unsupported(String),
    /// The device could not be started or failed during the work.
    #[error("{device}: {reason}")]
    Device {
        /// Name of the device, for example `cpu` or `cuda:0`.
        device: String,
        /// What it reported.
        reason: String,
    },
    /// The device has not enough memory for this, in however small parts; it works on, and another one may have enough.
    #[error("{device}: out of device memory ({} asked for)", size(*.bytes))]
    DeviceMemory {
        /// Name of the device.
        device: String,
        /// What was asked for last.
        bytes: u64,
    },
    /// The work was cancelled through a [`Cancel`](crate::Cancel) handle.
    #[error("cancelled")]
    Cancelled,
}

/// Bytes in a unit for people.
fn size(bytes: u64) -> String {
    if bytes < 10 << 30 { format!("{} MiB", bytes >> 20) } else { format!("{} GiB", bytes >> 30) }
}

impl Error {
    /// Whether the device is to blame: another one may do better.
    pub fn is_of_device(&self) -> bool {
        matches!(self, Self::Device { .. } | Self::DeviceMemory { .. })
    }

    /// A [`Error::Parameter`] from anything printable.
    pub fn parameter(name: impl Into<String>, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Parameter { name: name.into(), value: value.to_string(), reason: reason.into() }
    }
}
