//! One test for each file that once made trouble; the files lie in `regression/`, small and as found.

mod common;

use common::refusal;

#[test]
fn nested_brackets_in_an_array_header_do_not_take_forever() {
    let e = refusal(include_bytes!("regression/nested-brackets.npy"));
    assert_eq!(e, "an array of records is not a picture; take one of its fields first");
}
