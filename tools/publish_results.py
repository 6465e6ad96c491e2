#!/usr/bin/env python3
"""Publishes a campaign: its report, and the best kernel of each task with its record.

    tools/publish_results.py RESULTS --kgen build/bin/kgen --tasks KERNELBENCH --report docs/results/NAME --kernels DIR [--records DIR]

Writes NAME.html (the report), NAME.csv (a row a run), and for each task with a correct kernel level3_35_lstm.cu as the model wrote it,
level3_35_lstm.json with its record, and an entry of claims.json, so that `kgen audit DIR` judges them all again. With --records, those of
an audit of the same kernels count beside the search's own: of each kernel the one with the median speed-up is published.

What tells one machine from another of its kind (a GPU's UUID, the build of the operating system, where kgen and the tasks lie) is left out;
nothing else is. Kernels of an earlier publication in the same directory are removed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Any


def anonymous(text: str, tasks: str) -> str:
    """A journal or record without what tells one machine from another of its kind."""
    text = re.sub(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "GPU", text)
    text = re.sub(r'("system": ?)"(\w+) [^"]* (\w+)"', r'\1"\2 \3"', text)
    text = re.sub(r"/[^\s\"']*/(share/kernelgen/)", r"\1", text)
    return text.replace(tasks.rstrip("/") + "/", "")


def published_name(record: dict[str, Any], path: str) -> str:
    """KernelBench/level3/35_LSTM.py -> level3_35_lstm."""
    level = re.search(r"level\d+", path)
    return f"{level.group(0)}_{record['task_name']}".lower() if level else str(record["task_name"]).lower()


def device_of(record: dict[str, Any]) -> str:
    return str(record["environment"]["device"]).partition(" (")[0]


def kind_of(record: dict[str, Any]) -> tuple[str, ...]:
    """What two records must have in common to be of the same measurement."""
    return str(record["candidate_id"]), device_of(record), str(record.get("precision")), str(record.get("mode"))


def median_record(records: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(records, key=lambda record: record["timing"]["speedup_call"]["value"])[(len(records) - 1) // 2]


def order_of(record: dict[str, Any]) -> tuple[bool, float]:
    """What is timed on the device goes before what is timed by calls: the two are not the same ratio."""
    timing = record["timing"]
    device = timing.get("speedup_device")
    return bool(device), (device or timing["speedup_call"])["value"]


def best_runs(results: pathlib.Path) -> dict[str, tuple[pathlib.Path, dict[str, Any]]]:
    """By task: the directory and the record of the run with the best kernel that was timed."""
    best: dict[str, tuple[pathlib.Path, dict[str, Any]]] = {}
    for file in sorted(results.rglob("best_result.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        task = task_path(file.parent)
        if record.get("timing") and (task not in best or order_of(record) > order_of(best[task][1])):
            best[task] = file.parent, record
    return best


def task_path(run: pathlib.Path) -> str:
    with (run / "events.jsonl").open(encoding="utf-8") as journal:
        return str(json.loads(journal.readline())["task"]["path"])


def publish_report(results: pathlib.Path, target: pathlib.Path, kgen: str, tasks: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        copied = pathlib.Path(place) / target.name
        for journal in results.rglob("events.jsonl"):
            run = copied / journal.parent.relative_to(results)
            run.mkdir(parents=True)
            text = anonymous(journal.read_text(encoding="utf-8"), tasks)
            (run / "events.jsonl").write_text(text, encoding="utf-8")
        subprocess.run([kgen, "report", copied], check=True, stdout=subprocess.DEVNULL)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(copied / "detailed_report.html", target.with_suffix(".html"))
        shutil.copy(copied / "summary.csv", target.with_suffix(".csv"))


def publish_kernels(results: pathlib.Path, target: pathlib.Path, records: pathlib.Path | None, tasks: str) -> None:
    audited: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for file in sorted(records.rglob("*.json")) if records else []:
        record = json.loads(file.read_text(encoding="utf-8"))
        record = record.get("record", record)
        if record.get("outcome", {}).get("kind") == "correct" and record.get("timing"):
            audited.setdefault(kind_of(record), []).append(record)
    target.mkdir(parents=True, exist_ok=True)
    for name in json.loads((target / "claims.json").read_text(encoding="utf-8")) if (target / "claims.json").is_file() else []:
        (target / name).unlink(missing_ok=True)
        (target / name).with_suffix(".json").unlink(missing_ok=True)
    claims = {}
    for task, (run, found) in best_runs(results).items():
        name = published_name(found, task)
        code = next(run.glob("best_code.*"))
        shutil.copy(code, target / (name + code.suffix))
        record = median_record([found, *audited.get(kind_of(found), [])])
        (target / (name + ".json")).write_text(anonymous(json.dumps(record, indent=1), tasks) + "\n", encoding="utf-8")
        timing = record["timing"]
        claims[name + code.suffix] = {
            "correct": True,
            "speedup": round(timing["speedup_call"]["value"], 2),
            "device": device_of(record),
        }
    (target / "claims.json").write_text(json.dumps(claims, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--tasks", required=True, help="the directory before the tasks' paths, which is left out")
    parser.add_argument("--report", type=pathlib.Path, help="where the report goes, without a suffix")
    parser.add_argument("--kernels", type=pathlib.Path, help="where kernels and records go")
    parser.add_argument("--records", type=pathlib.Path, help="the records of an audit of the same kernels")
    options = parser.parse_args()
    if options.report:
        publish_report(options.results, options.report, options.kgen, options.tasks)
    if options.kernels:
        publish_kernels(options.results, options.kernels, options.records, options.tasks)


if __name__ == "__main__":
    main()
