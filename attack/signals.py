"""Signals as processes find them that are started here, however this one was started."""

import signal

from slotmark.__main__ import STOPS


def default_for_children(numbers: tuple[signal.Signals, ...] = STOPS) -> None:
    """Has processes started from now on begin with the default action for signals which this one ignores, as under nohup.

    This one goes on without heeding them: a handler that does nothing is not inherited, as being ignored is.
    """
    for number in numbers:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
