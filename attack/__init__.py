"""Attacks on slotmark with hostile and damaged input, made from seeds: `make attack`, and docs/reliability.md for what it found.

An attack is a generator of :class:`~attack.outcome.Tried`: each has how many inputs were tried and which of them failed. An
input that fails names itself, so that the same seed shows it again.
"""
