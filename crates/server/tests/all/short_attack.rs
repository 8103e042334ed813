//! A short form of the attack on the server and the chain reader, so that it stays right; `make attack` runs the long one.

#[path = "../../examples/attack.rs"]
#[allow(dead_code, reason = "the program's own main")]
mod attack;

#[test]
fn no_input_of_a_short_attack_fails() {
    assert_eq!(attack::attack(400, 60, 7, &attack::Control::default()), 0);
}
