#!/usr/bin/env python3
"""tools/draw_search.py: a figure that pages can show, with every step, and nothing of a model's text as markup."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/structure"))
import check_docs  # noqa: E402 - lies in another folder


class DrawSearch(unittest.TestCase):
    def draw(self, task):
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            shutil.copy(ROOT / "tests/data/golden/detailed_report.json", directory)
            done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/draw_search.py"), name, task],
                                  capture_output=True, text=True, check=False)
            figure = directory / "search.svg"
            figure.write_text(done.stdout)
            return done, check_docs.check_figure(figure) if done.returncode == 0 else []

    def test_figure(self):
        done, problems = self.draw("9_GRU")
        self.assertEqual((done.returncode, problems), (0, []), done.stderr)
        for text in ("seed1/repair1", "1.25x", "2.50x", "accuracy:mismatch", "95 % interval 2.40x to 2.60x"):
            self.assertIn(text, done.stdout)
        # The one bar that differs is that of the best kernel.
        self.assertEqual(done.stdout.count('class="best"'), 1)

    def test_no_such_run(self):
        done, _ = self.draw("other")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no run of other; there is: 9_GRU", done.stderr)


if __name__ == "__main__":
    unittest.main()
