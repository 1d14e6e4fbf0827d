"""What there is to work on."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class DeviceInfo(NamedTuple):
    """A device of this machine."""

    name: str
    """What `device=` takes: ``cpu``, ``cuda:0``, ``opencl:0``."""
    kind: str
    description: str
    detail: str
    units: int
    memory_bytes: int | None
    driver: str
    usable: bool
    problem: str | None
    """Why it cannot be used, and what to do about it."""


def devices() -> list[DeviceInfo]:
    """Every device of this machine, whether it can be used or not, in the order in which ``"auto"`` looks at them.

    Examples
    --------
    >>> import quell
    >>> [d.name for d in quell.devices() if d.kind == "cpu"]
    ['cpu']
    """
    return [DeviceInfo(**info) for info in _core.devices()]
