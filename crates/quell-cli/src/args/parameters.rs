//! One flag per parameter, made from the methods' own lists: what help says of it, and the value it shows, is what the
//! engine has. Parameters of several methods that share a name share a flag, and each method says its own of it.

use clap::Arg;
use quell::method::Parameter;
use quell::{ColorMode, Method, bm3d, isoline, nlm};

use super::values::{names as choice, option};

/// Noise on the 0..255 scale for which help shows values; some change with it.
const SIGMA: f32 = 25.0;

/// A parameter of a method, as help shows it.
struct Shown {
    method: &'static str,
    profile: &'static str,
    name: &'static str,
    help: &'static str,
    /// In the default profile: for grey pictures, and for RGB where that is another.
    value: String,
}

/// Every parameter of every method, in the order of `--help`.
fn shown() -> Vec<Shown> {
    let normal = bm3d::Profile::default();
    let mut all =
        of(Method::Bm3d(normal), bm3d::PARAMETERS, &normal.params(SIGMA), &normal.color_params(SIGMA));
    let normal = nlm::Profile::default();
    all.extend(of(Method::Nlm(normal), nlm::PARAMETERS, &normal.params(SIGMA, 1), &normal.params(SIGMA, 3)));
    let normal = isoline::Profile::default();
    let (grey, rgb) = (normal.params(SIGMA, 1), normal.params(SIGMA, 3));
    all.extend(of(Method::Isoline(normal), isoline::PARAMETERS, &grey, &rgb));
    all
}

fn of<P>(method: Method, list: &[Parameter<P>], grey: &P, rgb: &P) -> Vec<Shown> {
    let show = |p: &Parameter<P>| {
        let (grey, rgb) = (p.get(grey), p.get(rgb));
        Shown {
            method: method.name(),
            profile: method.profile(),
            name: p.name,
            help: p.help,
            value: if grey == rgb { grey } else { format!("{grey}, RGB {rgb}") },
        }
    };
    list.iter().map(show).collect()
}

impl Shown {
    fn text(&self) -> String {
        format!("{} [{}: {}]", self.help, self.profile, self.value)
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
        if !names.contains(&p.name) {
            names.push(p.name);
        }
    }
    names
}

/// The flags; those of several methods stand under the heading `shared`.
pub(super) fn define(shared: &'static str) -> Vec<Arg> {
    let all = shown();
    let flags = names().into_iter().map(|name| {
        let those: Vec<&Shown> = all.iter().filter(|p| p.name == name).collect();
        match those[..] {
            [only] => parameter(name)
                .help(only.text())
                .help_heading(format!("Parameters of --method {}, values at sigma {SIGMA}", only.method))
                .hide_short_help(true),
            _ => {
                let methods: Vec<&str> = those.iter().map(|p| p.method).collect();
                let each: Vec<String> = those.iter().map(|p| format!("{}: {}", p.method, p.text())).collect();
                // Video is the business of everybody, and `past` the first thing to try.
                parameter(name)
                    .help(format!("{} ({})", those[0].help, methods.join(", ")))
                    .long_help(each.join("\n"))
                    .help_heading(shared)
                    .hide_short_help(name != "past")
            }
        }
    });
    flags.collect()
}

/// The flag of a parameter, checked by the engine.
fn parameter(name: &'static str) -> Arg {
    let arg = option(name, "V").long(flag(name)).allow_hyphen_values(true);
    match name {
        "color" => arg.value_parser(choice(ColorMode::ALL.map(|m| (m.name(), describe_color(m))))),
        // A choice may be named alone.
        "patchwise" | "correct" => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
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
