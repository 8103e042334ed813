//! A short form of the attack on the line parser, so that it stays right; `make attack` runs the long one.

#[path = "../../examples/fuzz_lines.rs"]
#[allow(dead_code, reason = "the program's own main")]
mod fuzz_lines;

#[test]
fn no_line_of_a_short_attack_fails() {
    assert_eq!(fuzz_lines::fuzz(20_000, 7, ""), 0);
}
