//! Progress bars on standard error, only on a terminal, and only for work that takes a while.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use quell::{Progress, ProgressFn};

use crate::report;

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Steps of a bar; the engine's own units differ from device to device.
const STEPS: u64 = 1000;

/// The bars of a batch of pictures. Several may be in work at once.
pub(crate) struct Bars {
    /// `None` when nobody looks.
    screen: Option<MultiProgress>,
    started: Instant,
    pictures: usize,
    overall: Arc<Overall>,
    /// Somebody who looks otherwise: gets numbers from 0 to 1.
    listener: Option<Listener>,
}

/// Who is told how far a file is.
pub(crate) type Listener = Arc<dyn Fn(f64) + Send + Sync>;

/// The bar of all pictures.
#[derive(Default)]
struct Overall {
    bar: OnceLock<ProgressBar>,
    /// Pictures done.
    done: AtomicUsize,
    /// Steps done, those of pictures in work included.
    steps: AtomicU64,
}

impl Overall {
    fn add(&self, steps: u64) {
        let now = self.steps.fetch_add(steps, Ordering::Relaxed) + steps;
        if let Some(bar) = self.bar.get() {
            bar.set_position(now);
        }
    }
}

impl Bars {
    /// For this many pictures.
    pub(crate) fn new(pictures: usize, quiet: bool) -> Self {
        let screen = (!quiet && std::io::stderr().is_terminal()).then(MultiProgress::new);
        Self { screen, started: Instant::now(), pictures, overall: Arc::default(), listener: None }
    }

    /// No bars: `listener` is told how far the only file is.
    pub(crate) fn told(listener: Listener) -> Self {
        Self { listener: Some(listener), ..Self::new(1, true) }
    }

    /// Prints a line above the bars.
    pub(crate) fn message(&self, line: &str) {
        message(self.screen.as_ref(), line);
    }

    /// Prints lines above the bars, for those who do not have the bars.
    pub(crate) fn printer(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let screen = self.screen.clone();
        move |line| message(screen.as_ref(), line)
    }

    /// The bar of one picture of `pixels` in all, which has several pages.
    pub(crate) fn picture(&self, name: &str, pixels: usize, pages: usize) -> PictureBar {
        let shown: Arc<Shown> = Arc::default();
        if let Some(listener) = self.listener.clone() {
            let show =
                move |page: usize, p: Progress| listener((page as f64 + p.fraction()) / pages.max(1) as f64);
            return PictureBar { show: Some(Arc::new(show)), shown, overall: self.overall.clone() };
        }
        let Some(screen) = self.screen.clone() else {
            return PictureBar { show: None, shown, overall: self.overall.clone() };
        };
        let (into, overall) = (shown.clone(), self.overall.clone());
        let (batch, begun) = (self.pictures, self.started);
        let name = name.to_owned();
        let started = Instant::now();
        let show = move |page: usize, p: Progress| {
            let step = ((page as f64 + p.fraction()) / pages.max(1) as f64 * STEPS as f64) as u64;
            let mut highest = into.highest.lock().unwrap_or_else(PoisonError::into_inner);
            // Reports of several threads may overtake each other.
            if step <= *highest {
                return;
            }
            overall.add(step - *highest);
            *highest = step;
            if started.elapsed() < PATIENCE && begun.elapsed() < 4 * PATIENCE {
                return;
            }
            if batch > 1 {
                let bar = overall.bar.get_or_init(|| screen.add(overall_bar(batch, begun)));
                bar.set_message(format!("{} of {batch}", overall.done.load(Ordering::Relaxed)));
            }
            let bar = into.bar.get_or_init(|| screen.insert(0, picture_bar(&name, pixels, started)));
            bar.set_message(p.stage);
            bar.set_position(step);
        };
        PictureBar { show: Some(Arc::new(show)), shown, overall: self.overall.clone() }
    }

    /// The bar of one clip of so many frames, if that is known.
    pub(crate) fn clip(&self, name: &str, frames: Option<u64>) -> ClipBar<'_> {
        ClipBar { bars: self, name: name.to_owned(), frames, started: Instant::now(), bar: OnceLock::new() }
    }

    /// Removes all bars.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.overall.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn message(screen: Option<&MultiProgress>, line: &str) {
    match screen {
        Some(screen) => screen.suspend(|| report::message(line)),
        None => report::message(line),
    }
}

/// What is seen of a picture.
#[derive(Default)]
struct Shown {
    bar: OnceLock<ProgressBar>,
    highest: Mutex<u64>,
}

/// The bar of one picture; it goes away with it, and the picture counts as done.
pub(crate) struct PictureBar {
    show: Option<Arc<dyn Fn(usize, Progress) + Send + Sync>>,
    shown: Arc<Shown>,
    overall: Arc<Overall>,
}

impl PictureBar {
    /// What the engine reports to while it works on a page.
    pub(crate) fn page(&self, page: usize) -> Option<ProgressFn> {
        let show = self.show.clone()?;
        Some(Arc::new(move |p| show(page, p)))
    }
}

impl Drop for PictureBar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.bar.get() {
            bar.finish_and_clear();
        }
        let highest = *self.shown.highest.lock().unwrap_or_else(PoisonError::into_inner);
        self.overall.done.fetch_add(1, Ordering::Relaxed);
        self.overall.add(STEPS - highest);
    }
}

/// The bar of one clip: frames, speed, remaining time. It goes away with it, and the clip counts as done.
pub(crate) struct ClipBar<'a> {
    bars: &'a Bars,
    name: String,
    frames: Option<u64>,
    started: Instant,
    bar: OnceLock<ProgressBar>,
}

impl ClipBar<'_> {
    /// So many frames are done.
    pub(crate) fn frames(&self, done: u64) {
        if let (Some(tell), Some(frames)) = (&self.bars.listener, self.frames.filter(|n| *n > 0)) {
            tell(done as f64 / frames as f64);
        }
        let Some(screen) = &self.bars.screen else { return };
        if self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| screen.insert(0, clip_bar(&self.name, self.frames, self.started)));
        if bar.length().is_some_and(|n| n < done) {
            // The container was wrong about their number.
            bar.set_length(done);
        }
        bar.set_position(done);
    }
}

impl Drop for ClipBar<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
        self.bars.overall.done.fetch_add(1, Ordering::Relaxed);
        self.bars.overall.add(STEPS);
    }
}

fn clip_bar(name: &str, frames: Option<u64>, started: Instant) -> ProgressBar {
    let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.1} fps", state.pos() as f64 / started.elapsed().as_secs_f64());
    };
    let (bar, template) = match frames.filter(|n| *n > 0) {
        Some(n) => (
            ProgressBar::new(n),
            "{prefix} {bar:24} {percent:>3}% frame {pos} of {len}, {speed}, {left} left",
        ),
        None => (ProgressBar::no_length(), "{prefix} frame {pos}, {speed}"),
    };
    bar.with_style(style(template, started).with_key("speed", speed)).with_prefix(name.to_owned())
}

fn picture_bar(name: &str, pixels: usize, started: Instant) -> ProgressBar {
    let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let done = f64::from(state.fraction()) * pixels as f64 / 1e6;
        let _ = write!(out, "{:.2} Mpix/s", done / started.elapsed().as_secs_f64());
    };
    let style = style("{prefix} {bar:24} {percent:>3}% {speed}, {left} left, {msg}", started);
    ProgressBar::new(STEPS).with_style(style.with_key("speed", speed)).with_prefix(name.to_owned())
}

fn overall_bar(pictures: usize, started: Instant) -> ProgressBar {
    let style = style("{prefix} {bar:24} {percent:>3}% {msg} done, {left} left", started);
    ProgressBar::new(pictures as u64 * STEPS).with_style(style).with_prefix("all pictures")
}

/// A style with the remaining time from what was done since the beginning: the bar itself came later, and
/// would take what was done by then for one quick step.
fn style(template: &str, started: Instant) -> ProgressStyle {
    let left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let done = f64::from(state.fraction());
        let left = started.elapsed().as_secs_f64() * (1.0 - done) / done;
        let _ = if left.is_finite() { write!(out, "{}", whole_seconds(left)) } else { write!(out, "?") };
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
        .with_key("left", left)
}

/// `12 s`, `3 min`, `2 h 5 min`: no more digits than an estimate deserves.
fn whole_seconds(s: f64) -> String {
    match s.ceil() as u64 {
        s @ 0..100 => format!("{s} s"),
        s @ 100..6000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_is_rounded_up() {
        assert_eq!([0.2, 99.0, 130.0, 7500.0].map(whole_seconds), ["1 s", "99 s", "3 min", "2 h 5 min"]);
    }
}
