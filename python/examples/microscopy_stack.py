"""A stack of a fluorescence microscope: few photons, 12 bits in uint16, several times and channels.

    python microscopy_stack.py [--small]        writes stack.clean.npy

Draws its own cells; `tifffile.imread("stack.tif")` takes their place.
"""

import sys

import numpy as np

import quell

WHITE = 4095  # a 12-bit camera
GAIN, OFFSET, READ_NOISE = 4.0, 100.0, 6.0


# %% Cells that drift, in two channels: (T, C, Y, X).
def cells(times, size):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:size, 0:size]
    stack = np.zeros((times, 2, size, size))
    for _ in range(12):
        cx, cy = rng.uniform(0, size, 2)
        dx, dy, r, light = *rng.uniform(-2, 2, 2), rng.uniform(6, 14), rng.uniform(20, 120)
        for t in range(times):
            d = np.hypot(x - cx - t * dx, y - cy - t * dy)
            stack[t, 0] += light * (d < r)
            stack[t, 1] += 2 * light * np.exp(-((d / r * 2) ** 2))
    return stack + 5


size, times = (96, 2) if "--small" in sys.argv else (512, 6)
photons = cells(times, size)
rng = np.random.default_rng(1)
noisy = rng.poisson(photons) * GAIN + OFFSET + rng.normal(0, READ_NOISE, photons.shape)
noisy = np.clip(np.rint(noisy), 0, WHITE).astype(np.uint16)
clean = photons * GAIN + OFFSET

# %% Photon noise: the variance is gain * (y - offset) + read noise squared. A camera's sheet tells it, or the picture.
known = quell.noise_model("poisson-gauss", gain=GAIN, floor=READ_NOISE**2 - GAIN * OFFSET, white=WHITE)
found = quell.estimate_noise(noisy[0, 0], estimator="poisson", white=WHITE)
print("known:", known)
print("found:", found)

# %% Every plane is a picture of its own: axes before rows and columns count pictures.
result = quell.bm3d(noisy, known, white=WHITE)
assert result.shape == noisy.shape and result.dtype == np.uint16
print(f"noisy {quell.psnr(clean, noisy, white=WHITE):.2f} dB, clean {quell.psnr(clean, result, white=WHITE):.2f} dB")

# %% As if the noise were the same everywhere: worse where it is bright.
plain = quell.bm3d(noisy, quell.estimate_sigma(noisy[0, 0]), white=WHITE)
print(f"taken for white noise {quell.psnr(clean, plain, white=WHITE):.2f} dB")
np.save("stack.clean.npy", result)
