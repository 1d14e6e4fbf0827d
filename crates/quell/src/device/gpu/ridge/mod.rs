//! Context ridge on a GPU.

#[cfg(all(test, feature = "cuda"))]
mod compile_tests;
mod tensor;
#[cfg(all(test, feature = "emulator"))]
mod tensor_tests;
