//! One session: what the window is looking at, and who works for it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::events::Events;
use crate::export::Exports;
use crate::guard::Guard;
use crate::library::Library;
use crate::plans::{Planned, Plans};
use crate::settings::Setups;
use crate::source::Source;
use crate::store::{Store, View};
use crate::work::Desk;
use crate::{Problem, Program, export};

/// All that requests and threads share.
pub(crate) struct Studio {
    pub(crate) program: Box<dyn Program>,
    pub(crate) library: Library,
    pub(crate) store: Store,
    pub(crate) setups: Setups,
    pub(crate) plans: Plans,
    pub(crate) desk: Desk,
    pub(crate) exports: Exports,
    pub(crate) events: Events,
    pub(crate) guard: Guard,
}

impl Studio {
    /// Starts the thread that writes files; it ends with [`end`](Self::end).
    pub(crate) fn start(self) -> std::io::Result<Arc<Self>> {
        let studio = Arc::new(self);
        let writes = studio.clone();
        std::thread::Builder::new().name("export".to_owned()).spawn(move || export::run(&writes))?;
        Ok(studio)
    }

    /// Stops all work.
    pub(crate) fn end(&self) {
        self.desk.end();
        self.exports.end();
        self.events.end();
    }

    /// Limit and use of memory, in bytes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let (files, largest) = self.library.bytes();
        (self.store.limit(largest), files + self.store.used())
    }

    /// The same for the page.
    pub(crate) fn describe_memory(&self) -> Value {
        let (limit, used) = self.memory();
        json!({"limit": limit, "used": used})
    }

    /// A file, and what is done to it for a view.
    pub(crate) fn planned(&self, view: &View) -> Result<(Arc<Source>, Arc<Planned>), Problem> {
        let setup = self.setups.find(&view.key)?;
        let source = self.library.open(&*self.program, view.file)?;
        source.shape(view.frame)?;
        let planned = self.plans.plan(view, &setup, &source, &*self.program)?;
        Ok((source, planned))
    }

    /// What a result may take at most.
    pub(crate) fn room(&self) -> u64 {
        let (files, largest) = self.library.bytes();
        self.store.limit(largest).saturating_sub(files.min(largest))
    }

    /// Forgets old results, and closes files that nobody looked at for long, until what is left is within the limit.
    pub(crate) fn make_room(&self) {
        let (limit, used) = self.memory();
        if used <= limit {
            return;
        }
        let (files, _) = self.library.bytes();
        self.store.shrink(limit.saturating_sub(files), |view| self.setups.is_current(&view.key));
        for most in (1..4).rev() {
            let (limit, used) = self.memory();
            if used > limit {
                self.library.shrink(most);
            }
        }
        self.events.send("memory", &self.describe_memory());
    }
}
