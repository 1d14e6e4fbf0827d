"""Dask arrays: filtered band by band, on one machine or on many.

    clean = quell.dask.denoise(array, sigma=12)         # lazy, as everything in Dask
    clean.to_zarr("clean.zarr")

A band is some rows over the whole width, read with the rows around it that its result depends on. On the processor the bands
put together are what `quell.denoise` makes of the whole array: bit by bit for BM3D, but for rounding with other methods.
"""

from __future__ import annotations

import os
import pickle
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from . import _device
from ._arrays import Array, Axes
from ._bands import noise_of, refuse_spectra, rows_at_once, sigma_for, started, white_level
from ._denoiser import Denoiser
from ._parts import Part

# Typed in part only.
da: Any = import_module("dask.array")


def denoise(
    array: Any,
    sigma: Any = None,
    *,
    method: str = "bm3d",
    profile: str | None = None,
    channel_axis: int | None = None,
    white: float | None = None,
    rows: int | None = None,
    estimator: str = "auto",
    device: str = "auto",
    threads: int | None = 1,
    **params: Any,
) -> Any:
    """Removes noise from the pictures of a Dask array.

    Parameters
    ----------
    array : dask.array.Array
        Rows and columns are the last two axes but for `channel_axis`; axes before those count pictures.
    sigma : float, one for each channel, or NoiseModel, optional
        In units of the samples. If not given, it is estimated once, now, from some strips of the first, the middle and the
        last picture, and is the same for every band.
    rows : int, optional
        Rows of a band; as many as make 16 million samples, if not given. The array is cut anew where its chunks are others.
    white : float, optional
        The sample value of white; the largest of an integer type, 1 for floats. Samples are taken to lie within.
    device : str
        ``"auto"``, ``"cpu"``, ``"cuda"``. Where workers share a machine with several GPUs, each takes its own.
    threads : int, optional
        Threads for a band; Dask itself works on several bands at once.
    method, profile, channel_axis, estimator, **params
        As in `quell.denoise`.

    Returns
    -------
    dask.array.Array
        Of the same shape and type; chunks are bands.

    Examples
    --------
    >>> import dask.array as da, numpy as np, quell.dask
    >>> noisy = da.random.default_rng(0).normal(100, 10, (600, 300), chunks=200).astype(np.uint8)
    >>> clean = quell.dask.denoise(noisy, 10, profile="fast")
    >>> clean.shape, clean.dtype, bool(clean.std() < 3)
    ((600, 300), dtype('uint8'), True)
    """
    if not isinstance(array, da.Array):
        raise TypeError(f"array: must be a Dask array, not {type(array).__name__}")
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"array: an array of shape {array.shape} is no picture")
    refuse_spectra(params)
    axes = Axes.of(array.shape, channel_axis)
    white = white_level(white, array.dtype)
    sigma = sigma_for(sigma, axes)
    if sigma is None:
        sigma = noise_of(lambda *place: _strip(array, axes, *place), axes, white, estimator)
        if sigma is None:
            return array
    options = {
        "method": method,
        "profile": profile,
        "sigma": sigma,
        "channel_axis": channel_axis,
        "white": white,
        "threads": threads,
        # Whether clipping is seen may differ from band to band.
        "undo_clipping": False,
        **params,
    }
    denoiser = Denoiser(**options, device="cpu")
    at = axes.rows
    rows = rows or rows_at_once(axes.width, denoiser.halo)
    # Pictures of a chunk are filtered one by one; a picture is not cut but for its rows.
    whole = {axis: -1 for axis in (at, *_across(axes))}
    packed = pickle.dumps(options)
    bands = []
    for part in denoiser.parts(array.shape, rows):
        some = array[axes.at_rows(part.read)].rechunk(whole)
        chunks = tuple((part.last - part.first,) if axis == at else c for axis, c in enumerate(some.chunks))
        bands.append(
            some.map_blocks(_filter, packed, part, device, chunks=chunks, dtype=array.dtype, meta=some._meta, name=None)
        )
    return da.concatenate(bands, axis=at)


def _across(axes: Axes) -> list[int]:
    """The axes of columns and channels."""
    columns = [axis for axis in range(axes.ndim) if axis != axes.channel][-1]
    return [columns] if axes.channel is None else [columns, axes.channel]


def _filter(block: Array, packed: bytes, part: Part, device: str) -> Any:
    """A band of some pictures, in a worker."""
    return started(packed, _own_device(device)).run_part(block, part)


def _own_device(device: str) -> str:
    """Which GPU is this worker's: they are dealt by the number of the worker."""
    count = 0 if device not in ("auto", "cuda") or "CUDA_VISIBLE_DEVICES" in os.environ else _gpus()
    if count < 2:
        return device
    try:
        distributed: Any = import_module("distributed")
        name = distributed.get_worker().name
    except (ImportError, ValueError):
        return device
    number = int(name) if str(name).isdigit() else sum(str(name).encode())
    return f"cuda:{number % count}"


@lru_cache(maxsize=1)
def _gpus() -> int:
    return sum(found.kind == "cuda" and found.usable for found in _device.devices())


def _strip(array: Any, axes: Axes, picture: tuple[int, ...], rows: slice, columns: slice) -> Array:
    """Some of a picture, channels first."""
    return np.asarray(axes.planar(array)[picture][:, rows, columns].compute())
