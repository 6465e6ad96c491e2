"""The Python runner on the fake device: memory of another process, the device's clock, faults, work on other streams, kept builds."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from harness import FAKE_UUID, SUPPORT, Answer, Bench, Judge, Runner, Zygote, exchange_weights, load_candidate, runner_arguments
from kernelgen_runner import protocol
from trial import HONEST, TASK, TWO_OUTPUTS, Trial, TrialCase, Zygotes, model

setUpModule, tearDownModule = Zygotes.start, Zygotes.stop

RIGHT = "torch.tanh(self.fc(x))"
DRIVER = "import ctypes\ndriver = ctypes.CDLL('libcuda.so.1')\n"
ILLEGAL_ADDRESS = 700


class GpuRunnerTest(TrialCase):
    def ready(self, source: str, task: str = TASK, **options: object) -> Trial:
        """A candidate with exchanged weights."""
        trial = self.trial(source, task, **options)
        self.assertEqual(trial.loaded.status, protocol.OK, trial.loaded.text)
        _, failed = exchange_weights(trial.runner, trial.bench)
        self.assertIsNone(failed, failed and failed.text)
        trial.judge.must("weights", set=1)
        return trial

    def first_call(self, source: str, flags: int = 0) -> Answer:
        return self.ready(source).call(flags)[0]

    def test_an_honest_candidate(self) -> None:
        self.assertEqual(self.verdict(HONEST), "correct", getattr(self, "message", ""))
        self.assertEqual(self.verdict(TWO_OUTPUTS.replace("class Model(", "class ModelNew("), TWO_OUTPUTS), "correct")

    def test_outputs_lie_in_the_device_arena_and_the_device_times_them(self) -> None:
        trial = self.ready(HONEST)
        answer, outcome = trial.call()
        self.assertEqual((answer.status, outcome["kind"]), (protocol.OK, "correct"), answer.text)
        side, _, third, device_ns = answer.arguments
        self.assertEqual((third, answer.data), (0, b""))
        self.assertGreater(device_ns, 1000)
        # The least of several calls, because others may run for milliseconds between two readings of a clock.
        calls = [answer, *(trial.call()[0] for _ in range(9))]
        self.assertLess(min(call.arguments[1] for call in calls), 10_000_000)
        self.assertLess(min(call.arguments[3] - (call.end_ns - call.start_ns) for call in calls), 1_000_000)

    def test_buffers_are_restored_and_random_numbers_repeat(self) -> None:
        batchnorm = TASK.replace("nn.Linear(n, n)", "nn.BatchNorm1d(n)")
        self.assertEqual(self.verdict(batchnorm.replace("class Model(", "class ModelNew("), batchnorm), "correct")
        random = TASK.replace("self.fc(x))", "self.fc(x) + torch.randn(64))")
        self.assertEqual(self.verdict(random.replace("class Model(", "class ModelNew("), random), "correct")

    def test_wrong_results(self) -> None:
        self.assertEqual(self.verdict(model("return torch.empty_like(x)")), "accuracy:mismatch")
        self.assertEqual(self.verdict(model(f"return {RIGHT}[:1]")), "accuracy:shape")
        self.assertEqual(self.verdict(model(f"return {RIGHT}.double()")), "accuracy:dtype")
        self.assertEqual(self.verdict(model("return torch.empty(32, 64, device='meta')")), "status 7")
        self.assertEqual(self.verdict(model(f"y = {RIGHT}; x.zero_(); return y")), "mutated_input")

    def test_views_are_made_contiguous(self) -> None:
        for expression in ("torch._neg_view(-y)", "y.t().contiguous().t()", "torch.stack([y, y])[0]"):
            self.assertEqual(self.verdict(model(f"y = {RIGHT}; return {expression}"), calls=1), "correct", expression)

    def test_work_that_goes_on_when_the_stream_is_done(self) -> None:
        forward = f"driver.kgen_fake_cuda_delay(ctypes.c_int64(20_000_000)); return {RIGHT}"
        answer = self.first_call(model(forward, before=DRIVER))
        self.assertEqual(answer.status, protocol.OK, answer.text)
        self.assertGreaterEqual(answer.arguments[1], 20_000_000)

    def test_a_device_fault_in_a_call(self) -> None:
        answer = self.first_call(model(f"driver.kgen_fake_cuda_fault({ILLEGAL_ADDRESS}); return {RIGHT}", before=DRIVER))
        self.assertEqual((answer.status, answer.detail), (protocol.DEVICE_FAULT, ILLEGAL_ADDRESS), answer.text)
        self.assertIn("illegal memory access", answer.text)

    def test_a_device_fault_behind_an_exception(self) -> None:
        forward = f"driver.kgen_fake_cuda_fault({ILLEGAL_ADDRESS})\nraise RuntimeError('CUDA error: who knows')"
        answer = self.first_call(model(forward, before=DRIVER))
        self.assertEqual((answer.status, answer.detail), (protocol.DEVICE_FAULT, ILLEGAL_ADDRESS), answer.text)
        self.assertIn("illegal memory access", answer.text)
        self.assertIn("who knows", answer.text)
        self.assertIn("in forward", answer.text)

    def test_a_device_fault_while_importing_and_constructing(self) -> None:
        fault = f"driver.kgen_fake_cuda_fault({ILLEGAL_ADDRESS}); raise ValueError('later')"
        self.assertEqual(self.verdict(model("return x", before=DRIVER + fault)), f"status {protocol.DEVICE_FAULT}")
        self.assertEqual(self.verdict(model("return x", fault, DRIVER)), f"status {protocol.DEVICE_FAULT}")
        quiet = f"driver.kgen_fake_cuda_fault({ILLEGAL_ADDRESS})"
        self.assertEqual(self.verdict(model("return x", quiet, DRIVER)), f"status {protocol.DEVICE_FAULT}")

    def test_a_fault_after_which_the_runtime_aborts(self) -> None:
        words = "Memory access fault by GPU node-1 (Agent handle: 0x55d8390cfe70) on address 0x%x. Reason: Unknown.\n"
        abort = f"import os\nos.write(2, ({words!r} % (x.data_ptr() & ~4095)).encode())\nos.abort()"
        answer = self.first_call(model(abort))
        self.assertEqual((answer.op, answer.status), (protocol.OP_CRASH, protocol.DEVICE_FAULT), answer.text)
        self.assertRegex(answer.text, r"^Memory access fault by GPU node-1 .* The page is at address 0x[0-9a-f]+, .*'")
        # The words alone change nothing.
        answer = self.first_call(model(f"import sys\nprint({words!r}, file=sys.stderr, flush=True)\nreturn {RIGHT}"))
        self.assertEqual(answer.status, protocol.OK, answer.text)

    def test_an_exception_on_a_healthy_device_is_one(self) -> None:
        answer = self.first_call(model("raise ValueError('no')"))
        self.assertEqual(answer.status, protocol.EXCEPTION)
        self.assertIn("ValueError: no", answer.text)

    def test_out_of_device_memory(self) -> None:
        text = "CUDA out of memory. Tried to allocate 32.00 TiB"
        answer = self.first_call(model(f"raise torch.OutOfMemoryError({text!r})"))
        self.assertEqual(answer.status, protocol.OUT_OF_MEMORY)
        self.assertIn("32.00 TiB", answer.text)
        answer = self.first_call(model(f"driver.kgen_fake_cuda_fault(2); return {RIGHT}", before=DRIVER))
        self.assertEqual((answer.status, answer.detail), (protocol.OUT_OF_MEMORY, 2), answer.text)

    def test_out_of_shared_memory_is_told_in_full(self) -> None:
        before = "class OutOfResources(Exception): pass\n"
        text = "out of resource: shared memory, Required: 102400, Hardware limit: 101376. Reducing `num_stages` may help."
        answer = self.first_call(model(f"raise OutOfResources({text!r})", before=before))
        self.assertEqual(answer.status, protocol.EXCEPTION)
        self.assertIn(f"OutOfResources: {text}", answer.text)

    def test_a_graph_cannot_be_had_and_calls_go_on(self) -> None:
        trial = self.ready(HONEST)
        for _ in range(2):
            answer, _ = trial.call(protocol.RUN_GRAPH)
            self.assertEqual((answer.status, answer.text), (protocol.NOT_CAPTURABLE, "no graphs on this device"))
        answer, outcome = trial.call()
        self.assertEqual((answer.status, outcome["kind"]), (protocol.OK, "correct"))

    def test_commands_that_make_no_sense(self) -> None:
        trial = self.trial(HONEST)
        runner = Runner(Zygotes.runners)
        self.addCleanup(runner.close)
        self.assertEqual(runner.ask(protocol.OP_LOAD, protocol.CODE_PYTHON).status, protocol.PROTOCOL)
        trial.bench.layout["python_job"]["device"] = {"vendor": "fake", "uuid": "GPU-another"}
        refused = load_candidate(runner, trial.bench, HONEST)
        self.assertEqual(refused.status, protocol.PROTOCOL)
        self.assertIn("GPU-another", refused.text)
        trial.bench.layout["python_job"]["device"] = None
        self.assertIn("for the processor", load_candidate(runner, trial.bench, HONEST).text)

    def test_memory_that_is_none_of_the_device(self) -> None:
        trial = self.trial(HONEST)
        runner = Runner(Zygotes.runners)
        self.addCleanup(runner.close)
        os.close(trial.bench.device_arena or -1)
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        trial.bench.device_arena = reader
        self.assertEqual(load_candidate(runner, trial.bench, HONEST).status, protocol.DEVICE_FAULT)


class OtherRunnersTest(unittest.TestCase):
    def test_a_device_that_is_not_there(self) -> None:
        arguments = [argument if argument != FAKE_UUID else "GPU-none" for argument in runner_arguments()]
        zygote = Zygote("kernelgen_runner", *arguments)
        self.addCleanup(zygote.close)
        runner = Runner(zygote)
        self.addCleanup(runner.close)
        self.assertEqual(runner.hello.status, protocol.DEVICE_FAULT)
        self.assertEqual(runner.hello.text, "there is no GPU GPU-none")

    def test_a_job_for_a_device_needs_a_runner_for_it(self) -> None:
        arguments = runner_arguments()
        zygote = Zygote("kernelgen_runner", *arguments[: arguments.index("--gpu")])
        judge = Judge(Zygotes.judges)
        self.addCleanup(judge.close)
        self.addCleanup(zygote.close)
        bench, runner = Bench(judge, TASK), Runner(zygote)
        self.addCleanup(runner.close)
        self.addCleanup(bench.close)
        self.assertEqual(load_candidate(runner, bench, HONEST).status, protocol.PROTOCOL)
        bench.device_arena = None
        self.assertIn(FAKE_UUID, load_candidate(runner, bench, HONEST).text)


class KeptBuildsTest(TrialCase):
    """A directory of the worker with the earlier builds of a candidate."""

    BEFORE = """
        import os, pathlib, subprocess
        place = pathlib.Path(os.environ["TORCH_EXTENSIONS_DIR"])
        assert place.is_dir() and os.path.isdir(os.environ["TRITON_CACHE_DIR"])
        assert not (place / "relu" / "lock").exists(), "a runner that is killed in a build leaves its lock"
        with open(place / "log", "a") as file:
            file.write("here\\n")
        (place / "relu").mkdir(exist_ok=True)
        subprocess.run(["touch", str(place / "relu" / "lock")], check=True)
    """

    def load(self, slot: Path, kept: Path) -> Answer:
        """Acts as a worker: a runner gets its own directory, into which the candidate's builds are moved, and back."""
        slot.mkdir()
        runner = Runner(Zygotes.runners, builds=str(slot))
        if kept.exists():
            kept.rename(slot / "kept")
        answer = load_candidate(runner, self.bench, model("return x", before=self.BEFORE))
        (slot / "kept").rename(kept)
        runner.close()
        return answer

    def test_what_is_built_is_kept_and_found_again(self) -> None:
        judge = Judge(Zygotes.judges)
        self.addCleanup(judge.close)
        self.bench = Bench(judge, TASK)
        self.addCleanup(self.bench.close)
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            shelf = Path(name)
            kept = shelf / "candidate"
            for number in (1, 2):
                answer = self.load(shelf / f"runner{number}", kept)
                self.assertEqual(answer.status, protocol.OK, answer.text)
                self.assertEqual((kept / "torch" / "log").read_text(), "here\n" * number)

    @unittest.skipUnless(SUPPORT, "KGEN_RUNNER_SUPPORT names no library")
    def test_the_rest_of_the_file_system_stays_closed(self) -> None:
        before = """
            import os
            for path in ("/tmp/builds/../../var/tmp/made", "/etc/made", "/usr/made"):
                try:
                    open(path, "w")
                except OSError as error:
                    assert error.errno in (2, 13, 30), error
            assert os.path.realpath("/tmp/builds/..") == "/tmp"
            assert sorted(os.listdir("/tmp/builds")) == ["compiler", "kept"]
        """
        with tempfile.TemporaryDirectory(dir="/var/tmp") as slot:
            trial = Trial(model("return x", before=before), members={"builds": slot})
            self.addCleanup(trial.close)
            self.assertEqual(trial.loaded.status, protocol.OK, trial.loaded.text)
        self.assertFalse(os.path.exists("/var/tmp/made"))


if __name__ == "__main__":
    unittest.main()
