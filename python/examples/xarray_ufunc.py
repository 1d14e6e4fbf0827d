"""xarray: denoise a labelled stack by `apply_ufunc`, in memory or lazily with Dask.

    python xarray_ufunc.py [--small]
"""

import sys

import numpy as np

import quell

try:
    import xarray as xr
except ImportError:
    print("skipped: this example needs xarray (pip install xarray)")
    sys.exit()

# %% Reflectance by time and place, with noise.
size = 96 if "--small" in sys.argv else 512
y, x = np.mgrid[0:size, 0:size] / size
clean = np.stack([0.4 + 0.2 * np.sin(9 * x + t) * np.cos(7 * y) + 0.2 * (x > y) for t in range(4)])
noisy = clean + np.random.default_rng(0).normal(0, 0.08, clean.shape)
scene = xr.DataArray(
    noisy.astype(np.float32),
    dims=("time", "y", "x"),
    coords={"time": np.arange(4), "y": np.arange(size) * 10.0, "x": np.arange(size) * 10.0},
    attrs={"units": "1"},
)

# %% Rows and columns are core dimensions; every other one counts pictures. Coordinates stay.
denoiser = quell.Denoiser("bm3d", sigma=0.08)
dims = ["y", "x"]
result = xr.apply_ufunc(denoiser, scene, input_core_dims=[dims], output_core_dims=[dims], keep_attrs=True)
assert result.dims == scene.dims and result.dtype == scene.dtype and result.attrs == scene.attrs
print(f"noisy {quell.psnr(clean, scene.values):.2f} dB, clean {quell.psnr(clean, result.values):.2f} dB")

# %% A sigma for every time goes along as another array.
sigma = xr.DataArray([0.08, 0.08, 0.08, 0.16], dims="time")
each = xr.apply_ufunc(denoiser, scene, sigma, input_core_dims=[dims, []], output_core_dims=[dims])
assert np.array_equal(each[:3], result[:3])

# %% With Dask, chunk by chunk along time. Pictures that are themselves in chunks are for quell.dask.
try:
    import dask  # noqa: F401
except ImportError:
    sys.exit()
lazy = xr.apply_ufunc(
    denoiser,
    scene.chunk(time=1),
    input_core_dims=[dims],
    output_core_dims=[dims],
    dask="parallelized",
    output_dtypes=[scene.dtype],
)
assert np.array_equal(lazy.compute(), result)

import quell.dask

cut = scene.chunk(time=1, y=size // 2, x=size // 2)
whole = cut.copy(data=quell.dask.denoise(cut.data, 0.08, rows=size // 2, device="cpu"))
assert np.array_equal(whole.compute(), quell.bm3d(scene.values, 0.08, undo_clipping=False, device="cpu"))
print("lazily: the same")
