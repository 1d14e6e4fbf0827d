//! The one thread that filters: what was asked for last comes first, then the rest of what is looked at.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quell::{Cancel, Control};
use serde_json::json;
use tokio::sync::oneshot;

use crate::pace::Pace;
use crate::plans;
use crate::store::{Sheet, View};
use crate::studio::Studio;
use crate::tile::Area;
use crate::{Kind, Problem};

/// Requests of one view come one by one, and are better served together.
const GATHER: Duration = Duration::from_millis(2);
/// Time between two reports.
const REPORT: Duration = Duration::from_millis(100);
/// An area around several wishes is computed at once if it is not larger than so many times what is wanted of it.
const TOGETHER: f64 = 1.5;

/// What is to be done.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    wishes: Vec<Wish>,
    next: u64,
    running: Option<Running>,
    /// Views of which the rest is to be computed; the last one first.
    rest: Vec<View>,
    /// Somebody else needs the device.
    paused: usize,
    ended: bool,
}

/// Somebody waits for a part of a result.
struct Wish {
    id: u64,
    view: View,
    area: Area,
    answer: oneshot::Sender<Result<(), Problem>>,
}

/// What is computed at the moment.
struct Running {
    view: View,
    /// For nobody in particular.
    rest: bool,
    cancel: Cancel,
}

/// A wish on its way: dropped, it is forgotten.
pub(crate) struct Waiting {
    studio: Arc<Studio>,
    id: u64,
    answer: oneshot::Receiver<Result<(), Problem>>,
}

impl Waiting {
    /// Until the part is there.
    pub(crate) async fn done(mut self) -> Result<(), Problem> {
        (&mut self.answer).await.unwrap_or_else(|_| Err(Problem::superseded()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.studio.desk.forget(self.id);
    }
}

/// Work for the thread.
enum Job {
    Wish { view: View, area: Area },
    Rest { view: View },
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a part of a result.
    pub(crate) fn wish(studio: &Arc<Studio>, view: View, area: Area) -> Waiting {
        let (answer, receiver) = oneshot::channel();
        let desk = &studio.desk;
        let mut state = desk.state();
        let id = state.next;
        state.next += 1;
        state.rest.retain(|other| *other != view);
        state.rest.push(view.clone());
        state.wishes.push(Wish { id, view, area, answer });
        if let Some(running) = state.running.as_ref().filter(|running| running.rest) {
            running.cancel.cancel();
        }
        desk.bell.notify_all();
        drop(state);
        Waiting { studio: studio.clone(), id, answer: receiver }
    }

    /// Nobody waits for this any more.
    fn forget(&self, id: u64) {
        let mut state = self.state();
        state.wishes.retain(|wish| wish.id != id);
        stop_unwanted(&state);
    }

    /// Forgets what is no longer looked at, and answers who waits for it.
    pub(crate) fn supersede(&self, is_current: &dyn Fn(&View) -> bool) {
        let mut state = self.state();
        let wishes = std::mem::take(&mut state.wishes);
        let (wanted, stale): (Vec<Wish>, Vec<Wish>) = wishes.into_iter().partition(|w| is_current(&w.view));
        state.wishes = wanted;
        state.rest.retain(is_current);
        if let Some(running) = state.running.as_ref().filter(|running| !is_current(&running.view)) {
            running.cancel.cancel();
        }
        drop(state);
        stale.into_iter().for_each(|wish| drop(wish.answer.send(Err(Problem::superseded()))));
    }

    /// The device is needed elsewhere, or free again: only what is waited for is computed meanwhile.
    pub(crate) fn pause(&self, pause: bool) {
        let mut state = self.state();
        state.paused = if pause { state.paused + 1 } else { state.paused.saturating_sub(1) };
        if let Some(running) = state.running.as_ref().filter(|running| running.rest && pause) {
            running.cancel.cancel();
        }
        self.bell.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.wishes.clear();
        if let Some(running) = &state.running {
            running.cancel.cancel();
        }
        self.bell.notify_all();
    }

    /// Waits for work; nothing at the end.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            if !state.wishes.is_empty() {
                // Others of the same view are on their way.
                let (after, _) =
                    self.bell.wait_timeout(state, GATHER).unwrap_or_else(PoisonError::into_inner);
                state = after;
                if let Some(wish) = state.wishes.last() {
                    let (view, area) = (wish.view.clone(), wish.area);
                    return Some(Job::Wish { area: together(&state.wishes, &view, area), view });
                }
                continue;
            }
            if let Some(view) = state.rest.last().filter(|_| state.paused == 0) {
                return Some(Job::Rest { view: view.clone() });
            }
            state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn start(&self, view: &View, rest: bool) -> Cancel {
        let cancel = Cancel::new();
        let mut state = self.state();
        state.running = Some(Running { view: view.clone(), rest, cancel: cancel.clone() });
        // What came meanwhile did not know of it.
        let is_wanted = state.wishes.iter().any(|wish| wish.view == *view);
        let is_rest = state.rest.contains(view) && state.wishes.is_empty();
        if (rest && !is_rest) || (!rest && !is_wanted) || state.ended {
            cancel.cancel();
        }
        cancel
    }

    /// Answers those whose part is there; `Err` is for all of the view.
    fn answer(&self, view: &View, result: Result<&Sheet, &Problem>) {
        let mut state = self.state();
        state.running = None;
        let ready = |wish: &Wish| match result {
            Ok(sheet) => wish.view == *view && sheet.missing(wish.area).is_none(),
            Err(_) => wish.view == *view,
        };
        let wishes = std::mem::take(&mut state.wishes);
        let (done, left): (Vec<Wish>, Vec<Wish>) = wishes.into_iter().partition(ready);
        state.wishes = left;
        drop(state);
        for wish in done {
            // Who waited may be gone.
            let _ = wish.answer.send(result.map(drop).map_err(Clone::clone));
        }
    }

    fn drop_rest(&self, view: &View) {
        self.state().rest.retain(|other| other != view);
    }
}

/// Stops work that nobody waits for.
fn stop_unwanted(state: &State) {
    if let Some(running) = state.running.as_ref().filter(|running| !running.rest)
        && !state.wishes.iter().any(|wish| wish.view == running.view)
    {
        running.cancel.cancel();
    }
}

/// The area of a wish, and of those of the same view that are near.
fn together(wishes: &[Wish], view: &View, area: Area) -> Area {
    let mut all = area;
    let mut wanted = area.pixels();
    for wish in wishes.iter().rev().filter(|wish| wish.view == *view && wish.area != area) {
        let hull = all.with(&wish.area);
        if hull.pixels() as f64 <= TOGETHER * (wanted + wish.area.pixels()) as f64 {
            all = hull;
            wanted += wish.area.pixels();
        }
    }
    all
}

/// What the thread does until the end.
pub(crate) fn run(studio: &Arc<Studio>) {
    let mut pace = Pace::default();
    while let Some(job) = studio.desk.next() {
        let (view, wanted) = match &job {
            Job::Wish { view, area } => (view, Some(*area)),
            Job::Rest { view } => (view, None),
        };
        let work = std::panic::AssertUnwindSafe(|| step(studio, view, wanted, &mut pace));
        let done = std::panic::catch_unwind(work)
            .unwrap_or_else(|_| Err(Problem::new(Kind::Failed, "a bug in quell: please report it")));
        match done {
            Ok(()) => {}
            // Whoever cancelled it knows; wishes that are left are computed next.
            Err(problem) if problem.kind == Kind::Cancelled => studio.desk.state().running = None,
            Err(problem) => {
                studio.desk.drop_rest(view);
                studio.desk.answer(view, Err(&problem));
                let failed = json!({"key": &*view.key, "error": problem.error, "hint": problem.hint});
                studio.events.send("failed", &failed);
            }
        }
    }
}

/// One piece of work.
fn step(studio: &Arc<Studio>, view: &View, wanted: Option<Area>, pace: &mut Pace) -> Result<(), Problem> {
    let source = studio.library.open(&*studio.program, view.file)?;
    let shape = source.shape(view.frame)?;
    let sheet = studio.store.sheet(view, shape);
    let area = wanted.unwrap_or(shape.area()).within(shape.width, shape.height);
    let Some((missing, first)) = sheet.missing(area).zip(sheet.first_missing(area)) else {
        if wanted.is_none() {
            studio.desk.drop_rest(view);
        }
        studio.desk.answer(view, Ok(&sheet));
        return Ok(());
    };
    if wanted.is_none() && sheet.whole_bytes() > studio.room() {
        studio.desk.drop_rest(view);
        return Ok(());
    }
    let cancel = studio.desk.start(view, wanted.is_none());
    let (_, planned) = studio.planned(view)?;
    // What was computed before is left out where that can be.
    let area = pace.piece(view, missing, first, planned.halo());
    let area = sheet.missing(area).unwrap_or(area);
    let started = Instant::now();
    let control = control(studio, view, area, &sheet, &cancel, pace.of(view));
    control.check()?;
    plans::compute(&planned, &source, view.frame, area, &sheet, &control)?;
    pace.last = Some((view.key.clone(), area.pixels() as f64 / started.elapsed().as_secs_f64().max(1e-6)));
    studio.desk.answer(view, Ok(&sheet));
    studio.make_room();
    let now = Instant::now();
    if sheet.missing(shape.area()).is_none() {
        studio.desk.drop_rest(view);
        let ready = json!({"key": &*view.key, "file": view.file.to_string(), "frame": view.frame});
        studio.events.send("ready", &ready);
        studio.events.send("memory", &studio.describe_memory());
    } else if pace.reported.is_none_or(|last| now - last > REPORT) {
        pace.reported = Some(now);
        report(studio, view, sheet.done(), pace.of(view).map(|pace| left(&sheet, pace)));
    }
    Ok(())
}

/// What tells the page how far a piece is, and stops it.
fn control(
    studio: &Arc<Studio>,
    view: &View,
    area: Area,
    sheet: &Sheet,
    cancel: &Cancel,
    pace: Option<f64>,
) -> Control {
    let before = sheet.done();
    let share = area.pixels() as f64 / sheet_pixels(sheet);
    let seconds = pace.map(|pace| left(sheet, pace));
    let last = Mutex::new(Instant::now());
    let (of, to) = (view.clone(), studio.clone());
    let progress = move |p: quell::Progress| {
        let Ok(mut last) = last.try_lock() else { return };
        if last.elapsed() > REPORT {
            *last = Instant::now();
            let done = share * p.fraction();
            report(&to, &of, (before + done).min(1.0), seconds.map(|s| s * (1.0 - done).max(0.0)));
        }
    };
    Control::new().with_cancel(cancel.clone()).with_progress(Arc::new(progress))
}

fn sheet_pixels(sheet: &Sheet) -> f64 {
    let shape = crate::tile::Pixels::shape(sheet);
    (shape.width * shape.height) as f64
}

/// Seconds until all of it is there.
fn left(sheet: &Sheet, pace: f64) -> f64 {
    (1.0 - sheet.done()) * sheet_pixels(sheet) / pace
}

fn report(studio: &Studio, view: &View, done: f64, seconds: Option<f64>) {
    let progress = json!({
        "key": &*view.key, "file": view.file.to_string(), "frame": view.frame, "done": done, "seconds_left": seconds,
    });
    studio.events.send("progress", &progress);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> View {
        View { file: 1, frame: 0, key: "k".into() }
    }

    #[test]
    fn wishes_that_are_near_are_computed_together() {
        let wish = |x: usize| {
            let area = Area { x, y: 0, width: 100, height: 100 };
            Wish { id: 0, view: view(), area, answer: oneshot::channel().0 }
        };
        let wishes = [wish(0), wish(5000), wish(100)];
        let hull = together(&wishes, &view(), wishes[2].area);
        assert_eq!(hull, Area { x: 0, y: 0, width: 200, height: 100 });
    }
}
