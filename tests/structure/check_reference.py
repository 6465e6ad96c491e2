#!/usr/bin/env python3
"""The reference of the public interface: doxygen finds nothing wrong with the comments, and every type, alias and function
has one. Data members with names that say it all, comparisons, and the names of enumerations (to_string, parse_...) need none."""

import argparse
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
#: What doxygen says of a member without a comment.
MISSING = re.compile(r"(?:warning|error): (?:Member (?P<member>.*) \((?P<kind>\w+)\) of|Compound (?P<type>\S+)).* is not documented")
NEEDS_NONE = re.compile(r"^(?:to_string|parse_\w+|operator==|~\w+)\(")


def run(doxygen, settings):
    """What doxygen says with these settings, line by line."""
    result = subprocess.run([doxygen, "-"], input=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, [line for line in result.stdout.splitlines() if line.strip()]


def undocumented(lines):
    """The names that need a comment and have none."""
    for line in lines:
        found = MISSING.search(line)
        if found and found.group("type"):
            yield f"{found.group('type')} has no comment"
        elif found and found.group("kind") not in ("variable", "friend") and not NEEDS_NONE.match(found.group("member")):
            yield f"{line.split(': ')[0]}: {found.group('member')} has no comment"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--doxygen", required=True)
    parser.add_argument("--settings", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.doxygen).is_file():
        print("skipped: there is no doxygen")
        return SKIPPED
    settings = arguments.settings.read_text(encoding="utf-8")
    code, complaints = run(arguments.doxygen, settings)
    if code != 0 and not complaints:
        complaints = [f"doxygen ended with {code}"]
    _, lines = run(arguments.doxygen, settings + "\nEXTRACT_ALL = NO\nWARN_IF_UNDOCUMENTED = YES\nWARN_AS_ERROR = NO\n"
                   "GENERATE_HTML = NO\nGENERATE_XML = YES\nXML_OUTPUT = xml\n")
    # Without a single member to complain about, doxygen has read nothing.
    if not any(MISSING.search(line) for line in lines):
        complaints.append("doxygen does not say which members have no comment")
    complaints += sorted(set(undocumented(lines)))
    for complaint in complaints:
        print(complaint)
    print(f"check_reference.py: {len(complaints)} findings")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
