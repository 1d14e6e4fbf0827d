"""Arrays that do not fit into memory or on one machine: what bands of rows have in common."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Axes
from ._denoiser import Denoiser
from ._noise import estimate_noise

# Samples of a picture that are worth having in memory at once.
_SAMPLES = 1 << 24

# Noise is told by so many strips of so many rows and columns.
_STRIPS, _STRIP_ROWS, _STRIP_COLUMNS = 4, 256, 2048


def rows_at_once(width: int, halo: int) -> int:
    """Rows of a band: enough that the rows around it are not most of the work, and not more than memory is for."""
    return max(4 * halo, _SAMPLES // width)


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
