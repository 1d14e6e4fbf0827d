"""Zarr arrays and OME-Zarr pictures: filtered chunk by chunk from one store into another.

    quell.zarr.denoise("raw.zarr", "clean.zarr")

Memory holds one band of rows, whatever the size of the array. What is finished is noted beside the new store: with
``resume=True`` a run that was killed goes on where it was, and the store becomes the same, byte by byte.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Axes
from ._bands import noise_of, refuse_spectra, rows_at_once, sigma_for, white_level
from ._denoiser import Denoiser
from ._parts import Part
from ._progress import Report, reporting

# Its types are not those that we mean by them: an item of a group may be anything.
zarr: Any = import_module("zarr")


def denoise(
    src: Any,
    dst: str | os.PathLike[str],
    sigma: Any = None,
    *,
    method: str = "bm3d",
    profile: str | None = None,
    channel_axis: int | None = None,
    white: float | None = None,
    rows: int | None = None,
    estimator: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    progress: bool | Report | None = None,
    **params: Any,
) -> None:
    """Removes noise from a Zarr array, or from an OME-Zarr picture with its pyramid.

    Parameters
    ----------
    src : path, address, store, zarr.Array or zarr.Group
        An array, or a group with `multiscales`. Rows and columns are the last two axes but for `channel_axis`; axes before
        those count pictures.
    dst : path
        A folder that is made: an array or group with the metadata, chunks and codecs of `src`. Of a group the levels of the
        pyramid are made, from means of the level before; labels and tables are not copied.
    sigma : float, one for each channel, or NoiseModel, optional
        In units of the samples; estimated once from strips of the first, the middle and the last picture, if not given.
    rows : int, optional
        Rows of a band, made a multiple of those of a chunk; as many as make 16 million samples, if not given.
    resume : bool
        Goes on with what an earlier call with the same arguments left. Without it `dst` must not exist.
    method, profile, channel_axis, white, estimator, device, threads, progress, **params
        As in `quell.denoise`. Samples are taken to lie between 0 and `white`.

    Examples
    --------
    >>> import os, tempfile, numpy as np, quell.zarr, zarr
    >>> folder = tempfile.mkdtemp()
    >>> noisy = np.random.default_rng(0).normal(100, 10, (3, 90, 80)).astype(np.uint8)
    >>> _ = zarr.save_array(os.path.join(folder, "raw.zarr"), noisy)
    >>> quell.zarr.denoise(os.path.join(folder, "raw.zarr"), os.path.join(folder, "clean.zarr"), sigma=10, profile="fast")
    >>> bool(zarr.open_array(os.path.join(folder, "clean.zarr"))[:].std() < 4)
    True
    """
    given = src if isinstance(src, (zarr.Array, zarr.Group)) else zarr.open(src, mode="r")
    paths = [""] if isinstance(given, zarr.Array) else _levels(given)
    levels = [given[path] if path else given for path in paths]
    first = levels[0]
    if first.ndim < 2 or 0 in first.shape:
        raise ValueError(f"src: an array of shape {first.shape} is no picture")
    for fine, coarse in itertools.pairwise(levels):
        _factors(fine.shape, coarse.shape)
    refuse_spectra(params)
    axes = Axes.of(first.shape, channel_axis)
    white = white_level(white, first.dtype)
    sigma = sigma_for(sigma, axes)
    options: dict[str, Any] = {"method": method, "profile": profile, "channel_axis": channel_axis, "white": white}
    # Whether clipping is seen may differ from band to band.
    options |= {"undo_clipping": False, **params}
    # Whatever is wrong with them is said before anything is written.
    Denoiser(**options, device=device, threads=threads)
    told = sigma.to_toml() if isinstance(sigma, _core.NoiseModel) else np.asarray(sigma).tolist()
    asked = {**options, "sigma": told, "estimator": estimator, "rows": rows}
    asked |= {"store": str(given.store_path), "shape": first.shape, "dtype": str(first.dtype)}
    asked = json.loads(json.dumps(asked, default=str))

    record = _Record(Path(dst), asked, resume)
    if record.complete:
        return
    if sigma is None:
        if "noise" not in record.said:
            model = noise_of(lambda *place: _strip(first, axes, *place), axes, white, estimator)
            record.say(noise=None if model is None else model.to_toml())
        noise = record.said["noise"]
        sigma = None if noise is None else _core.NoiseModel.from_toml(noise, white)
    denoiser = None if sigma is None else Denoiser(**options, sigma=sigma, device=device, threads=threads)
    outs = _like(given, paths, Path(dst), new=not record.said.get("made"))
    record.say(made=True)
    with reporting(progress) as report:
        _fill(denoiser, first, outs[0], axes, rows, record, report)
        for level, (fine, coarse) in enumerate(itertools.pairwise(outs), 1):
            _halve(fine, coarse, level, record)
    record.finish()


def _levels(group: Any) -> list[str]:
    """The arrays of an OME-Zarr picture, from the largest on."""
    attributes = dict(group.attrs)
    scales = attributes.get("ome", attributes).get("multiscales")
    if not scales:
        raise ValueError("src: a group without multiscales: give one of its arrays")
    if len(scales) > 1:
        raise NotImplementedError(f"src: has {len(scales)} multiscales: one can be filtered")
    return [dataset["path"] for dataset in scales[0]["datasets"]]


def _factors(fine: tuple[int, ...], coarse: tuple[int, ...]) -> tuple[int, ...]:
    """How much smaller every axis of a level is: as it was or half of it."""
    factors = [1 if m == n else 2 for n, m in zip(fine, coarse, strict=True)]
    if any(m not in (n, n // 2, -(-n // 2)) for n, m in zip(fine, coarse, strict=True)):
        raise NotImplementedError(f"src: a level of {coarse} after one of {fine}: levels can be half as large in each axis")
    return tuple(factors)


def _like(given: Any, paths: list[str], dst: Path, new: bool) -> list[Any]:
    """The new arrays, with the metadata of those that were given."""
    if not new:
        made = zarr.open(dst, mode="r+")
        return [made[path] if path else made for path in paths]
    if isinstance(given, zarr.Group):
        group = zarr.create_group(dst, zarr_format=given.metadata.zarr_format, overwrite=True)
        group.attrs.update(dict(given.attrs))
        return [_array(given[path], group.store, path) for path in paths]
    return [_array(given, dst, None)]


def _array(source: Any, store: Any, name: str | None) -> Any:
    attributes = dict(source.attrs)
    return zarr.from_array(store, data=source, name=name, attributes=attributes, write_data=False, overwrite=True)


def _fill(
    denoiser: Denoiser | None,
    given: Any,
    out: Any,
    axes: Axes,
    rows: int | None,
    record: _Record,
    report: Report | None,
) -> None:
    """The largest level. A band is made of whole chunks, so that each is written once."""
    at = axes.rows
    chunks = out.shards or out.chunks
    counting = _counting(axes)
    deep = math.prod(chunks[axis] for axis in counting)
    rows = rows or rows_at_once(axes.width * axes.channels * deep, 0 if denoiser is None else denoiser.halo)
    rows = max(1, rows // chunks[at]) * chunks[at]
    if denoiser is None:
        cuts = itertools.pairwise([*range(0, axes.height, rows), axes.height])
        parts = [Part(axes.height, first, last, first, last) for first, last in cuts]
    else:
        parts = denoiser.parts(given.shape, rows)
    blocks = list(_blocks(given.shape, chunks, counting))
    for number, (block, part) in enumerate(itertools.product(blocks, parts)):
        key = f"0/{'.'.join(str(block[axis].start) for axis in counting)}/{part.first}"
        if key not in record.done:
            read, write = list(block), list(block)
            read[at], write[at] = part.read, part.write
            some = np.asarray(given[tuple(read)])
            out[tuple(write)] = some if denoiser is None else denoiser.run_part(some, part)
            record.note(key)
        if report is not None:
            report((number + 1) / (len(blocks) * len(parts)))


def _counting(axes: Axes) -> list[int]:
    """The axes that count pictures."""
    plain = [axis for axis in range(axes.ndim) if axis != axes.channel]
    return plain[:-2]


def _blocks(shape: tuple[int, ...], chunks: tuple[int, ...], along: list[int]) -> Iterator[list[slice]]:
    """Pieces of an array, whole but for some axes, along which they are chunks."""
    steps = [
        [slice(i, min(i + chunks[axis], n)) for i in range(0, n, chunks[axis])] if axis in along else [slice(0, n)]
        for axis, n in enumerate(shape)
    ]
    return (list(block) for block in itertools.product(*steps))


def _halve(fine: Any, coarse: Any, level: int, record: _Record) -> None:
    """A level of the pyramid: means of the samples of the level before, chunk by chunk."""
    factors = _factors(fine.shape, coarse.shape)
    chunks = coarse.shards or coarse.chunks
    for number, block in enumerate(_blocks(coarse.shape, chunks, list(range(coarse.ndim)))):
        key = f"{level}/{number}"
        if key in record.done:
            continue
        some = [slice(s.start * f, min(s.stop * f, n)) for s, f, n in zip(block, factors, fine.shape, strict=True)]
        coarse[tuple(block)] = _means(np.asarray(fine[tuple(some)]), factors)
        record.note(key)


def _means(x: Array, factors: tuple[int, ...]) -> Array:
    """Of pairs along the axes with factor 2; a last one that has no partner stands for itself."""
    dtype = x.dtype
    mean = x.astype(np.float64)
    for axis, factor in enumerate(factors):
        if factor == 2:
            mean = np.moveaxis(mean, axis, 0)
            if len(mean) % 2:
                mean = np.concatenate([mean, mean[-1:]])
            mean = np.moveaxis((mean[0::2] + mean[1::2]) / 2, 0, axis)
    return (np.rint(mean) if dtype.kind in "ui" else mean).astype(dtype)


def _strip(array: Any, axes: Axes, picture: tuple[int, ...], rows: slice, columns: slice) -> Array:
    """Some of a picture, channels first."""
    place: list[Any] = [*picture, rows, columns]
    if axes.channel is None:
        return np.asarray(array[tuple(place)])[None]
    place.insert(axes.channel, slice(None))
    return np.moveaxis(np.asarray(array[tuple(place)]), axes.channel - len([a for a in _counting(axes) if a < axes.channel]), 0)


class _Record:
    """What is finished, in a file beside the new store: a line when it is begun, and one for every band."""

    def __init__(self, dst: Path, asked: dict[str, Any], resume: bool) -> None:
        self.said: dict[str, Any] = {}
        self.done: set[str] = set()
        self.complete = False
        self._path = dst.with_name(dst.name + ".unfinished")
        if dst.exists() and not resume:
            raise FileExistsError(f"dst: {dst} exists; resume=True goes on with it")
        if self._path.exists():
            if not resume:
                raise FileExistsError(f"dst: {self._path} is of an earlier run; resume=True goes on with it")
            if not self._read(asked):
                raise ValueError(f"resume: {dst} was begun with other arguments")
        elif dst.exists():
            # The record goes when all is done.
            self.complete = True
            return
        dst.parent.mkdir(parents=True, exist_ok=True)
        if not self.said:
            self.say(asked=asked)

    def _read(self, asked: dict[str, Any]) -> bool:
        text = self._path.read_text()
        # A line that was cut off did not happen.
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self._path.write_text(whole)
        for line in whole.splitlines():
            entry = json.loads(line)
            if isinstance(entry, str):
                self.done.add(entry)
            else:
                self.said |= entry
        return bool(self.said.get("asked", asked) == asked)

    def say(self, **what: Any) -> None:
        """Notes something that is the same for all."""
        if any(self.said.get(name, self) != value for name, value in what.items()):
            self.said |= what
            self._write(what)

    def note(self, key: str) -> None:
        """Notes a part that is written."""
        self.done.add(key)
        self._write(key)

    def _write(self, entry: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def finish(self) -> None:
        """All is written."""
        self._path.unlink()
