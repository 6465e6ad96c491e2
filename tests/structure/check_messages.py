#!/usr/bin/env python3
"""Messages of the library name no option and no command of kgen: they are read in other programs, too. kgen adds its own
words to them (apps/kgen/option_hints.cpp). A text that is a command line of kgen from its first word on is what it says, and
may stay: a program can show it as such."""

import re
import sys

import tree

#: A C++ or Python string with at least one blank: texts for people, not arguments of programs. C++ joins neighbours.
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
OPTION = re.compile(r'\.name = "(--[a-z-]+)"')
COMMAND = re.compile(r'return \{\.name = "([a-z]+)"')


def own_words(root):
    """A pattern of every option and command of kgen."""
    options, commands = set(), set()
    for path in sorted((root / "apps" / "kgen").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        options.update(OPTION.findall(text))
        commands.update(COMMAND.findall(text))
    names = [rf"(?<![\w-]){re.escape(option)}(?![\w-])" for option in sorted(options)]
    names += [rf"\bkgen {command}\b" for command in sorted(commands)]
    return re.compile("|".join(names)) if names else None


def check(root):
    findings = []
    words = own_words(root)
    if words is None:
        return ["apps/kgen: no option and no command is found"]
    for path in sorted((root / "lib").rglob("*")):
        if path.suffix not in (".cpp", ".hpp", ".py"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith(("//", "#", "*", '"""')):
                continue
            for match in TEXT.finditer(line):
                text = match.group(1)
                named = words.search(text)
                if named and " " in text.strip() and not text.startswith("kgen "):
                    findings.append(f"{path.relative_to(root)}:{number}: a message of the library names {named.group(0)}")
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
