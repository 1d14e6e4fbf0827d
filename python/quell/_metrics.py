"""How close two pictures are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Axes, as_array, native, white_of
from ._dlpack import to_host


def _by_plane(
    measure: Callable[[Array, Array, float], list[float]],
    reference: Any,
    x: Any,
    white: float | None,
    channel_axis: int | None,
) -> tuple[list[float], float]:
    """The measure of every plane, and white."""
    a, b = as_array(to_host(reference), "reference"), as_array(to_host(x))
    if a.shape != b.shape:
        raise ValueError(f"x: has shape {b.shape}, the reference {a.shape}")
    level = white_of(white, a)
    axes = Axes.of(a.shape, channel_axis)
    planes = [axes.planar(native(p)).reshape(-1, axes.height, axes.width) for p in (a, b)]
    if planes[0].dtype != planes[1].dtype:
        planes = [p.astype(np.float32) for p in planes]
    return measure(planes[0], planes[1], level), level


def psnr(reference: Any, x: Any, *, white: float | None = None, channel_axis: int | None = None) -> float:
    """Peak signal-to-noise ratio in dB, from one mean squared error over all samples.

    Parameters
    ----------
    reference, x : arrays of one shape
        What it should be, and what it is.
    white : float, optional
        The peak; the largest value of an integer type, or 1 for floats, of the reference.
    channel_axis : int, optional
        The axis of the channels, if there is one.

    Returns
    -------
    float
        Infinite for equal arrays.

    Examples
    --------
    >>> import numpy as np, quell
    >>> a = np.full((32, 32), 100, np.uint8)
    >>> round(quell.psnr(a, a + 1), 2)
    48.13
    """
    errors, level = _by_plane(_core.mse, reference, x, white, channel_axis)
    error = float(np.mean(errors))
    return float("inf") if error == 0 else float(10 * np.log10(level * level / error))


def ssim(reference: Any, x: Any, *, white: float | None = None, channel_axis: int | None = None) -> float:
    """Mean structural similarity (Wang et al. 2004), 1 for equal arrays; the mean over channels and pictures.

    Parameters
    ----------
    reference, x : arrays of one shape
        What it should be, and what it is; 11 pixels or more on either side.
    white : float, optional
        The peak; the largest value of an integer type, or 1 for floats, of the reference.
    channel_axis : int, optional
        The axis of the channels, if there is one.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, quell
    >>> a = np.arange(400, dtype=np.float32).reshape(20, 20) / 400
    >>> quell.ssim(a, a)
    1.0
    """
    return float(np.mean(_by_plane(_core.ssim, reference, x, white, channel_axis)[0]))
