//! Every method, once: its names, its parameters, and how it comes to a plan.

use std::sync::Arc;

use super::frames::{self, Frames};
use super::parameter::{Kind, Parameter, Settings};
use super::{Plan, bm3d, classic, isoline, nlm, ridge};
use crate::noise::Ends;
use crate::noise::correlated::Psd;
use crate::{Error, Result};

/// Planes that are filtered together, and what is known of them.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) planes: usize,
    /// What patches are compared on.
    pub(crate) guide: Guide,
    pub(crate) white: f32,
    /// Of the samples.
    pub(crate) range: (f32, f32),
    /// Deviation of the noise, in the units of the samples.
    pub(crate) sigma: f32,
    /// It is filtered as if it were so many times as strong.
    pub(crate) strength: f32,
    /// Luma and two channels of colour have so many times as much; 0 is none.
    pub(crate) levels: [f32; 3],
    /// Sizes at which a picture is filtered, at most: its own, half of that, and so on.
    pub(crate) scales: usize,
    /// Whether this is one of the smaller ones.
    pub(crate) coarse: bool,
    /// Three planes are red, green and blue; else they are the channels, with `levels` times as much noise each.
    pub(crate) colors: bool,
    /// They are frames of a video.
    pub(crate) video: bool,
    /// Where the noise was clipped, if that is known.
    pub(crate) clipped: Option<Ends>,
    /// Power spectrum of the noise in space, where it is not white and the method knows what to do with it.
    pub(crate) psd: Option<Arc<Psd>>,
}

/// The least side of a smaller picture that is worth filtering.
const LEAST_SIDE: usize = 64;

/// What patches are compared on.
#[derive(Clone, Copy)]
pub(crate) enum Guide {
    /// The planes themselves.
    Own,
    /// So many planes in which the noise has this variance.
    Planes(usize, f32),
}

impl Subject {
    /// Planes of which nothing more is known.
    pub(crate) fn new(width: usize, height: usize, planes: usize, white: f32) -> Self {
        let range = (0.0, white);
        let (guide, levels, strength) = (Guide::Own, [1.0; 3], 1.0);
        let (sigma, scales, coarse, video, clipped) = (0.0, 1, false, false, None);
        let (colors, psd) = (true, None);
        Self {
            width,
            height,
            planes,
            guide,
            white,
            range,
            sigma,
            strength,
            levels,
            scales,
            coarse,
            colors,
            video,
            clipped,
            psd,
        }
    }

    /// The picture of half the size, if it is to be filtered as well: means of four samples have half the noise.
    pub(crate) fn coarser(&self) -> Option<Self> {
        let (width, height) = (self.width / 2, self.height / 2);
        let scales = self.scales.saturating_sub(1);
        let worth = scales > 0 && width.min(height) >= LEAST_SIDE;
        let sigma = self.sigma / 2.0;
        worth.then_some(Self { width, height, scales, coarse: true, sigma, psd: None, ..self.clone() })
    }

    /// What is averaged before it is filtered: frames of a video, with noise of deviation `sigma` in channel 0 on the
    /// 0..255 scale.
    pub(super) fn frames(
        &self,
        past: usize,
        future: usize,
        motion: usize,
        threshold: f32,
        sigma: f32,
    ) -> Frames {
        if !self.video || past + future == 0 {
            return Frames::One;
        }
        Frames::Averaged(frames::Window::with(past, future, motion, threshold, sigma))
    }

    /// The noise that is filtered for.
    pub(crate) fn noise(&self) -> f32 {
        self.sigma * self.strength
    }

    /// The same on the 0..255 scale.
    pub(crate) fn noise255(&self) -> f32 {
        self.noise() * 255.0 / self.white
    }
}

/// A parameter of a method, as help shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Dotted name as in a parameter file.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value for grey pictures.
    pub grey: String,
    /// Its value for colours.
    pub rgb: String,
}

fn describe<P>(list: &[Parameter<P>], grey: &P, rgb: &P) -> Vec<ParameterInfo> {
    let one = |p: &Parameter<P>| ParameterInfo {
        name: p.name,
        help: p.help,
        kind: p.kind,
        grey: p.get(grey),
        rgb: p.get(rgb),
    };
    list.iter().map(one).collect()
}

/// Lists the methods. A folder has `Profile`, `Params`, `PARAMETERS`, and two functions in `resolve`: `params` (what a
/// profile and settings make of noise and channels) and `plan`.
macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident, $module:ident, $help:literal;)+) => {
        /// A method and its profile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant($module::Profile)),+
        }

        /// The parameters of a method.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Params {
            $($(#[$doc])* $variant($module::Params)),+
        }

        impl Method {
            /// The names of all methods.
            pub const NAMES: &[&str] = &[$(stringify!($module)),+];

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
                $(if method == stringify!($module) {
                    return of(profile).map(Self::$variant);
                })+
                Err(Error::parameter("method", method, format!("one of {}", Self::NAMES.join(", "))))
            }

            /// Every method, with its default profile.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Profile::default())),+]
            }

            /// The name used on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($module)),+
                }
            }

            /// What it is, in a line.
            pub fn help(self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $help),+
                }
            }

            /// The name of the profile.
            pub fn profile(self) -> &'static str {
                match self {
                    $(Self::$variant(profile) => profile.name()),+
                }
            }

            /// What the profile is, in a few words.
            pub fn profile_help(self) -> &'static str {
                match self {
                    $(Self::$variant(profile) => profile.help()),+
                }
            }

            /// The method with each of its profiles.
            pub fn profiles(self) -> Vec<Self> {
                match self {
                    $(Self::$variant(_) => $module::Profile::ALL.map(Self::$variant).to_vec()),+
                }
            }

            /// Its parameters, with their values at noise of deviation `sigma` on the 0..255 scale.
            ///
            /// ```
            /// use quell::method::{Kind, Method};
            /// let search = Method::named("nlm", Some("fast"))?.parameters(25.0);
            /// let search = search.iter().find(|p| p.name == "search").unwrap();
            /// assert_eq!((search.kind, search.grey.as_str()), (Kind::Whole, "13"));
            /// # Ok::<(), quell::Error>(())
            /// ```
            pub fn parameters(self, sigma: f32) -> Vec<ParameterInfo> {
                let none = Settings::default();
                match self {
                    $(Self::$variant(profile) => {
                        let of = |channels| $module::resolve::params(profile, &none, sigma, channels);
                        match (of(1), of(3)) {
                            (Ok(grey), Ok(rgb)) => describe($module::PARAMETERS, &grey, &rgb),
                            _ => Vec::new(),
                        }
                    }),+
                }
            }

            /// What the profile and settings make of noise of this deviation on the 0..255 scale.
            pub(crate) fn params(self, settings: &Settings, sigma: f32, channels: usize) -> Result<Params> {
                Ok(match self {
                    $(Self::$variant(profile) => {
                        Params::$variant($module::resolve::params(profile, settings, sigma, channels)?)
                    }),+
                })
            }
        }

        impl Params {
            /// As TOML, as parameter files have them.
            pub fn to_toml(&self) -> String {
                match self {
                    $(Self::$variant(params) => params.to_toml()),+
                }
            }

            /// What a device is to do.
            pub(crate) fn plan(&self, subject: &Subject) -> Result<Plan> {
                match self {
                    $(Self::$variant(params) => $module::resolve::plan(params, subject)),+
                }
            }
        }
    };
}

methods! {
    /// Block matching and 3-D filtering.
    Bm3d, bm3d, "block matching and 3-D filtering (Dabov et al. 2007)";
    /// Context ridge.
    Ridge, ridge, "context ridge: regressions of similar patches; better than BM3D, slower";
    /// Non-local means.
    Nlm, nlm, "non-local means (Buades et al., Goossens et al.); video in real time";
    /// Averages along isolines.
    Isoline, isoline, "averages along isolines (Perrot et al.); the fastest";
    /// The filters that others are compared with.
    Classic, classic, "Gaussian, bilateral, total variation, Wiener: to compare with";
}

impl Default for Method {
    fn default() -> Self {
        Self::Bm3d(bm3d::Profile::default())
    }
}

impl Params {
    /// Frames before a frame and after it that its result depends on.
    pub(crate) fn frames(&self) -> (usize, usize) {
        match self {
            Self::Bm3d(params) => (params.past, params.future),
            Self::Ridge(params) => (params.past, params.future),
            Self::Nlm(params) => (params.past, params.future),
            Self::Isoline(params) => (params.past, params.future),
            Self::Classic(_) => (0, 0),
        }
    }
}
