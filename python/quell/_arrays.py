"""Arrays as pictures: which axes are what, which value is white, and which types the engine takes as they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NATIVE = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32))

# Floats that go further beyond the white they are taken to have are in other units.
BEYOND = 1.5


def as_array(x: Any, name: str = "x") -> Array:
    """`x` as a NumPy array of real numbers with something in it."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array: fill what is masked first, x.filled(...)")
    array = np.asarray(x)
    kind = array.dtype.kind
    if kind == "b":
        raise TypeError(f"{name}: bool has no noise: convert it to a number first")
    if kind == "c":
        raise TypeError(f"{name}: complex numbers: filter x.real and x.imag on their own")
    if kind not in "uif" or array.dtype.itemsize > 8:
        raise TypeError(f"{name}: an array of {array.dtype}: real numbers of up to 64 bits are needed")
    if array.ndim < 2:
        raise ValueError(f"{name}: an array of shape {array.shape} is no picture: rows and columns are needed")
    if array.size == 0:
        raise ValueError(f"{name}: an array of shape {array.shape} is empty")
    return array


def native(array: Array) -> Array:
    """The samples as the engine takes them: as they are, or as 32-bit floats."""
    plain = array.dtype.newbyteorder("=")
    dtype = plain if plain in NATIVE else np.dtype(np.float32)
    if array.dtype == dtype and array.flags.aligned:
        return array
    return array.astype(dtype, order="K")


def restore(result: Array, out: Array) -> None:
    """Writes floats of the engine into an array of another type: integers are rounded and clipped."""
    if out.dtype.kind == "f":
        np.copyto(out, result, casting="same_kind")
        return
    limits = np.iinfo(out.dtype)
    low, high = float(limits.min), float(limits.max)
    if high > limits.max:
        high = float(np.nextafter(high, 0))
    np.copyto(out, np.clip(np.rint(result.astype(np.float64)), low, high), casting="unsafe")


def white_of(white: float | None, x: Array) -> float:
    """The sample value of white: as given, the largest of an integer type, 1 for floats."""
    if white is not None:
        if not isinstance(white, (int, float, np.number)) or isinstance(white, bool) or not 0 < white < np.inf:
            raise ValueError(f"white = {white!r}: must be a positive number")
        return float(white)
    if x.dtype.kind in "ui":
        if x.dtype.itemsize > 4:
            raise ValueError(f"white: must be given for {x.dtype}: which value is white?")
        return float(np.iinfo(x.dtype).max)
    step = max(1, min(x.shape[-2:]) // 64)
    largest = np.max(x[..., ::step, ::step])
    if BEYOND < largest < np.inf:
        levels = [level for level in (255.0, 1023.0, 4095.0, 65535.0) if level >= largest]
        warnings.warn(
            f"x has values up to {largest:.4g} where white is taken to be 1: say white={levels[0] if levels else largest:g}, "
            "or white=1 if it is right",
            stacklevel=4,
        )
    return 1.0


@dataclass(frozen=True)
class Axes:
    """Which axes of an array are what. All but channel, rows and columns count pictures."""

    ndim: int
    channel: int | None
    batch: tuple[int, ...]
    channels: int
    height: int
    width: int

    @classmethod
    def of(cls, shape: tuple[int, ...], channel_axis: int | None) -> Axes:
        """Of an array of this shape."""
        ndim = len(shape)
        if channel_axis is None:
            return cls(ndim, None, shape[:-2], 1, *shape[-2:])
        if isinstance(channel_axis, bool) or not isinstance(channel_axis, (int, np.integer)):
            raise TypeError(f"channel_axis = {channel_axis!r}: must be a whole number or None")
        if not -ndim <= channel_axis < ndim:
            raise ValueError(f"channel_axis = {channel_axis}: an array of shape {shape} has no such axis")
        if ndim < 3:
            raise ValueError(
                f"channel_axis = {channel_axis}: an array of shape {shape} has rows and columns, no channels"
            )
        channel = int(channel_axis) % ndim
        rest = shape[:channel] + shape[channel + 1 :]
        return cls(ndim, channel, rest[:-2], shape[channel], *rest[-2:])

    def planar(self, array: Array) -> Array:
        """A view with the axes pictures..., channels, rows, columns."""
        if self.channel is None:
            return array[..., None, :, :]
        return np.moveaxis(array, self.channel, -3)

    @property
    def rows(self) -> int:
        """The axis of the rows."""
        return [axis for axis in range(self.ndim) if axis != self.channel][-2]

    def at_rows(self, some: slice) -> tuple[slice, ...]:
        """The index of some rows of an array."""
        return (*[slice(None)] * self.rows, some)

    @property
    def together(self) -> list[slice]:
        """Channels that are filtered together: one, or red, green and blue; others one by one."""
        if self.channels in (1, 3):
            return [slice(None)]
        return [slice(c, c + 1) for c in range(self.channels)]

    def pictures(self) -> Iterator[tuple[int, ...]]:
        """The index of every picture of the batch."""
        return iter(np.ndindex(*self.batch))

    def __len__(self) -> int:
        return int(np.prod(self.batch, dtype=int))


def check_out(out: Any, x: Array) -> Array:
    """An array to write the result of `x` into."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: must be a NumPy array, not {type(out).__name__}")
    if out.shape != x.shape or out.dtype != x.dtype:
        raise ValueError(f"out: is {out.dtype} {out.shape}; x is {x.dtype} {x.shape}, and it must be the same")
    if not out.flags.writeable:
        raise ValueError("out: is read-only")
    if out is not x and not same_memory(out, x) and np.may_share_memory(out, x):
        # Versions of NumPy disagree on its type.
        effort: Any = 10_000
        try:
            apart = not np.shares_memory(out, x, effort)
        except np.exceptions.TooHardError:
            apart = False
        if not apart:
            raise ValueError("out: overlaps x; it may be x itself, or an array of its own")
    return out


def same_memory(a: Array, b: Array) -> bool:
    """Whether two arrays of one shape are the same samples."""
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides
