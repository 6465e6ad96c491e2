#!/usr/bin/env python3
"""Links between the pages of this repository lead somewhere, and figures show in every viewer.

A figure is a well-formed SVG with a title. It has no script, nothing from elsewhere, and names generic fonts only, so that it
looks the same in a browser, on a forge and in an installed manual.
"""

import re
import sys
import xml.etree.ElementTree

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+[ \t]+(.+?)[ \t]*$", re.M)
SVG = "{http://www.w3.org/2000/svg}"
FONT = re.compile(r"font(?:-family)?\s*[:=]\s*[\"']?(?:[\d.]+[a-z]+\s+)?([^;}\"'>]+)")
GENERIC_FONTS = {"sans-serif", "serif", "monospace", "system-ui"}


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def check_figure(figure):
    """What is wrong with an SVG file."""
    text = figure.read_text(encoding="utf-8")
    try:
        elements = list(xml.etree.ElementTree.fromstring(text).iter())
    except xml.etree.ElementTree.ParseError as error:
        return [f"not well-formed: {error}"]
    problems = []
    if not any(element.tag == SVG + "title" for element in elements):
        problems.append("it has no title")
    if any(element.tag == SVG + "script" for element in elements):
        problems.append("it has a script")
    for name, value in (item for element in elements for item in element.attrib.items()):
        if name.endswith("href") and not value.startswith("#"):
            problems.append(f"it refers to {value}")
    if re.search(r"@import|url\((?![\"']?#)", text):
        problems.append("its style refers to another file")
    fonts = {font.strip() for families in FONT.findall(text) for font in families.split(",")}
    problems += [f"{font} is no generic font" for font in sorted(fonts - GENERIC_FONTS)]
    return problems


def check(root):
    findings = []
    files = tree.tracked_files(root)
    for figure in files:
        if figure.suffix == ".svg":
            findings += [f"{figure.relative_to(root)}: {problem}" for problem in check_figure(figure)]
    for page in files:
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
