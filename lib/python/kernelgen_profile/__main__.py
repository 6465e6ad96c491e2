"""python -m kernelgen_profile JOB: calls a module as the job says and writes what it found to job["result"].

The exit status is 0 if there is a result, which may say what failed. The output of the module goes to the output of this process.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any


def _fail(code: str, message: str) -> dict[str, Any]:
    return {"schema": 1, "failure": {"code": code, "message": message}}


def _profile(job: dict[str, Any]) -> dict[str, Any] | None:
    """The result to write; nothing in the mode "counters", because a profiler reads the counters."""
    try:
        from kernelgen_judge.errors import TaskError

        from . import timeline
        from .calls import CandidateError, Profiled
        from .shaken import Shaker
    except ImportError as error:
        return _fail("missing_tool", f"{sys.executable}: {error}; set KGEN_PYTHON to a Python that has torch")
    try:
        profiled = Profiled(job)
        warmups, calls = int(job["warmups"]), int(job["calls"])
        if job["mode"] == "timeline":
            return timeline.record(profiled, warmups, calls)
        if job["mode"] == "watched":
            return profiled.call_watched(calls)
        if job["mode"] == "shaken":
            return Shaker(profiled, float(job["seconds"]), calls).run()
        timeline.count(profiled, warmups, calls)
        return None
    except TaskError as error:
        return _fail(error.code, error.message)
    except CandidateError as error:
        return _fail("candidate", str(error))
    except RuntimeError as error:  # A device reports its failures when it is waited for.
        return _fail("candidate", f"{type(error).__name__}: {error}")


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    result = _profile(job)
    if result is None:
        return 0
    # By rename: a reader sees all of it or nothing.
    unfinished = job["result"] + ".part"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(unfinished, job["result"])
    if "failure" in result:
        print(result["failure"]["message"], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
