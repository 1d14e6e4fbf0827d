"""The program `quell`: `python -m quell photo.jpg`."""

import signal
import sys

from . import _core


def main() -> int:
    """Runs the program with the command line of this process, and returns its exit code."""
    # Python's own handler would wait for the work to end; the program has one that stops it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return _core.run_program(["quell", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
