"""One peer in one fresh process: `python -m peerlib.child JOB.json`.

The result goes to a file, because some peers print on standard output.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from peerlib.rivals import RIVALS


def resident_bytes(field):
    """VmHWM or VmRSS; getrusage's maximum would include the parent's memory at fork."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main(job_path):
    job = json.loads(Path(job_path).read_text())
    noisy = np.load(job["input"])
    call, finish = RIVALS[job["name"]].prepare(noisy, job["sigma"])
    before = resident_bytes("VmRSS")
    wall, cpu = [], []
    while len(wall) < job["repeat"] and sum(wall) < job["max_seconds"]:
        # process_time counts all threads of the process.
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        out = call()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - wall_start)
    peak = resident_bytes("VmHWM")
    picture = np.asarray(finish(out), dtype=np.float32)
    if picture.shape != noisy.shape:
        raise ValueError(f"result has shape {picture.shape}, input {noisy.shape}")
    np.save(job["output"], picture)
    result = {"wall_s": wall, "cpu_s": cpu, "peak_rss_bytes": peak, "rss_before_bytes": before, "threads": 1}
    Path(job["result"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
