#!/usr/bin/env python3
"""The page of kgen monitor --serve in a browser: it shows a campaign and a run, and hostile texts stay texts."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from journals import Journal, make_campaign

KGEN = BROWSER = None
HOSTILE = "<img src=x onerror=alert(1)>"


class PageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        make_campaign(self.path / "results")
        journal = Journal(self.path / "results" / "99_Task", model=HOSTILE)
        journal.attempt(1, outcome=("crash", "", HOSTILE), name=HOSTILE)
        journal.attempt(2, 2.5)
        server = subprocess.Popen([str(KGEN), "monitor", str(self.path / "results"), "--serve", "0"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.kill(), server.communicate()))
        self.address = server.stdout.readline().split()[0]

    def elements_after_scripts(self, page):
        """What the browser made of the page, and what its console says."""
        run = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                              "--enable-logging=stderr", f"--user-data-dir={self.path / 'profile'}",
                              "--virtual-time-budget=5000", "--dump-dom", self.address + page],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(console, [])
        return run.stdout

    def test_campaign(self):
        text = self.elements_after_scripts("")
        self.assertEqual(len(re.findall(r'<tr tabindex="0"', text)), 13)
        self.assertIn("<dd>9 of 13", text)
        self.assertIn("13 runs", text)
        self.assertIn(">2.50x<", text)
        self.assertIn("&lt;img src=x", text)
        self.assertNotIn("<img", text)

    def test_run(self):
        text = self.elements_after_scripts("#run=99_Task")
        self.assertIn('<section id="runs" aria-label="Runs" hidden="">', text)
        self.assertIn('<tr class="best"><td>2</td><td>seed2</td><td>correct</td><td class="number">2.50x</td>', text)
        self.assertIn("<td>&lt;img src=x onerror=alert(1)&gt;</td>", text)
        self.assertNotIn("<img", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--browser", required=True)
    options, rest = parser.parse_known_args()
    KGEN, BROWSER = options.kgen.absolute(), options.browser
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
