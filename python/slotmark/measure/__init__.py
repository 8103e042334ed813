"""What every bench needs to measure: processes, sessions in rounds, manifests, and programs of slotmark's own."""
