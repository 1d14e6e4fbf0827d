"""bm3d (PyPI) on the samples that `cargo run --release --example spectra -- --write OUT FOLDER` leaves.

    python3 bench/spectra.py OUT

Prints the mean PSNR and the processor time of a picture for every kernel and deviation. The spectrum that is passed is
that of the noise, |DFT(kernel)|^2 * width * height on the 0..1 scale.
"""

import collections
import os
import pathlib
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

if not hasattr(np, "trapz"):
    np.trapz = np.trapezoid
import bm3d

SIDE = 256


def read(path):
    return np.fromfile(path, dtype="<f4").reshape(SIDE, SIDE).astype(float)


def main():
    folder = pathlib.Path(sys.argv[1])
    found = collections.defaultdict(list)
    for path in sorted(folder.glob("*.noisy")):
        picture, kernel, sigma = path.name[: -len(".noisy")].split(".", 2)
        clean, noisy = read(folder / f"{picture}.clean"), read(path)
        psd = read(folder / f"{kernel}.psd") * (float(sigma) / 255) ** 2
        start = time.process_time()
        result = bm3d.bm3d(noisy / 255, psd) * 255
        seconds = time.process_time() - start
        found[kernel, float(sigma)].append((10 * np.log10(255**2 / np.mean((result - clean) ** 2)), seconds))
    print("| noise | sigma | dB | s |\n|---|---|---|---|")
    for (kernel, sigma), values in sorted(found.items()):
        db, seconds = np.mean(values, axis=0)
        print(f"| {kernel} | {sigma:g} | {db:.2f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
