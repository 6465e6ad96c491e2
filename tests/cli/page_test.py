#!/usr/bin/env python3
"""detailed_report.html and the page of a comparison in a headless Chromium. Skipped, with a line, where there is none."""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
PROGRAM = None
HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>\u202egpj.exe"


def kgen(*arguments):
    done = subprocess.run([str(OPTIONS.kgen), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def hostile_journal():
    """A run in which the model and the files have harmful names and texts."""
    action = {"id": HOSTILE, "kind": "seed"}
    candidate = {"target": "triton", "language": "python", "source": "# " + HOSTILE + "\nx = 1\n", "id": "1"}
    record = {"schema": 1, "outcome": {"kind": "compile", "detail": "other", "message": HOSTILE},
              "compile": {"log": HOSTILE, "diagnostics": [{"severity": "error", "line": 1, "message": HOSTILE}]}}
    lines = [{"type": "run_started", "task": {"name": HOSTILE, "text": HOSTILE}, "target": "triton", "policy": "hybrid", "model": HOSTILE},
             {"type": "action_issued", "number": 1, "action": action, "prompt": {"text": HOSTILE}},
             {"type": "request_sent", "number": 1},
             {"type": "reply_arrived", "number": 1, "reply": {"text": HOSTILE}},
             {"type": "action_finished", "result": {"action": action, "number": 1, "status": "evaluated", "candidate": candidate, "record": record}},
             {"type": "run_finished", "reason": HOSTILE, "reached": False}]
    return "".join(json.dumps({"schema": 1, "time": "2026-01-31T12:00:00.000Z", **line}) + "\n" for line in lines)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.results = pathlib.Path(cls.directory.name, "results")
        kernel = OPTIONS.source / "examples/kernels/softmax.cpp"
        subprocess.run([OPTIONS.make_results, cls.results, "12", "14", kernel], check=True, timeout=60)
        hostile = cls.results / "99_<b>hostile"
        hostile.mkdir()
        (hostile / "events.jsonl").write_text(hostile_journal())
        kgen("report", cls.results)
        cls.page = cls.results / "detailed_report.html"
        cls.browser = browser.Browser(PROGRAM)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.errors.clear()
        self.browser.resize(1280, 900)
        self.browser.use_media()

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def open(self, hash_=""):
        self.browser.open(self.page, hash_)

    def column(self, number):
        return self.browser.evaluate(f"[...document.querySelectorAll('#runs tbody tr')].map((row) => row.cells[{number}].innerText)")

    def click(self, selector):
        self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def test_opens_with_figures_and_plots(self):
        self.open()
        self.assertEqual(self.browser.evaluate("document.title"), "Report: results")
        summary = json.loads((self.results / "summary.json").read_text())
        tiles = self.browser.evaluate("document.querySelector('.tiles').innerText")
        scored = sum(run["best"] is not None for run in summary["runs"])
        self.assertIn(f"{scored} of 13", tiles)
        self.assertIn(f"{summary['totals']['geometric_mean']:.2f}x", tiles)
        # Each canvas has marks on it.
        self.assertGreaterEqual(self.browser.evaluate("document.querySelectorAll('canvas').length"), 2)
        self.assertTrue(self.browser.evaluate(
            "[...document.querySelectorAll('canvas')].every((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte))"))

    def test_the_table_sorts_by_each_column_in_both_directions(self):
        self.open()
        self.assertEqual(self.column(0)[0].split("_")[0], "1")  # natural order
        self.click("#runs th:nth-child(3) button")
        scores = [float(text[:-1]) for text in self.column(2) if text != "-"]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(self.column(2)[-1], "-")
        self.click("#runs th:nth-child(3) button")
        self.assertEqual([float(text[:-1]) for text in self.column(2) if text != "-"], scores[::-1])
        self.assertEqual(self.column(2)[-1], "-")
        self.assertEqual(self.browser.evaluate("document.querySelector('#runs th:nth-child(3)').getAttribute('aria-sort')"), "ascending")

    def test_filters_and_search_leave_out_rows(self):
        self.open()
        self.assertEqual(len(self.column(0)), 13)
        self.browser.evaluate("(() => { const search = document.querySelector('.search'); search.value = 'softmax'; search.dispatchEvent(new Event('input')); })()")
        self.assertTrue(self.column(0))
        self.assertTrue(all("Softmax" in name for name in self.column(0)))
        self.assertIn("of 13 runs", self.browser.evaluate("document.querySelector('[role=status]').innerText"))
        self.browser.evaluate("(() => { const search = document.querySelector('.search'); search.value = ''; search.dispatchEvent(new Event('input')); })()")
        self.browser.evaluate("(() => { const filter = document.querySelectorAll('.filters select')[0]; filter.selectedIndex = [...filter.options].findIndex((option) => option.text === 'failed'); filter.dispatchEvent(new Event('change')); })()")
        self.assertEqual(set(self.column(1)), {"failed"})

    def test_a_run_has_its_tree_attempts_code_and_difference(self):
        self.open("#/run/2")
        self.browser.wait_for("document.querySelector('.tree')")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.tree li').length"), 14)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.tree ul li').length"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.code .token.keyword').length"), 5)
        self.browser.evaluate("(() => { const select = document.getElementById('compare-with'); select.selectedIndex = 1; select.dispatchEvent(new Event('change')); })()")
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.diff .added').length"), 0)
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.diff .removed').length"), 0)
        rows = self.browser.evaluate("document.querySelectorAll('.diff tr').length")
        self.click(".diff .folded button")
        self.assertGreater(self.browser.evaluate("document.querySelectorAll('.diff tr').length"), rows)

    def test_an_attempt_that_did_not_compile_shows_the_compilers_messages(self):
        for number in range(1, 15):
            self.open(f"#/run/0/{number}")
            self.browser.wait_for("document.querySelector('#attempt')")
            text = self.browser.evaluate("document.querySelector('#attempt').innerText")
            if "compile:undeclared" in text:
                self.assertIn("'tile_width' was not declared in this scope", text)
                self.assertIn("41:17", text)
                return
        self.fail("no attempt failed to compile")

    def test_the_keyboard_is_enough(self):
        self.open()
        self.browser.press("/")
        self.assertEqual(self.browser.evaluate("document.activeElement.className"), "search")
        self.browser.evaluate("document.querySelector('#runs tbody a').focus()")
        self.browser.press("ArrowDown")
        self.browser.press("ArrowDown")
        self.browser.press("ArrowUp")
        self.browser.press("Enter")
        self.browser.wait_for("document.querySelector('h1')")
        self.assertIn("2_", self.browser.evaluate("document.querySelector('h1').innerText"))
        self.browser.press("n")
        self.browser.wait_for("document.querySelector('h1')?.innerText.includes('3_')")
        self.browser.press("p")
        self.browser.wait_for("document.querySelector('h1')?.innerText.includes('2_')")
        self.browser.press("Escape")
        self.browser.wait_for("document.querySelector('#runs')")

    def test_dark_and_light(self):
        brightness = "(() => { const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number); return r + g + b; })()"
        self.browser.use_media(scheme="dark")
        self.open()
        self.assertLess(self.browser.evaluate(brightness), 200)
        self.click("#scheme")  # light, whatever the system has
        self.assertGreater(self.browser.evaluate(brightness), 600)
        self.click("#scheme")
        self.assertLess(self.browser.evaluate(brightness), 200)

    def test_no_view_is_wider_than_the_screen(self):
        for width in (360, 768, 1280, 2000):
            self.browser.resize(width, 900)
            for view in ("", "#/run/2", "#/run/12"):
                self.open(view)
                self.browser.wait_for("document.querySelector('#runs, .tree')")
                self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width, (width, view))

    def test_it_prints(self):
        for view in ("", "#/run/2"):
            self.open(view)
            self.browser.wait_for("document.querySelector('#runs, .tree')")
            pdf = self.browser.pdf()
            self.assertTrue(pdf.startswith(b"%PDF"))
            self.assertGreater(len(pdf), 20000)
        self.browser.use_media(media="print", scheme="dark")
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.documentElement).backgroundColor"), "rgb(255, 255, 255)")

    def test_hostile_texts_are_harmless_and_shown(self):
        self.open()
        row = next(number for number, name in enumerate(self.column(0)) if "hostile" in name)
        self.assertIn("99_<b>hostile", self.column(0)[row])
        self.open("#/run/12")
        self.browser.wait_for("document.querySelector('#attempt')")
        text = self.browser.evaluate("document.body.innerText")
        self.assertIn("<script>window.harmed = 1</script>", text)
        self.assertIn("\u27e8U+202E\u27e9gpj.exe", text)
        self.assertNotIn("\u202e", text)
        self.assertIsNone(self.browser.evaluate("window.harmed"))
        self.assertEqual(self.browser.evaluate("document.images.length"), 0)
        # A script that came into the page in another way would not run.
        self.browser.evaluate("(() => { const script = document.createElement('script'); script.textContent = 'window.harmed = 1'; document.body.append(script); })()")
        self.assertIsNone(self.browser.evaluate("window.harmed"))
        self.assertTrue(any("Content Security Policy" in error for error in self.browser.errors))
        self.browser.errors.clear()

    def test_a_comparison_has_tiles_and_pairs(self):
        page = pathlib.Path(self.directory.name, "compare.html")
        other = pathlib.Path(self.directory.name, "other")
        subprocess.run([OPTIONS.make_results, other, "12", "6", OPTIONS.source / "examples/kernels/softmax.cpp"], check=True, timeout=60)
        kgen("compare", self.results, other, "--html", page)
        self.browser.open(page)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.filters + p + .scroll tbody tr').length"), 12)
        self.assertIn("Won, lost, tied", self.browser.evaluate("document.querySelector('.tiles').innerText"))


class LibrariesTest(unittest.TestCase):
    def test_libraries_are_those_of_the_list(self):
        directory = OPTIONS.source / "lib/report/html/third_party"
        listed = dict(re.findall(r"^\| `([^`]+)` .* `([0-9a-f]{64})` \|$", (directory / "README.md").read_text(), re.M))
        self.assertEqual(set(listed), {path.name for path in directory.glob("*.js")})
        for name, digest in listed.items():
            self.assertEqual(hashlib.sha256((directory / name).read_bytes()).hexdigest(), digest, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--make-results", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    sys.path.insert(0, str(OPTIONS.source / "tests/support"))
    import browser

    PROGRAM = browser.find_chromium()
    if PROGRAM is None:
        print("SKIPPED: there is no Chromium on the path (tools/setup.sh --dev installs it)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
