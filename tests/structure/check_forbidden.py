#!/usr/bin/env python3
"""Nothing in the tree names a person's machine or carries a key: absolute home paths, API keys, private keys."""

import re
import sys

import tree

# Each pattern is written so that it does not match itself.
PATTERNS = [
    ("a path on somebody's machine", re.compile(r"(?<![\w.~$}-])/(?:home|Users|work)/(?!(?:u|me|user|somebody)\b)[A-Za-z0-9_.-]+")),
    ("a path on somebody's machine", re.compile(r"(?<![\w.~$}-])/root/[A-Za-z0-9_.-]+")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9_-]{20,}")),
    ("an API key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("an API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("an access token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|hf_[A-Za-z]{30,})")),
    ("an access token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE[ ]KEY-----")),
    ("a key in source", re.compile(r"""(?i)\b(?:api[_-]?key|secret|auth[_-]?token)["']?\s*[:=]\s*["'][A-Za-z0-9_/+-]{24,}["']""")),
    ("a commit trailer that names a tool", re.compile(r"(?i)co-authored[-]by:")),
]
# A line that must contain such a thing, for a test of ours, says so.
ALLOWED = "structure: allow"


def check(root):
    findings = []
    for path in tree.tracked_files(root):
        if path.stat().st_size > (4 << 20):
            findings.append(f"{path.relative_to(root)}: larger than 4 MiB")
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            for what, pattern in PATTERNS:
                found = pattern.search(line)
                if found and ALLOWED not in line:
                    findings.append(f"{path.relative_to(root)}:{number}: {what}: {found.group(0)[:24]}...")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
