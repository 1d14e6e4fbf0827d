"""What a call from Python costs beyond the engine's own time (checks, room for the result, an engine, a thread), and what `import quell` costs beyond NumPy.

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


def median(work, times=41):
    taken = []
    for _ in range(times):
        since = time.perf_counter()
        work()
        taken.append(time.perf_counter() - since)
    return statistics.median(taken)


class Nothing:
    """An engine that does nothing."""

    def denoise(self, *given):
        pass


def around(x, axis):
    """A call without its engine."""
    real = _core.Engine
    _core.Engine = lambda *given, **options: Nothing()
    try:
        return median(lambda: quell.bm3d(x, 0.1, channel_axis=axis, device="cpu"))
    finally:
        _core.Engine = real


def imported(what):
    code = f"import numpy, time; t = time.perf_counter(); {what}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(7)]
    return min(float(run.stdout) for run in runs)


# The parts are measured on their own: a difference of two long times is noise.
small = np.full((1, 8, 8), 0.5, np.float32)
made = median(lambda: _core.Engine("bm3d", "normal", settings=[], device="cpu"))
# Without the interpreter and back, on a thread of its own, as filters go.
started = median(lambda: _core.mse(small, small, 1.0))
good = True
for shape, axis in (((512, 512), None), ((512, 512, 3), -1)):
    x = np.random.default_rng(0).normal(0.5, 0.1, shape).astype(np.float32)
    extra = around(x, axis) + made + started
    whole = median(lambda x=x, axis=axis: quell.bm3d(x, 0.1, channel_axis=axis, device="cpu"), 7)
    good &= extra <= 0.001 and extra <= 0.03 * whole
    print(f"{shape} float32, bm3d at normal: {whole * 1e3:.1f} ms, of which {extra * 1e3:.3f} ms ({extra / whole:.2%}) are added")
seconds = imported("import quell")
print(f"import quell: {seconds * 1e3:.1f} ms beyond NumPy")
sys.exit(not (good and seconds <= 0.03))
