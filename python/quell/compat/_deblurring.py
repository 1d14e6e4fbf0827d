"""Inverses of blur that leave coloured noise: what `bm3d_deblurring` filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Spectrum = npt.NDArray[np.complex128]

# How far noise counts in the first and in the second inverse, where the picture has a range of 1 (the paper's numbers).
_REGULARISED = 4e-4
_WIENER = 5e-3


@dataclass
class Inverse:
    """A picture without blur, and the power spectrum of the noise in it."""

    picture: Array
    power: Array


def transfer_function(psf: Any, shape: tuple[int, ...]) -> Spectrum:
    """What blurring does to each frequency of a picture of this shape."""
    given = np.asarray(psf, dtype=np.float64)
    height, width = shape[:2]
    if given.ndim != 2 or given.size == 0 or given.shape[0] > height or given.shape[1] > width:
        raise ValueError(f"psf: has shape {given.shape}, and must have two axes and fit into {(height, width)}")
    if not np.isfinite(given).all() or not given.any():
        raise ValueError("psf: must be finite, and not zero everywhere")
    padded = np.zeros((height, width))
    padded[: given.shape[0], : given.shape[1]] = given
    return np.fft.fft2(np.roll(padded, (-(given.shape[0] // 2), -(given.shape[1] // 2)), (0, 1)))


def spectra(sigma_psd: Any, shape: tuple[int, ...]) -> Array:
    """The power spectrum of the noise of every channel."""
    given = np.asarray(sigma_psd, dtype=np.float64)
    height, width, channels = shape
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("sigma_psd: must be finite and not negative")
    if given.size in (1, channels):
        return np.broadcast_to(given.ravel() ** 2 * (height * width), shape)
    if given.shape == (height, width):
        given = given[..., None]
    if given.shape not in ((height, width, 1), shape):
        raise ValueError(f"sigma_psd: has shape {given.shape}, and must be one number, {channels}, or a spectrum of {shape}")
    return np.broadcast_to(given, shape)


def regularised(z: Array, power: Array, transfer: Spectrum) -> Inverse:
    """The inverse where noise does not drown the picture, and less of it where it does."""
    limit = _REGULARISED * power / np.ptp(z) ** 2
    gain: Array = 1 / (np.abs(transfer) ** 2 + limit)
    return _applied(z, power, np.conj(transfer) * gain)


def regularised_wiener(z: Array, power: Array, transfer: Spectrum, basic: Array) -> Inverse:
    """The same where an estimate tells how much picture there is at each frequency."""
    known = np.abs(np.fft.fft2(basic)) ** 2
    limit = _WIENER * power
    gain: Array = known / (known * np.abs(transfer) ** 2 + limit)
    return _applied(z, power, np.conj(transfer) * gain)


def _applied(z: Array, power: Array, inverse: npt.NDArray[Any]) -> Inverse:
    return Inverse(np.real(np.fft.ifft2(np.fft.fft2(z) * inverse)), power * np.abs(inverse) ** 2)
