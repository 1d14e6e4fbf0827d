//! What one picture in work occupies: a queue, host memory to copy through, and device buffers. Kept for the next
//! picture; several threads that call at once get a slot each, so that copies and small pictures overlap.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::device::gpu::growing::Growing;
use crate::device::gpu::{GpuResult, Runtime, ridge};

/// Pictures in work at once: one being copied in, one filtered, one copied out.
pub(crate) const SLOTS: usize = 3;

/// Device memory of a slot. Planes have the layout of [`Geometry`](super::geometry::Geometry), one per channel.
pub(crate) struct Buffers<R: Runtime> {
    /// Samples as they come and go, channel by channel without gaps.
    pub(crate) samples: Growing<R::Buffer>,
    pub(crate) noisy: Vec<Growing<R::Buffer>>,
    pub(crate) basic: Vec<Growing<R::Buffer>>,
    /// The matching plane, a byte per sample.
    pub(crate) guide: Growing<R::Buffer>,
    /// Squared norms of the patches on it.
    pub(crate) norms: Growing<R::Buffer>,
    /// Displacements of the groups of a band of references.
    pub(crate) matches: Growing<R::Buffer>,
    /// References that the tensor kernel hands over.
    pub(crate) difficult: Growing<R::Buffer>,
    pub(crate) sums: Vec<Growing<R::Buffer>>,
    pub(crate) weights: Vec<Growing<R::Buffer>>,
    /// For the filter of any groups.
    pub(crate) scratch: Growing<R::Buffer>,
    /// For the rounds of context ridge, where this is its pilot.
    pub(crate) ridge: ridge::Memory<R>,
}

impl<R: Runtime> Default for Buffers<R> {
    fn default() -> Self {
        Self {
            samples: Growing::default(),
            noisy: Vec::new(),
            basic: Vec::new(),
            guide: Growing::default(),
            norms: Growing::default(),
            matches: Growing::default(),
            difficult: Growing::default(),
            sums: Vec::new(),
            weights: Vec::new(),
            scratch: Growing::default(),
            ridge: ridge::Memory::default(),
        }
    }
}

impl<R: Runtime> Buffers<R> {
    fn bytes(&self) -> usize {
        let single = [&self.samples, &self.guide, &self.norms, &self.matches, &self.difficult, &self.scratch];
        let planes = [&self.noisy, &self.basic, &self.sums, &self.weights];
        let own: usize = single.into_iter().chain(planes.into_iter().flatten()).map(Growing::bytes).sum();
        own + self.ridge.bytes()
    }
}

/// One picture's place on the device.
pub(crate) struct Slot<R: Runtime> {
    pub(crate) queue: R::Queue,
    staging: Growing<R::Staging>,
    /// Of the picture itself, and of every smaller size at which it is filtered.
    sizes: Vec<Buffers<R>>,
}

/// The part of a slot that one size of a picture works in.
pub(crate) struct Place<'a, R: Runtime> {
    pub(crate) queue: &'a R::Queue,
    pub(crate) staging: &'a mut Growing<R::Staging>,
    pub(crate) buffers: &'a mut Buffers<R>,
}

impl<R: Runtime> Slot<R> {
    /// For the picture itself.
    pub(crate) fn whole(&mut self) -> Place<'_, R> {
        self.size(0)
    }

    /// For the picture halved so many times.
    pub(crate) fn size(&mut self, halvings: usize) -> Place<'_, R> {
        let Self { queue, staging, sizes } = self;
        sizes.resize_with(sizes.len().max(halvings + 1), Buffers::default);
        Place { queue, staging, buffers: &mut sizes[halvings] }
    }

    /// The memory of a size and of the next smaller one.
    pub(crate) fn pair(&mut self, halvings: usize) -> (&R::Queue, &mut Buffers<R>, &mut Buffers<R>) {
        self.size(halvings + 1);
        let (larger, smaller) = self.sizes.split_at_mut(halvings + 1);
        (&self.queue, &mut larger[halvings], &mut smaller[0])
    }

    /// Device memory taken, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.sizes.iter().map(Buffers::bytes).sum()
    }
}

/// The slots of a device.
pub(crate) struct Slots<R: Runtime> {
    state: Mutex<State<R>>,
    returned: Condvar,
}

struct State<R: Runtime> {
    free: Vec<Slot<R>>,
    made: usize,
    /// Those that sequences have given back.
    others: Vec<Slot<R>>,
}

impl<R: Runtime> Default for Slots<R> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State { free: Vec::new(), made: 0, others: Vec::new() }),
            returned: Condvar::new(),
        }
    }
}

impl<R: Runtime> Slots<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a picture; waits while all are taken.
    pub(crate) fn take(self: &Arc<Self>, runtime: &R) -> GpuResult<Taken<R>> {
        let mut state = self.lock();
        loop {
            if let Some(slot) = state.free.pop() {
                return Ok(self.taken(slot, true));
            }
            if state.made < SLOTS {
                let slot = Slot::new(runtime)?;
                state.made += 1;
                return Ok(self.taken(slot, true));
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A slot for a frame of a sequence. Never waits, and nobody waits for it: who pushes frames also pulls them.
    pub(crate) fn take_another(self: &Arc<Self>, runtime: &R) -> GpuResult<Taken<R>> {
        let free = self.lock().others.pop();
        Ok(self.taken(free.map_or_else(|| Slot::new(runtime), Ok)?, false))
    }

    fn taken(self: &Arc<Self>, slot: Slot<R>, counted: bool) -> Taken<R> {
        Taken { slots: self.clone(), slot: Some(slot), counted }
    }

    /// Gives the memory of slots that nobody uses back to the device.
    pub(crate) fn shrink(&self) {
        let mut state = self.lock();
        let idle = std::mem::take(&mut state.free);
        state.made -= idle.len();
        state.others.clear();
    }
}

impl<R: Runtime> Slot<R> {
    fn new(runtime: &R) -> GpuResult<Self> {
        Ok(Self { queue: runtime.queue()?, staging: Growing::default(), sizes: Vec::new() })
    }
}

/// Slots of sequences that have ended which are kept for the next: three frames of luma and two of chroma.
const OTHERS: usize = 9;

/// A slot in use.
pub(crate) struct Taken<R: Runtime> {
    slots: Arc<Slots<R>>,
    slot: Option<Slot<R>>,
    /// One of those that pictures share.
    counted: bool,
}

impl<R: Runtime> Taken<R> {
    /// Drops the slot instead of giving it back: after an error its queue may still be at work.
    pub(crate) fn discard(mut self) {
        self.slot = None;
    }
}

impl<R: Runtime> Deref for Taken<R> {
    type Target = Slot<R>;
    fn deref(&self) -> &Slot<R> {
        self.slot.as_ref().unwrap_or_else(|| unreachable!("there until dropped"))
    }
}

impl<R: Runtime> DerefMut for Taken<R> {
    fn deref_mut(&mut self) -> &mut Slot<R> {
        self.slot.as_mut().unwrap_or_else(|| unreachable!("there until dropped"))
    }
}

impl<R: Runtime> Drop for Taken<R> {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        match (self.slot.take(), self.counted) {
            (Some(slot), true) => state.free.push(slot),
            (None, true) => state.made -= 1,
            (Some(slot), false) if state.others.len() < OTHERS => state.others.push(slot),
            (_, false) => {}
        }
        drop(state);
        self.slots.returned.notify_one();
    }
}
