"""quell among scikit-image's functions: its noise, its metrics, and its search for the best strength without a clean picture.

    python skimage_calibrate.py [--small]
"""

import sys

import numpy as np

import quell

try:
    from skimage import data, metrics, restoration, util
except ImportError:
    print("skipped: this example needs scikit-image (pip install scikit-image)")
    sys.exit()

# %% Their picture and their noise: floats of 0 to 1.
clean = util.img_as_float(data.camera())[100:356, 150:406].astype(np.float32)
if "--small" in sys.argv:
    clean = clean[:96, :96]
noisy = util.random_noise(clean, var=0.08**2, rng=0, clip=False).astype(np.float32)
print(f"sigma: {restoration.estimate_sigma(noisy):.4f} by scikit-image, {quell.estimate_sigma(noisy):.4f} by quell, really 0.08")

# %% In the place of denoise_nl_means and denoise_bilateral.
results = {
    "skimage, NL-means": restoration.denoise_nl_means(noisy, h=0.06, sigma=0.08, fast_mode=True, patch_size=5, patch_distance=6),
    "skimage, TV": restoration.denoise_tv_chambolle(noisy, weight=0.1),
    "quell, NL-means": quell.nlm(noisy, 0.08),
    "quell, BM3D": quell.bm3d(noisy, 0.08),
}
for name, result in results.items():
    psnr = metrics.peak_signal_noise_ratio(clean, result, data_range=1)
    print(f"{name:18} {psnr:.2f} dB, SSIM {metrics.structural_similarity(clean, result, data_range=1):.3f}")

# %% J-invariance finds the best sigma without knowing the clean picture.
# What the search passes on has been interpolated: it is not the noise that quell would find.
calibrated, (tested, losses) = restoration.calibrate_denoiser(
    noisy, quell.bm3d, {"sigma": [0.04, 0.06, 0.08, 0.12], "profile": ["fast"]}, extra_output=True
)
best = tested[int(np.argmin(losses))]
result = calibrated(noisy)
print(f"calibrated: sigma {best['sigma']}, {metrics.peak_signal_noise_ratio(clean, result, data_range=1):.2f} dB")
assert metrics.peak_signal_noise_ratio(clean, result, data_range=1) > metrics.peak_signal_noise_ratio(clean, noisy, data_range=1) + 4
