"""Parts of the result of a comparison (:mod:`slotmark.compare.result`), and results of other commands, as plain data. Nothing here computes."""
