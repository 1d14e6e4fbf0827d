"""The functions of PyPI's `bm3d` 4.0.3, computed by quell.

    import quell.compat.bm3d as bm3d

Arguments, shapes, types and units are those of that package: any range of samples, sigma in units of them, 64-bit floats
out. What quell does not compute raises NotImplementedError with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._denoiser import Denoiser
from ._deblurring import Inverse, regularised, regularised_wiener, spectra, transfer_function
from ._profiles import (
    BM3DProfile,
    BM3DProfileDeb,
    BM3DProfileHigh,
    BM3DProfileLC,
    BM3DProfileRefilter,
    BM3DProfileVN,
    BM3DProfileVNOld,
    BM3DStages,
    named,
    parameters,
)

__all__ = [
    "BM3DProfile",
    "BM3DProfileDeb",
    "BM3DProfileHigh",
    "BM3DProfileLC",
    "BM3DProfileRefilter",
    "BM3DProfileVN",
    "BM3DProfileVNOld",
    "BM3DStages",
    "bm3d",
    "bm3d_deblurring",
    "bm3d_rgb",
]

Array = npt.NDArray[np.float64]

# Rows make luma and two channels of colour of red, green and blue (quell's colour space "opp").
_OPPONENT = np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0, -0.5], [0.25, -0.5, 0.25]])


def bm3d(
    z: Any,
    sigma_psd: Any,
    profile: BM3DProfile | str = "np",
    stage_arg: Any = BM3DStages.ALL_STAGES,
    blockmatches: tuple[Any, Any] = (False, False),
) -> Array:
    """Removes noise from a picture.

    Parameters
    ----------
    z : array of shape (M, N) or (M, N, C)
        The picture. Patches of all channels are grouped where those of the first are alike.
    sigma_psd : float, C floats, or array of shape (M, N) or (M, N, C)
        The deviation of white noise, or the power spectrum of noise that is correlated: ``abs(fft2(kernel, (M, N)))**2 *
        M * N``. Spectra of channels may differ by a factor only.
    profile : {"np", "vn", "vn_old", "high", "lc", "deb"} or BM3DProfile
        The parameters.
    stage_arg : BM3DStages or array of the shape of `z`
        ``ALL_STAGES``, ``HARD_THRESHOLDING`` for pass 1 only, or a pilot: an estimate of the picture, with which pass 2
        alone is run.
    blockmatches : (False, False)
        Groups are neither taken nor given.

    Returns
    -------
    array of float64, of the shape of `z`; (M, N) for one channel

    Examples
    --------
    >>> import numpy as np
    >>> from quell.compat.bm3d import bm3d
    >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (64, 64))
    >>> clean = bm3d(noisy, 0.1)
    >>> clean.dtype, bool(clean.std() < 0.02)
    (dtype('float64'), True)
    """
    picture = _picture(z)
    passes, pilot = _stages(stage_arg, picture)
    if any(not isinstance(given, bool) or given for given in blockmatches):
        raise NotImplementedError("blockmatches: groups cannot be taken or given here; (False, False) is")
    settings = named(profile)
    channels = picture.shape[2]
    sigma, psd = _noise(sigma_psd, picture.shape)
    result = np.empty_like(picture)
    # Two at a time beside the first, which is what all are grouped by.
    for first in range(1, max(channels, 2), 2):
        others = list(range(first, min(first + 2, channels)))
        one = [0, *others]
        some = None if pilot is None else pilot[..., one]
        result[..., one] = _filter(picture[..., one], sigma[one], psd, settings, passes, some)
    return result[..., 0] if channels == 1 else result


def bm3d_rgb(z: Any, sigma_psd: Any, profile: BM3DProfile | str = "np", colorspace: str = "opp") -> Array:
    """Removes noise from a colour picture.

    Parameters
    ----------
    z : array of shape (M, N, 3)
        The picture.
    sigma_psd : float, three floats, or array of shape (M, N) or (M, N, 3)
        As in `bm3d`, of red, green and blue.
    profile : as in `bm3d`
    colorspace : {"opp", "YCbCr"}
        What it is filtered in.

    Returns
    -------
    array of float64, of shape (M, N, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from quell.compat.bm3d import bm3d_rgb
    >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (64, 64, 3))
    >>> bm3d_rgb(noisy, 0.1).shape
    (64, 64, 3)
    """
    picture = _picture(z)
    if picture.shape[2] != 3:
        raise ValueError(f"z: has shape {np.shape(z)}, and must have three channels")
    if colorspace not in ("opp", "YCbCr"):
        raise ValueError(f"colorspace = {colorspace!r}: one of opp, YCbCr")
    sigma, psd = _noise(sigma_psd, picture.shape)
    return _run(picture, sigma, psd, named(profile), 2, color=colorspace.lower())


def bm3d_deblurring(z: Any, sigma_psd: Any, psf: Any, profile: BM3DProfile | str = "np") -> Array:
    """Removes blur and noise from a picture: a regularised inverse, pass 1 for the noise that it leaves, a regularised
    Wiener inverse with that estimate, and pass 2 with it as pilot (Dabov et al., "Image restoration by sparse 3D
    transform-domain collaborative filtering", 2008).

    Parameters
    ----------
    z : array of shape (M, N) or (M, N, C)
        The picture, blurred as if it went on on the other side. Channels are deblurred one by one.
    sigma_psd : as in `bm3d`
        The noise of `z`.
    psf : array of shape (m, n)
        What blurred it, around its middle; its sum is 1, if the mean is to be kept.
    profile : as in `bm3d`
        ``"deb"`` is made for this.

    Returns
    -------
    array of float64, of the shape of `z`; (M, N) for one channel

    Examples
    --------
    >>> import numpy as np
    >>> from quell.compat.bm3d import bm3d_deblurring
    >>> sharp = np.zeros((64, 64))
    >>> sharp[16:48, 16:48] = 1
    >>> blurred = sum(np.roll(sharp, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) / 9
    >>> noisy = blurred + np.random.default_rng(0).normal(0, 0.01, sharp.shape)
    >>> clean = bm3d_deblurring(noisy, 0.01, np.ones((3, 3)) / 9)
    >>> bool(np.mean((clean - sharp) ** 2) < np.mean((blurred - sharp) ** 2) / 4)
    True
    """
    picture = _picture(z)
    settings = named(profile)
    power = spectra(sigma_psd, picture.shape)
    transfer = transfer_function(psf, picture.shape)
    result = np.empty_like(picture)
    for channel in range(picture.shape[2]):
        one = picture[..., channel]
        result[..., channel] = _deblur(one, power[..., channel], transfer, settings)
    return result[..., 0] if picture.shape[2] == 1 else result


def _deblur(z: Array, power: Array, transfer: npt.NDArray[np.complex128], profile: Any) -> Array:
    """One channel."""
    if z.min() == z.max() or not power.any():
        raise ValueError("sigma_psd: without noise, or in a flat picture, there is nothing that limits the inverse")

    def passed(inverse: Inverse, passes: int, pilot: Array | None) -> Array:
        level = np.array([np.sqrt(inverse.power.mean() / z.size)])
        some = None if pilot is None else pilot[..., None]
        return _run(inverse.picture[..., None], level, inverse.power, profile, passes, some, range_of=z)[..., 0]

    basic = passed(regularised(z, power, transfer), 1, None)
    return passed(regularised_wiener(z, power, transfer, basic), 2, basic)


def _picture(z: Any, name: str = "z") -> Array:
    """As floats with channels last."""
    given = np.asarray(z)
    if given.dtype.kind == "c":
        raise ValueError(f"{name}: complex numbers are not filtered")
    if given.ndim not in (2, 3):
        raise ValueError(f"{name}: has shape {given.shape}, and must have two or three axes")
    if given.size == 0:
        raise ValueError(f"{name}: an array of shape {given.shape} is empty")
    picture = given.astype(np.float64).reshape(*given.shape[:2], -1)
    if not np.isfinite(picture).all():
        raise ValueError(f"{name}: has samples that are not finite")
    return picture


def _stages(stage_arg: Any, z: Array) -> tuple[int, Array | None]:
    """How many passes, and the pilot of pass 2 where it comes from the caller."""
    if isinstance(stage_arg, np.ndarray):
        if stage_arg.shape not in (z.shape, z.shape[:2]) or stage_arg.size != z.size:
            raise ValueError(f"stage_arg: a pilot of shape {stage_arg.shape} for a picture of {z.shape}")
        return 2, _picture(stage_arg, "stage_arg")
    if not isinstance(stage_arg, BM3DStages):
        # Enums of the other package are known by their value.
        stage_arg = getattr(stage_arg, "value", stage_arg)
        if not isinstance(stage_arg, int) or stage_arg not in (1, 2, 3):
            raise TypeError(f"stage_arg = {stage_arg!r}: must be one of BM3DStages, or a pilot")
        stage_arg = BM3DStages(stage_arg)
    if stage_arg is BM3DStages.WIENER_FILTERING:
        raise ValueError("stage_arg: WIENER_FILTERING alone needs a pilot: give the array")
    return (1 if stage_arg is BM3DStages.HARD_THRESHOLDING else 2), None


def _noise(sigma_psd: Any, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
    """The deviation of every channel, and the power spectrum that they share."""
    given = np.asarray(sigma_psd, dtype=np.float64)
    height, width, channels = shape
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("sigma_psd: must be finite and not negative")
    if given.size == 1:
        return np.full(channels, given.item()), None
    if given.size == channels:
        return given.ravel(), None
    if given.shape == (height, width):
        given = given[..., None]
    if given.shape not in ((height, width, 1), shape):
        raise ValueError(f"sigma_psd: has shape {given.shape}, and must be one number, {channels}, or a spectrum of {shape}")
    power = given.mean(axis=(0, 1))
    psd = given[..., int(np.argmax(power))]
    if not np.allclose(given * power.max(), psd[..., None] * power, rtol=1e-4, atol=1e-6 * psd.max() * power.max()):
        raise NotImplementedError("sigma_psd: spectra of channels may differ by a factor, not in shape")
    return np.broadcast_to(np.sqrt(power / (height * width)), (channels,)), psd


def _filter(
    z: Array, sigma: Array, psd: Array | None, profile: Any, passes: int, pilot: Array | None
) -> Array:
    """One to three channels that are grouped by the first."""
    channels = z.shape[2]
    if channels == 1:
        return _run(z, sigma, psd, profile, passes, pilot)
    # quell groups so in a space that it makes of red, green and blue. These become the channels again there. Means do not
    # count: without those of the others, red, green and blue are in the range of the first.
    means = np.append(0, z[..., 1:].mean(axis=(0, 1)))

    def colours(x: Array) -> Array:
        three = np.zeros((*x.shape[:2], 3))
        three[..., :channels] = x - means
        made: Array = three @ np.linalg.inv(_OPPONENT).T
        return made

    levels = np.append(sigma, np.zeros(3 - channels)) / np.linalg.norm(_OPPONENT, axis=1)
    rgb, guess = colours(z), None if pilot is None else colours(pilot)
    clean = _run(rgb, levels, psd, profile, passes, guess, range_of=z[..., 0], opponent=True)
    result: Array = (clean @ _OPPONENT.T)[..., :channels] + means
    return result


def _run(
    z: Array,
    sigma: Array,
    psd: Array | None,
    profile: Any,
    passes: int,
    pilot: Array | None = None,
    *,
    color: str = "opp",
    range_of: Array | None = None,
    opponent: bool = False,
) -> Array:
    """Filters what quell takes. Distances of patches are relative to the range, as they are in the other package."""
    compared = z if range_of is None else range_of
    low, high = float(compared.min()), float(compared.max())
    unit = high - low
    if unit == 0 or not sigma.any():
        return z.copy()
    options: dict[str, Any] = {**parameters(profile, psd is not None), "passes": passes, "color": color}
    if psd is not None:
        options["noise_psd"] = psd / unit**2
    denoiser = Denoiser("bm3d", "np", undo_clipping=False, threads=profile.num_threads or None, **options)
    if profile.print_info:
        print(denoiser)

    def samples(x: Array) -> npt.NDArray[np.float32]:
        scaled = ((x - low) / unit).astype(np.float32)
        return scaled[..., 0] if x.shape[2] == 1 else scaled

    model, axis = _model(sigma / unit, opponent), None if z.shape[2] == 1 else -1
    if pilot is None:
        clean = denoiser(samples(z), model, channel_axis=axis, white=1)
    else:
        clean = denoiser.refine(samples(z), samples(pilot), model, channel_axis=axis, white=1)
    result: Array = clean.reshape(z.shape).astype(np.float64) * unit + low
    return result


def _model(sigma: Array, opponent: bool) -> _core.NoiseModel:
    levels = [float(s) for s in sigma]
    if len(levels) == 1:
        return _core.NoiseModel.gauss(levels[0], 1.0)
    make = _core.NoiseModel.opponent if opponent else _core.NoiseModel.rgb
    return make((levels[0], levels[1], levels[2]), 1.0)
