"""What the structure checks share: the files of a tree, their #include lines, and how findings are reported."""

import argparse
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
CPP_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cc", ".hh"}


def tracked_files(root: pathlib.Path) -> list[pathlib.Path]:
    """Files that git knows or would add; every file where there is no git (the fixtures of the self-tests)."""
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, stdout=subprocess.PIPE).stdout
        names = [name for name in listing.decode().split("\0") if name]
        return sorted(root / name for name in set(names) if (root / name).is_file())
    return sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def includes(path: pathlib.Path):
    """Yields (line number, quote character, name) of each #include."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2)


def main(check, description: str) -> int:
    """Runs check(root) -> findings, prints them one a line, and answers 1 when there are any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    findings = check(parser.parse_args().root.resolve())
    for finding in findings:
        print(finding)
    print(f"{pathlib.Path(sys.argv[0]).name}: {len(findings)} findings")
    return 1 if findings else 0
