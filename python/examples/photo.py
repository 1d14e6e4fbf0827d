"""A photograph: how noisy is it, and what do the methods make of it?

    python photo.py [--small] [--picture FILE.jpg]        writes photo.noisy.npy, photo.bm3d.npy, ...

Takes the sample picture of the repository, or draws one where Pillow is missing; `np.asarray(Image.open("photo.jpg"))` takes its
place. `--picture` puts parts of the results beside each other.
"""

import sys
import time

import numpy as np
import pictures

import quell

SIGMA = 20


# %% A scene in 8 bits, and the noise of a camera at high ISO.
def scene(height, width):
    y, x = np.mgrid[0:height, 0:width] / height
    sky = np.stack([0.55 + 0.2 * y, 0.65 + 0.15 * y, 0.8 + 0.0 * y], axis=-1)
    roofs = (np.sin(9 * x) + np.sin(23 * x)) * 0.05 + 0.6 < y
    windows = (np.floor(40 * x) % 2 == 0) & (np.floor(30 * y) % 2 == 0) & roofs
    sky[roofs] = 0.35, 0.25, 0.2
    sky[windows] = 0.95, 0.85, 0.5
    return np.round(sky * 255).astype(np.uint8)


clean = pictures.sample()
if clean is None or "--small" in sys.argv:
    clean = scene(*((128, 192) if "--small" in sys.argv else (512, 768)))
noisy = np.clip(clean + np.random.default_rng(0).normal(0, SIGMA, clean.shape), 0, 255).astype(np.uint8)

# %% How noisy is it? Nobody has to say.
found = quell.estimate_noise(noisy, channel_axis=-1)
print(f"noise: {found}; really {SIGMA}")

# %% Every method, and what it takes.
np.save("photo.noisy.npy", noisy)
print(f"{'':10} {quell.psnr(clean, noisy, channel_axis=-1):6.2f} dB")
results = {}
for method in ("isoline", "nlm", "bm3d", "ridge"):
    since = time.perf_counter()
    result = quell.denoise(noisy, method=method, channel_axis=-1)
    taken = time.perf_counter() - since
    results[method] = result
    np.save(f"photo.{method}.npy", result)
    print(f"{method:10} {quell.psnr(clean, result, channel_axis=-1):6.2f} dB  {taken * 1e3:7.1f} ms")

# %% More against coloured blotches, and some grain so that it does not look like plastic.
pleasant = quell.bm3d(noisy, channel_axis=-1, chroma=1.5, grain=0.1)
np.save("photo.pleasant.npy", pleasant)

# %% Noisy, isolines, BM3D, context ridge.
if path := pictures.wanted():
    part = np.s_[50:250, 232:456]
    pictures.side_by_side(path, *(x[part] for x in (noisy, results["isoline"], results["bm3d"], results["ridge"])))
