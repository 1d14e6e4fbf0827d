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
    stage_arg : BM3DStages
        ``ALL_STAGES``, or ``HARD_THRESHOLDING`` for pass 1 only.
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
    passes = _passes(stage_arg, picture)
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
        result[..., one] = _filter(picture[..., one], sigma[one], psd, settings, passes)
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
    """Not computed: the second pass of deblurring needs a pilot of its own."""
    raise NotImplementedError("bm3d_deblurring: pass 2 cannot be given a pilot here, and deblurring needs one")


def _picture(z: Any) -> Array:
    """As floats with channels last."""
    given = np.asarray(z)
    if given.dtype.kind == "c":
        raise ValueError("z: complex numbers are not filtered")
    if given.ndim not in (2, 3):
        raise ValueError(f"z: has shape {given.shape}, and must have two or three axes")
    if given.size == 0:
        raise ValueError(f"z: an array of shape {given.shape} is empty")
    picture = given.astype(np.float64).reshape(*given.shape[:2], -1)
    if not np.isfinite(picture).all():
        raise ValueError("z: has samples that are not finite")
    return picture


def _passes(stage_arg: Any, z: Array) -> int:
    if not isinstance(stage_arg, BM3DStages):
        # Enums of the other package are known by their value.
        stage_arg = getattr(stage_arg, "value", stage_arg)
        if isinstance(stage_arg, int) and stage_arg in (1, 2, 3):
            stage_arg = BM3DStages(stage_arg)
        elif isinstance(stage_arg, np.ndarray):
            if stage_arg.shape not in (z.shape, z.shape[:2]):
                raise ValueError(f"stage_arg: a pilot of shape {stage_arg.shape} for a picture of {z.shape}")
            raise NotImplementedError("stage_arg: pass 2 cannot be given a pilot here")
        else:
            raise TypeError(f"stage_arg = {stage_arg!r}: must be one of BM3DStages")
    if stage_arg is BM3DStages.WIENER_FILTERING:
        raise ValueError("stage_arg: WIENER_FILTERING alone needs a pilot: give the array")
    return 1 if stage_arg is BM3DStages.HARD_THRESHOLDING else 2


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


def _filter(z: Array, sigma: Array, psd: Array | None, profile: Any, passes: int) -> Array:
    """One to three channels that are grouped by the first."""
    channels = z.shape[2]
    if channels == 1:
        return _run(z, sigma, psd, profile, passes)
    # quell groups so in a space that it makes of red, green and blue. These become the channels again there. Means do not
    # count: without those of the others, red, green and blue are in the range of the first.
    means = np.append(0, z[..., 1:].mean(axis=(0, 1)))
    given, levels = np.zeros((*z.shape[:2], 3)), np.zeros(3)
    given[..., :channels], levels[:channels] = z - means, sigma
    rgb = given @ np.linalg.inv(_OPPONENT).T
    levels /= np.linalg.norm(_OPPONENT, axis=1)
    clean = _run(rgb, levels, psd, profile, passes, range_of=z[..., 0], opponent=True)
    result: Array = (clean @ _OPPONENT.T)[..., :channels] + means
    return result


def _run(
    z: Array,
    sigma: Array,
    psd: Array | None,
    profile: Any,
    passes: int,
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
    samples = ((z - low) / unit).astype(np.float32)
    options: dict[str, Any] = {**parameters(profile, psd is not None), "passes": passes, "color": color}
    if psd is not None:
        options["noise_psd"] = psd / unit**2
    denoiser = Denoiser("bm3d", "np", undo_clipping=False, threads=profile.num_threads or None, **options)
    if profile.print_info:
        print(denoiser)
    picture, axis = (samples[..., 0], None) if z.shape[2] == 1 else (samples, -1)
    clean = denoiser(picture, _model(sigma / unit, opponent), channel_axis=axis, white=1)
    result: Array = clean.reshape(z.shape).astype(np.float64) * unit + low
    return result


def _model(sigma: Array, opponent: bool) -> _core.NoiseModel:
    levels = [float(s) for s in sigma]
    if len(levels) == 1:
        return _core.NoiseModel.gauss(levels[0], 1.0)
    make = _core.NoiseModel.opponent if opponent else _core.NoiseModel.rgb
    return make((levels[0], levels[1], levels[2]), 1.0)
