#!/usr/bin/env python3
"""Runs clang-tidy over the sources of lib/ and apps/ and remembers clean files.

In a build that compiles files together it checks them together, which takes a tenth of the time: most of it goes into
headers. Checks that only look at the file itself (unused using-declarations) then find nothing.

A file is checked again only after a change that could affect the result: its text, a header of kernelgen that it
includes (as Ninja recorded), its compile command, the configuration, or clang-tidy itself. The memory is kept per user
($XDG_CACHE_HOME/kernelgen-tidy), so that a fresh clone profits too.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCOPE = ("lib", "apps")


def dependencies(build):
    """Object file -> files it was compiled from, by Ninja's records."""
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
    result, current = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            current = result.setdefault(line.split(":")[0], [])
        elif line.strip() and current is not None:
            current.append((build / line.strip()).resolve())
    return result


def is_checked(source, build):
    """Whether it is a source of kernelgen, or a unity file of this build that includes some of them."""
    if build in source.parents:
        return source.name.startswith("unity_") and source.relative_to(build).parts[0] in SCOPE
    return any(ROOT / scope in source.parents for scope in SCOPE)


def file_digest(path, memory={}):
    if path not in memory:
        memory[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return memory[path]


class Tidy:
    def __init__(self, tool, build, cache):
        self.tool, self.build, self.cache = tool, build, cache
        version = subprocess.run([tool, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
        configuration = "".join(path.read_text() for path in sorted(ROOT.rglob(".clang-tidy")) if "build" not in path.parts)
        self.base = hashlib.sha256((version + configuration).encode()).hexdigest()
        self.deps = dependencies(build)

    def key(self, entry, source):
        """The key of a file; None when Ninja does not know its includes: then it is checked every time."""
        command = shlex.split(entry["command"])
        files = self.deps.get(command[command.index("-o") + 1]) if "-o" in command else None
        if not files:
            return None
        ours = sorted({path for path in files if ROOT in path.parents and path.is_file()} | {source})
        lines = [self.base, entry["command"].replace(str(ROOT), "")]
        lines += [f"{path.relative_to(ROOT)} {file_digest(path)}" for path in ours]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def check(self, entry):
        """(file, seconds or None when remembered, findings)"""
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        key = self.key(entry, source)
        if key and (self.cache / key).exists():
            return source, None, ""
        started = time.monotonic()
        result = subprocess.run(
            [self.tool, "--quiet", "-p", str(self.build), "--extra-arg=-Wno-unknown-warning-option",
             "--extra-arg=-Wno-ignored-optimization-argument", str(source)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        findings = result.stdout.strip()
        if result.returncode != 0 and not findings:
            findings = result.stderr.strip()
        if not findings and key:
            self.cache.mkdir(parents=True, exist_ok=True)
            (self.cache / key).touch()
        return source, time.monotonic() - started, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--tool", default="clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="check these only")
    arguments = parser.parse_args()
    database = arguments.build / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"{database} is missing: build first (cmake --preset dev && cmake --build build)")
    chosen = {path.resolve() for path in arguments.files}
    entries = {}
    for entry in json.loads(database.read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if source in chosen or (not chosen and is_checked(source, arguments.build.resolve())):
            entries.setdefault(source, entry)
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    tidy = Tidy(arguments.tool, arguments.build.resolve(), pathlib.Path(home) / "kernelgen-tidy")
    failed = checked = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source, seconds, findings in pool.map(tidy.check, entries.values()):
            checked += seconds is not None
            if findings:
                failed += 1
                print(findings, flush=True)
    print(f"clang-tidy: {len(entries)} files, {checked} checked, {len(entries) - checked} remembered, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
