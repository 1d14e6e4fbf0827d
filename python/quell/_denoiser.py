"""A denoiser that is made once and used for many arrays."""

from __future__ import annotations

import os
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import Array, Axes, as_array, check_out, native, restore, same_memory, white_of
from ._dlpack import borrow, like, on_device, to_host
from ._noise import levels
from ._parts import Part
from ._progress import Report, reporting, section

if TYPE_CHECKING:
    from ._stream import Stream

_SAME: Any = object()


class Denoiser:
    """Removes noise from arrays: made once, for many. It can be called from several threads at once, and pickled.

    Parameters
    ----------
    method : {"bm3d", "ridge", "nlm", "isoline", "classic"}
        How: block matching and 3-D filtering; context ridge, better and slower; non-local means; averages along isolines,
        the fastest; the filters that others are compared with.
    profile : str, optional
        Quality against speed, such as ``"fast"``, ``"normal"``, ``"high"``; the method's own default if not given.
    sigma, channel_axis, white
        As in `denoise`; what is given here counts where a call does not say otherwise.
    strength, luma, chroma, detail, grain
        As in `denoise`.
    estimator : str
        How noise is estimated where sigma is None, as in `estimate_noise`.
    undo_clipping : bool, optional
        Whether to undo what clipping at black and white did to the mean of strong noise; where it is seen, if not given.
    noise_psd : array of shape (H, W) or "auto", optional
        The power spectrum of noise that is correlated in space, as a discrete Fourier transform has it, in squared units of
        the samples: white noise has ``H * W * sigma**2`` everywhere. Methods bm3d and nlm.
    noise_cov : array of shape (3, 3) or "auto", optional
        The covariance of the noise of red, green and blue, in squared units of the samples. Method nlm.
    device : str
        ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"opencl"``; `devices` lists what there is.
    threads : int, optional
        Threads of the processor; one per core if not given.
    tile : int, optional
        Side of the tiles that large pictures are filtered in.
    toml : str, optional
        Parameters as the program's ``--print-plan`` writes them.
    **params
        Parameters of the method over those of the profile: ``hard_step=4`` is `hard.step` of the documentation, and
        ``lambda_=3`` is `lambda`.

    Examples
    --------
    >>> import numpy as np, quell
    >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (3, 64, 64)).astype(np.float32)
    >>> denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1)
    >>> clean = [denoiser(picture) for picture in noisy]
    >>> clean[0].shape, bool(clean[0].std() < 0.02)
    ((64, 64), True)
    """

    def __init__(
        self,
        method: str = "bm3d",
        profile: str | None = None,
        *,
        sigma: Any = None,
        channel_axis: int | None = None,
        white: float | None = None,
        strength: float | None = None,
        luma: float | None = None,
        chroma: float | None = None,
        detail: float | None = None,
        grain: float | None = None,
        estimator: str = "auto",
        undo_clipping: bool | None = None,
        noise_psd: Any = None,
        noise_cov: Any = None,
        device: str = "auto",
        threads: int | None = None,
        tile: int | None = None,
        toml: str | None = None,
        **params: Any,
    ) -> None:
        self.method = method
        self.profile = _profile(method, profile)
        self.sigma, self.channel_axis, self.white = sigma, channel_axis, white
        self._noise_psd = _matrix("noise_psd", noise_psd, np.float32)
        self._noise_cov = _matrix("noise_cov", noise_cov, np.float64)
        self._settings = _settings(method, self.profile, params)
        self._device = str(device)
        self._options: dict[str, Any] = {
            "toml": toml,
            "estimator": estimator,
            "strength": strength,
            "luma": luma,
            "chroma": chroma,
            "detail": detail,
            "grain": grain,
            "undo_clipping": undo_clipping,
            "threads": _count("threads", threads),
            "tile": _count("tile", tile),
        }
        self._started: tuple[int, dict[str, _core.Engine]] = (0, {})
        self._engine()

    def __call__(
        self,
        x: Any,
        sigma: Any = _SAME,
        *,
        channel_axis: Any = _SAME,
        white: Any = _SAME,
        out: Any = None,
        progress: bool | Report | None = None,
    ) -> Any:
        """Filters an array; see `denoise` for the arguments."""
        sigma = self.sigma if sigma is _SAME else sigma
        channel_axis = self.channel_axis if channel_axis is _SAME else channel_axis
        white = self.white if white is _SAME else white
        if on_device(x):
            if out is not None:
                raise NotImplementedError("out: is for arrays on the host; on a device the result is a new array")
            with reporting(progress) as report:
                return like(x, self._on_device(x, sigma, channel_axis, white, report))
        array = as_array(to_host(x))
        result = _room(array, out)
        axes = Axes.of(array.shape, channel_axis)
        level = white_of(white, array)
        with reporting(progress) as report:
            self._filter(axes, array, result, level, sigma, report)
        if out is not None:
            if result is not out:
                np.copyto(out, result)
            return out
        return like(x, result)

    def _filter(
        self,
        axes: Axes,
        x: Array,
        out: Array,
        white: float,
        sigma: Any,
        report: Report | None,
        part: Part | None = None,
    ) -> None:
        """Filters every picture of `x` into `out`; or a part of every picture, of whose rows there are those around."""
        noise = levels(sigma, axes, white)
        engine = self._engine()

        def one(given: Array, taken: Array, picture: tuple[int, ...], group: int, report: Report | None) -> None:
            told = noise(picture, group)
            if part is None:
                engine.denoise(given, taken, white, told, self._noise_psd, self._noise_cov, report)
                return
            assert told is not None
            rows = (part.first, part.last)
            _core.denoise_part(engine, given, taken, white, told, part.height, rows, report)

        samples = native(x)
        room = out if out.dtype == samples.dtype and out.flags.aligned else np.empty_like(samples, subok=False)
        given, taken = axes.planar(samples), axes.planar(room)
        count = len(axes) * len(axes.together)
        done = 0
        for picture in axes.pictures():
            for group, channels in enumerate(axes.together):
                share = section(report, done, count)
                one(given[picture][channels], taken[picture][channels], picture, group, share)
                done += 1
        if room is not out:
            if room.dtype == np.float32:
                restore(room, out)
            else:
                np.copyto(out, room)

    def _on_device(
        self, x: Any, sigma: Any, channel_axis: int | None, white: float | None, report: Report | None
    ) -> _core.DeviceArray:
        if self.method != "bm3d":
            raise NotImplementedError(
                f"method = {self.method!r}: filters arrays on the host, and only bm3d those on a device: copy x to the host "
                "first (torch: x.cpu(), CuPy: x.get()), or use bm3d"
            )
        tensor = borrow(x)
        if tensor.dtype is None:
            raise TypeError("x: on a device uint8, uint16 and float32 are known: convert it there first")
        shape = tuple(tensor.shape)
        if len(shape) < 2 or 0 in shape:
            raise ValueError(f"x: an array of shape {shape} is no picture: rows and columns are needed")
        axes = Axes.of(shape, channel_axis)
        columns = [axis for axis in range(len(shape)) if axis != axes.channel][-1]
        if tensor.strides[columns] != 1 and shape[columns] > 1:
            raise ValueError(
                "x: on a device the samples of a row must follow each other: planes, such as (3, H, W), not pixels, such as "
                "(H, W, 3); move the channels forward and make it contiguous there (torch: x.movedim(-1, -3).contiguous())"
            )
        if self._noise_psd is not None or self._noise_cov is not None:
            raise NotImplementedError("noise_psd, noise_cov: noise on a device is taken for white")
        if sigma is None:
            raise ValueError("sigma: must be given for an array on a device: estimating it would copy it to the host")
        if white is None:
            white = 1.0 if tensor.dtype == "float32" else float(np.iinfo(tensor.dtype).max)
        noise = levels(sigma, axes, white)
        models = [[noise(picture, group) for group in range(len(axes.together))] for picture in axes.pictures()]
        if any(model != row[0] for row in models for model in row):
            raise NotImplementedError("sigma: on a device, channels other than red, green and blue have one in common")
        name = f"cuda:{tensor.device[1]}"
        if self._device not in ("auto", "cuda", name):
            raise ValueError(f"device = {self._device!r}: x is on {name}")
        return _core.denoise_tensor(
            self._engine(name), tensor, axes.channel, white, [row[0] for row in models], report
        )

    def _engine(self, device: str | None = None) -> _core.Engine:
        """The engine of this process: one that was forked or unpickled has none yet."""
        process, engines = self._started
        if process != os.getpid():
            engines = {}
            self._started = (os.getpid(), engines)
        name = device or self._device
        if name not in engines:
            engines[name] = _core.Engine(
                self.method, self.profile, settings=self._settings, device=name, **self._options
            )
        return engines[name]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_started": (0, {})}

    def __repr__(self) -> str:
        sigma = "" if self.sigma is None else f", sigma={self.sigma!r}"
        settings = "".join(f", {name.replace('.', '_')}={value}" for name, value in self._settings)
        return f"Denoiser({self.method!r}, {self.profile!r}{sigma}{settings}, device={self._device!r})"

    @property
    def params(self) -> dict[str, str]:
        """Every parameter of the method and its value, for grey pictures with this noise (or with a tenth of white)."""
        listed = _core.parameters(self.method, self.profile, self._model().with_white(255).sigma, False)
        return {**{name: value for name, _, value in listed}, **dict(self._settings)}

    @property
    def device(self) -> str:
        """The device in use; ``"auto"`` is started to tell."""
        return str(self._engine().device()["name"])

    @property
    def halo(self) -> int:
        """Pixels around a pixel that its result depends on."""
        return _core.halo(self._engine(), self._model(), 1 if self.channel_axis is None else 3)

    def parts(self, shape: tuple[int, ...], rows: int) -> list[Part]:
        """Cuts the pictures of an array into parts that can be filtered one by one, in any order, anywhere.

        On the processor the results of BM3D put together are those of the whole picture, bit by bit, wherever it is cut;
        with other methods they differ by the rounding of floats.

        Parameters
        ----------
        shape : tuple of int
            Of the whole array, whose axes are those of an array that is filtered at once.
        rows : int
            Rows of every part but the last.

        Returns
        -------
        list of Part
            From the top.

        Examples
        --------
        >>> import numpy as np, quell
        >>> noisy = np.random.default_rng(0).normal(100, 10, (900, 64)).astype(np.uint8)
        >>> denoiser = quell.Denoiser("bm3d", "fast", sigma=10, undo_clipping=False, device="cpu")
        >>> clean = np.empty_like(noisy)
        >>> for part in denoiser.parts(noisy.shape, rows=250):
        ...     clean[part.write] = denoiser.run_part(noisy[part.read], part)
        >>> bool((clean == denoiser(noisy)).all())
        True
        """
        if len(shape) < 2 or 0 in shape:
            raise ValueError(f"shape = {tuple(shape)}: is no picture")
        axes = Axes.of(tuple(shape), self.channel_axis)
        rows = _count("rows", rows)
        cuts = [*range(0, axes.height, rows), axes.height]
        wanted = list(zip(cuts, cuts[1:], strict=False))
        channels = 3 if axes.channels == 3 else 1
        reads = _core.part_rows(self._engine(), self._model(), (axes.width, axes.height), channels, wanted)
        return [Part(axes.height, *write, *read) for write, read in zip(wanted, reads, strict=True)]

    def run_part(self, x: Any, part: Part, *, progress: bool | Report | None = None) -> Any:
        """Filters a part of the pictures of an array; see `parts`.

        Parameters
        ----------
        x : array
            The rows `part.read` of the whole array.
        part : Part
            Which ones these are.
        progress : bool or callable, optional
            As in `denoise`.

        Returns
        -------
        array
            The rows `part.write` of the result.
        """
        if self.sigma is None:
            raise ValueError("sigma: must be given for parts: each would find its own")
        if self._options["undo_clipping"] is not False:
            raise ValueError("undo_clipping: must be False for parts: whether clipping is seen may differ from one to another")
        if self._noise_psd is not None or self._noise_cov is not None:
            raise NotImplementedError("noise_psd, noise_cov: what is correlated is known of whole pictures, not of parts")
        if on_device(x):
            raise NotImplementedError("x: parts are filtered on the host: an array on a device is filtered as a whole")
        array = as_array(to_host(x))
        axes = Axes.of(array.shape, self.channel_axis)
        if axes.height != part.bottom - part.top:
            raise ValueError(f"x: has {axes.height} rows, and must have rows {part.top} to {part.bottom} of the array")
        result = np.empty_like(array, subok=False)
        with reporting(progress) as report:
            self._filter(axes, array, result, white_of(self.white, array), self.sigma, report, part)
        return like(x, np.ascontiguousarray(result[axes.at_rows(part.kept)]))

    def refine(
        self,
        x: Any,
        pilot: Any,
        sigma: Any = _SAME,
        *,
        channel_axis: Any = _SAME,
        white: Any = _SAME,
        progress: bool | Report | None = None,
    ) -> Any:
        """Filters an array by pass 2 of BM3D alone, with an estimate of it that you bring: by another method, from another
        exposure, or from deblurring. Patches are grouped by it, and it tells how much of each coefficient is picture.

        Parameters
        ----------
        x : array
            As in `denoise`; sigma is needed, and what clipping did to the noise is not undone.
        pilot : array
            The estimate, of the same shape and in the same units.
        sigma, channel_axis, white, progress
            As in `denoise`.

        Returns
        -------
        array
            Of the shape and type of `x`.

        Examples
        --------
        >>> import numpy as np, quell
        >>> noisy = np.random.default_rng(0).normal(0.5, 0.1, (64, 64)).astype(np.float32)
        >>> denoiser = quell.Denoiser("bm3d", sigma=0.1, device="cpu")
        >>> basic = quell.bm3d(noisy, 0.1, passes=1, device="cpu")
        >>> bool(np.abs(denoiser.refine(noisy, basic) - denoiser(noisy)).max() < 1e-5)
        True
        """
        sigma = self.sigma if sigma is _SAME else sigma
        channel_axis = self.channel_axis if channel_axis is _SAME else channel_axis
        if self.method != "bm3d":
            raise NotImplementedError(f"pilot: is for pass 2 of bm3d, and method {self.method} has none")
        if sigma is None:
            raise ValueError("sigma: must be given with a pilot")
        if self._noise_cov is not None:
            raise NotImplementedError("noise_cov: is for method nlm")
        if on_device(x) or on_device(pilot):
            raise NotImplementedError("x, pilot: must be on the host: copy them there first")
        array, basic = as_array(to_host(x)), as_array(to_host(pilot), "pilot")
        if basic.shape != array.shape:
            raise ValueError(f"pilot: has shape {basic.shape}, and x has {array.shape}")
        if not np.isfinite(basic).all():
            raise ValueError("pilot: has samples that are not finite")
        axes = Axes.of(array.shape, channel_axis)
        level = white_of(self.white if white is _SAME else white, array)
        noise, engine = levels(sigma, axes, level), self._engine()
        given, guess = (axes.planar(a.astype(np.float32, order="K", copy=False)) for a in (array, basic))
        clean = np.empty(given.shape, np.float32)
        count = len(axes) * len(axes.together)
        with reporting(progress) as report:
            for done, (picture, (group, some)) in enumerate(product(axes.pictures(), enumerate(axes.together))):
                told = noise(picture, group)
                assert told is not None
                room, share = clean[picture][some], section(report, done, count)
                _core.refine(engine, given[picture][some], guess[picture][some], room, level, told, self._noise_psd, share)
        result = np.empty_like(array, subok=False)
        restore(clean, axes.planar(result))
        return like(x, result)

    def _model(self) -> _core.NoiseModel:
        """The noise, or some."""
        if isinstance(self.sigma, _core.NoiseModel):
            return self.sigma
        if self.sigma is None:
            return _core.NoiseModel.gauss(25.5, 255)
        # The type of the samples is not known yet: less than one is of floats, whose white is 1.
        level = float(np.max(to_host(self.sigma)))
        white = self.white if self.white is not None else 1.0 if level < 1 else 255.0
        return _core.NoiseModel.gauss(level, white)

    def stream(self, *, layout: str | None = None, bits: int | None = None) -> Stream:
        """A stream of frames through this denoiser, which may look at the frames around each; see `Stream`.

        Examples
        --------
        >>> import numpy as np, quell
        >>> noisy = np.random.default_rng(0).integers(90, 110, (5, 32, 48), np.uint8)
        >>> denoiser = quell.Denoiser("nlm", "fast", sigma=6, past=1, future=1)
        >>> len([frame for frame in denoiser.stream().frames(noisy)])
        5
        """
        from ._stream import Stream

        return Stream(self, layout=layout, bits=bits)


def _room(x: Array, out: Any) -> Array:
    """Where the result goes: into an array like `x`, into `out`, or, where that is `x`, beside it at first."""
    if out is None or same_memory(check_out(out, x), x):
        return np.empty_like(x, subok=False)
    return check_out(out, x)


def _profile(method: str, profile: str | None) -> str:
    for name, _, profiles, default in _core.methods():
        if name == method:
            if profile is not None and profile not in profiles:
                raise ValueError(f"profile = {profile!r}: method {method} has {', '.join(profiles)}")
            return profile or default
    raise ValueError(f"method = {method!r}: one of {', '.join(m[0] for m in _core.methods())}")


def _settings(method: str, profile: str, params: dict[str, Any]) -> list[tuple[str, str]]:
    known = {name.replace(".", "_").replace("-", "_"): name for name, _, _ in _core.parameters(method, profile, 25, False)}
    settings = []
    for key, value in params.items():
        name = known.get(key.replace(".", "_").rstrip("_"))
        if name is None:
            raise TypeError(f"{key}: method {method} has no such parameter; it has {', '.join(known)}")
        settings.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return settings


def _count(name: str, value: int | None) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} = {value!r}: must be a whole number of 1 or more")
    return int(value)


def _matrix(name: str, value: Any, dtype: Any) -> Any:
    if value is None or isinstance(value, str):
        if value not in (None, "auto"):
            raise ValueError(f"{name} = {value!r}: must be an array or 'auto'")
        return value
    array = np.ascontiguousarray(to_host(value), dtype=dtype)
    if array.ndim != 2 or (name == "noise_cov" and array.shape != (3, 3)):
        raise ValueError(f"{name}: has shape {array.shape}")
    return array
