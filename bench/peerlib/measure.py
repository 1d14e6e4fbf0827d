"""Runs one method on one noisy picture in a process of its own."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from peerlib import environment
from peerlib.rivals import RIVALS, TUNED

# By name, the arguments of `quell bench`.
QUELL = {
    **{f"quell-{p}": ["--profile", p] for p in ("fast", "middle", "normal", "high", "original", "np")},
    **{f"quell-nlm-{p}": ["--method", "nlm", "--profile", p] for p in ("fast", "normal", "ipol")},
    # The patch and the window of the NL-means peers, tuned as they are.
    "quell-nlm-7/21": ["--method", "nlm", "--profile", "fast", "--patch", "7", "--search", "21", "--h", "1.7"],
}
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")


class Failed(Exception):
    """A method that gave no result; the text becomes its line in the table."""


def all_names():
    return list(QUELL) + list(RIVALS)


def title(name):
    return RIVALS[name].title if name in RIVALS else f"**quell**, {name.removeprefix('quell-')}"


def find_quell(given, root):
    """The quell program, built if it is the default one and missing."""
    if given:
        if not given.is_file():
            raise Failed(f"{given}: no such program")
        return given.resolve()
    program = root / "target" / "release" / "quell"
    if not program.is_file():
        print("building quell", file=sys.stderr, flush=True)
        command = ["cargo", "build", "--release", "-p", "quell-cli"]
        _execute(command, cwd=root, env=dict(os.environ, CARGO_TARGET_DIR=str(root / "target")), timeout=3600)
    if not program.is_file():
        raise Failed(f"{program}: not there after the build")
    return program


class Runner:
    """Measures methods; keeps and reuses the peers' results if asked to."""

    def __init__(self, arguments, root):
        self.arguments = arguments
        self.root = root
        self.cache = arguments.bench_dir / "cache" if arguments.cache else None
        self.missing = environment.failures(arguments.bench_dir)
        self.quell = None

    def run(self, name, noisy):
        """Returns (measurement, denoised picture); raises `Failed` with the reason."""
        with tempfile.TemporaryDirectory(prefix="quell-bench-") as folder:
            if name in RIVALS:
                measured, picture = self._rival(name, noisy, Path(folder))
            else:
                measured, picture = self._quell(QUELL[name], noisy, Path(folder))
        if picture.shape != noisy.shape:
            raise Failed(f"result has shape {picture.shape}, input {noisy.shape}")
        if not np.isfinite(picture).all():
            raise Failed("result contains values that are not finite")
        return measured, picture

    def _rival(self, name, noisy, folder):
        rival = RIVALS[name]
        if noisy.ndim == 3 and not rival.color:
            raise Failed("grey pictures only")
        entry = self._cache_entry(name, noisy)
        cached = _read_entry(entry)
        if cached:
            return cached
        if rival.group in self.missing:
            raise Failed(self.missing[rival.group])
        job = {
            "name": name, "sigma": self.arguments.sigma, "repeat": self.arguments.repeat,
            "max_seconds": self.arguments.max_seconds, "input": str(folder / "noisy.npy"),
            "output": str(folder / "out.npy"), "result": str(folder / "result.json"),
        }
        np.save(job["input"], noisy)
        (folder / "job.json").write_text(json.dumps(job))
        env = dict(_limited(), PYTHONPATH=str(Path(__file__).resolve().parent.parent))
        _execute([sys.executable, "-B", "-m", "peerlib.child", str(folder / "job.json")],
                 env=env, timeout=self.arguments.timeout)
        measured, picture = json.loads(Path(job["result"]).read_text()), np.load(job["output"])
        _write_entry(entry, measured, picture)
        return measured, picture

    def _quell(self, arguments, noisy, folder):
        if self.quell is None:
            try:
                self.quell = find_quell(self.arguments.quell, self.root)
            except Failed as reason:
                self.quell = reason
        if isinstance(self.quell, Failed):
            raise self.quell
        source, target = folder / "noisy.npy", folder / "out.npy"
        np.save(source, noisy)
        command = [str(self.quell), "bench", "--input", str(source), "--white", "255",
                   "--sigma", f"{self.arguments.sigma:g}", *arguments, "--threads", "1",
                   "--repeat", str(self.arguments.repeat), "--output", str(target), "--json"]
        answer = _execute(command, env=_limited(), timeout=self.arguments.timeout)
        try:
            measured = json.loads(answer)
            if not (measured["wall_s"] and measured["cpu_s"]):
                raise ValueError("no runs in the answer")
            return measured, np.load(target)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise Failed(f"unexpected answer of quell bench: {error!r}") from error

    def _cache_entry(self, name, noisy):
        if self.cache is None:
            return None
        # By content, not by path: the same noisy picture gives the same key anywhere.
        key = hashlib.sha256(np.ascontiguousarray(noisy).tobytes())
        key.update(repr((noisy.shape, str(noisy.dtype), name, RIVALS[name].settings, self.arguments.sigma)).encode())
        if name in TUNED:
            key.update(repr(TUNED[name]).encode())
        return self.cache / f"{name}-{key.hexdigest()[:20]}"


def _limited():
    return dict(os.environ, **{name: "1" for name in _THREAD_LIMITS})


def _execute(command, timeout, **options):
    """Standard output of a command; any failure becomes `Failed` with its last word."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no result after {timeout:g} s") from error
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("error")]
        word = (errors or lines[-1:] or ["no message"])[0]
        raise Failed(f"exit status {done.returncode}: {word.strip()[:200]}")
    return done.stdout


def _read_entry(entry):
    if entry is None:
        return None
    try:
        measured = json.loads(entry.with_suffix(".json").read_text())
        return dict(measured, cached=True), np.load(entry.with_suffix(".npy"))
    except (OSError, ValueError):
        return None


def _write_entry(entry, measured, picture):
    if entry is None:
        return
    entry.parent.mkdir(parents=True, exist_ok=True)
    # Rename last, so that an interrupted run leaves no half entry.
    for suffix, write in (
        (".npy", lambda path: np.save(path, picture)),
        (".json", lambda path: path.write_text(json.dumps(measured))),
    ):
        partial = entry.parent / f"partial-{os.getpid()}-{entry.name}{suffix}"
        write(partial)
        partial.replace(entry.parent / f"{entry.name}{suffix}")
