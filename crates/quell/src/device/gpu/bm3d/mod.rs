//! BM3D on a GPU: the stages and the memory between them, once for every runtime.

mod geometry;
