//! One flag per parameter, made from the methods' own lists: what help says of it, and the value it shows, is what the
//! engine has. Parameters of several methods that share a name share a flag, and each method says its own of it.

use clap::Arg;
use quell::method::{Kind, ParameterInfo};
use quell::{ColorMode, Method};

use super::values::{names as choice, option};

/// Noise on the 0..255 scale for which help shows values; some change with it.
const SIGMA: f32 = 25.0;

/// A parameter of a method, as help shows it.
struct Shown {
    method: &'static str,
    profile: &'static str,
    parameter: ParameterInfo,
}

/// Every parameter of every method, in the order of `--help`.
fn shown() -> Vec<Shown> {
    let of = |m: Method| {
        let show = move |parameter| Shown { method: m.name(), profile: m.profile(), parameter };
        m.parameters(SIGMA).into_iter().map(show)
    };
    Method::all().into_iter().flat_map(of).collect()
}

impl Shown {
    fn text(&self) -> String {
        let ParameterInfo { help, grey, rgb, .. } = &self.parameter;
        // In the default profile: for grey pictures, and for RGB where that is another.
        let value = if grey == rgb { grey.clone() } else { format!("{grey}, RGB {rgb}") };
        format!("{help} [{}: {value}]", self.profile)
    }
}

/// The flag's name: dots become dashes.
pub(crate) fn flag(parameter: &str) -> String {
    parameter.replace('.', "-")
}

/// The name of every flag's parameter, once.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for p in shown() {
        if !names.contains(&p.parameter.name) {
            names.push(p.parameter.name);
        }
    }
    names
}

/// The flags; those of several methods stand under the heading `shared`.
pub(super) fn define(shared: &'static str) -> Vec<Arg> {
    let all = shown();
    let flags = names().into_iter().map(|name| {
        let those: Vec<&Shown> = all.iter().filter(|p| p.parameter.name == name).collect();
        match those[..] {
            [only] => parameter(name, only.parameter.kind)
                .help(only.text())
                .help_heading(format!("Parameters of --method {}, values at sigma {SIGMA}", only.method))
                .hide_short_help(true),
            _ => {
                let methods: Vec<&str> = those.iter().map(|p| p.method).collect();
                let each: Vec<String> = those.iter().map(|p| format!("{}: {}", p.method, p.text())).collect();
                // Video is the business of everybody, and `past` the first thing to try.
                parameter(name, those[0].parameter.kind)
                    .help(format!("{} ({})", those[0].parameter.help, methods.join(", ")))
                    .long_help(each.join("\n"))
                    .help_heading(shared)
                    .hide_short_help(name != "past")
            }
        }
    });
    flags.collect()
}

/// The flag of a parameter, checked by the engine.
fn parameter(name: &'static str, kind: Kind) -> Arg {
    let arg = option(name, "V").long(flag(name)).allow_hyphen_values(true);
    match name {
        "color" => arg.value_parser(choice(ColorMode::ALL.map(|m| (m.name(), describe_color(m))))),
        // A switch may be named alone.
        _ if kind == Kind::Switch && !name.contains('.') => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        _ => arg,
    }
}

fn describe_color(mode: ColorMode) -> &'static str {
    match mode {
        ColorMode::Opp => "opponent colours, patches grouped once; best for white noise",
        ColorMode::YCbCr => "YCbCr, patches grouped once",
        ColorMode::Independent => "each channel on its own",
        ColorMode::Luma => "only luma is filtered",
    }
}
