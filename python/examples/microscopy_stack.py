"""A stack of a fluorescence microscope: few photons, 12 bits in uint16, several times and channels.

    python microscopy_stack.py [--small] [--picture FILE.jpg]        writes stack.clean.npy

Draws its own cells; `tifffile.imread("stack.tif")` takes their place. `--picture` puts noisy, clean and true cells beside each other.
"""

import sys

import numpy as np
import pictures

import quell

WHITE = 4095  # a 12-bit camera
GAIN, OFFSET, READ_NOISE = 4.0, 100.0, 6.0


# %% Cells that drift, in two channels: (T, C, Y, X).
def cells(times, size):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:size, 0:size]
    stack = np.zeros((times, 2, size, size))
    for _ in range(size * size // 3000):
        cx, cy = rng.uniform(0, size, 2)
        dx, dy, r, light = *rng.uniform(-2, 2, 2), rng.uniform(14, 30), rng.uniform(6, 30)
        angle, long = rng.uniform(0, np.pi), rng.uniform(1, 1.8)
        for t in range(times):
            u, v = x - cx - t * dx, y - cy - t * dy
            u, v = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
            d = np.minimum(np.hypot(u / long, v) / r, 9)
            # Fibres along the cell, and its nucleus.
            stack[t, 0] += light * (0.35 + 0.65 * np.cos(0.7 * v + 3 * np.sin(u / 9)) ** 8) / (1 + np.exp(12 * (d - 1)))
            stack[t, 1] += 1.5 * light / (1 + np.exp(14 * (2.4 * d - 1)))
    return stack + 2


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


# %% The first time, its channels as green and magenta: noisy, taken for white noise, as photons, true.
def composite(planes):
    first, second = (np.clip((p[150:400, 100:350] - OFFSET) / scale, 0, 1) ** 0.7 for p, scale in zip(planes, (200, 220), strict=True))
    return np.stack([second, first, second], axis=-1)


if path := pictures.wanted():
    pictures.side_by_side(path, *(composite(x[0].astype(float)) for x in (noisy, plain, result, clean)))
