"""Tests of the judge process: the protocol from fork to times, and invalid requests."""

from __future__ import annotations

import json
import os
import pathlib
import random
import socket
import struct
import tempfile
import time
import unittest
from typing import Any

import harness
from harness import Bench, Judge, Zygote
from kernelgen_common import frames
from kernelgen_judge.server import waited_ns

TASK = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
    def forward(self, x):
        print("noise")
        return torch.relu(self.fc(x))
def get_inputs():
    return [torch.randn(16, 8)]
def get_init_inputs():
    return [8]
"""
ZYGOTE: Zygote


def setUpModule() -> None:
    global ZYGOTE
    ZYGOTE = Zygote("kernelgen_judge")


def tearDownModule() -> None:
    ZYGOTE.close()


def task(text: str) -> dict[str, str]:
    return {"name": "t", "path": "", "text": text, "level": "unknown"}


class ServerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.judge = Judge(ZYGOTE)
        self.addCleanup(self.judge.close)

    def fails(self, code: str, operation: str, **members: object) -> str:
        reply = self.judge.ask(operation, **members)
        self.assertFalse(reply["ok"])
        self.assertEqual(reply["error"]["code"], code, reply)
        self.assertNotIn("\n", reply["error"]["message"])
        return str(reply["error"]["message"])

    def test_ready(self) -> None:
        self.assertEqual(ZYGOTE.ready["protocol"], 1)
        self.assertIn("torch", ZYGOTE.ready)

    def test_from_load_to_times(self) -> None:
        bench = Bench(self.judge, TASK)
        self.assertEqual(bench.description["parameters"][0]["name"], "fc.weight")
        admission = self.judge.must("admit", cached=None)["admission"]
        self.assertEqual(admission["distributions"][0], "own")
        self.assertEqual(self.judge.must("admit", cached=admission)["admission"]["seconds"], admission["seconds"])
        seed = self.judge.must("weights", set=1)["seed"]
        self.assertEqual(seed, self.judge.must("weights", set=1)["seed"])
        self.assertNotEqual(seed, self.judge.must("weights", set=2)["seed"])
        for distribution in admission["distributions"]:
            reply = bench.prepare_call(distribution=distribution)
            self.assertGreater(reply["reference_ns"], 0)
            self.assertEqual(bench.check()["kind"], "accuracy")
        self.judge.must("weights", set=1)
        bench.prepare_call()
        bench.write("output", "output", self.compute(bench))
        self.assertEqual(bench.check()["kind"], "correct")
        self.assertEqual(len(self.judge.must("output_digest")["digest"]), 64)
        samples = self.judge.must("time_reference", seconds=0.1, min_samples=5, max_samples=20)["samples_ns"]
        self.assertTrue(5 <= len(samples) <= 20 and all(sample > 0 for sample in samples))
        bench.close()

    def test_each_judge_admits_a_task_in_the_same_way(self) -> None:
        found = []
        for judge in (self.judge, Judge(ZYGOTE)):
            bench = Bench(judge, TASK)
            admission = judge.must("admit", cached=None)["admission"]
            # How many draws of a weight set are judged depends on how long one takes.
            admission["weight_sets"] = set(admission["weight_sets"])
            found.append({name: admission[name] for name in ("distributions", "dropped", "float64_errors", "weight_sets")})
            bench.close()
        judge.close()
        self.assertEqual(*found)

    @staticmethod
    def compute(bench: Bench) -> bytes:
        """relu(x W^T + b) from the bytes in the arena, without torch."""
        x = struct.unpack("128f", bench.read("input", "x"))
        w = struct.unpack("64f", bench.read("parameter", "fc.weight"))
        b = struct.unpack("8f", bench.read("parameter", "fc.bias"))
        rows = [[b[j] + sum(x[i * 8 + k] * w[j * 8 + k] for k in range(8)) for j in range(8)] for i in range(16)]
        return struct.pack("128f", *[max(0.0, value) for row in rows for value in row])

    def test_replies_say_what_the_requests_got_of_the_processors(self) -> None:
        Bench(self.judge, TASK).close()
        running, waiting = self.judge.ask("layout")["processor_ns"]
        self.assertGreater(running, 0)
        self.assertGreaterEqual(waiting, 0)

    def test_waiting_for_a_processor_is_added_up_over_the_threads(self) -> None:
        with tempfile.TemporaryDirectory() as tasks:
            self.assertIsNone(waited_ns(tasks))
            for thread, text in {"7": "35419053 4390409 23\n", "8": "1000000 2000000 5\n", "9": None}.items():
                os.mkdir(f"{tasks}/{thread}")
                if text:
                    pathlib.Path(tasks, thread, "schedstat").write_text(text, encoding="ascii")
            self.assertEqual(waited_ns(tasks), 6390409)
            # A kernel that keeps no statistics says 0 everywhere.
            for thread in ("7", "8"):
                pathlib.Path(tasks, thread, "schedstat").write_text("0 0 0\n", encoding="ascii")
            self.assertIsNone(waited_ns(tasks))

    def test_requests_out_of_order(self) -> None:
        for operation in ("admit", "layout", "attach", "weights", "state", "prepare_call", "check", "time_reference", "output_digest"):
            self.fails("protocol", operation)
        self.fails("protocol", "dance")
        self.fails("protocol", "load")
        Bench(self.judge, TASK).close()
        self.fails("protocol", "load", task=task(TASK))
        self.fails("protocol", "check")
        self.fails("invalid_argument", "prepare_call", distribution="nowhere")
        self.judge.must("prepare_call", distribution="own")
        self.fails("protocol", "check", mode="lazily")
        self.fails("io", "state", set=1, path="/nonexistent", bytes=4)

    def test_tasks_that_cannot_be_used(self) -> None:
        for text, words in (("x = (", "syntax"), ("import nothing_like_this", "nothing_like_this"), ("pass", "Model"),
                            (TASK.replace("self.fc(x)", "self.fc(x, x)"), "forward"), ("raise SystemExit(0)", "SystemExit")):  # fmt: skip
            self.assertIn(words, self.fails("invalid_task", "load", task=task(text)))
        self.judge.must("load", task=task(TASK))

    def test_a_task_that_needs_too_much_memory(self) -> None:
        greedy = TASK.replace("torch.randn(16, 8)", "torch.randn(1 << 34)")
        self.assertIn("memory", self.fails("out_of_memory", "load", task=task(greedy), memory_bytes=2 << 30))

    def test_a_task_that_floods_its_output(self) -> None:
        noisy = "import os\nprint('x' * 10_000_000)\nos.write(1, b'y' * 10_000_000)\n" + TASK
        self.judge.must("load", task=task(noisy))

    def test_hostile_state_is_a_report_and_no_error(self) -> None:
        bench = Bench(self.judge, TASK)
        for index in (1, 2):
            self.judge.must("weights", set=index)
            state = harness.memory_file(os.urandom(500))
            reply = self.judge.must("state", set=index, path=harness.path_of(state), bytes=500)
            os.close(state)
        self.assertTrue(reply["done"])
        self.assertEqual(reply["outcome"]["kind"], "cheat")
        self.assertEqual(reply["outcome"]["detail"], "protocol")
        bench.close()

    def test_a_state_that_takes_all_memory_is_the_candidates_outcome(self) -> None:
        bench = Bench(self.judge, TASK, memory_bytes=1 << 30)

        def exported(count: int) -> dict[str, Any]:
            header = json.dumps({"tensors": [{"name": "w", "dtype": "uint8", "shape": [count], "offset": 4096, "nbytes": count}]})
            # A file without contents, which takes no memory before it is read.
            state = harness.memory_file(len(header).to_bytes(4, "little") + header.encode())
            os.ftruncate(state, 4096 + count)
            try:
                return self.judge.must("state", set=1, path=harness.path_of(state), bytes=4096 + count)
            finally:
                os.close(state)

        self.judge.must("weights", set=1)
        for count in (1 << 29, 1 << 34):
            reply = exported(count)
            self.assertTrue(reply["done"])
            self.assertEqual(reply["outcome"]["kind"], "out_of_memory", reply)
        self.assertNotIn("outcome", exported(1 << 20))
        bench.close()

    def test_hostile_descriptions_of_outputs_are_the_candidates_outcome(self) -> None:
        bench = Bench(self.judge, TASK.replace("return torch.relu(self.fc(x))", "return torch.relu(self.fc(x)), 0.5"))
        tensors = [{"dtype": "float32", "shape": [16, 8]}]
        good = {"structure": {"tuple": [{"tensor": "output[0]"}, {"float": "0x1p-1"}]}, "tensors": tensors}
        self.assertEqual(self.described(bench, json.dumps(good).encode())["kind"], "accuracy")  # nothing was computed
        for scale in ("half", "", "0x" + "f" * 5000, [], {}, 7, None, 1e300, True):
            hostile = {"structure": {"tuple": [{"tensor": "output[0]"}, {"float": scale}]}, "tensors": tensors}
            self.assertEqual(self.described(bench, json.dumps(hostile).encode())["detail"], "protocol", scale)
        for body in (b"[]", b"{", b"[" * 50000, b'{"tensors":[{"dtype":3,"shape":[]}]}', b"\xff", b"9" * 6000):
            self.assertEqual(self.described(bench, body)["detail"], "protocol", body[:20])
        bench.close()

    def test_fuzzed_descriptions_of_outputs_end_no_request(self) -> None:
        bench = Bench(self.judge, TASK.replace("return torch.relu(self.fc(x))", "return torch.relu(self.fc(x)), 0.5"))
        rng = random.Random(5)
        structure = {"tuple": [{"tensor": "output[0]"}, {"float": "0x1p-1"}]}
        good = json.dumps({"structure": structure, "tensors": [{"dtype": "float32", "shape": [16, 8]}]}).encode()
        pieces = [b"{", b"}", b"[", b"]", b'"', b"null", b"-1", b"1e999", b'"float"', b'"\\ud800"', b'"fields"', b":", b","]
        for _ in range(300):
            data = bytearray(good)
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(data))
                data[at : at + rng.randint(0, 8)] = rng.choice([*pieces, bytes([rng.randrange(256)])])
            self.assertIn(self.described(bench, bytes(data))["kind"], ("cheat", "accuracy"))
        bench.close()

    @staticmethod
    def described(bench: Bench, body: bytes) -> dict[str, Any]:
        """The outcome of a call after which these bytes describe the outputs."""
        bench.prepare_call()
        (place,) = (tensor for tensor in bench.layout["python_job"]["tensors"] if tensor["role"] == "report")
        os.pwrite(bench.arena, len(body).to_bytes(4, "little") + body, place["segment_offset"] + place["offset"])
        return bench.check()

    def test_a_child_ends_with_its_socket_and_leaves_no_zombie(self) -> None:
        judge = Judge(ZYGOTE)
        self.assertTrue(os.path.exists(f"/proc/{judge.pid}"))
        judge.close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.alive(judge.pid):
            time.sleep(0.02)
        self.assertFalse(self.alive(judge.pid))

    @staticmethod
    def alive(pid: int) -> bool:
        # The process that adopted it (the worker is a subreaper, a test is not) may not have reaped it yet.
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def test_garbage_ends_the_child_but_not_the_zygote(self) -> None:
        self.judge.connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        try:
            self.assertIsNone(frames.receive(self.judge.connection))
        except ConnectionResetError:
            pass
        self.assertTrue(Judge(ZYGOTE).ask("nothing")["error"])

    def test_a_zygote_ends_with_its_socket(self) -> None:
        zygote = Zygote("kernelgen_judge")
        zygote.connection.close()
        self.assertEqual(zygote.process.wait(10), 0)

    def test_a_zygote_refuses_what_is_no_fork(self) -> None:
        frames.send(ZYGOTE.connection, {"op": "fork", "id": 5})
        self.assertFalse(frames.receive(ZYGOTE.connection).body["ok"])
        left, right = socket.socketpair()
        frames.send(ZYGOTE.connection, {"op": "exec", "id": 6}, [right.fileno()])
        self.assertEqual(frames.receive(ZYGOTE.connection).body["error"]["code"], "protocol")
        left.close()
        right.close()


if __name__ == "__main__":
    unittest.main()
