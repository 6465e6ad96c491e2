#!/usr/bin/env python3
"""bench/gpu: its candidates, its client of the worker, and how it reads what a worker says. The worker is a fake."""

import contextlib
import io
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "gpu"))

import drop_in  # noqa: E402
import kernelbench_trial  # noqa: E402
import mixed  # noqa: E402
import noise  # noqa: E402
import side_by_side  # noqa: E402
import timeline  # noqa: E402
import worker_client  # noqa: E402

FAKE_WORKER = """#!{python}
import json, struct, sys
def send(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"KGF1" + struct.pack("<I", len(body)) + body)
    sys.stdout.buffer.flush()
send({{"type": "hello", "protocol": 1, "device": "a fake"}})
while header := sys.stdin.buffer.read(8):
    message = json.loads(sys.stdin.buffer.read(struct.unpack("<I", header[4:])[0]))
    if message["type"] == "shutdown":
        break
    number = message["id"]
    source = message.get("request", {{}}).get("candidate", {{}}).get("source")
    if source == "die":
        sys.exit(3)
    for phase in ("compile", "timing", "timing"):
        send({{"type": "progress", "id": number, "progress": {{"phase": phase, "detail": ""}}}})
    if source == "broken":
        send({{"type": "error", "id": number, "error": {{"code": "internal", "message": "no idea"}}}})
    elif message["type"] == "describe":
        send({{"type": "description", "id": number, "description": {{"name": "a task"}}}})
    elif source and "x * 0.5" in source or "half_of" in (source or ""):
        score = 0.97 if "k_extra_percent = 2" in source else 1.0
        send({{"type": "record", "id": number, "record": {{"outcome": {{"kind": "correct", "detail": ""}}, "phases": [],
            "timing": {{"speedup_call": {{"value": score}}, "speedup_device": None, "candidate_median_ns": 5000}}}}}})
    else:
        send({{"type": "record", "id": number, "record": {{"outcome": {{"kind": "accuracy", "detail": "nan"}}}}}})
"""


class Candidates(unittest.TestCase):
    def test_forty_different_ones_half_of_them_right(self):
        candidates = mixed.candidates()
        self.assertEqual(len(candidates), 40)
        self.assertEqual(len({c.source for c in candidates}), 40)
        self.assertEqual(sum(c.right for c in candidates), 20)
        self.assertEqual({c.target for c in candidates}, {"cuda", "triton"})

    def test_an_edit_that_finds_nothing_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "0 times, not once"):
            mixed.edited("sum.cu", [("no such text", "")])

    def test_an_edit_that_is_not_unique_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "times, not once"):
            mixed.edited("sum.cu", [("total", "")])

    def test_fresh_texts_differ_where_a_cache_by_content_looks(self):
        triton = side_by_side.read_candidate("elementwise.py")
        made = side_by_side.fresh(triton, "triton")
        kernel = made[made.index("@triton.jit") : made.index("class ModelNew")]
        self.assertNotIn(kernel, triton)
        compile(made, "candidate", "exec")
        inline = side_by_side.read_candidate("relu_load_inline.py")
        made = side_by_side.fresh(inline, "torch")
        self.assertNotEqual(made, side_by_side.fresh(inline, "torch"))
        self.assertLess(made.index('cuda_source = """'), made.index("// "))
        compile(made, "candidate", "exec")


class Client(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        program = pathlib.Path(self.folder.name) / "kgen"
        program.write_text(FAKE_WORKER.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.worker = worker_client.Worker(str(program), self.folder.name)

    def tearDown(self):
        self.worker.close()
        self.folder.cleanup()

    def test_a_record_and_its_phases(self):
        answer = self.worker.judge({"name": "t"}, "cuda", "text")
        self.assertEqual(answer.outcome, "accuracy:nan")
        self.assertEqual([phase for _, phase in answer.phases], ["compile", "timing"])
        self.assertGreater(answer.seconds, 0)

    def test_a_description(self):
        self.assertEqual(self.worker.wait(self.worker.describe({"name": "t"})).description, {"name": "a task"})

    def test_an_error_is_no_verdict(self):
        answer = self.worker.judge({"name": "t"}, "cuda", "broken")
        self.assertIsNone(answer.record)
        self.assertEqual(answer.outcome, "error: no idea")

    def test_a_worker_that_dies_is_an_error(self):
        with self.assertRaisesRegex(worker_client.WorkerError, "the worker ended"):
            self.worker.judge({"name": "t"}, "cuda", "die")

    def test_a_program_that_is_no_worker_is_an_error(self):
        with self.assertRaisesRegex(worker_client.WorkerError, "did not say hello"):
            worker_client.Worker("/bin/true", self.folder.name)


class Frames(unittest.TestCase):
    def test_round_trip(self):
        self.assertEqual(worker_client.read_frame(io.BytesIO(worker_client.encode({"a": 1}))), {"a": 1})
        self.assertIsNone(worker_client.read_frame(io.BytesIO(b"")))

    def test_other_bytes_and_torn_frames_are_errors(self):
        frame = worker_client.encode({"a": 1})
        for bytes_ in (b"Welcome!", frame[:5], frame[:-1]):
            with self.assertRaises(worker_client.WorkerError):
                worker_client.read_frame(io.BytesIO(bytes_))


class Reading(unittest.TestCase):
    @staticmethod
    def answer(sent, answered, *phases):
        return worker_client.Answer(sent=sent, answered=answered, phases=list(phases))

    def test_time_on_the_device_counts_once_however_many_wait(self):
        first = self.answer(0, 10, (0, "compile"), (2, "timing"))
        second = self.answer(0, 20, (0, "compile"), (5, "wait for the device"), (10, "timing"), (18, "compile"))
        busy, waiting = worker_client.busy_and_waiting([first, second], lambda phase: phase == "timing")
        self.assertEqual((busy, waiting), (16, 20))

    def test_a_pause_without_requests_is_not_waiting(self):
        answers = [self.answer(0, 4, (0, "timing")), self.answer(100, 104, (102, "timing"))]
        self.assertEqual(worker_client.busy_and_waiting(answers, lambda phase: True), (6, 8))

    def test_the_table_sets_a_native_candidate_beside_its_load_inline_form(self):
        side = {"seconds": [40.0, 50.0, 46.0], "verdicts": ["correct"], "details": []}
        ours = {"seconds": [2.0], "verdicts": ["correct"], "details": []}
        text = side_by_side.table({"CUDA ReLU 4096 x 4096, fresh build": {"kgen": ours},
                                   "the same as load_inline, fresh build": {"kernelbench": side}})
        self.assertIn("| CUDA ReLU 4096 x 4096, fresh build | 46.00 s | 2.00 s | 23.0 | correct |", text)


class SeveralGpus(unittest.TestCase):
    @staticmethod
    def answer(uuid, start, end):
        return worker_client.Answer(sent=0, answered=end, phases=[(0, "compile"), (start, "timing")],
                                    record={"environment": {"device_uuid": uuid}})

    def test_each_is_told_by_itself(self):
        answers = [self.answer("GPU-b", 2, 10), self.answer("GPU-a", 5, 10), self.answer("GPU-a", 8, 20),
                   worker_client.Answer(sent=0, answered=1)]
        devices = side_by_side.by_device(answers, {"GPU-a": 0.5}, 20)
        self.assertEqual(list(devices), ["GPU-a", "GPU-b"])
        self.assertEqual(devices["GPU-a"], {"verdicts": 2, "idle_share": 0.25, "kernel_running_share": 0.5})
        self.assertEqual(devices["GPU-b"], {"verdicts": 1, "idle_share": 0.6, "kernel_running_share": None})
        row = {"kgen": {"seconds": [20.0], "verdicts": ["3 of 3 as expected"]}, "per_hour": 540.0, "devices": devices}
        self.assertIn("540 per hour; 2 verdicts, idle 25 %, a kernel ran 50 % of the time; 1 verdicts, idle 60 % |",
                      side_by_side.table({"mixed": row}))

    def test_what_nvidia_smi_says(self):
        utilization = side_by_side.Utilization()
        utilization.read("GPU-a, 100\nGPU-b, 0\nGPU-a, 50\nGPU-b, [N/A]\n")
        self.assertEqual(utilization.means, {"GPU-a": 0.75, "GPU-b": 0.0})

    def test_the_first_of_those_that_are_seen(self):
        for seen, expected in (("3,1,2", "3,1"), (None, "0,1")):
            with unittest.mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": seen} if seen else {}):
                if not seen:
                    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                side_by_side.use_first_gpus(2)
                self.assertEqual(os.environ["CUDA_VISIBLE_DEVICES"], expected)


class Noise(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual([round(x, 3) for x in noise.differences([1.0, 1.02, 0.51])], [2.0, 50.0])
        self.assertEqual(noise.quantile([3.0, 1.0, 2.0], 0.95), 3.0)
        self.assertEqual(noise.calls_it_slower([1.0, 1.0, 1.0], [0.98, 1.0, 1.1]), 1)

    def test_a_whole_run(self):
        with tempfile.TemporaryDirectory() as folder:
            kgen, samples = pathlib.Path(folder) / "kgen", pathlib.Path(folder) / "samples.json"
            kgen.write_text(FAKE_WORKER.format(python=sys.executable))
            kgen.chmod(kgen.stat().st_mode | stat.S_IXUSR)
            with open(os.devnull, "w", encoding="utf-8") as nothing, contextlib.redirect_stdout(nothing):
                with contextlib.redirect_stderr(nothing):
                    noise.main(["--kgen", str(kgen), "--repeat", "2", "--settle", "0", "--sizes", "5 us", "--json",
                                str(samples)])
            lines = {line["what"]: line for line in json.loads(samples.read_text())}
        self.assertEqual(lines["5 us native: time of a call"]["samples"], [5.0, 5.0])
        self.assertEqual(lines["5 us native: speedup_call of two processes differ"]["samples"], [0.0])
        self.assertEqual(lines["5 us: 2 % more traffic, by speedup_call"]["text"], "called slower in 2 of 2 pairs")
        self.assertLess(lines["signal: until the record is here"]["p95"], 250)
        self.assertIn("5 us: wall time of a verdict, in sampled blocks", lines)

    def test_the_planted_difference_is_one_number(self):
        plain = mixed.edited("scale.cu", [])
        slower = mixed.edited("scale.cu", [("k_extra_percent = 0", "k_extra_percent = 2")])
        self.assertEqual(sum(a != b for a, b in zip(plain, slower)), 1)


class KernelBench(unittest.TestCase):
    """Its package wants clients of language models before it gets to the evaluator."""

    def test_modules_that_are_missing_are_replaced_by_empty_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "src" / "kernelbench"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text("from . import utils\n")
            (package / "utils.py").write_text("from litellm import completion\nfrom pydra import Config\n")
            (package / "eval.py").write_text(
                "from pydantic import BaseModel\n"
                "class Result(BaseModel):\n    ok: bool = False\n    metadata: dict = {}\n"
                "def eval_kernel_against_ref():\n    return Result(ok=True)\n")
            module = kernelbench_trial.import_evaluator(pathlib.Path(folder))
            result = module.eval_kernel_against_ref()
            self.assertTrue(result.ok)
            result.metadata["a"] = 1
            self.assertEqual(module.Result().metadata, {})

    def test_a_folder_without_it_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(SystemExit, "no KernelBench checkout"):
            kernelbench_trial.import_evaluator(pathlib.Path(folder))


class DropIn(unittest.TestCase):
    def test_a_seed_draws_the_same_kernels_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("level2/7.py", "level2/70.py", "level3/1.py", "level3/notes.py", "level4/2.py"):
                path = pathlib.Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text("")
            chosen = drop_in.choose(pathlib.Path(folder), 20, 1)
            self.assertEqual(sorted(chosen), [(2, 7), (2, 70), (3, 1)])
            self.assertEqual(drop_in.choose(pathlib.Path(folder), 2, 1), chosen[:2])
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(SystemExit, "has no level1/N.py"):
            drop_in.choose(pathlib.Path(folder), 20, 1)

    def test_a_line_has_both_verdicts(self):
        right = {"task": "level2/7_A", "theirs": {"correct": True, "runtime_ms": 2.0, "reference_ms": 3.0, "seconds": 7.4},
                 "ours": {"metadata": {"outcome": "correct", "speedup": 1.25}, "seconds": 6.0}}
        wrong = {"task": "level2/8_B", "theirs": {"correct": False, "metadata": {"correctness_issue": "a | b\n" + "long " * 40}, "seconds": 8},
                 "ours": {"metadata": {"outcome": "accuracy:mismatch"}, "seconds": 1.0}}
        lines = drop_in.table([right, wrong]).splitlines()
        self.assertEqual(lines[2], "| level2/7_A | correct, 1.50 times | 7 | correct, 1.25 times | 6 |")
        self.assertTrue(lines[3].startswith("| level2/8_B | failed: a / b long long"))
        self.assertTrue(lines[3].endswith(" ... | 8 | accuracy:mismatch | 1 |"))


class Timeline(unittest.TestCase):
    def answer(self, device, *phases, end):
        record = {"environment": {"device_uuid": device}} if device else None
        return worker_client.Answer(sent=10.0, answered=10.0 + end, record=record, phases=[(10.0 + at, name) for at, name in phases])

    def answers(self):
        return [self.answer("GPU-a", (0, "compile"), (1, "wait for the judge"), (1.5, "correctness"), (2, "timing"), end=4),
                self.answer("GPU-a", (0, "compile"), (1, "wait for the judge"), (4, "device timing"), end=5),
                self.answer("GPU-b", (0.5, "admit"), (3, "load"), end=3.5),
                self.answer("", (0, "compile"), end=2)]

    def test_phases_end_where_the_next_begins(self):
        spans = timeline.spans_of(self.answers(), ["first", "second", "third", "none"])
        self.assertEqual(sorted(spans), ["", "GPU-a", "GPU-b"])
        first = [(span.start, span.end) for span in spans["GPU-a"] if span.name == "first"]
        self.assertEqual(first, [(0, 1), (1, 1.5), (1.5, 2), (2, 4)])

    def test_phases_are_counted_while_they_last(self):
        spans = timeline.spans_of(self.answers(), ["first", "second", "third", "none"])["GPU-a"]
        waiting = [span for span in spans if span.phase.startswith("wait")]
        self.assertEqual(timeline.counts(waiting, 60.0), [(0, 0), (1, 2), (1.5, 1), (4, 0)])
        self.assertEqual(timeline.counts(waiting, 1.2), [(0, 0), (1, 2), (1.2, 0)])
        self.assertEqual(timeline.counts([], 60.0), [(0, 0)])

    def test_totals_are_by_kind(self):
        self.assertEqual(timeline.totals(self.answers()),
                         {"compiles or builds": 4.0, "waits for judge or device": 3.5, "times": 3.0, "starts judge, admits task": 2.5,
                          "checks": 0.5, "loads": 0.5})

    def test_a_figure_is_svg_and_ends_where_it_was_asked_to(self):
        names = ["<first>", "second", "third", "none"]
        whole = xml.etree.ElementTree.fromstring(timeline.draw(self.answers(), names))
        titles = [title.text for title in whole.iter("{http://www.w3.org/2000/svg}title")]
        # What compiles or waits is counted, not drawn one by one.
        self.assertEqual(len(titles), 4)
        self.assertIn("<first>: timing, 2.00 s", titles)
        cut = xml.etree.ElementTree.fromstring(timeline.draw(self.answers(), names, 2.5))
        titles = [title.text for title in cut.iter("{http://www.w3.org/2000/svg}title")]
        self.assertNotIn("third: load, 0.50 s", titles)
        for rectangle in cut.iter("{http://www.w3.org/2000/svg}rect"):
            if rectangle.get("x"):
                self.assertLessEqual(float(rectangle.get("x")) + float(rectangle.get("width")), timeline.WIDTH)

    def test_nothing_is_drawn_too(self):
        self.assertIn("<svg", timeline.draw([], []))


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    unittest.main()
