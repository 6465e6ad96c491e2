"""Runs files of unit tests, each in a process of its own, after importing torch once for all of them.

    run.py [--jobs N] NAME...     NAME: "compare" for test_compare.py

Exits with 77, which CTest shows as skipped, where this Python has no torch.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def run_file(name: str, output: int) -> NoReturn:
    """Runs one file in a child, with its output in a separate file."""
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.argv = [f"test_{name}.py"]
        status = 0 if unittest.main(module=f"test_{name}", argv=sys.argv, verbosity=2, exit=False).result.wasSuccessful() else 1
    except BaseException:  # noqa: BLE001 - a file that cannot be imported has failed, too
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Run:
    """A file that is being run."""

    def __init__(self, name: str):
        self.name = name
        self.started = time.monotonic()
        self.output = tempfile.TemporaryFile()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            run_file(name, self.output.fileno())

    def finish(self, status: int) -> bool:
        """Prints the result, with the output of a failed file."""
        code = os.waitstatus_to_exitcode(status)
        print(f"{'ok    ' if code == 0 else 'FAILED'} {time.monotonic() - self.started:6.1f} s  {self.name}", flush=True)
        if code != 0:
            self.output.seek(0)
            print(self.output.read().decode("utf-8", "replace"))
            print(f"test_{self.name}.py ended with {code}", flush=True)
        self.output.close()
        return code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    try:
        import torch  # noqa: F401, PLC0415 - here, so that every child has it
    except ImportError as error:
        print(f"{sys.executable}: {error}: skipped")
        return SKIPPED
    sys.path.insert(0, str(HERE))
    waiting, running, failed = list(arguments.names), {}, 0
    while waiting or running:
        while waiting and len(running) < max(arguments.jobs, 1):
            run = Run(waiting.pop(0))
            running[run.pid] = run
        pid, status = os.wait()
        if pid in running:
            failed += not running.pop(pid).finish(status)
    print(f"{len(arguments.names)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
