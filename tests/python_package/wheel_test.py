#!/usr/bin/env python3
"""A wheel of this tree, built and used like one that was downloaded: in an empty environment.

    wheel_test.py --source ROOT --scratch DIR [--config SETTING]...

KGEN_PYTHON names a Python with torch, which judges. The Python that runs this has what requirements-dev.txt names.
"""

import argparse
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

USER_PROGRAM = '''
import asyncio

import kernelgen


class Echo(kernelgen.LLMClient):
    def complete(self, request: kernelgen.Request, stop: kernelgen.StopToken) -> kernelgen.Reply:
        return kernelgen.Reply(request.prompt, input_tokens=3)


class First(kernelgen.Policy):
    def next(self, history: kernelgen.policies.History) -> kernelgen.Decision:
        best = kernelgen.best_of(history)
        return kernelgen.Decision([kernelgen.Action("a")]) if best is None else kernelgen.Decision(best=best.action.id)


class Judge(kernelgen.Benchmarker):
    def evaluate(
        self, task: kernelgen.judges.AnyTask, candidate: kernelgen.judges.AnyCandidate,
        options: kernelgen.EvaluationOptions = kernelgen.EvaluationOptions(), *,
        progress: kernelgen.judges.ProgressCallback | None = None, stop: kernelgen.StopToken | None = None,
    ) -> kernelgen.EvaluationRecord:
        return kernelgen.EvaluationRecord()


async def main() -> float | None:
    record = await kernelgen.evaluate_async("task.py", "kernel.cpp", kernelgen.EvaluationOptions(mode="quick"))
    speedup: float = record.timing.speedup_call.value if record.timing else 0.0
    rows: list[dict[str, object]] = kernelgen.to_table([record])
    outcome = kernelgen.run("task.py", Echo(), Judge(), policy=First(), budget=kernelgen.Budget(requests=3))
    print(speedup, rows, outcome.best, kernelgen.classify_error(record).numbers)
    return record.score


if __name__ == "__main__":
    asyncio.run(main())
'''

EVALUATE = """
import kernelgen, sys
from pathlib import Path
package = Path(kernelgen.__file__).parent
assert Path(kernelgen.find_installation()["worker"]).is_relative_to(package), kernelgen.find_installation()
import ssl, sqlite3  # Libraries of Python and of the package do not meet.
options = kernelgen.EvaluationOptions(mode="correctness_only")
with kernelgen.open_local_judge() as judge:
    print(judge.evaluate("tests/tasks/relu.py", "tests/honest/relu_plain.cpp", options).outcome)
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    print("$", *command, "\n" + done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"wheel_test: {command[0]} ended with {done.returncode}")
    return done.stdout


def check_sdist(arguments):
    """The source archive has what a build needs, and nothing that was built."""
    run(sys.executable, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])",
        arguments.scratch, cwd=arguments.source)
    archive, = arguments.scratch.glob("kernelgen-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    for name in ("pyproject.toml", "CMakeLists.txt", "python/src/module.cpp", "include/kernelgen/kernelgen.hpp",
                 "lib/prompt/templates/seed.mustache", "tools/make_wheel_tree.py"):
        assert name in names, name
    assert not [name for name in names if name.startswith("build")]


def build_wheel(arguments):
    settings = [part for setting in arguments.config for part in ("-C", setting)]
    run(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir",
        arguments.scratch, *settings, cwd=arguments.source,
        env={**os.environ, "CCACHE_BASEDIR": str(arguments.source), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"})
    wheel, = arguments.scratch.glob("kernelgen-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    for name in ("py.typed", "_core.pyi", "bin/kgen", "share/kernelgen/prompts/seed.mustache"):
        assert f"kernelgen/{name}" in names, name
    assert not [name for name in names if name.startswith(("kernelgen/include/", "kernelgen/share/doc/"))]
    return wheel


def use_wheel(arguments, wheel):
    """Installs it where nothing else is, and evaluates."""
    environment = arguments.scratch / "empty"
    run(sys.executable, "-m", "venv", environment)
    python = environment / "bin/python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    judging = os.environ.get("KGEN_PYTHON") or sys.executable
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(arguments.scratch), "KGEN_PYTHON": judging}
    assert "kgen" in run(environment / "bin/kgen", "--version", env=clean)
    assert "torch" in run(environment / "bin/kgen", "doctor", env=clean)
    outcome = run(python, "-c", EVALUATE, env=clean, cwd=arguments.source)
    assert outcome == "correct\n", outcome
    return python


def serve(arguments, python):
    """Starts the reward service of the wheel, asks for its health, and stops it."""
    program, path = python.with_name("kgen-serve"), arguments.scratch / "serve.sock"
    command = [program, "--unix", path, "--tasks", arguments.source / "tests/tasks"]
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(arguments.scratch),
             "KGEN_PYTHON": os.environ.get("KGEN_PYTHON") or sys.executable}
    refused = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 69 and "kernelgen[serve]" in refused.stderr, refused
    # What the extra names is that of the Python which runs this; the wheel's own folder comes later, and alone has kernelgen.
    extra = sysconfig.get_paths()["purelib"]
    assert not (pathlib.Path(extra) / "kernelgen").exists(), extra
    with subprocess.Popen(command, env={**clean, "PYTHONPATH": extra}, stderr=subprocess.PIPE, text=True) as service:
        try:
            line = service.stderr.readline()
            assert line == f"kgen-serve: listening at {path}\n", line + service.stderr.read()
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(str(path))
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = connection.makefile("rb").read()
            print(answer.decode(), flush=True)
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            service.terminate()
            assert service.wait(30) == 0, service.returncode
        finally:
            service.kill()
    assert not path.exists()


def check_types(arguments, python):
    """A program of a user, and the package itself, are clean under the strictest rules."""
    program = arguments.scratch / "user_program.py"
    program.write_text(USER_PROGRAM, encoding="utf-8")
    run(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, program, cwd=arguments.scratch)
    run(sys.executable, "-m", "mypy", "--strict", arguments.source / "python/kernelgen", cwd=arguments.scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--config", action="append", default=[], help="a setting of the build, as pip takes it with -C")
    arguments = parser.parse_args()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    for old in arguments.scratch.glob("kernelgen-*"):
        old.unlink()
    check_sdist(arguments)
    wheel = build_wheel(arguments)
    python = use_wheel(arguments, wheel)
    serve(arguments, python)
    tag = run(sys.executable, "-m", "auditwheel", "show", wheel)
    assert "manylinux_2_34" in tag or "manylinux_2_2" in tag or "manylinux_2_17" in tag, tag
    check_types(arguments, python)


if __name__ == "__main__":
    main()
