"""A large picture on one worker and on two: time, memory of a worker, and whether it is what the whole picture gives.

    python bench/dask_scaling.py [side] [profile]        16384 fast; the whole picture needs 6 GB
"""

import os
import sys
import tempfile
import time

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import quell
import quell.dask


def scene(side):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:side, 0:1024].astype(np.float32)
    tile = 20000 + 8000 * np.sin(x / 31) * np.cos(y / 57) + 6000 * ((x // 40 + y // 40) % 2)
    out = np.empty((side, side), np.uint16)
    for left in range(0, side, 1024):
        width = min(1024, side - left)
        noise = rng.standard_normal((side, width), np.float32)
        out[:, left : left + width] = np.clip(tile[:, :width] + 3000 * noise, 0, 65535)
    return out


def peak(process):
    """The most memory a process had, in MB."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 16384
    profile = sys.argv[2] if len(sys.argv) > 2 else "fast"
    with tempfile.TemporaryDirectory() as folder:
        source, results = os.path.join(folder, "raw.zarr"), []
        zarr.save_array(source, scene(side))
        times = {}
        for workers in (1, 2):
            target = os.path.join(folder, f"clean{workers}.zarr")
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster),
            ):
                clean = quell.dask.denoise(da.from_zarr(source), 3000, profile=profile, device="cpu")
                since = time.perf_counter()
                clean.to_zarr(target)
                times[workers] = time.perf_counter() - since
                memory = max(peak(worker.pid) for worker in cluster.workers.values())
            print(f"{workers} workers: {times[workers]:.1f} s, at most {memory:.0f} MB each", flush=True)
            results.append(target)
        print(f"{times[1] / times[2]:.2f} times as fast")
        whole = quell.bm3d(zarr.open_array(source)[:], 3000, profile=profile, undo_clipping=False, device="cpu")
        print("equal to the whole:", [bool(np.array_equal(zarr.open_array(r)[:], whole)) for r in results])


if __name__ == "__main__":
    main()
