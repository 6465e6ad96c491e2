#!/usr/bin/env python3
"""Links between the pages of this repository lead somewhere."""

import re
import sys

import tree

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+[ \t]+(.+?)[ \t]*$", re.M)


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def check(root):
    findings = []
    for page in tree.tracked_files(root):
        if page.suffix != ".md":
            continue
        text = page.read_text(encoding="utf-8")
        for link in LINK.finditer(text):
            target, _, anchor = link.group(1).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, link.start()) + 1}"
            path = (page.parent / target) if target else page
            if not path.exists():
                findings.append(f"{where}: {target} does not exist")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                findings.append(f"{where}: {target or page.name} has no heading #{anchor}")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
