"""What `src/` does in Rust; `mypy.stubtest` compares the two."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy.typing as npt

__all__ = [
    "__version__",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "Engine",
    "NoiseModel",
    "QuellError",
    "Stream",
    "Tensor",
    "denoise_part",
    "denoise_tensor",
    "devices",
    "estimate",
    "halo",
    "host_traffic",
    "measure",
    "methods",
    "mse",
    "parameters",
    "part_rows",
    "refine",
    "run_program",
    "ssim",
]

__version__: str

_Array = npt.NDArray[Any]
_Report = Callable[[float], object]

class QuellError(RuntimeError): ...
class DeviceError(QuellError): ...
class DeviceMemoryError(DeviceError): ...

@final
class NoiseModel:
    def __new__(cls, toml: str, white: float = 255.0) -> NoiseModel: ...
    @staticmethod
    def gauss(sigma: float, white: float) -> NoiseModel: ...
    @staticmethod
    def rgb(sigma: tuple[float, float, float], white: float) -> NoiseModel: ...
    @staticmethod
    def opponent(sigma: tuple[float, float, float], white: float) -> NoiseModel: ...
    @staticmethod
    def poisson_gauss(gain: float, floor: float, white: float) -> NoiseModel: ...
    @staticmethod
    def points(points: Sequence[tuple[float, float]], white: float) -> NoiseModel: ...
    @staticmethod
    def from_toml(toml: str, white: float = 255.0) -> NoiseModel: ...
    def with_white(self, white: float) -> NoiseModel: ...
    def to_toml(self) -> str: ...
    def deviation(self, brightness: float) -> float: ...
    @property
    def sigma(self) -> float: ...
    @property
    def levels(self) -> tuple[float, float, float]: ...
    @property
    def kind(self) -> str: ...
    @property
    def white(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Engine:
    def __new__(
        cls,
        method: str,
        profile: str | None,
        *,
        settings: Sequence[tuple[str, str]],
        toml: str | None = None,
        estimator: str = "auto",
        strength: float | None = None,
        luma: float | None = None,
        chroma: float | None = None,
        detail: float | None = None,
        grain: float | None = None,
        undo_clipping: bool | None = None,
        device: str = "auto",
        threads: int = 0,
        tile: int = 0,
    ) -> Engine: ...
    def denoise(
        self,
        x: _Array,
        out: _Array,
        white: float,
        noise: NoiseModel | None = None,
        psd: _Array | str | None = None,
        covariance: Any = None,
        progress: _Report | None = None,
    ) -> NoiseModel | None: ...
    def device(self) -> dict[str, Any]: ...
    def at_once(self) -> int: ...

@final
class Stream:
    def __new__(
        cls,
        engine: Engine,
        width: int,
        height: int,
        layout: str,
        sample: str,
        white: float,
        noise: NoiseModel | None = None,
    ) -> Stream: ...
    def push(self, planes: Sequence[_Array]) -> list[_Array] | None: ...
    def flush(self) -> list[_Array] | None: ...
    @property
    def latency(self) -> int: ...
    @property
    def sigma(self) -> list[float]: ...

@final
class Tensor:
    def __new__(cls, capsule: object) -> Tensor: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def strides(self) -> list[int]: ...
    @property
    def device(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> str | None: ...
    @property
    def read_only(self) -> bool: ...

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def numpy(self) -> _Array: ...

def measure(
    x: _Array,
    white: float,
    estimator: str,
    region: tuple[int, int, int, int] | None = None,
    threads: int = 0,
) -> NoiseModel | None: ...
def estimate(x: _Array, white: float, estimator: str) -> list[float]: ...
def mse(a: _Array, b: _Array, white: float) -> list[float]: ...
def ssim(a: _Array, b: _Array, white: float) -> list[float]: ...
def devices() -> list[dict[str, Any]]: ...
def methods() -> list[tuple[str, str, list[str], str]]: ...
def parameters(
    method: str, profile: str | None, sigma: float, color: bool
) -> list[tuple[str, str, str]]: ...
def halo(engine: Engine, noise: NoiseModel, channels: int) -> int: ...
def part_rows(
    engine: Engine,
    noise: NoiseModel,
    size: tuple[int, int],
    channels: int,
    rows: Sequence[tuple[int, int]],
) -> list[tuple[int, int]]: ...
def denoise_part(
    engine: Engine,
    x: _Array,
    out: _Array,
    white: float,
    noise: NoiseModel,
    height: int,
    rows: tuple[int, int],
    progress: _Report | None = None,
) -> None: ...
def denoise_tensor(
    engine: Engine,
    x: Tensor,
    channel_axis: int | None,
    white: float,
    noise: Sequence[NoiseModel | None],
    progress: _Report | None = None,
) -> DeviceArray: ...
def refine(
    engine: Engine,
    x: _Array,
    pilot: _Array,
    out: _Array,
    white: float,
    noise: NoiseModel,
    psd: _Array | str | None = None,
    progress: _Report | None = None,
) -> None: ...
def host_traffic() -> tuple[int, int]: ...
def run_program(args: Sequence[str]) -> int: ...
