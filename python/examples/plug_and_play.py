"""Plug and play: a denoiser as the prior of an inverse problem, here filling in lost pixels, with torch tensors.

    python plug_and_play.py [--small] [--cuda] [--picture FILE.jpg]

A tensor goes in and a tensor comes out: on a GPU it stays there. `--picture` puts what was seen, what was made of it and the truth
beside each other.
"""

import sys

import numpy as np
import pictures

import quell

try:
    import torch
except ImportError:
    print("skipped: this example needs torch (pip install torch)")
    sys.exit()

# %% A picture of which two thirds are lost.
size, steps = (64, 10) if "--small" in sys.argv else (256, 50)
device = "cuda" if "--cuda" in sys.argv else "cpu"
clean = pictures.sample()
if clean is None or "--small" in sys.argv:
    y, x = np.mgrid[0:size, 0:size] / size
    clean = np.stack([0.5 + 0.4 * np.sin(12 * x * (c + 1)) * np.cos(9 * y) for c in range(3)], axis=-1)
else:
    clean = clean[20 : 20 + size, 140 : 140 + size] / 255
clean = torch.from_numpy(clean.astype(np.float32)).to(device).movedim(-1, 0).contiguous()[None]  # NCHW
kept = (torch.rand(1, 1, size, size, generator=torch.Generator().manual_seed(0)) < 0.35).to(device)
seen = clean * kept

# %% Half-quadratic splitting: what was seen stays, and the prior takes out less and less noise.
denoiser = quell.Denoiser("bm3d", "fast", channel_axis=1)
estimate = seen + 0.5 * ~kept
for sigma in torch.logspace(np.log10(0.25), np.log10(0.01), steps).tolist():
    estimate = denoiser(torch.where(kept, seen, estimate), sigma)
assert estimate.device.type == device

error = torch.mean((estimate - clean) ** 2).item()
before = torch.mean((seen - clean) ** 2).item()
print(f"before {-10 * np.log10(before):.2f} dB, after {steps} steps {-10 * np.log10(error):.2f} dB on {estimate.device}")

# %% What was seen, what was made of it, the truth.
if path := pictures.wanted():
    pictures.side_by_side(path, *(p[0].movedim(0, -1).cpu().numpy() for p in (seen, estimate, clean)))
