"""A noisy array in, a clean one out."""

from __future__ import annotations

from typing import Any

from ._denoiser import Denoiser
from ._progress import Report


def denoise(
    x: Any,
    sigma: Any = None,
    *,
    method: str = "bm3d",
    profile: str | None = None,
    channel_axis: int | None = None,
    white: float | None = None,
    device: str = "auto",
    threads: int | None = None,
    out: Any = None,
    progress: bool | Report | None = None,
    **params: Any,
) -> Any:
    """Removes noise from a picture, or from several.

    Parameters
    ----------
    x : array
        A picture of shape (H, W), or with channels where `channel_axis` says: one or three (red, green, blue) are filtered
        together, any other number one by one. Axes before those count pictures, each filtered on its own. Integers and
        floats of every size; NumPy arrays and, by DLPack, those of torch, CuPy and JAX, also on a CUDA device.
    sigma : float, array or NoiseModel, optional
        The deviation of the noise in units of the samples. One number, one for each channel, one for each picture of
        shape (N,), or of shape (N, C) for both; or what `estimate_noise` and `noise_model` give. Estimated from each
        picture if not given.
    method : {"bm3d", "ridge", "nlm", "isoline", "classic"}
        How.
    profile : str, optional
        Quality against speed, such as ``"fast"``, ``"normal"``, ``"high"``.
    channel_axis : int, optional
        The axis of the channels, if there is one.
    white : float, optional
        The sample value of white, which the parameters are made for: by default the largest of an integer type, and 1
        for floats. Samples may lie outside; results of unsigned integers are clipped to it.
    device : str
        ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"opencl"``.
    threads : int, optional
        Threads of the processor; one per core if not given.
    out : array, optional
        Where the result goes: of the shape and type of `x`, which it may be.
    progress : callable or True, optional
        Called with a number from 0 to 1 now and then; True shows a bar.
    **params
        All that `Denoiser` takes: ``strength`` (filter as if there were so many times as much noise), ``luma`` and
        ``chroma`` (the same for brightness and colour), ``detail`` and ``grain`` (0 to 1: give back lines that were taken
        for noise; leave some noise), and the parameters of the method.

    Returns
    -------
    array
        Of the shape, type and library of `x`. Integers are rounded and clipped.

    Examples
    --------
    >>> import numpy as np, quell
    >>> clean = np.zeros((64, 64), np.float32)
    >>> clean[16:48, 16:48] = 1
    >>> noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)
    >>> result = quell.denoise(noisy, sigma=0.1)
    >>> quell.psnr(clean, result) > quell.psnr(clean, noisy) + 10
    True
    """
    denoiser = Denoiser(method, profile, device=device, threads=threads, **params)
    return denoiser(x, sigma, channel_axis=channel_axis, white=white, out=out, progress=progress)


def bm3d(x: Any, sigma: Any = None, *, profile: str = "normal", **options: Any) -> Any:
    """Block matching and 3-D filtering (Dabov et al. 2007); see `denoise` for the arguments.

    Examples
    --------
    >>> import numpy as np, quell
    >>> noisy = np.random.default_rng(0).normal(100, 10, (64, 64)).astype(np.uint8)
    >>> clean = quell.bm3d(noisy, 10, profile="fast")
    >>> clean.dtype, bool(clean.std() < 3)
    (dtype('uint8'), True)
    """
    return denoise(x, sigma, method="bm3d", profile=profile, **options)


def ridge(x: Any, sigma: Any = None, *, profile: str = "normal", **options: Any) -> Any:
    """Context ridge: regressions of similar patches, better than BM3D and slower; see `denoise` for the arguments."""
    return denoise(x, sigma, method="ridge", profile=profile, **options)


def nlm(x: Any, sigma: Any = None, *, profile: str = "normal", **options: Any) -> Any:
    """Non-local means (Buades et al., Goossens et al.); see `denoise` for the arguments."""
    return denoise(x, sigma, method="nlm", profile=profile, **options)


def isoline(x: Any, sigma: Any = None, *, profile: str = "normal", **options: Any) -> Any:
    """Averages along isolines (Perrot et al.), the fastest; see `denoise` for the arguments."""
    return denoise(x, sigma, method="isoline", profile=profile, **options)
