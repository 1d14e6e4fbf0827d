"""Arrays that do not fit into memory or on one machine: bands of rows that give what the whole gives, bit by bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Axes
from ._denoiser import Denoiser
from ._noise import estimate_noise

# BM3D adds up reference patches in units of at most this many rows; where they begin decides the order of additions.
_UNIT_ROWS = 72

# Samples of a picture that are worth having in memory at once.
_SAMPLES = 1 << 24

# Noise is told by so many strips of so many rows and columns.
_STRIPS, _STRIP_ROWS, _STRIP_COLUMNS = 4, 256, 2048


@dataclass(frozen=True)
class Band:
    """Rows `first..last` of the result, and those of the picture that they are made of."""

    first: int
    last: int
    top: int
    bottom: int

    def kept(self, rows: int) -> tuple[Any, ...]:
        """What of the filtered rows is the result; `rows` is their axis."""
        return (*[slice(None)] * rows, slice(self.first - self.top, self.last - self.top))

    def read(self, rows: int) -> tuple[Any, ...]:
        """What of the picture is filtered."""
        return (*[slice(None)] * rows, slice(self.top, self.bottom))


def bands(denoiser: Denoiser, height: int, cuts: list[int]) -> Iterator[Band]:
    """Bands that end where `cuts` say."""
    halo = denoiser.halo
    align = _units(denoiser, height) if denoiser.method == "bm3d" else None
    first = 0
    for last in cuts:
        if align is None:
            top = max(0, first - denoiser.margin) // denoiser.grid * denoiser.grid
            yield Band(first, last, top, min(height, last + denoiser.margin))
        else:
            yield Band(first, last, *align(max(0, first - halo), min(height, last + halo)))
        first = last


def _units(denoiser: Denoiser, height: int) -> Callable[[int, int], tuple[int, int]]:
    """Which rows to filter so that the units that touch some rows are those of the whole picture."""
    params = denoiser.params
    passes = ["hard", "wiener"][: int(params["passes"])]
    sizes = [(int(params[f"{name}.patch"]), int(params[f"{name}.step"])) for name in passes]
    whole = [_starts(height, *size) for size in sizes]

    def same(top: int, bottom: int, low: int, high: int) -> bool:
        """Whether units of rows `top..bottom` are those of the whole wherever they touch `low..high`."""
        for size, starts in zip(sizes, whole, strict=True):
            mine = _starts(bottom - top, *size) + top
            if not np.array_equal(_touching(starts, height, low, high), _touching(mine, bottom, low, high)):
                return False
        return True

    def align(low: int, high: int) -> tuple[int, int]:
        tops = sorted(set.intersection(*(set(starts[starts <= low].tolist()) for starts in whole)), reverse=True)
        for top in tops:
            for bottom in range(high, min(height, high + 2 * _UNIT_ROWS) + 1):
                if bottom - top >= max(patch for patch, _ in sizes) and same(top, bottom, low, high):
                    return top, bottom
        return 0, height

    return align


def _starts(height: int, patch: int, step: int) -> Any:
    """The first row of every unit of a picture."""
    rows = np.arange(0, height - patch + 1, step)
    if rows[-1] != height - patch:
        rows = np.append(rows, height - patch)
    units = -(-len(rows) // max(1, _UNIT_ROWS // step))
    return rows[:: -(-len(rows) // units)]


def _touching(starts: Any, end: int, low: int, high: int) -> Any:
    """The units with patches in these rows."""
    return starts[(np.append(starts[1:], end) > low) & (starts < high)]


def rows_at_once(width: int, halo: int) -> int:
    """Rows of a band: enough that the rows around it are not most of the work, and not more than memory is for."""
    return max(4 * halo, _SAMPLES // width)


def row_axis(axes: Axes) -> int:
    """The axis of the rows."""
    return [axis for axis in range(axes.ndim) if axis != axes.channel][-2]


def white_level(white: float | None, dtype: np.dtype[Any]) -> float:
    """Which sample is white: it has to be the same for every band."""
    if white is not None:
        if not 0 < white < np.inf:
            raise ValueError(f"white = {white!r}: must be a positive number")
        return float(white)
    if dtype.kind == "f":
        return 1.0
    if dtype.kind not in "ui":
        raise TypeError(f"array: is of {dtype}, and must be of real numbers")
    if dtype.itemsize > 4:
        raise ValueError(f"white: must be given for {dtype}: which value is white?")
    return float(np.iinfo(dtype).max)


def noise_of(strips: Callable[[tuple[int, ...], slice, slice], Array], axes: Axes, white: float, estimator: str) -> Any:
    """One noise for the whole array, from strips all over it; None, if there is none to speak of."""
    found = []
    count = len(axes)
    for picture in sorted({0, count // 2, count - 1}):
        index = tuple(int(i) for i in np.unravel_index(picture, axes.batch)) if axes.batch else ()
        starts, rows = [0], axes.height
        if axes.height > _STRIPS * _STRIP_ROWS:
            starts, rows = np.linspace(0, axes.height - _STRIP_ROWS, _STRIPS).astype(int).tolist(), _STRIP_ROWS
        left = max(0, axes.width - _STRIP_COLUMNS) // 2
        columns = slice(left, left + _STRIP_COLUMNS)
        some = np.concatenate([strips(index, slice(s, s + rows), columns) for s in starts], axis=-2)
        if axes.channels not in (1, 3):
            some = some[:1]
        found.append(estimate_noise(some, estimator=estimator, white=white, channel_axis=0))
    levels = sorted((model for model in found if model is not None), key=lambda model: model.sigma)
    return levels[len(levels) // 2] if levels else None


def refuse_spectra(params: dict[str, Any]) -> None:
    """What is known, or found, of a whole picture only."""
    if params.get("noise_psd") is not None or isinstance(params.get("noise_cov"), str):
        raise NotImplementedError("noise_psd, noise_cov: what is correlated is known of whole pictures, not of bands")


def sigma_for(sigma: Any, axes: Axes) -> Any:
    """One number, one for every channel, or a model; for every picture the same."""
    if sigma is None or isinstance(sigma, _core.NoiseModel):
        return sigma
    numbers = np.asarray(sigma, dtype=np.float64)
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise ValueError(f"sigma = {sigma!r}: must be positive")
    if numbers.size == 1:
        return float(numbers.reshape(()))
    if numbers.shape == (axes.channels,):
        return numbers.reshape(*[1] * len(axes.batch), axes.channels)
    raise ValueError(f"sigma: has shape {numbers.shape}, and must be one number or one for each of {axes.channels} channels")


@lru_cache(maxsize=8)
def started(options: bytes, device: str) -> Denoiser:
    """The denoiser of these options in this process, made once."""
    return Denoiser(**pickle.loads(options), device=device)
