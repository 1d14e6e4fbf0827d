"""quell as a denoiser of deepinv: the prior of its plug-and-play algorithms, on CPU and CUDA tensors.

    python deepinv_prior.py [--small] [--cuda]
"""

import sys

import numpy as np

import quell

try:
    import deepinv as dinv
    import torch
except ImportError:
    print("skipped: this example needs deepinv (pip install deepinv)")
    sys.exit()


# %% What deepinv calls a denoiser: tensors (N, C, H, W), and a sigma for all or for each.
class Quell(dinv.models.Denoiser):
    """BM3D by quell. It has no weights, and gradients end at it, as plug-and-play wants it."""

    def __init__(self, profile="fast"):
        super().__init__()
        self.denoiser = quell.Denoiser("bm3d", profile, channel_axis=1)

    def forward(self, x, sigma=None, **_):
        return self.denoiser(x.detach(), sigma)


# %% Half of the pixels are lost, and the rest has noise.
size, steps = (64, 20) if "--small" in sys.argv else (128, 40)
device = "cuda" if "--cuda" in sys.argv else "cpu"
y, x = np.mgrid[0:size, 0:size] / size
clean = np.stack([0.5 + 0.4 * np.sin(12 * x * (c + 1)) * np.cos(9 * y) for c in range(3)]).astype(np.float32)
clean = torch.from_numpy(clean).to(device)[None]
rng = torch.Generator(device).manual_seed(0)
physics = dinv.physics.Inpainting((3, size, size), mask=0.5, device=device, rng=rng)
physics.noise_model = dinv.physics.GaussianNoise(0.02, rng=rng)
seen = physics(clean)

# %% Half-quadratic splitting with less and less noise to take out.
model = dinv.optim.optim_builder(
    iteration="HQS",
    prior=dinv.optim.prior.PnP(denoiser=Quell()),
    data_fidelity=dinv.optim.data_fidelity.L2(),
    max_iter=steps,
    params_algo={"stepsize": 10.0, "g_param": np.geomspace(0.3, 0.02, steps).tolist()},
)
result = model(seen, physics)
psnr = dinv.metric.PSNR()
before, after = psnr(seen, clean).item(), psnr(result, clean).item()
print(f"before {before:.2f} dB, after {steps} steps {after:.2f} dB on {result.device}")
assert after > before + 15
