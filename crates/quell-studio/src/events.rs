//! What the page is told without asking: server-sent events.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::Event;
use futures_core::Stream;
use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc;

/// Events that wait for a page that does not take them, at most: then they are lost to it.
const WAITING: usize = 1024;

/// Everybody who listens.
#[derive(Default)]
pub(crate) struct Events {
    listeners: Mutex<Vec<mpsc::Sender<Event>>>,
}

impl Events {
    /// Tells everybody.
    pub(crate) fn send(&self, name: &str, data: &impl Serialize) {
        let Ok(data) = serde_json::to_string(data) else { return };
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event::default().event(name).data(data);
        listeners
            .retain(|to| !matches!(to.try_send(event.clone()), Err(mpsc::error::TrySendError::Closed(_))));
    }

    /// What is told from now on.
    pub(crate) fn listen(&self) -> Listener {
        let (to, from) = mpsc::channel(WAITING);
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(to);
        Listener(from)
    }

    /// Nobody is told any more: open answers end.
    pub(crate) fn end(&self) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Events on their way to a page.
pub(crate) struct Listener(mpsc::Receiver<Event>);

impl Stream for Listener {
    type Item = Result<Event, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}
