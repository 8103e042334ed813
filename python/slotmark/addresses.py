"""Limits on addresses, as `ulimit -v` sets them: compiled libraries crash or wait for ever where they get none, so room is asked for first."""

import mmap
import resource


def addresses_are_limited(needed_bytes: int) -> bool:
    """Returns whether the addresses of this process are limited. MemoryError where fewer than are needed are left."""
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    if all(resource.getrlimit(limit)[0] == resource.RLIM_INFINITY for limit in limits):
        return False
    try:
        mmap.mmap(-1, needed_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError from error
    return True
