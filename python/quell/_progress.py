"""Telling how far the work is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[float], object]


@contextmanager
def reporting(progress: bool | Report | None) -> Iterator[Report | None]:
    """What to call with a number from 0 to 1: nothing, what the caller gave, or for True a bar."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar() as report:
            yield report
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress: must be True or callable, not {type(progress).__name__}")


def section(report: Report | None, index: int, count: int) -> Report | None:
    """Of the `index`-th of `count` equal parts of the work."""
    if report is None or count == 1:
        return report
    return lambda fraction: report((index + fraction) / count)


@contextmanager
def _bar() -> Iterator[Report]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        with _text() as report:
            yield report
        return
    with tqdm(total=100, desc="quell", bar_format="{l_bar}{bar}| {elapsed}<{remaining}") as bar:
        yield lambda fraction: bar.update(100 * fraction - bar.n)


@contextmanager
def _text() -> Iterator[Report]:
    def report(fraction: float) -> Any:
        print(f"\rquell: {fraction:4.0%}", end="", file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        print(file=sys.stderr)
