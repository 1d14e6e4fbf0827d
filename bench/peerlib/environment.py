"""The throw-away virtual environment that holds the peers."""

import json
import os
import subprocess
import sys
from pathlib import Path

# VapourSynth plugins of this age need at least this interpreter.
WANTED_PYTHON = (3, 12)

# Installed one group at a time, so that one peer that is not available
# leaves the others measurable. Each group: packages, extra pip options.
GROUPS = {
    "base": (["numpy", "scikit-image==0.26.0", "imageio"], []),
    "bm3d": (["bm3d==4.0.3"], []),
    # bm3dcpu asks for VapourSynth 75 or newer, which lets the resolver take a
    # release that does not load it (81; 74, 75 and 76 do): hence a pin, --no-deps.
    "vapoursynth": (["VapourSynth==74", "vapoursynth-bm3dcpu==2.17", "vapoursynth-bm3d==12.0"], ["--no-deps"]),
    "nlm-ispc": (["VapourSynth==74", "vapoursynth-nlm-ispc==4.1"], ["--no-deps"]),
    "bm3dornl": (["bm3dornl==0.12.1"], []),
    "opencv": (["opencv-python-headless"], []),
}


def folder(bench_dir):
    return bench_dir / "venv"


def interpreter(bench_dir):
    return folder(bench_dir) / "bin" / "python"


def is_inside(bench_dir):
    return Path(sys.prefix).resolve() == folder(bench_dir).resolve()


def failures(bench_dir):
    """Reason by group for the groups that could not be installed."""
    return _read_state(bench_dir).get("failed", {})


def prepare(bench_dir, python=None):
    """Creates the environment and installs what is not yet in it."""
    state = _read_state(bench_dir)
    if not interpreter(bench_dir).exists():
        state = {}
        chosen = python or _find_python()
        _say(f"creating {folder(bench_dir)} with {chosen}")
        bench_dir.mkdir(parents=True, exist_ok=True)
        made = subprocess.run([chosen, "-m", "venv", str(folder(bench_dir))], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"error: cannot create {folder(bench_dir)}: {_last_line(made.stderr + made.stdout)}\n"
                     "hint: name a working Python 3.12 or newer with --python")
    installed, failed = state.get("installed", {}), {}
    for name, (packages, options) in GROUPS.items():
        if installed.get(name) == packages:
            continue
        _say(f"installing {' '.join(packages)}")
        command = [str(interpreter(bench_dir)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(command + options + packages, capture_output=True, text=True)
        if done.returncode == 0:
            installed[name] = packages
            continue
        failed[name] = f"not installed: {_last_line(done.stderr)}"
        if name == "base":
            sys.exit(f"error: {failed[name]}\nhint: the comparison needs access to PyPI once")
    _write_state(bench_dir, {"installed": installed, "failed": failed})


def enter(bench_dir, script):
    """Replaces this process by the same command inside the environment."""
    python = str(interpreter(bench_dir))
    sys.stdout.flush()
    os.execv(python, [python, "-B", str(script), *sys.argv[1:]])


def _find_python():
    """An interpreter of the wanted version or newer, else the running one."""
    names = [f"python3.{minor}" for minor in (12, 13, 14)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, *names, *map(str, sorted(pyenv.glob("3.*/bin/python3")))]
    test = f"import sys, venv, ensurepip; sys.exit(sys.version_info < {WANTED_PYTHON!r})"
    for candidate in candidates:
        try:
            if subprocess.run([candidate, "-c", test], capture_output=True).returncode == 0:
                return candidate
        except OSError:
            continue
    _say("no Python 3.12 or newer found; peers that need it will be missing")
    return sys.executable


def _state_file(bench_dir):
    return folder(bench_dir) / "bench-state.json"


def _read_state(bench_dir):
    try:
        return json.loads(_state_file(bench_dir).read_text())
    except (OSError, ValueError):
        return {}


def _write_state(bench_dir, state):
    _state_file(bench_dir).write_text(json.dumps(state, indent=1))


def _last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _say(text):
    print(text, file=sys.stderr, flush=True)
