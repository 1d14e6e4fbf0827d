//! quell on the command line.
fn main() {}
