"""Arrays of other libraries. Those on a device come from a library that does not exist: see producers.py; cuda_check.py
does the same on a real one."""

import gc
import sys
import types

import numpy as np
import pytest
from producers import CUDA, METAL, Producer

import quell
from quell import _core

HAS_CUDA = any(d.kind == "cuda" for d in quell.devices())


class Hosted:
    """An array on the host of a library called `hosted`."""

    __module__ = "hosted.array"

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("hosted")
    module.from_dlpack = lambda x: Hosted(np.from_dlpack(x))
    monkeypatch.setitem(sys.modules, "hosted", module)


def test_arrays_on_the_host_come_back_as_what_they_were(library, noisy):
    result = quell.bm3d(Hosted(noisy), 0.1, profile="fast")
    assert type(result) is Hosted
    assert np.array_equal(result.array, quell.bm3d(noisy, 0.1, profile="fast"))
    assert quell.psnr(Hosted(noisy), noisy) == np.inf
    assert quell.estimate_sigma(Hosted(noisy)) == quell.estimate_sigma(noisy)


def test_without_a_way_back_the_result_is_numpys(noisy):
    assert type(quell.bm3d(Hosted(noisy), 0.1, profile="fast")) is np.ndarray


def test_an_array_namespace_is_asked_first(library, noisy):
    class Standard(Hosted):
        def __array_namespace__(self):
            return types.SimpleNamespace(from_dlpack=lambda x: ("standard", np.from_dlpack(x)))

    assert quell.bm3d(Standard(noisy), 0.1, profile="fast")[0] == "standard"


@pytest.mark.parametrize("versions", [True, False])
def test_capsules_are_read_and_given_back_once(versions):
    x = Producer((2, 3, 40, 48), kind="uint", bits=16, strides=(6000, 2000, 50, 1), versions=versions, flags=1)
    from quell._dlpack import borrow

    tensor = borrow(x)
    assert x.streams == [1]
    assert (tensor.shape, tensor.strides) == ([2, 3, 40, 48], [6000, 2000, 50, 1])
    assert (tensor.dtype, tensor.device, tensor.read_only) == ("uint16", (2, 0), versions)
    assert x.freed == 0
    del tensor
    assert x.freed == 1


def test_strides_may_be_left_out():
    assert _core.Tensor(Producer((5, 40, 48)).__dlpack__()).strides == [1920, 48, 1]


def test_a_capsule_is_used_once():
    capsule = Producer((40, 48)).__dlpack__()
    _core.Tensor(capsule)
    with pytest.raises(TypeError, match="used"):
        _core.Tensor(capsule)
    with pytest.raises(TypeError, match="capsule"):
        _core.Tensor("a string")


@pytest.mark.parametrize(
    ("x", "options", "error", "text"),
    [
        (Producer((40, 48), device=(METAL, 0)), {}, NotImplementedError, "x: is on a device of kind 8"),
        (Producer((40, 48), kind="float", bits=16), {}, TypeError, "x: on a device uint8"),
        (Producer((40, 48), kind="float", bits=64), {}, TypeError, "x: on a device uint8"),
        (Producer((40, 48), kind="bfloat", bits=16), {}, TypeError, "x: on a device uint8"),
        (Producer((40, 48), kind="int", bits=8), {}, TypeError, "x: on a device uint8"),
        (Producer((48,)), {}, ValueError, "x: an array of shape (48,)"),
        (Producer(()), {}, ValueError, "x: an array without axes"),
        (Producer((0, 48)), {}, ValueError, "x: an array of shape (0, 48)"),
        (Producer((40, 48), address=0), {}, BufferError, "x: its memory has been freed"),
        (Producer((40, 48), major=2), {}, BufferError, "x: DLPack 2"),
        (Producer((40, 48, 3)), {"channel_axis": -1}, ValueError, "x: on a device the samples of a row"),
        (Producer((40, 48), strides=(1, 40)), {}, ValueError, "x: on a device the samples of a row"),
        (Producer((40, 48)), {"sigma": None}, ValueError, "sigma: must be given"),
        (Producer((2, 40, 48)), {"sigma": [1, 2, 3]}, ValueError, "sigma: has shape (3,)"),
        (Producer((40, 48)), {"channel_axis": 5}, ValueError, "channel_axis = 5"),
        (Producer((40, 48)), {"device": "cpu"}, ValueError, "device = 'cpu': x is on cuda:0"),
        (Producer((40, 48)), {"out": np.zeros((40, 48), np.float32)}, NotImplementedError, "out: "),
        (Producer((40, 48)), {"noise_psd": "auto"}, NotImplementedError, "noise_psd"),
        (Producer((40, 48)), {"method": "nlm"}, NotImplementedError, "method = 'nlm': filters arrays on the host"),
        (Producer((40, 48)), {"method": "ridge"}, NotImplementedError, "x.cpu()"),
        (Producer((40, 48)), {"method": "isoline"}, NotImplementedError, "or use bm3d"),
        (Producer((2, 40, 48, 3)), {"channel_axis": -1}, ValueError, "x.movedim(-1, -3).contiguous()"),
        (Producer((2, 40, 48)), {"channel_axis": 0, "sigma": [0.1, 0.2]}, NotImplementedError, "sigma: "),
    ],
)
def test_what_cannot_be_done_on_a_device_is_said(x, options, error, text):
    options = {"sigma": 0.1, **options}
    with pytest.raises(error) as caught:
        quell.denoise(x, options.pop("sigma"), **options)
    assert text in str(caught.value)
    # What was borrowed is in the traceback.
    del caught
    gc.collect()
    assert x.freed == len(x.streams)


@pytest.mark.skipif(HAS_CUDA, reason="there is a CUDA device")
def test_without_a_driver_there_is_an_error():
    x = Producer((3, 40, 48), device=(CUDA, 0))
    with pytest.raises(quell.DeviceError, match="cuda:0"):
        quell.bm3d(x, 0.1, channel_axis=0)
    gc.collect()
    assert x.freed == 1


def test_freed_by_a_capsule_that_nobody_took():
    # A capsule of NumPy, of which the same holds.
    capsule = np.zeros((4, 4), np.float32).__dlpack__()
    tensor = _core.Tensor(capsule)
    assert tensor.device[0] == 1 and tensor.shape == [4, 4]
