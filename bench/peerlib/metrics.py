"""PSNR and SSIM, computed the same way for every method."""

import numpy as np

PEAK = 255.0


def psnr(clean, other):
    """10 log10(255^2 / MSE) over all pixels and channels, on the float result."""
    error = np.mean((clean.astype(np.float64) - other.astype(np.float64)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(PEAK**2 / error))


def ssim(clean, other):
    """Wang et al. 2004: 11x11 Gaussian of 1.5 pixels, valid region, mean over channels."""
    if min(clean.shape[:2]) < 11:
        return float("nan")
    if clean.ndim == 3:
        return float(np.mean([ssim(clean[..., c], other[..., c]) for c in range(clean.shape[2])]))
    x, y = clean.astype(np.float64), other.astype(np.float64)
    c1, c2 = (0.01 * PEAK) ** 2, (0.03 * PEAK) ** 2
    mean_x, mean_y = _blur(x), _blur(y)
    var_x = _blur(x * x) - mean_x**2
    var_y = _blur(y * y) - mean_y**2
    cov = _blur(x * y) - mean_x * mean_y
    luminance = (2 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    structure = (2 * cov + c2) / (var_x + var_y + c2)
    return float(np.mean(luminance * structure))


def _blur(plane):
    taps = np.exp(-0.5 * ((np.arange(11) - 5) / 1.5) ** 2)
    taps /= taps.sum()
    height, width = plane.shape[0] - 10, plane.shape[1] - 10
    rows = sum(t * plane[i : i + height] for i, t in enumerate(taps))
    return sum(t * rows[:, i : i + width] for i, t in enumerate(taps))
