"""quell removes noise from pictures and video.

Filters
-------
denoise, bm3d, ridge, nlm, isoline
    A noisy array in, a clean one out.
Denoiser
    The same, made once for many arrays; for streams of frames, and for parts of what does not fit into memory.

Noise
-----
estimate_noise, estimate_sigma
    How noisy an array is.
noise_model, NoiseModel
    What noise is like, if it is more than a number.

Around them
-----------
psnr, ssim
    How close two pictures are.
devices
    What there is to work on.
"""

from ._core import DeviceArray, DeviceError, DeviceMemoryError, NoiseModel, QuellError, __version__
from ._denoiser import Denoiser
from ._device import DeviceInfo, devices
from ._filters import bm3d, denoise, isoline, nlm, ridge
from ._metrics import psnr, ssim
from ._noise import estimate_noise, estimate_sigma, noise_model
from ._parts import Part
from ._stream import Stream

__all__ = [
    "Denoiser",
    "DeviceArray",
    "DeviceError",
    "DeviceInfo",
    "DeviceMemoryError",
    "NoiseModel",
    "Part",
    "QuellError",
    "Stream",
    "__version__",
    "bm3d",
    "denoise",
    "devices",
    "estimate_noise",
    "estimate_sigma",
    "isoline",
    "nlm",
    "noise_model",
    "psnr",
    "ridge",
    "ssim",
]
