"""What a call from Python costs beyond the engine's own time, and what `import quell` costs beyond NumPy.

    python python/tests/overhead.py

Bars: 3 % and 1 ms for 512 x 512 float32; 30 ms to import. For the package as users get it, not for a quick build.
"""

import statistics
import subprocess
import sys
import time

import numpy as np

import quell
from quell import _core


def best(work, times=15):
    """The median of the quicker half: other programs only ever make it longer."""
    taken = []
    for _ in range(times):
        since = time.perf_counter()
        work()
        taken.append(time.perf_counter() - since)
    return statistics.median(sorted(taken)[: (times + 1) // 2])


def call(profile, rgb):
    shape = (512, 512, 3) if rgb else (512, 512)
    x = np.random.default_rng(0).normal(0.5, 0.1, shape).astype(np.float32)
    axis = -1 if rgb else None
    engine = _core.Engine("bm3d", profile, settings=[], device="cpu")
    noise = _core.NoiseModel.gauss(0.1, 1)
    planes = np.ascontiguousarray(np.moveaxis(x, -1, 0) if rgb else x[None])
    room = np.empty_like(planes)
    bare, whole = [], []
    # Turn about, so that both see the same machine.
    for _ in range(5):
        bare.append(best(lambda: engine.denoise(planes, room, 1.0, noise), 7))
        whole.append(best(lambda: quell.bm3d(x, 0.1, profile=profile, channel_axis=axis, device="cpu"), 7))
    bare, whole = min(bare), min(whole)
    extra = whole - bare
    print(
        f"512 x 512{' x 3' if rgb else ''} {profile}: engine {bare * 1e3:.2f} ms, "
        f"call {whole * 1e3:.2f} ms, {extra * 1e3:+.2f} ms ({extra / bare:+.1%})"
    )
    return extra <= 0.001 and extra <= 0.03 * bare


def imported(what):
    code = f"import numpy, time; t = time.perf_counter(); {what}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(7)]
    return min(float(run.stdout) for run in runs)


good = [call("normal", False), call("fast", False), call("normal", True)]
seconds = imported("import quell")
print(f"import quell: {seconds * 1e3:.1f} ms beyond NumPy")
sys.exit(not (good[0] and seconds <= 0.03))
