//! Parameters by name: what the command line, plan files and documentation know of them, for every method.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// One settable parameter of a method whose parameters are `P`.
pub struct Parameter<P: 'static> {
    /// Dotted name as in a plan file: `hard.step`.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What values it takes.
    pub kind: Kind,
    pub(super) set: fn(&mut P, &str) -> Result<()>,
    pub(super) get: fn(&P) -> String,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// `true` or `false`.
    Switch,
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// A type that parameters have.
pub(super) trait Typed {
    const KIND: Kind;
}

impl Typed for usize {
    const KIND: Kind = Kind::Whole;
}

impl Typed for f32 {
    const KIND: Kind = Kind::Number;
}

impl Typed for bool {
    const KIND: Kind = Kind::Switch;
}

impl Typed for crate::ColorMode {
    const KIND: Kind = Kind::Choice(&["opp", "ycbcr", "independent", "luma"]);
}

impl Typed for crate::transform::Transform {
    const KIND: Kind = Kind::Choice(&["dct", "bior", "haar", "wht", "dst"]);
}

/// The kind of what a parameter is kept in.
pub(super) const fn kind<P, T: Typed>(_: fn(&P) -> &T) -> Kind {
    T::KIND
}

/// What was set over a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// A parameter file.
    pub(crate) toml: Option<String>,
    /// By name, over the file.
    pub(crate) sets: Vec<(String, String)>,
}

impl Settings {
    /// Puts them over `params`, which are those of a method called `method`.
    pub(super) fn over<P: Serialize + DeserializeOwned>(
        &self,
        method: &str,
        list: &[Parameter<P>],
        params: P,
    ) -> Result<P> {
        let mut params = match &self.toml {
            Some(text) => from_toml(text, &params)?,
            None => params,
        };
        for (name, value) in &self.sets {
            let parameter = list.iter().find(|p| p.name == name).ok_or_else(|| {
                Error::parameter(name, value, format!("method {method} has no such parameter"))
            })?;
            parameter.set(&mut params, value)?;
        }
        Ok(params)
    }
}

impl Settings {
    /// The same where every variant of a method has its own defaults: which one is wanted is looked for first.
    pub(super) fn over_variants<P: Serialize + DeserializeOwned + Clone, V: PartialEq>(
        &self,
        method: &str,
        list: &[Parameter<P>],
        own: P,
        variant: impl Fn(&P) -> V,
        of: impl FnOnce(V) -> P,
    ) -> Result<P> {
        let wanted = variant(&self.over(method, list, own.clone())?);
        let base = if wanted == variant(&own) { own } else { of(wanted) };
        self.over(method, list, base)
    }
}

impl<P> Parameter<P> {
    /// The flag's name: dots become dashes.
    pub fn flag(&self) -> String {
        self.name.replace('.', "-")
    }

    /// Sets the parameter from text.
    pub fn set(&self, params: &mut P, value: &str) -> Result<()> {
        (self.set)(params, value).map_err(|e| match e {
            Error::Parameter { value, reason, .. } => {
                Error::Parameter { name: self.name.into(), value, reason }
            }
            other => other,
        })
    }

    /// The present value as text.
    pub fn get(&self, params: &P) -> String {
        (self.get)(params)
    }
}

pub(super) fn parse<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::parameter("", text, format!("not a valid {}", kind_name::<T>())))
}

fn kind_name<T>() -> &'static str {
    match std::any::type_name::<T>() {
        "usize" => "whole number",
        "f32" => "number",
        "bool" => "choice (true or false)",
        name => name.rsplit("::").next().unwrap_or(name),
    }
}

pub(super) fn print(value: &impl Serialize) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(s)) => s,
        // A float parameter was widened from f32 on its way into TOML: print the short form.
        Ok(toml::Value::Float(f)) => (f as f32).to_string(),
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Parses a choice by its name.
macro_rules! from_name {
    ($type:ty, $what:literal) => {
        impl $crate::method::parameter::Typed for $type {
            const KIND: $crate::method::Kind = {
                const NAMES: [&str; <$type>::ALL.len()] = {
                    let mut names = [""; <$type>::ALL.len()];
                    let mut i = 0;
                    while i < names.len() {
                        names[i] = <$type>::ALL[i].name();
                        i += 1;
                    }
                    names
                };
                $crate::method::Kind::Choice(&NAMES)
            };
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;
            fn from_str(s: &str) -> $crate::Result<Self> {
                Self::ALL.into_iter().find(|v| v.name() == s).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name).join(", ");
                    $crate::Error::parameter($what, s, format!("one of {names}"))
                })
            }
        }
    };
}
pub(super) use from_name;

/// Makes the one list of a method's parameters.
macro_rules! parameters {
    ($params:ty; $($name:literal, $($field:ident).+, $help:literal;)+) => {
        /// The one list of parameters: flags, plan files and documentation are made from it.
        pub const PARAMETERS: &[$crate::method::Parameter<$params>] = &[$($crate::method::Parameter {
            name: $name,
            help: $help,
            kind: $crate::method::parameter::kind(|p: &$params| &p.$($field).+),
            set: |p, v| { p.$($field).+ = $crate::method::parameter::parse(v)?; Ok(()) },
            get: |p| $crate::method::parameter::print(&p.$($field).+),
        }),+];

        impl $params {
            /// Reads parameters from TOML over `base`: what the text does not name stays as it is.
            ///
            /// ```
            /// use quell::bm3d::{Params, Profile};
            /// let base = Profile::Normal.params(25.0);
            /// let p = Params::from_toml("lambda = 2.9\n[hard]\nstep = 4", &base)?;
            /// assert_eq!((p.lambda, p.hard.step, p.hard.group), (2.9, 4, base.hard.group));
            /// # Ok::<(), quell::Error>(())
            /// ```
            pub fn from_toml(text: &str, base: &Self) -> $crate::Result<Self> {
                $crate::method::parameter::from_toml(text, base)
            }

            /// As TOML, readable by [`from_toml`](Self::from_toml).
            pub fn to_toml(&self) -> String {
                toml::to_string(self).unwrap_or_default()
            }
        }
    };
}
pub(super) use parameters;

/// Reads parameters from TOML over `base`: what the text does not name stays as it is. Errors are one line.
pub(super) fn from_toml<P: Serialize + DeserializeOwned>(text: &str, base: &P) -> Result<P> {
    let bad = |reason: String| Error::Parameter {
        name: "parameter file".into(),
        value: "TOML".into(),
        reason: reason.trim_end().replace(char::is_control, " "),
    };
    let over: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let before = e.span().and_then(|s| text.get(..s.start)).unwrap_or_default();
        bad(format!("line {}: {}", before.matches('\n').count() + 1, e.message()))
    })?;
    let bad = |e: &dyn std::fmt::Display| bad(e.to_string());
    let mut all = toml::Table::try_from(base).map_err(|e| bad(&e))?;
    for (key, value) in over {
        match (all.get_mut(&key), value) {
            (Some(toml::Value::Table(section)), toml::Value::Table(new)) => section.extend(new),
            (_, value) => {
                all.insert(key, value);
            }
        }
    }
    all.try_into().map_err(|e| bad(&e))
}

/// `name` must lie in `range`.
pub(super) fn within<T: PartialOrd + ToString>(
    name: &str,
    v: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<()> {
    if range.contains(&v) {
        return Ok(());
    }
    let (low, high) = (range.start().to_string(), range.end().to_string());
    Err(Error::parameter(name, v, format!("must be from {low} to {high}")))
}
