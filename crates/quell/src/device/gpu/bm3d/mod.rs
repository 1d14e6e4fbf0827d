//! BM3D on a GPU: the stages and the memory between them, once for every runtime.

mod geometry;
pub(crate) mod tensor;

#[cfg(all(test, feature = "emulator"))]
mod tensor_tests;
