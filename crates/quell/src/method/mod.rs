//! Denoising methods: for each its parameters and profiles, its plan, and a scalar reference that reads
//! like the paper. How a plan is carried out on a device is in [`crate::device`].

pub mod bm3d;
pub mod classic;
pub mod isoline;
pub mod nlm;
mod parameter;

pub use parameter::Parameter;

use crate::{Error, Result};

/// A method and its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Block matching and 3-D filtering.
    Bm3d(bm3d::Profile),
    /// Non-local means.
    Nlm(nlm::Profile),
    /// Averages along isolines.
    Isoline(isoline::Profile),
}

impl Default for Method {
    fn default() -> Self {
        Self::Bm3d(bm3d::Profile::default())
    }
}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&str; 3] = ["bm3d", "nlm", "isoline"];

    /// A method by its name, with the profile of that name or its default.
    ///
    /// ```
    /// use quell::method::Method;
    /// assert_eq!(Method::named("bm3d", None)?, Method::default());
    /// let e = Method::named("nlm", Some("np")).unwrap_err();
    /// assert_eq!(e.to_string(), "profile = np: one of fast, normal, ipol, goossens");
    /// # Ok::<(), quell::Error>(())
    /// ```
    pub fn named(method: &str, profile: Option<&str>) -> Result<Self> {
        fn of<P: Default + std::str::FromStr<Err = Error>>(profile: Option<&str>) -> Result<P> {
            profile.map_or_else(|| Ok(P::default()), str::parse)
        }
        match method {
            "bm3d" => of(profile).map(Self::Bm3d),
            "nlm" => of(profile).map(Self::Nlm),
            "isoline" => of(profile).map(Self::Isoline),
            _ => Err(Error::parameter("method", method, format!("one of {}", Self::NAMES.join(", ")))),
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bm3d(_) => "bm3d",
            Self::Nlm(_) => "nlm",
            Self::Isoline(_) => "isoline",
        }
    }

    /// The name of the profile.
    pub fn profile(self) -> &'static str {
        match self {
            Self::Bm3d(p) => p.name(),
            Self::Nlm(p) => p.name(),
            Self::Isoline(p) => p.name(),
        }
    }

    /// The method with each of its profiles.
    pub fn profiles(self) -> Vec<Self> {
        match self {
            Self::Bm3d(_) => bm3d::Profile::ALL.map(Self::Bm3d).to_vec(),
            Self::Nlm(_) => nlm::Profile::ALL.map(Self::Nlm).to_vec(),
            Self::Isoline(_) => isoline::Profile::ALL.map(Self::Isoline).to_vec(),
        }
    }
}
