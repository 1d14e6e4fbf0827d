//! Progress out of, and cancellation into, running work.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use quell::bm3d::Profile;
use quell::device::DeviceOptions;
use quell::{Cancel, ColorMode, Control, Denoiser, Error, Frame, Progress};

use crate::common::{grey, picture};

fn denoiser(threads: usize, tile: usize) -> Denoiser {
    let options = DeviceOptions { threads, tile, level: None };
    Denoiser::bm3d(Profile::Fast).sigma(25.0).options(options).build().unwrap()
}

fn steps(denoiser: &Denoiser, frame: &Frame) -> Vec<Progress> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let control = Control::new().with_progress(Arc::new(move |p| log.lock().unwrap().push(p)));
    denoiser.run(frame, &control).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn progress_rises_to_its_total() {
    let frame = grey(picture(200, 170, 25.0, 1));
    for threads in [1, 4] {
        for tile in [0, 64] {
            let steps = steps(&denoiser(threads, tile), &frame);
            let last = steps.last().unwrap();
            assert!(last.total > 1 && steps.iter().all(|p| p.total == last.total));
            assert!(steps.windows(2).all(|w| w[0].done < w[1].done), "{threads} threads: {steps:?}");
            assert_eq!((last.done, last.fraction()), (last.total, 1.0));
            assert!(steps.iter().all(|p| !p.stage.is_empty()));
        }
    }
}

#[test]
fn progress_of_a_colour_picture_rises_to_its_total() {
    let frame = Frame::new((0..3).map(|c| picture(60, 50, 25.0, c)).collect(), 255.0).unwrap();
    for mode in [ColorMode::Opp, ColorMode::Independent] {
        let denoiser = Denoiser::bm3d(Profile::Fast).sigma(25.0).color(mode).threads(2).build().unwrap();
        let steps = steps(&denoiser, &frame);
        assert!(steps.windows(2).all(|w| w[0].done < w[1].done), "{steps:?}");
        assert_eq!(steps.last().unwrap().fraction(), 1.0);
    }
}

#[test]
fn cancelling_from_another_thread_ends_the_work() {
    let frame = grey(picture(300, 300, 25.0, 2));
    for threads in [1, 3] {
        let denoiser = denoiser(threads, 0);
        let cancel = Cancel::new();
        let (started, first_step) = channel::<Sender<()>>();
        let canceller = std::thread::spawn({
            let cancel = cancel.clone();
            move || {
                let reply = first_step.recv().unwrap();
                cancel.cancel();
                reply.send(()).unwrap();
            }
        });
        // The first step waits until the other thread has cancelled, so there is always work left.
        let started = Mutex::new(Some(started));
        let control = Control::new().with_cancel(cancel).with_progress(Arc::new(move |_| {
            if let Some(started) = started.lock().unwrap().take() {
                let (reply, done) = channel();
                started.send(reply).unwrap();
                done.recv().unwrap();
            }
        }));
        assert!(matches!(denoiser.run(&frame, &control), Err(Error::Cancelled)));
        canceller.join().unwrap();
        // The denoiser is as good as before.
        assert!(denoiser.denoise(&frame).is_ok());
    }
}

#[test]
fn work_cancelled_beforehand_does_not_begin() {
    let cancel = Cancel::new();
    cancel.cancel();
    let log = Arc::new(Mutex::new(0));
    let count = Arc::clone(&log);
    let control =
        Control::new().with_cancel(cancel).with_progress(Arc::new(move |_| *count.lock().unwrap() += 1));
    let frame = grey(picture(64, 64, 25.0, 3));
    assert!(matches!(denoiser(2, 0).run(&frame, &control), Err(Error::Cancelled)));
    assert_eq!(*log.lock().unwrap(), 0);
}
