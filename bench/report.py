#!/usr/bin/env python3
"""What the reports of a campaign cost: seconds to write them, bytes of detailed_report.html, seconds until a browser shows it.

    cmake --build build --target kgen make_results && python3 bench/report.py [--tasks 250] [--attempts 20]

Prints a table. Seconds of a processor are those of kgen; a browser's are by the clock, from the request to the last plot.
"""

import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

import browser  # noqa: E402


def measured(command):
    """Seconds by the clock, and of a processor, that a program takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def opened(page, hash_, sign, trials):
    """Median seconds until a view is drawn; nothing without a browser."""
    program = browser.find_chromium()
    if program is None:
        return None
    chromium, seconds = browser.Browser(program), []
    try:
        for _ in range(trials):
            chromium.send("Page.navigate", url="about:blank")
            start = time.monotonic()
            chromium.send("Page.navigate", url=page.as_uri() + hash_)
            chromium.wait_for(f"document.querySelector('{sign}') && document.querySelector('canvas')?.height > 160")
            seconds.append(time.monotonic() - start)
        if chromium.errors:
            raise RuntimeError(chromium.errors)
    finally:
        chromium.close()
    return statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--tasks", type=int, default=250)
    parser.add_argument("--attempts", type=int, default=20)
    parser.add_argument("--trials", type=int, default=5, help="of opening the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        results = pathlib.Path(directory, "results")
        subprocess.run([options.build / "bin/make_results", results, str(options.tasks), str(options.attempts),
                        ROOT / "examples/kernels/softmax.cpp"], check=True)
        journals = sum(path.stat().st_size for path in results.glob("*/events.jsonl"))
        report = [options.build / "bin/kgen", "report", results]
        rows = [("journals, MB", journals / 1e6, "")]
        for name, goal in (("all reports, first time", "2"), ("all reports, nothing new", "")):
            clock, processor = measured(report)
            rows += [(f"{name}, s of a processor", processor, goal), (f"{name}, s by the clock", clock, "")]
        page = results / "detailed_report.html"
        rows.append(("detailed_report.html, MB", page.stat().st_size / 1e6, "10"))
        for name, hash_, sign, goal in (("overview drawn after, s", "", "#runs", "1"), ("run drawn after, s", "#/run/3", ".tree", "1")):
            seconds = opened(page, hash_, sign, options.trials)
            rows.append((name, seconds, goal))
    print(f"{'what':44} {'measured':>10}   goal at most")
    for name, value, goal in rows:
        print(f"{name:44} {'-' if value is None else format(value, '10.2f'):>10}   {goal}")


if __name__ == "__main__":
    main()
