"""How noisy an array is, and what noise is like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Axes, as_array, native, white_of
from ._core import NoiseModel
from ._dlpack import to_host

Levels = Callable[[tuple[int, ...], int], NoiseModel | None]


def levels(sigma: Any, axes: Axes, white: float) -> Levels:
    """The noise of every picture and group of channels, from what a caller may say of it: nothing, a number, a model, or
    numbers for channels, for pictures, or for both."""
    if sigma is None:
        return lambda picture, group: None
    if isinstance(sigma, NoiseModel):
        return lambda picture, group: sigma
    numbers = _numbers(sigma)
    shape, full = numbers.shape, (*axes.batch, axes.channels)
    if shape in ((), (1,)):
        numbers = np.broadcast_to(numbers.reshape(()), full)
    elif axes.batch and shape == axes.batch:
        numbers = np.broadcast_to(numbers[..., None], full)
    elif len(shape) == len(full) and all(n in (1, m) for n, m in zip(shape, full, strict=True)):
        numbers = np.broadcast_to(numbers, full)
    else:
        raise ValueError(f"sigma: has shape {shape}, {_wanted(axes)}")
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        wrong = numbers[~(np.isfinite(numbers) & (numbers > 0))]
        raise ValueError(f"sigma = {wrong.flat[0]:g}: must be a positive number")
    if len(axes.together) == 1 and axes.channels == 3:

        def colour(picture: tuple[int, ...], group: int) -> NoiseModel:
            r, g, b = (float(v) for v in numbers[picture])
            return NoiseModel.rgb((r, g, b), white)

        return colour
    return lambda picture, group: NoiseModel.gauss(float(numbers[picture][group]), white)


def _numbers(sigma: Any) -> Array:
    try:
        numbers = np.asarray(to_host(sigma), dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise TypeError(f"sigma: must be a number, some numbers, or a NoiseModel, not {type(sigma).__name__}") from e
    return numbers


def _wanted(axes: Axes) -> str:
    allowed = ["one number"]
    if axes.batch:
        allowed.append(f"one for each picture, {axes.batch}")
    if axes.channels > 1:
        allowed.append(f"one for each channel, {(*(1 for _ in axes.batch), axes.channels)}")
    return "and must be " + " or ".join(allowed)


def one_picture(x: Any, white: float | None, channel_axis: int | None, name: str = "x") -> tuple[Array, float]:
    """One picture as the engine takes it, channels first, and its white."""
    array = as_array(to_host(x), name)
    axes = Axes.of(array.shape, channel_axis)
    if axes.batch:
        raise ValueError(
            f"{name}: an array of shape {array.shape} is several pictures: give one of them, or channel_axis"
        )
    return axes.planar(native(array)), white_of(white, array)


def estimate_noise(
    x: Any,
    *,
    estimator: str = "auto",
    region: tuple[int, int, int, int] | None = None,
    white: float | None = None,
    channel_axis: int | None = None,
    threads: int | None = None,
) -> NoiseModel | None:
    """What the noise of a picture is like.

    Parameters
    ----------
    x : array of shape (H, W), or with one or three channels
        The picture.
    estimator : str
        ``"auto"`` finds noise of a camera, white noise, and noise that depends on brightness. ``"ponomarenko"``,
        ``"coarse"``, ``"pca"`` and ``"mad"`` look for white noise, ``"poisson"`` for noise that depends on brightness.
    region : (x, y, width, height), optional
        A flat part of the picture, in which the noise is measured.
    white : float, optional
        The sample value of white; the largest of an integer type, or 1 for floats.
    channel_axis : int, optional
        The axis of the channels, if there is one.
    threads : int, optional
        Threads to use; one per core if not given.

    Returns
    -------
    NoiseModel or None
        What was found, in units of the samples; None, if there is no noise to speak of.

    Examples
    --------
    >>> import numpy as np, quell
    >>> noisy = np.random.default_rng(0).normal(100, 8, (128, 128)).astype(np.float32)
    >>> model = quell.estimate_noise(noisy, white=255)
    >>> round(model.sigma), model.kind
    (8, 'white')
    >>> quell.estimate_noise(np.full((64, 64), 0.5, np.float32)) is None
    True
    """
    planes, white = one_picture(x, white, channel_axis)
    if planes.shape[0] not in (1, 3):
        raise ValueError(f"x: {planes.shape[0]} channels: one (grey) or three (colours) are estimated together")
    return _core.measure(planes, white, estimator, region, threads or 0)


def estimate_sigma(
    image: Any, average_sigmas: bool = False, *, channel_axis: int | None = None
) -> float | list[float]:
    """The deviation of white noise, as `skimage.restoration.estimate_sigma` gives it, but not fooled by texture.

    Parameters
    ----------
    image : array of shape (H, W), or with channels
        The picture.
    average_sigmas : bool
        One number for all channels: their mean.
    channel_axis : int, optional
        The axis of the channels, if there is one.

    Returns
    -------
    float or list of float
        In units of the samples; one for every channel.

    Examples
    --------
    >>> import numpy as np, quell
    >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (128, 128))
    >>> round(quell.estimate_sigma(noisy), 2)
    0.1
    """
    array = as_array(to_host(image), "image")
    # Which value is white does not matter to white noise.
    white = max(1.0, float(np.max(np.abs(array))))
    planes, white = one_picture(array, white, channel_axis, "image")
    found = _core.estimate(planes, white, "ponomarenko")
    if channel_axis is None:
        return found[0]
    return float(np.mean(found)) if average_sigmas else found


def noise_model(
    kind: str = "gauss",
    *,
    white: float,
    sigma: float | Sequence[float] | None = None,
    gain: float | None = None,
    floor: float | None = None,
    points: Sequence[tuple[float, float]] | None = None,
) -> NoiseModel:
    """What noise is like, if it is more than a number.

    Parameters
    ----------
    kind : {"gauss", "poisson", "poisson-gauss", "points"}
        Noise that is the same everywhere; photon noise, with and without noise of the electronics; a curve.
    white : float
        The sample value of white in the units of the other numbers. On arrays with another white the model stands for
        the same part of it.
    sigma : float, or three for red, green and blue
        For ``"gauss"``: the deviation.
    gain, floor : float
        For ``"poisson"`` and ``"poisson-gauss"``: the variance at brightness y is ``gain * y + floor``.
    points : sequence of (brightness, deviation)
        For ``"points"``: rising brightnesses; linear between them.

    Returns
    -------
    NoiseModel

    Examples
    --------
    >>> import quell
    >>> quell.noise_model("poisson-gauss", gain=2, floor=9, white=4095)
    <NoiseModel: sigma 3 in the dark to 90.55 in the light (white is 4095)>
    >>> quell.noise_model(sigma=[2, 1, 3], white=255)
    <NoiseModel: luma 2.16, chroma 2.55 and 1.683 (white is 255)>
    """

    def need(**given: object) -> None:
        for name, value in given.items():
            if value is None:
                raise ValueError(f"{name}: must be given for noise of kind {kind!r}")

    if kind == "gauss":
        need(sigma=sigma)
        numbers = _numbers(sigma)
        if numbers.shape == (3,):
            r, g, b = (float(v) for v in numbers)
            return NoiseModel.rgb((r, g, b), white)
        if numbers.shape != ():
            raise ValueError(f"sigma: has shape {numbers.shape}, and must be one number or three")
        return NoiseModel.gauss(float(numbers), white)
    if kind in ("poisson", "poisson-gauss"):
        need(gain=gain)
        if kind == "poisson-gauss":
            need(floor=floor)
        assert gain is not None
        return NoiseModel.poisson_gauss(gain, floor or 0.0, white)
    if kind == "points":
        need(points=points)
        assert points is not None
        return NoiseModel.points(list(points), white)
    raise ValueError(f"kind = {kind!r}: one of gauss, poisson, poisson-gauss, points")
