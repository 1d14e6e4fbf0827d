"""The program that comes with the package."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest

import quell

PROGRAM = shutil.which("quell", path=sysconfig.get_path("scripts")) or ""
pytestmark = pytest.mark.skipif(not PROGRAM, reason="the package is not installed with its program")


def run(*args, **options):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, **options)


def test_it_tells_its_version_and_help():
    assert run("--version").stdout == f"quell {quell.__version__}\n"
    assert "--sigma" in run("--help").stdout
    assert run("--no-such-flag").returncode == 2
    module = subprocess.run([sys.executable, "-m", "quell", "--version"], capture_output=True, text=True)
    assert module.stdout == f"quell {quell.__version__}\n"


def test_it_filters_files_as_the_package_filters_arrays(tmp_path, noisy):
    x = (np.clip(noisy, 0, 1) * 255).astype(np.uint8)
    np.save(tmp_path / "noisy.npy", x)
    done = run("noisy.npy", "-o", "clean.npy", "--sigma", 25, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "clean.npy"), quell.bm3d(x, 25))
    assert run("missing.png", cwd=tmp_path).returncode == 1


def test_a_closed_pipe_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([PROGRAM, "completions", "bash"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 0 and "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a child are of another kind there")
def test_ctrl_c_leaves_no_half_file(tmp_path):
    x = np.random.default_rng(0).normal(128, 20, (3000, 3000)).astype(np.float32)
    np.save(tmp_path / "noisy.npy", x)
    command = [PROGRAM, "noisy.npy", "-o", "clean.npy", "--sigma", "25", "--white", "255", "--method", "ridge"]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(2.0)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[1]
    assert child.returncode == 130 and "Traceback" not in said
    assert sorted(Path(tmp_path).iterdir()) == [tmp_path / "noisy.npy"]
