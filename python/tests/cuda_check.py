"""On a machine with an NVIDIA GPU: arrays in device memory, in and out, against the processor.

    python python/tests/cuda_check.py

Needs NumPy and quell, no other library: device memory comes from the driver by ctypes, in the primary context. Prints a
line for each check, and ends with 1 if one fails.
"""

import ctypes
import sys
import time

import numpy as np
from producers import CUDA, Producer

import quell
from quell import _core

cuda = ctypes.CDLL("libcuda.so.1")
failed = []


def check(result):
    if result:
        raise RuntimeError(f"the driver says {result}")


def report(name, good, detail=""):
    print(f"{'PASS' if good else 'FAIL'}: {name}{': ' if detail else ''}{detail}", flush=True)
    if not good:
        failed.append(name)


def start():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))


class OnDevice(Producer):
    """A NumPy array in device memory."""

    KINDS = {"float32": ("float", 32), "uint8": ("uint", 8), "uint16": ("uint", 16)}

    def __init__(self, array, **how):
        array = np.ascontiguousarray(array)
        pointer = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)))
        kind, bits = self.KINDS[array.dtype.name]
        super().__init__(array.shape, kind=kind, bits=bits, device=(CUDA, 0), address=pointer.value, **how)


def to_host(result):
    """By `__cuda_array_interface__`, as CuPy would."""
    face = result.__cuda_array_interface__
    size = int(np.prod(face["shape"])) * np.dtype(face["typestr"]).itemsize
    raw = np.empty(size, np.uint8)
    check(cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(raw.ctypes.data), ctypes.c_uint64(face["data"][0]), ctypes.c_size_t(size)))
    flat = raw.view(face["typestr"])
    return np.lib.stride_tricks.as_strided(flat, face["shape"], face["strides"])


def scene(channels, height=200, width=264):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([0.3 + 0.3 * ((x // (16 + 8 * c) + y // 24) % 2) for c in range(channels)])


def picture(channels, height=200, width=264, seed=0):
    clean = scene(channels, height, width)
    return (clean + np.random.default_rng(seed).normal(0, 0.1, clean.shape)).astype(np.float32)


def far(a, b):
    return float(np.abs(a.astype(np.float64) - b).max())


def psnr(clean, x):
    return float(-10 * np.log10(np.mean((x - clean) ** 2)))


def contract(clean, got, wanted, sigma):
    """What the engine demands of samples on a device (`device::check`): all in units of white. The PSNR is that of the
    processor, within a hundredth of a dB for 512 x 512 samples and within more where there are fewer; and no pixel is off
    grossly. Single ones may be: tensor kernels work in halves, and a coefficient at its threshold may fall to the other side.
    """
    limit = 0.01 * max(1.0, (512 * 512 / clean.size) ** 0.5)
    off, worst = abs(psnr(clean, got) - psnr(clean, wanted)), far(got, wanted)
    good = off <= limit and worst <= max(sigma, 1 / 255)
    return good, f"PSNR off by {off:.4f} dB of {limit:.4f}, a pixel by {255 * worst:.2f} of {255 * sigma:.1f}"


def shapes():
    options = {"profile": "fast", "undo_clipping": False}
    grey, rgb = picture(1)[0], picture(3)
    one, three = scene(1)[0], scene(3)
    for name, clean, x, axis, sigma, white in [
        ("grey float32", one, grey, None, 0.1, None),
        ("grey uint8", one, (np.clip(grey, 0, 1) * 255).round().astype(np.uint8), None, 25.5, None),
        ("grey uint16", one, (np.clip(grey, 0, 1) * 4095).round().astype(np.uint16), None, 409.5, 4095),
        ("colour float32", three, rgb, 0, 0.1, None),
        ("colour uint8", three, (np.clip(rgb, 0, 1) * 255).round().astype(np.uint8), 0, 25.5, None),
        ("batch NCHW, a sigma for each", np.stack([three, three[:, ::-1]]), np.stack([rgb, rgb[:, ::-1]]), 1, [0.05, 0.15], None),
        ("five channels", scene(5), picture(5), 0, 0.1, None),
    ]:
        for versions in (True, False):
            given = OnDevice(x, versions=versions)
            result = quell.bm3d(given, sigma, channel_axis=axis, white=white, **options)
            wanted = quell.bm3d(x, sigma, channel_axis=axis, white=white, device="cpu", **options)
            unit = 1.0 if x.dtype == np.float32 else (white or np.iinfo(x.dtype).max)
            level = float(np.min(sigma)) / unit
            good, detail = contract(clean, to_host(result).astype(float) / unit, wanted.astype(float) / unit, level)
            label = f"{name}{'' if versions else ', a producer without versions'}"
            report(label, good and given.freed == 1, detail)
            report(f"{label}, copied to the host", np.array_equal(result.numpy(), to_host(result)))
    again = quell.bm3d(quell.bm3d(OnDevice(grey), 0.1, **options), 0.05, **options)
    wanted = quell.bm3d(quell.bm3d(grey, 0.1, device="cpu", **options), 0.05, device="cpu", **options)
    report("a result goes in again", far(to_host(again), wanted) < 0.02, f"{far(to_host(again), wanted):.5f}")
    capsule = again.__dlpack__(stream=None, max_version=(1, 0))
    tensor = _core.Tensor(capsule)
    report("a result is given away", tensor.shape == list(grey.shape) and tensor.device == (2, 0))


def refusals():
    for name, work, error in [
        ("method nlm", lambda: quell.nlm(OnDevice(picture(1)[0]), 0.1), NotImplementedError),
        ("pixels of three samples", lambda: quell.bm3d(OnDevice(picture(3).transpose(1, 2, 0)), 0.1, channel_axis=-1), ValueError),
        ("no sigma", lambda: quell.bm3d(OnDevice(picture(1)[0])), ValueError),
        ("a device that is not there", lambda: quell.bm3d(Producer((64, 64), device=(CUDA, 63)), 0.1), quell.DeviceError),
    ]:
        try:
            work()
            report(f"{name} is refused", False)
        except error as e:
            report(f"{name} is refused", True, str(e))


def forked():
    import os

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            quell.bm3d(picture(1)[0], 0.1, device="cuda")
            said = "no error"
        except quell.DeviceError as e:
            said = f"error: {e}"
        except BaseException as e:
            said = repr(e)
        os.write(write, said.encode())
        os._exit(0)
    said = os.read(read, 4096).decode()
    os.waitpid(child, 0)
    report("a forked process gets an error", said.startswith("error: cuda"), said)


def speed():
    x = OnDevice(picture(3, 256, 256))
    denoiser = quell.Denoiser("bm3d", "fast", sigma=0.1, channel_axis=0)
    for _ in range(5):
        y = denoiser(x)
    before = _core.host_traffic()
    since = time.perf_counter()
    y = x
    for _ in range(50):
        y = denoiser(y)
    rate = 50 / (time.perf_counter() - since)
    copied = [now - then for now, then in zip(_core.host_traffic(), before, strict=True)]
    report("50 iterations copy no picture to or from the host", sum(copied) == 0, f"{copied} bytes")
    report("500 iterations a second on 256 x 256 RGB at fast", rate >= 500, f"{rate:.0f} a second")


start()
for part in (shapes, refusals, speed, forked):
    try:
        part()
    except Exception as e:
        report(part.__name__, False, repr(e))
print(f"{len(failed)} failed" if failed else "all passed")
sys.exit(bool(failed))
