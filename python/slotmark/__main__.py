"""`python -m slotmark`."""

from slotmark.cli import main

main()
