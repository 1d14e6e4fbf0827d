//! How close two pictures are.
