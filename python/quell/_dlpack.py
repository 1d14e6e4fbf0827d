"""Arrays of other libraries, by DLPack: on the host NumPy takes them; on a CUDA device the engine does."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._core import DeviceArray, Tensor

HOST = (1, 3)  # the processor's memory, and page-locked memory for CUDA
CUDA = (2, 13)  # device memory, and managed memory


def is_foreign(x: Any) -> bool:
    """Whether `x` is an array of another library than NumPy."""
    return not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")


def on_device(x: Any) -> bool:
    """Whether `x` is an array on a CUDA device; an error, if it is on a device that is not known."""
    if not is_foreign(x):
        return False
    kind, number = x.__dlpack_device__()
    if int(kind) in CUDA:
        return True
    if int(kind) in HOST:
        return False
    raise NotImplementedError(
        f"x: is on a device of kind {int(kind)} (number {number}), and only the host's and CUDA devices are known: "
        "copy it to the host first"
    )


def to_host(x: Any) -> Any:
    """An array on the host as NumPy's, without a copy; what is no such array, as it is."""
    if not is_foreign(x) or on_device(x):
        return x
    return np.from_dlpack(x)


def borrow(x: Any) -> Tensor:
    """An array on a CUDA device, when whatever fills it has been queued before the default stream."""
    # 1 is the default stream, as DLPack writes it; the engine waits for that.
    try:
        capsule = x.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__(stream=1)
    return Tensor(capsule)


def like(x: Any, result: Any) -> Any:
    """`result`, NumPy's or our own on a device, as an array of the library of `x`, without a copy."""
    if not is_foreign(x) or isinstance(x, DeviceArray):
        return result
    library = sys.modules.get(type(x).__module__.partition(".")[0])
    namespaces: list[Any] = [library, getattr(library, "numpy", None)]
    if hasattr(x, "__array_namespace__"):
        namespaces.insert(0, x.__array_namespace__())
    for namespace in namespaces:
        convert = getattr(namespace, "from_dlpack", None)
        if convert is not None:
            return convert(result)
    return result
