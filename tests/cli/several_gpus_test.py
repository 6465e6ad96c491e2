#!/usr/bin/env python3
"""One worker on a node with several GPUs: the fake devices of tests/support/fake_cuda.c, of which the second is another model.

`several_gpus_test.py ... Checked` runs beside other tests: nothing in it is timed, so a busy machine changes no verdict.
`Timed` has the machine for itself.
"""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "gpu"))

import worker_client  # noqa: E402

GPUS = "Fake GPU,Fake GPU of another model,Fake GPU"
FIRST, OTHER, THIRD = (f"GPU-fafafafa-fafa-fafa-fafa-fafafafafaf{end}" for end in "abc")


def task(name, of_all="torch.relu(x)", first="", rows=16):
    return worker_client.text_task(name, f"""
import torch, torch.nn as nn
{first}
class Model(nn.Module):
    def forward(self, x):
        return {of_all}
def get_inputs():
    return [torch.randn({rows}, 64)]
def get_init_inputs():
    return []
""")


def native(statement, before=""):
    return f"""
#include <kernelgen/abi.h>
#include <unistd.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) {{ return 0; }}
KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {{
  const struct kgen_tensor* in = kgen_at(&args->inputs, 0);
  const float* x = (const float*)in->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  {before}
  for (uint64_t i = 0; i < in->element_count; ++i) y[i] = {statement};
  return 0;
}}
KGEN_API void kgen_destroy(void*) {{}}
"""


RELU = native("x[i] > 0 ? x[i] : 0")
WRONG = native("x[i]")
REFUSED = native("x[i]", 'if (in != nullptr) return kgen_fail(&args->error, "out of memory");')
SLOW = native("x[i] > 0 ? x[i] : 0", "sleep(60);")
#: Options of a right candidate that is not timed.
CHECKED = {"mode": "correctness_only"}
BUILDS = """
import os, pathlib, uuid
import torch, torch.nn as nn
# from torch.utils.cpp_extension import load_inline
place = pathlib.Path(os.environ["TORCH_EXTENSIONS_DIR"]) / "built"
if not place.exists():
    place.write_text(str(uuid.uuid4()))
class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


class Node(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(LD_LIBRARY_PATH=options.fake_cuda, KGEN_FAKE_CUDA_GPUS=GPUS)

    def start(self):
        worker = worker_client.Worker(options.kgen, str(self.root / "cache"), log=subprocess.DEVNULL)
        self.addCleanup(worker.close)
        return worker

    def start_with_large_gpus(self):
        """A worker on devices that admit several tasks at a time."""
        os.environ["KGEN_FAKE_CUDA_MEMORY"] = str(140 << 30)
        return self.start()

    def kgen(self, *arguments):
        return subprocess.run([options.kgen, *arguments], capture_output=True, text=True, timeout=300, check=False).stdout

    @contextlib.contextmanager
    def first_in_use(self, worker):
        """An evaluation uses the first GPU until the end: it lasts a minute for each of its calls."""
        slow = worker.evaluate(task("relu"), worker_client.make_candidate("cuda", SLOW), {**CHECKED, "device": "0"})
        worker.wait_for_phase(slow, "correctness")
        yield
        worker.cancel(slow)
        self.assertEqual(worker.wait(slow).error["code"], "cancelled")

    def judged(self, answer, kinds=("correct",)):
        self.assertIsNotNone(answer.record, answer.error)
        self.assertIn(answer.record["outcome"]["kind"], kinds, answer.record["outcome"])
        return answer.device

class Checked(Node):
    def test_evaluations_share_the_gpus_that_are_like_the_first(self):
        worker = self.start()
        relu = task("relu")
        for code, kind in ((WRONG, "accuracy"), (RELU, "correct")):
            ids = [worker.evaluate(relu, worker_client.make_candidate("cuda", code), CHECKED) for _ in range(4)]
            # One that is done early may take over what waits for the other.
            self.assertEqual({self.judged(worker.wait(number), (kind,)) for number in ids}, {FIRST, THIRD})

    def test_a_gpu_with_nothing_to_do_takes_over_what_waits_for_another(self):
        worker = self.start()
        relu = task("relu")
        with self.first_in_use(worker):
            # The others are placed on both: an evaluation that is under way and a judge that starts are two units of work.
            quick = [worker.evaluate(relu, worker_client.make_candidate("cuda", WRONG), CHECKED) for _ in range(6)]
            # The first lasts a minute for each of its calls, so none of these has waited for it.
            self.assertEqual([self.judged(worker.wait(number), ("accuracy",)) for number in quick], [THIRD] * 6)
        # Afterwards, both are used again.
        self.assertEqual({self.judged(worker.judge(one, "cuda", RELU, CHECKED))
                          for one in (task("one", "torch.relu(x) * 1"), task("two", "torch.relu(x) * 2 / 2"))},
                         {FIRST, THIRD})

    def test_gpus_of_one_model_share_the_admission_of_a_task(self):
        worker = self.start()
        relu = task("relu")
        for device, admits in (("0", True), ("2", False), ("1", True)):
            answer = worker.judge(relu, "cuda", RELU, {**CHECKED, "device": device})
            self.judged(answer)
            self.assertEqual("admit" in [phase["name"] for phase in answer.record["phases"]], admits, device)

    def test_an_admission_for_which_others_left_too_little_memory_is_not_shared(self):
        large = task("large", rows=32768)
        # Its evaluation needs 162 MiB; half of what is left is too little for float64.
        for held, second_admits in ((0, False), ((4 << 30) - (178 << 20), True)):
            os.environ["KGEN_FAKE_CUDA_HELD"] = f"{held},0,0"
            with self.subTest(held=held):
                worker = self.start()
                for device, admits in (("0", True), ("0", False), ("2", second_admits)):
                    answer = worker.judge(large, "cuda", WRONG, {**CHECKED, "device": device})
                    self.judged(answer, ("accuracy",))
                    self.assertEqual("admit" in [phase["name"] for phase in answer.record["phases"]], admits, device)
            shutil.rmtree(self.root / "cache")

    def admit_while_in_use(self, tasks):
        """Evaluates tasks that all wait for one large device, which another evaluation uses until then. Returns the answers."""
        worker = self.start_with_large_gpus()
        with self.first_in_use(worker):
            ids = [worker.evaluate(one, worker_client.make_candidate("cuda", RELU), {**CHECKED, "device": "0"}) for one in tasks]
            for number in ids:
                worker.wait_for_phase(number, "wait for the judge")
        answers = [worker.wait(number) for number in ids]
        for answer in answers:
            self.judged(answer)
        return answers

    def test_tasks_that_wait_for_a_gpu_are_admitted_beside_each_other(self):
        place = self.root / "met"
        place.mkdir()
        # Each is imported while all the others are.
        meets = f"""
import pathlib, time
place, end = pathlib.Path({str(place)!r}), time.monotonic() + 60
(place / NAME).touch()
while len(list(place.iterdir())) < 3:
    if time.monotonic() > end:
        (place / "alone").touch()
    time.sleep(0.01)
"""
        tasks = [task(name, first=meets.replace("NAME", repr(name))) for name in ("one", "two", "three")]
        answers = self.admit_while_in_use(tasks)
        self.assertEqual(sorted(path.name for path in place.iterdir()), ["one", "three", "two"])
        for answer in answers:
            names = [phase["name"] for phase in answer.record["phases"]]
            self.assertEqual(names[:4], ["admit", "wait for the judge", "admit", "compile"])
            self.assertIn("start the judge", names)

    def test_a_task_that_many_wait_for_is_admitted_once(self):
        twice, other = task("twice", "torch.relu(x) * 1"), task("other", "torch.relu(x) + 0")
        answers = self.admit_while_in_use([twice, twice, twice, other])
        admitted = [phase for answer in answers[:3] for phase in answer.record["phases"][1:] if phase["name"] == "admit"]
        self.assertEqual(len(admitted), 1)

    def test_a_task_that_waits_alone_keeps_its_judge(self):
        answer, = self.admit_while_in_use([task("lone", "torch.relu(x) * 1")])
        self.assertNotIn("start the judge", [phase["name"] for phase in answer.record["phases"]])

    def test_a_task_that_fails_beside_others_is_admitted_alone(self):
        tried = self.root / "tried"
        first = f"""
import pathlib
if not pathlib.Path({str(tried)!r}).exists():
    pathlib.Path({str(tried)!r}).touch()
    raise MemoryError("crowded")
"""
        answer, _ = self.admit_while_in_use([task("crowded", first=first), task("other", "torch.relu(x) * 1")])
        self.assertTrue(tried.exists())
        # Without waiting, beside others, and for itself.
        self.assertEqual([phase["name"] for phase in answer.record["phases"]].count("admit"), 3)

    def test_tasks_are_admitted_by_an_equal_gpu_that_has_nothing_to_do(self):
        worker = self.start_with_large_gpus()
        with self.first_in_use(worker):
            # As many as keep a judge there. Some were placed on the first.
            tasks = [task(f"t{i}", f"torch.relu(x) * {i + 2}") for i in range(3)]
            ids = [worker.evaluate(one, worker_client.make_candidate("cuda", WRONG), CHECKED) for one in tasks]
            # The first lasts a minute for each of its calls, so none of these has waited for it.
            self.assertEqual([self.judged(worker.wait(number), ("accuracy",)) for number in ids], [THIRD] * 3)

    def test_waiting_to_be_admitted_can_be_cancelled(self):
        worker = self.start_with_large_gpus()
        with self.first_in_use(worker):
            tasks = [task(f"t{i}", f"torch.relu(x) * {i + 2}") for i in range(2)]
            ids = [worker.evaluate(one, worker_client.make_candidate("cuda", RELU), {**CHECKED, "device": "0"}) for one in tasks]
            for number in ids:
                worker.wait_for_phase(number, "wait for the judge")
                worker.cancel(number)
                self.assertEqual(worker.wait(number).error["code"], "cancelled")
        self.judged(worker.judge(tasks[0], "cuda", WRONG, CHECKED), ("accuracy",))

    def test_tasks_are_described_while_a_gpu_is_in_use(self):
        worker = self.start_with_large_gpus()
        with self.first_in_use(worker):
            tasks = [task(f"t{i}", f"torch.relu(x) * {i + 2}") for i in range(3)]
            ids = [worker.describe(one, {"device": "0", **options}) for one in tasks for options in (CHECKED, {})]
        for number, timed in zip(ids, [False, True] * 3):
            description = worker.wait(number).description
            self.assertEqual(description["name"], f"t{ids.index(number) // 2}")
            # On a busy machine there is no time.
            if not timed:
                self.assertIsNone(description.get("reference_time"))

    def test_one_at_a_time_stays_with_its_judge(self):
        worker = self.start()
        relu = task("relu")
        self.assertEqual([self.judged(worker.judge(relu, "cuda", RELU, CHECKED)) for _ in range(3)], [FIRST] * 3)
        # Another task gets another device, while there is one.
        again = task("again", "torch.relu(x) * 1")
        self.assertEqual(self.judged(worker.judge(again, "cuda", RELU, CHECKED)), THIRD)
        self.assertEqual(self.judged(worker.judge(relu, "cuda", RELU, CHECKED)), FIRST)

    def test_each_gpu_keeps_three_judges(self):
        worker = self.start()
        tasks = [task(f"t{i}", f"torch.relu(x) * {i + 2}") for i in range(6)]
        devices = [self.judged(worker.judge(one, "cuda", WRONG), ("accuracy",)) for one in tasks]
        self.assertEqual(devices, [FIRST, THIRD] * 3)
        # Without warm judges they would alternate again.
        devices = [self.judged(worker.judge(one, "cuda", WRONG), ("accuracy",)) for one in tasks[::2] + tasks[1::2]]
        self.assertEqual(devices, [FIRST] * 3 + [THIRD] * 3)

    def test_who_names_a_device_gets_it(self):
        worker = self.start()
        relu = task("relu")
        for name, uuid in (("1", OTHER), ("2", THIRD), (OTHER, OTHER), ("Fake GPU of another model", OTHER)):
            ids = [worker.evaluate(relu, worker_client.make_candidate("cuda", RELU), {**CHECKED, "device": name}) for _ in range(2)]
            self.assertEqual([self.judged(worker.wait(number)) for number in ids], [uuid, uuid], name)
        self.assertIn("there is no GPU '3'", worker.judge(relu, "cuda", RELU, {**CHECKED, "device": "3"}).outcome)

    def test_places_are_given_back_whatever_ends_an_evaluation(self):
        worker = self.start()
        slow = [worker.evaluate(task("slow"), worker_client.make_candidate("cuda", SLOW), {"device": "0"})
                for _ in range(8)]
        broken = task("broken", first="raise RuntimeError('no such task')")
        for _ in range(3):
            self.assertIn("no such task", worker.judge(broken, "cuda", RELU, {"device": "2"}).outcome)
        syntax = worker.judge(task("relu"), "cuda", "this is no code", {"device": "2"})
        self.judged(syntax, ("syntax",))
        for number in slow:
            worker.cancel(number)
        for number in slow:
            self.assertEqual(worker.wait(number).error["code"], "cancelled")
        # Both are idle and have no such judge, so the least recently used one is chosen, and then the other.
        one, two = task("one", "torch.relu(x) * 1"), task("two", "torch.relu(x) * 2 / 2")
        self.assertEqual(self.judged(worker.judge(one, "cuda", RELU, CHECKED)), FIRST)
        self.assertEqual(self.judged(worker.judge(two, "cuda", RELU, CHECKED)), THIRD)

    def spool(self, count, *arguments):
        """The answers to as many requests for one task."""
        spool = self.root / "spool"
        spool.mkdir()
        for i in range(count):
            request = {"task": task("relu"), "candidate": worker_client.make_candidate("cuda", WRONG), "options": {}}
            (spool / f"r{i:02}.request.json").write_text(json.dumps({"type": "evaluate", "id": i, "request": request}))
        self.kgen("worker", "--spool", str(spool), "--once", "--cache-dir", str(self.root / "cache"), *arguments)
        return [json.loads((spool / f"r{i:02}.result.json").read_text()) for i in range(count)]

    def test_a_broken_gpu_takes_nobodys_requests(self):
        measured = {"schema": 1, "uuid": THIRD, "driver_version": 13000, "copy_bytes_per_second": 1e10}
        devices = self.root / "cache" / "devices"
        for known, found_by in ((False, "cannot measure the bandwidth"), (True, f": GPU {THIRD}: ")):
            if known:  # In this case the judge notices.
                devices.mkdir(exist_ok=True)
                (devices / f"{THIRD}-13000.json").write_text(json.dumps(measured))
            with self.subTest(known=known), unittest.mock.patch.dict(os.environ, KGEN_FAKE_CUDA_CONTEXT="0,0,46"):
                answers = self.spool(20)
                shutil.rmtree(self.root / "spool")
                self.assertEqual([answer["type"] for answer in answers], ["record"] * 20, answers)
                records = [answer["record"] for answer in answers]
                self.assertEqual([record["environment"]["device_uuid"] for record in records], [FIRST] * 20)
                moved = [record for record in records if any(THIRD in label for label in record["labels"])]
                # Only those that were placed there before the first failure.
                self.assertIn(len(moved), (1, 2, 3))
                for words in (f"moved from {THIRD}: ", found_by, "sudo nvidia-smi -c DEFAULT"):
                    self.assertIn(words, " ".join(moved[0]["labels"]))

    def test_who_names_a_broken_gpu_is_told_so(self):
        os.environ["KGEN_FAKE_CUDA_CONTEXT"] = "0,0,46"
        worker = self.start()
        relu = task("relu")
        self.assertEqual(worker.judge(relu, "cuda", WRONG, {"device": "2"}).error["code"], "missing_device")
        self.assertEqual(self.judged(worker.judge(relu, "cuda", WRONG), ("accuracy",)), FIRST)

    def test_where_all_are_broken_that_is_the_answer(self):
        os.environ["KGEN_FAKE_CUDA_CONTEXT"] = "46,0,46"
        worker = self.start()
        for _ in range(3):
            answer = worker.judge(task("relu"), "cuda", WRONG)
            self.assertEqual(answer.error["code"], "missing_device")
            self.assertIn("nvidia-smi -c DEFAULT", answer.error["message"])

    def test_a_second_try_is_on_a_gpu_that_others_do_not_fill(self):
        os.environ["KGEN_FAKE_CUDA_HELD"] = f"{2 << 30},0,0"
        worker = self.start()
        answer = worker.judge(task("relu"), "cuda", REFUSED)
        self.assertEqual(self.judged(answer, ("launch",)), THIRD)
        self.assertIn("second try: memory in use", answer.record["labels"])
        # One of them that names no GPU is placed there from now on, warm judges elsewhere or not.
        again = [worker.judge(task("t", text), "cuda", REFUSED) for text in ("torch.relu(x)", "torch.relu(x) * 1")]
        self.assertEqual([self.judged(one, ("launch",)) for one in again], [THIRD] * 2)
        self.assertNotIn("second try", " ".join(again[0].record["labels"] + again[1].record["labels"]))
        named = worker.judge(task("relu"), "cuda", REFUSED, {"device": "0"})
        self.assertEqual(self.judged(named, ("suspect",)), FIRST)

    def test_a_task_that_does_not_fit_beside_others_goes_where_it_does(self):
        os.environ["KGEN_FAKE_CUDA_HELD"] = f"{(4 << 30) - (100 << 20)},0,0"
        worker = self.start()
        large = task("large", rows=65536)
        answer = worker.judge(large, "cuda", WRONG)
        self.assertEqual(self.judged(answer, ("accuracy",)), THIRD)
        self.assertIn(f"second try: memory ran out on {FIRST}", answer.record["labels"])
        self.assertIsNotNone(worker.wait(worker.describe(task("larger", rows=65537))).description)
        self.assertEqual(worker.judge(large, "cuda", WRONG, {"device": "0"}).error["code"], "out_of_memory")

    def test_memory_that_runs_out_on_one_gpu_ends_no_judge_of_another(self):
        os.environ["KGEN_FAKE_CUDA_HELD"] = f"{(4 << 30) - (100 << 20)},0,0"
        worker = self.start()
        relu = task("relu")
        for device in ("2", "0"):
            self.judged(worker.judge(relu, "cuda", WRONG, {"device": device}), ("accuracy",))
        large = worker.judge(task("large", rows=65536), "cuda", WRONG, {"device": "0"})
        self.assertEqual(large.error["code"], "out_of_memory")
        self.judged(worker.judge(task("again", "torch.relu(x) * 1"), "cuda", WRONG, {"device": "2"}), ("accuracy",))
        # Without its judge there, it would be placed on the least recently used device.
        self.assertEqual(self.judged(worker.judge(relu, "cuda", WRONG), ("accuracy",)), THIRD)

    def test_what_a_candidate_built_serves_all_of_one_model(self):
        worker = self.start()
        relu = task("relu")
        kept = []
        for device in ("0", "2", "1"):
            self.judged(worker.judge(relu, "torch", BUILDS, {**CHECKED, "device": device}))
            kept.append({path.read_text() for path in (self.root / "cache" / "builds" / "kept").glob("*/torch/built")})
        self.assertEqual(len(kept[0]), 1)
        self.assertEqual(kept[1], kept[0])
        self.assertEqual(len(kept[2]), 2)

    def test_a_spool_worker_takes_two_requests_for_each_gpu(self):
        spool = self.root / "spool"
        spool.mkdir()
        for i in range(8):
            request = {"task": task("slow"), "candidate": worker_client.make_candidate("cuda", SLOW), "options": {}}
            (spool / f"r{i}.request.json").write_text(json.dumps({"type": "evaluate", "id": i, "request": request}))
        for jobs, expected in (((), 4), (("--jobs", "3"), 3)):
            worker = subprocess.Popen([options.kgen, "worker", "--spool", spool, "--cache-dir", self.root / "cache", *jobs],
                                      stderr=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 300
                while len(list(spool.glob("*.claim.*"))) < expected and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(1)
                self.assertEqual(len(list(spool.glob("*.claim.*"))), expected)
            finally:
                worker.terminate()
                worker.wait(timeout=60)
            self.assertEqual(len(list(spool.glob("*.request.json"))), 8)

    def test_a_search_judges_on_all_of_them(self):
        (self.root / "relu.py").write_text(task("relu")["text"])
        (self.root / "wrong.cu").write_text(WRONG)
        # Each reply differs from the others: equal candidates share one verdict.
        (self.root / "reply.sh").write_text(f"""
echo '```cuda'
echo "// written by process $$"
cat {self.root}/wrong.cu
echo '```'
""")
        for device, expected in ((), {FIRST, THIRD}), (("--device", "2"), {THIRD}):
            results = self.root / f"results{len(device)}"
            self.kgen("run", str(self.root / "relu.py"), "--target", "cuda", "--policy", "one-shot", "--samples", "4",
                      "--llm", f"command:sh {self.root}/reply.sh", "--results", str(results),
                      "--cache-dir", str(self.root / "cache"), *device)
            records = [json.loads(path.read_text()) for path in results.glob("relu/result_*.json")]
            self.assertEqual([record["outcome"]["kind"] for record in records], ["accuracy"] * 4)
            self.assertEqual({record["environment"]["device_uuid"] for record in records}, expected)

    def test_all_of_them_are_shown(self):
        shown = json.loads(self.kgen("devices", "--json", "--cache-dir", str(self.root / "cache")))
        self.assertEqual([gpu["uuid"] for gpu in shown["gpus"]], [FIRST, OTHER, THIRD])
        text = self.kgen("doctor")
        self.assertIn("2 x Fake GPU (sm_90), 4 SMs, 4 GiB; Fake GPU of another model (sm_90), 4 SMs, 4 GiB;", text)


class Timed(Node):
    def timed(self, answer):
        """A right candidate; a busy machine may make it suspect."""
        return self.judged(answer, ("correct", "suspect"))

    def test_where_another_worker_measures_is_not_the_first_choice(self):
        worker = self.start()
        relu = task("relu")
        self.timed(worker.judge(relu, "cuda", RELU))
        with open(f"/tmp/kernelgen.{FIRST}.lock", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(self.timed(worker.judge(relu, "cuda", RELU)), THIRD)
        # Now both have the judge.
        ids = [worker.evaluate(relu, worker_client.make_candidate("cuda", WRONG)) for _ in range(2)]
        self.assertEqual({worker.wait(number).device for number in ids}, {FIRST, THIRD})

    def test_a_second_try_is_on_a_gpu_where_others_do_not_work(self):
        os.environ["KGEN_FAKE_CUDA_BUSY_US"] = "1000,0,0"
        worker = self.start()
        answer = worker.judge(task("relu"), "cuda", RELU)
        self.assertEqual(self.timed(answer), THIRD)
        self.assertIn("second try: busy machine", answer.record["labels"])
        self.assertLess(answer.record["timing"]["device_contention"], 0.5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--fake-cuda", required=True, help="the folder of the driver")
    options, rest = parser.parse_known_args()
    unittest.main(argv=["several_gpus_test.py", *rest])
