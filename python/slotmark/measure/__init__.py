"""Measuring, as all benches do it: processes, sessions in rounds, manifests, and programs of slotmark's own."""
