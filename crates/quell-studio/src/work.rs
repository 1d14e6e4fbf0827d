//! The one thread that filters: what was asked for last comes first, then the rest of what is looked at.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quell::{Cancel, Control};
use serde_json::json;
use tokio::sync::oneshot;

use crate::plans;
use crate::store::{BLOCK, Sheet, View};
use crate::studio::Studio;
use crate::tile::Area;
use crate::{Kind, Problem};

/// Requests of one view come one by one, and are better served together.
const GATHER: Duration = Duration::from_millis(2);
/// How long a piece of work should take: it is lost when it is not wanted any more.
const PIECE: Duration = Duration::from_millis(400);
/// Side of a piece, at least.
const LEAST_SIDE: usize = 4 * BLOCK;
/// Pixels that a piece reads, at most, its halo included: filters take about a hundred bytes for each.
const READ: usize = 5 << 19;
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

/// How fast views were computed, in pixels a second: told by the last piece.
#[derive(Default)]
struct Pace {
    last: Option<(Arc<str>, f64)>,
    reported: Option<Instant>,
}

impl Pace {
    fn of(&self, view: &View) -> Option<f64> {
        self.last.as_ref().filter(|(key, _)| *key == view.key).map(|(_, pace)| *pace)
    }

    /// A part of an area, from `first` on, that takes about as long as a piece should and is large beside its halo.
    fn piece(&self, view: &View, area: Area, first: (usize, usize), halo: usize) -> Area {
        let around = |n: usize| n + 2 * halo;
        let whole = around(area.width) * around(area.height) <= READ;
        let pixels = self.of(view).map_or(usize::MAX, |pace| (pace * PIECE.as_secs_f64()) as usize);
        if whole && area.pixels() / 2 <= pixels {
            return area;
        }
        let blocks = |n: usize| (n / BLOCK * BLOCK).max(LEAST_SIDE);
        let side = blocks((READ as f64).sqrt() as usize - (2 * halo).min(1 << 10));
        let columns = area.columns().end - first.0;
        // No crumbs.
        let width = if columns <= side * 5 / 4 { columns } else { side };
        let most = blocks((READ / around(width)).saturating_sub(2 * halo));
        let least = blocks(halo + halo / 2).min(most);
        let height = blocks(pixels / width.max(1)).clamp(least, most);
        let rows = area.rows().end - first.1;
        let height = if rows <= height * 5 / 4 { rows } else { height };
        Area { x: first.0, y: first.1, width, height }
    }
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
    fn what_is_seen_is_computed_at_once_and_the_rest_in_pieces() {
        let mut pace = Pace::default();
        let seen = Area { x: 1984, y: 1472, width: 1216, height: 832 };
        assert_eq!(pace.piece(&view(), seen, (1984, 1472), 218), seen);
        let all = Area { x: 0, y: 0, width: 6000, height: 4000 };
        for (halo, speed) in
            [(50, None), (218, Some(2e6)), (218, Some(1e4)), (50, Some(1e9)), (2000, Some(1e6))]
        {
            pace.last = speed.map(|speed| ("k".into(), speed));
            let piece = pace.piece(&view(), all, (0, 64), halo);
            assert!(piece.y == 64 && piece.width >= LEAST_SIDE && piece.height >= LEAST_SIDE, "{piece:?}");
            let read = (piece.width + 2 * halo) * (piece.height + 2 * halo);
            assert!(read <= READ || halo == 2000, "{piece:?} reads {read}");
            assert!(piece.width.is_multiple_of(BLOCK) && piece.height.is_multiple_of(BLOCK), "{piece:?}");
        }
        let last = pace.piece(&view(), all, (5888, 3968), 50);
        assert_eq!((last.columns().end, last.rows().end), (6000, 4000));
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
