"""Results besides that of a comparison (:mod:`slotmark.compare.result`), as plain data. Nothing here computes."""
