"""Looks at a wheel as whoever publishes it does: it must be for the systems that its name says, bring no library of others, and
be small.

    python python/tests/audit_wheel.py quell-*.whl        needs auditwheel and patchelf
"""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST = 15 << 20

wheel = Path(sys.argv[1])
environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
platforms = re.findall(r"manylinux_\d+_\d+_\w+?(?=\.|$)", wheel.stem)
if not platforms:
    sys.exit(f"error: {wheel.name} is for this machine only: its name has no manylinux")
with tempfile.TemporaryDirectory() as folder:
    audit = [sys.executable, "-m", "auditwheel"]
    subprocess.run([*audit, "show", str(wheel)], env=environment, check=True)
    subprocess.run([*audit, "repair", "--plat", platforms[0], "-w", folder, str(wheel)], env=environment, check=True)
    repaired = next(Path(folder).glob("*.whl"))
    files = {path: zipfile.ZipFile(path).namelist() for path in (wheel, repaired)}
added = [name for name in files[repaired] if name not in files[wheel]]
if any(".libs/" in name for name in added):
    sys.exit(f"error: {wheel.name} needs libraries that not every system has: {', '.join(added)}")
if wheel.stat().st_size > MOST:
    sys.exit(f"error: {wheel.name} has {wheel.stat().st_size / 1e6:.1f} MB, and 15 MB are allowed")
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, fit for {platforms[0]}, and needs no other library")
