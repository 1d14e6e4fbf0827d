//! Owned OpenCL objects. Each is released once, when dropped; a driver that fails at that is not listened to.

use std::ffi::c_void;

use cl3::types::{cl_command_queue, cl_context, cl_event, cl_kernel, cl_mem, cl_program};

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $release:path) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name(pub(super) $raw);

        // SAFETY: OpenCL objects may be used from any thread (OpenCL 1.2, appendix A.2); setting arguments of a kernel
        // is the one exception, and the runtime holds a lock for it.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the object is ours and is released once.
                let _ = unsafe { $release(self.0) };
            }
        }
    };
}

handle!(
    /// A context; what is made in it keeps it alive.
    Context, cl_context, cl3::context::release_context
);
handle!(
    /// A buffer.
    Memory, cl_mem, cl3::memory::release_mem_object
);
handle!(
    /// A program that is built.
    Program, cl_program, cl3::program::release_program
);
handle!(
    /// A kernel, and the arguments set last.
    Kernel, cl_kernel, cl3::kernel::release_kernel
);
handle!(
    /// A point in a queue.
    Event, cl_event, cl3::event::release_event
);

/// An in-order queue with profiling. Dropping it waits for its work, so that nothing it uses goes first.
#[derive(Debug)]
pub(crate) struct Queue(pub(super) cl_command_queue);

// SAFETY: as for the other objects.
unsafe impl Send for Queue {}
// SAFETY: as for the other objects.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        let _ = cl3::command_queue::finish(self.0);
        // SAFETY: the queue is ours and is released once.
        let _ = unsafe { cl3::command_queue::release_command_queue(self.0) };
    }
}

/// The pointer to a value, as kernel arguments want it.
pub(super) fn bytes_of<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}
