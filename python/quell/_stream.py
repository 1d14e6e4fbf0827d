"""Video: frames in, frames out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import Array, Axes
from ._noise import levels

if TYPE_CHECKING:
    from ._denoiser import Denoiser

_SAMPLES = {"uint8": "u8", "uint16": "u16", "float32": "f32"}
_CHROMA = {(1, 1): "4:4:4", (2, 1): "4:2:2", (2, 2): "4:2:0"}


class Stream:
    """A video on its way through a denoiser; made by `Denoiser.stream`.

    Frames are arrays of shape (H, W), grey; (H, W, 3), red, green and blue; or tuples of three arrays, luma and two
    chroma planes, which may be smaller: 4:4:4, 4:2:2 or 4:2:0. All are of one size and type: uint8, uint16 or float32.
    They come out in the order they went in, `latency` frames later, as the methods look at frames around each (parameters
    ``past`` and ``future``). Noise that is not given is estimated from the first frames.

    Parameters
    ----------
    layout : {"mono", "RGB", "4:2:0", "4:2:2", "4:4:4"}, optional
        Only needed for frames so small that it cannot be told.
    bits : int, optional
        How many bits uint16 samples have: 10 for 0 to 1023.

    Examples
    --------
    >>> import numpy as np, quell
    >>> frames = np.random.default_rng(0).normal(0.5, 0.05, (4, 32, 32)).astype(np.float32)
    >>> stream = quell.Denoiser("bm3d", "fast", sigma=0.05, future=1).stream()
    >>> [stream.push(frame) is None for frame in frames]
    [True, False, False, False]
    >>> len(stream.flush())
    1
    """

    def __init__(self, denoiser: Denoiser, *, layout: str | None = None, bits: int | None = None) -> None:
        if bits is not None and not 8 <= bits <= 16:
            raise ValueError(f"bits = {bits!r}: must be from 8 to 16")
        if layout not in (None, "mono", "RGB", *_CHROMA.values()):
            raise ValueError(f"layout = {layout!r}: one of mono, RGB, 4:2:0, 4:2:2, 4:4:4")
        self._denoiser, self._layout, self._bits = denoiser, layout, bits
        self._inner: _core.Stream | None = None

    def push(self, frame: Any) -> Any:
        """Takes the next frame, and gives the one that is due, or None."""
        layout, planes = _planes(frame)
        if self._inner is None:
            self._inner = self._open(layout, planes)
        elif layout[0] != self._opened[0]:
            raise ValueError(f"frame: is {layout}, the frames before it were {self._opened}")
        return self._frame(self._inner.push(planes))

    def flush(self) -> list[Any]:
        """At the end: the frames that are still in."""
        rest: list[Any] = []
        while self._inner is not None and (frame := self._inner.flush()) is not None:
            rest.append(self._frame(frame))
        return rest

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Every frame of a video, filtered, as they become due."""
        for frame in frames:
            done = self.push(frame)
            if done is not None:
                yield done
        yield from self.flush()

    @property
    def latency(self) -> int:
        """Frames that have to follow a frame before it comes out; known after the first one."""
        return 0 if self._inner is None else self._inner.latency

    @property
    def sigma(self) -> list[float]:
        """Noise of every plane, as given or as estimated so far; nothing before the first frame."""
        return [] if self._inner is None else self._inner.sigma

    def _open(self, layout: str, planes: list[Array]) -> _core.Stream:
        luma = planes[0]
        if layout.startswith("4:") and self._layout is not None:
            layout = self._layout
        self._opened = layout
        height, width = luma.shape
        white = self._denoiser.white
        if white is None:
            largest = 1.0 if luma.dtype == np.float32 else float(np.iinfo(luma.dtype).max)
            white = largest if self._bits is None or luma.dtype != np.uint16 else float(2**self._bits - 1)
        noise = levels(self._denoiser.sigma, Axes.of((height, width), None), white)((), 0)
        sample = _SAMPLES[luma.dtype.name]
        return _core.Stream(self._denoiser._engine(), width, height, layout, sample, white, noise)

    def _frame(self, planes: list[Array] | None) -> Any:
        if planes is None:
            return None
        if self._opened == "mono":
            return planes[0]
        return np.stack(planes, axis=-1) if self._opened == "RGB" else tuple(planes)


def _planes(frame: Any) -> tuple[str, list[Array]]:
    """The layout of a frame, and its planes."""
    if isinstance(frame, (tuple, list)):
        planes = [np.asarray(plane) for plane in frame]
        if len(planes) != 3 or any(plane.ndim != 2 for plane in planes):
            raise ValueError("frame: planes are luma and two of chroma, each of shape (H, W)")
        (h, w), (ch, cw) = planes[0].shape, planes[1].shape
        layout = next((name for (x, y), name in _CHROMA.items() if (ch, cw) == (-(-h // y), -(-w // x))), None)
        if layout is None or planes[2].shape != planes[1].shape:
            raise ValueError(f"frame: planes of shapes {[p.shape for p in planes]} are not 4:4:4, 4:2:2 or 4:2:0")
    else:
        array = np.asarray(frame)
        if array.ndim == 2:
            layout, planes = "mono", [array]
        elif array.ndim == 3 and array.shape[2] == 3:
            layout, planes = "RGB", [array[..., c] for c in range(3)]
        else:
            raise ValueError(f"frame: shape {array.shape} is neither (H, W) nor (H, W, 3)")
    for plane in planes:
        if plane.dtype.name not in _SAMPLES or plane.dtype != planes[0].dtype:
            raise TypeError(f"frame: samples are {plane.dtype}; uint8, uint16 and float32 are known, one for all planes")
        if plane.size == 0:
            raise ValueError("frame: is empty")
    return layout, planes
