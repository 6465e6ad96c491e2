#!/usr/bin/env python3
"""Code in the documentation is a literal excerpt of a file that is compiled or run by a test.

A fenced block of C, C++ or Python must stand below `<!-- from: path -->`. Its lines must appear in that file, in one
piece, apart from common indentation; a line that is only `...` or `// ...` stands for any number of left-out lines.
Blocks of other languages (sh, text, json) are free; `<!-- not code -->` frees one block on purpose.
"""

import re
import sys
import textwrap

import tree

FENCE = re.compile(r"^(```+)[ \t]*([A-Za-z+]*)[^\n]*\n(.*?)^\1[ \t]*$", re.M | re.S)
MARK = re.compile(r"<!--\s*(?:from:\s*(\S+)|(not code))\s*-->\s*\Z")
CHECKED = {"c", "cpp", "c++", "cxx", "python", "py", "cmake"}
GAP = {"...", "// ...", "# ..."}


def normalized(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def pieces(lines):
    """The block, cut at the lines that stand for something left out."""
    current = []
    for line in lines:
        if line.strip() in GAP:
            if current:
                yield current
            current = []
        else:
            current.append(line)
    if current:
        yield current


def find_piece(piece, lines, start):
    """Where `piece` begins in `lines` at or after `start`, each shifted by one common indentation; None if nowhere."""
    wanted = normalized("\n".join(piece))
    for index in range(start, len(lines) - len(wanted) + 1):
        if normalized("\n".join(lines[index:index + len(wanted)])) == wanted:
            return index
    return None


def check_block(root, source, body):
    path = root / source
    if not path.is_file():
        return f"{source} does not exist"
    lines, at = path.read_text(encoding="utf-8").splitlines(), 0
    for piece in pieces(normalized(body)):
        found = find_piece(piece, lines, at)
        if found is None:
            return f"not an excerpt of {source}: {piece[0].strip()!r} and what follows"
        at = found + len(piece)
    return None


def check(root):
    findings = []
    pages = [path for path in tree.tracked_files(root) if path.suffix == ".md"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for block in FENCE.finditer(text):
            language = block.group(2).lower()
            mark = MARK.search(text, 0, block.start())
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, block.start()) + 1}"
            if mark and mark.group(2):
                continue
            if mark:
                problem = check_block(root, mark.group(1), block.group(3))
                if problem:
                    findings.append(f"{where}: {problem}")
            elif language in CHECKED:
                findings.append(f"{where}: a {language} block without <!-- from: path -->")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
