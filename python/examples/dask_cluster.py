"""A picture that no machine wants to hold: filtered on the workers of a Dask cluster, from one Zarr store into another.

    python dask_cluster.py [--small]        writes large.raw.zarr and large.clean.zarr

The cluster here is two processes of this machine; `Client("tcp://scheduler:8786")` takes a real one.
"""

import sys

import numpy as np

try:
    import dask.array as da
    import zarr
    from distributed import Client, LocalCluster
except ImportError:
    print("skipped: this example needs dask, distributed and zarr (pip install 'quell[dask,zarr]')")
    sys.exit()

import quell.dask


def some(block, block_info=None):
    """Pieces of a scene with noise, made where they are needed."""
    (top, bottom), (left, right) = block_info[None]["array-location"]
    y, x = np.mgrid[top:bottom, left:right]
    clean = 20000 + 9000 * np.sin(x / 31) * np.cos(y / 57)
    noise = np.random.default_rng(top * 131071 + left).normal(0, 2500, clean.shape)
    return np.clip(clean + noise, 0, 65535).astype(np.uint16)


def main():
    side = 600 if "--small" in sys.argv else 8192
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        da.zeros((side, side), chunks=1024, dtype=np.uint16).map_blocks(some, dtype=np.uint16).to_zarr(
            "large.raw.zarr", mode="w"
        )

        # %% Lazy but for the noise, which is estimated once from some strips, so that all workers filter for the same.
        noisy = da.from_zarr("large.raw.zarr")
        clean = quell.dask.denoise(noisy, profile="fast")
        print(f"{len(clean.chunks[0])} bands of up to {max(clean.chunks[0])} rows")

        # %% Every worker reads, filters and writes its bands.
        clean.rechunk(1024).to_zarr("large.clean.zarr", mode="w")

    before, after = (zarr.open_array(f"large.{name}.zarr")[:512, :512].astype(float) for name in ("raw", "clean"))
    print(f"deviation of neighbours: {np.diff(before).std():.0f} before, {np.diff(after).std():.0f} after")


if __name__ == "__main__":
    main()
