#!/usr/bin/env python3
"""Tests of the scripts of `kgen completion` in the installed shells, and of the manual page."""

import argparse
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

KGEN = None


def output_of(*arguments, **options):
    return subprocess.run([str(one) for one in arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=300,
                          **options).stdout


class ScriptTest:
    """The completions of a shell for the last word of a command line."""

    SHELL = None

    def setUp(self):
        if not shutil.which(self.SHELL):
            self.skipTest(f"{self.SHELL} is not installed")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        (self.path / "a task.py").touch()
        (self.path / "folder").mkdir()
        self.script = self.path / "_kgen"
        self.script.write_text(output_of(KGEN, "completion", self.SHELL))

    def check_offers(self):
        commands = self.offers("kgen ")
        self.assertTrue({"run", "eval", "worker", "completion"} <= commands, commands)
        self.assertNotIn("man", commands)
        self.assertEqual(self.offers("kgen dev"), {"devices"})
        self.assertEqual(self.offers("kgen run --max-t"), {"--max-tokens"})
        self.assertEqual(self.offers("kgen eval --max-t"), set())
        self.assertEqual(self.offers("kgen run --policy "), {"hybrid", "one-shot", "reflect", "rounds", "evolve"})
        self.assertEqual(self.offers("kgen run --policy h"), {"hybrid"})
        self.assertEqual(self.offers("kgen completion z"), {"zsh"})


class BashTest(ScriptTest, unittest.TestCase):
    SHELL = "bash"

    def offers(self, line):
        words = line.split(" ")
        quoted = " ".join("'" + word + "'" for word in words)
        program = (f"source '{self.script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _kgen; "
                   "printf '%s\\n' \"${COMPREPLY[@]}\"")
        return set(output_of("bash", "--norc", "-c", program, cwd=self.path).splitlines()) - {""}

    def test_offers(self):
        self.check_offers()
        self.assertEqual(self.offers("kgen eval --code a"), {"a task.py"})
        self.assertEqual(self.offers("kgen eval --cache-dir "), {"folder"})
        self.assertEqual(self.offers("kgen run a"), {"a task.py"})
        self.assertEqual(self.offers("kgen run --name "), set())
        # bash splits --name=value into words.
        self.assertEqual(self.offers("kgen run --policy = r"), {"reflect", "rounds"})


class FishTest(ScriptTest, unittest.TestCase):
    SHELL = "fish"

    def offers(self, line):
        environment = {**os.environ, "HOME": str(self.path), "XDG_CONFIG_HOME": str(self.path / "config")}
        lines = output_of("fish", "--no-config", "-c", f"source '{self.script}'; complete -C '{line}'", cwd=self.path,
                          env=environment).splitlines()
        return {one.split("\t")[0] for one in lines}

    def test_offers(self):
        self.check_offers()
        self.assertIn("a task.py", self.offers("kgen eval --code a"))
        self.assertEqual(self.offers("kgen eval --cache-dir f"), {"folder/"})


class ZshTest(ScriptTest, unittest.TestCase):
    SHELL = "zsh"

    def completes(self, line, wanted):
        """Types a line and a tab on a terminal, and waits until it shows the wanted text."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.path)
            os.environ.update({"TERM": "dumb", "ZDOTDIR": str(self.path), "PS1": "READY "})
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            setup = f"fpath=('{self.path}' $fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word; print G''O\n"
            os.write(terminal, setup.encode())
            # What is typed is echoed, too, and has no GO.
            self.read_until(terminal, "GO.*READY ")
            os.write(terminal, line.encode() + b"\t")
            self.read_until(terminal, re.escape(wanted))
            os.write(terminal, b"\x03")
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def read_until(self, terminal, pattern):
        deadline, text = time.monotonic() + 120, ""
        while not re.search(pattern, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\x00-\x1f]", "", text)):
            self.assertLess(time.monotonic(), deadline, f"no {pattern!r} in {text!r}")
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 4096).decode(errors="replace")

    def test_offers(self):
        subprocess.run(["zsh", "-n", str(self.script)], check=True)
        self.completes("kgen dev", "kgen devices")
        self.completes("kgen run --max-t", "--max-tokens")
        self.completes("kgen run --policy o", "one-shot")
        self.completes("kgen completion z", "completion zsh")


class ManPageTest(unittest.TestCase):
    def test_page(self):
        page = output_of(KGEN, "man")
        self.assertTrue(page.startswith(".TH KGEN 1 "), page[:80])
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=page, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=True)
        self.assertEqual(result.stderr, "")
        for text in ("--max-tokens", "EXIT STATUS", "KGEN_PYTHON", "kgen worker"):
            self.assertIn(text, re.sub(r".\x08", "", result.stdout).replace("‐", "-").replace("−", "-"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN = options.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
