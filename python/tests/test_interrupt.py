"""Ctrl-C."""

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import numpy as np, quell, sys
x = np.random.default_rng(0).normal(0.5, 0.1, (3000, 3000)).astype(np.float32)
print("ready", flush=True)
try:
    quell.ridge(x, 0.1, profile="high")
except KeyboardInterrupt:
    print("stopped", flush=True)
    small = quell.bm3d(x[:64, :64], 0.1, profile="fast")
    print("goes on", small.shape, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a child are of another kind there")
def test_ctrl_c_ends_the_work_and_not_the_program():
    child = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    since = time.monotonic()
    rest = child.communicate(timeout=60)[0]
    assert rest == "stopped\ngoes on (64, 64)\n" and child.returncode == 0
    assert time.monotonic() - since < 15
