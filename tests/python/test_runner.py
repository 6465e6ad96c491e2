"""Tests of the Python runner with honest and hostile ModelNew modules."""

from __future__ import annotations

import os
import signal
import unittest
from typing import Any

import torch

from harness import SUPPORT, Bench, Judge, Runner, RunnerDied, exchange_weights, open_job
from kernelgen_runner import protocol, runner
from kernelgen_runner.protocol import Failure
from trial import HONEST, TASK, TWO_OUTPUTS, TrialCase, Zygotes, model

setUpModule, tearDownModule = Zygotes.start, Zygotes.stop


class RunnerTest(TrialCase):
    # -- honest ---------------------------------------------------------------------------------------------------

    def test_hello(self) -> None:
        runner = Runner(Zygotes.runners)
        self.addCleanup(runner.close)
        self.assertEqual((runner.hello.op, runner.hello.sequence), (protocol.OP_HELLO, 0))
        self.assertEqual(runner.hello.arguments[0], protocol.ABI_VERSION)

    def test_the_reference_itself(self) -> None:
        self.assertEqual(self.verdict(HONEST), "correct")
        self.assertEqual(self.verdict(TWO_OUTPUTS.replace("class Model(", "class ModelNew("), TWO_OUTPUTS), "correct")

    def test_renamed_and_packed_weights(self) -> None:
        init = """
            fc = nn.Linear(n, n)
            self.packed = torch.cat([fc.weight.detach().T, fc.bias.detach()[None]]).contiguous()
        """
        self.assertEqual(self.verdict(model("return torch.tanh(x @ self.packed[:-1] + self.packed[-1])", init)), "correct")

    def test_harmless_habits(self) -> None:
        before = """
            try:
                import a_library_that_is_not_there as fast
            except ImportError:
                fast = None
            class Unused:
                pass
        """
        init = "self.fc = nn.Linear(n, n); self.cache = {}; self.register_buffer('work', torch.zeros(32, n), persistent=False)"
        forward = """
            w = self.cache.setdefault("weight", self.fc.weight)
            torch.mm(x, w.t(), out=self.work)
            return self.work.add_(self.fc.bias).tanh_()
        """
        self.assertEqual(self.verdict(model(forward, init, before)), "correct", getattr(self, "message", ""))

    def test_batchnorm_in_train_mode_and_random_forward(self) -> None:
        batchnorm = TASK.replace("nn.Linear(n, n)", "nn.BatchNorm1d(n)")
        self.assertEqual(self.verdict(batchnorm.replace("class Model(", "class ModelNew("), batchnorm), "correct")
        random = TASK.replace("self.fc(x))", "self.fc(x) + torch.randn(64))")
        self.assertEqual(self.verdict(random.replace("class Model(", "class ModelNew("), random), "correct")

    def test_threads_of_its_own(self) -> None:
        forward = """
            from concurrent.futures import ThreadPoolExecutor
            y = torch.empty_like(x)
            w, b = WEIGHTS
            def rows(first):
                y[first : first + 8] = torch.tanh(x[first : first + 8] @ w.t() + b)
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(rows, range(0, 32, 8)))
            return y
        """
        # New threads track gradients: with the parameters themselves, the result carries a graph, and two threads would race
        # for it in torch itself.
        for weights, threads in (("self.fc.weight.detach(), self.fc.bias.detach()", "4"), ("self.fc.weight, self.fc.bias", "1")):
            found = self.verdict(model(forward.replace("WEIGHTS", weights).replace("THREADS", threads)))
            self.assertEqual(found, "correct", getattr(self, "message", ""))

    def test_outputs_that_carry_a_graph(self) -> None:
        forward = "with torch.enable_grad():\n    return torch.tanh(self.fc(x))"
        self.assertEqual(self.verdict(model(forward)), "correct", getattr(self, "message", ""))
        forward = "torch.set_grad_enabled(True); return torch.tanh(self.fc(x)).t().contiguous().t()"
        self.assertEqual(self.verdict(model(forward)), "correct", getattr(self, "message", ""))
        weight = TASK.replace("torch.tanh(self.fc(x))", "self.fc.weight")
        self.assertEqual(self.verdict(weight.replace("class Model(", "class ModelNew("), weight), "correct")

    def test_gradients_are_off_as_in_kernelbench(self) -> None:
        check = "assert not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()"
        init = f"{check}; self.fc = nn.Linear(n, n)"
        found = self.verdict(model(f"{check}; return torch.tanh(self.fc(x))", init))
        self.assertEqual(found, "correct", getattr(self, "message", ""))

    def test_half_precision(self) -> None:
        self.assertEqual(self.verdict(HONEST, precision="bf16"), "correct", getattr(self, "message", ""))

    # -- not a candidate ------------------------------------------------------------------------------------------

    def test_syntax(self) -> None:
        self.assertEqual(self.verdict("def f(:\n"), "status 1")
        self.assertIn("line 1", self.message)
        self.assertEqual(self.verdict("x = 1\0"), "status 1")
        self.assertNotIn("None", self.message)

    def test_import_and_interface(self) -> None:
        self.assertEqual(self.verdict("import nothing_like_this"), "status 2")
        self.assertIn("nothing_like_this", self.message)
        self.assertEqual(self.verdict(""), "status 3")
        self.assertEqual(self.verdict("class ModelNew: pass"), "status 3")

    def test_exceptions_name_the_line(self) -> None:
        self.assertEqual(self.verdict(model("return x", "raise ValueError('no')")), "status 5")
        self.assertIn("ValueError: no\n  line", self.message)
        self.assertEqual(self.verdict(model("return self.nothing", "self.fc = nn.Linear(n, n)")), "status 5")
        self.assertIn("in forward", self.message)

    def test_hostile_exception(self) -> None:
        before = "class E(Exception):\n    def __str__(self): raise E\n    def __reduce__(self): return (print, ())\n"
        self.assertEqual(self.verdict(model("raise E()", before=before)), "status 5")

    # -- wrong or hostile -----------------------------------------------------------------------------------------

    def test_own_random_weights(self) -> None:
        self.assertEqual(self.verdict(model("return torch.tanh(self.fc(x))", "torch.randn(1); self.fc = nn.Linear(n, n)")), "weight_sync")
        self.assertIn("fc.weight", self.message)

    def test_search_for_the_reference(self) -> None:
        forward = """
            import gc
            for o in gc.get_objects():
                if isinstance(o, nn.Module) and type(o).__name__ == "Model":
                    return o(x)
            return torch.zeros_like(x)
        """
        self.assertEqual(self.verdict(model(forward)), "accuracy:mismatch")

    def test_patched_comparison_and_clocks(self) -> None:
        before = """
            import time
            torch.allclose = lambda *a, **k: True
            torch.equal = lambda *a, **k: True
            torch.Tensor.copy_ = lambda self, other: self
            time.perf_counter = time.perf_counter_ns = time.monotonic_ns = lambda: 0
        """
        self.assertEqual(self.verdict(model("return torch.zeros_like(x)", before=before)), "accuracy:mismatch")
        trial = self.trial(model("return torch.tanh(self.fc(x))", before=before))
        exchange_weights(trial.runner, trial.bench)
        trial.judge.must("weights", set=1)
        answer, outcome = trial.call()
        self.assertEqual(outcome["kind"], "correct")
        self.assertGreater(answer.end_ns, answer.start_ns)

    def test_exit_and_system_exit(self) -> None:
        for forward in ("import os; os._exit(0)", "raise SystemExit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
            with self.assertRaises(RunnerDied):
                self.verdict(model(forward))

    def test_exit_while_importing(self) -> None:
        with self.assertRaises(RunnerDied):
            self.verdict("import os; os._exit(0)")

    def test_a_fake_verdict_on_every_stream(self) -> None:
        before = "import os, sys\nprint('correct'); os.write(1, b'correct' * 1000000); sys.stderr.write('ok')\n"
        self.assertEqual(self.verdict(model("return torch.zeros_like(x)", before=before)), "accuracy:mismatch")

    def test_lazy_tensors(self) -> None:
        before = "class Lazy(torch.Tensor):\n    pass\n"
        self.assertEqual(self.verdict(model("return torch.tanh(self.fc(x)).as_subclass(Lazy)", before=before)), "status 7")
        self.assertIn("Lazy", self.message)
        before = """
            from torch.overrides import TorchFunctionMode
            class Later(TorchFunctionMode):
                def __torch_function__(self, f, t, a=(), k=None):
                    return f(*a, **(k or {}))
        """
        self.assertEqual(self.verdict(model("Later().__enter__(); return torch.tanh(self.fc(x))", before=before)), "status 7")
        self.assertEqual(self.verdict(model("return torch.empty(32, 64, device='meta')")), "status 7")

    def test_an_input_is_overwritten(self) -> None:
        self.assertEqual(self.verdict(model("y = torch.tanh(self.fc(x)); x.zero_(); return y")), "mutated_input")

    def test_structure_dtype_and_shape(self) -> None:
        right = "torch.tanh(self.fc(x))"
        self.assertEqual(self.verdict(model(f"return ({right},)")), "accuracy:structure")
        self.assertEqual(self.verdict(model("return None")), "accuracy:structure")
        self.assertEqual(self.verdict(model("return object()")), "status 7")
        self.assertEqual(self.verdict(model(f"return {right}.double()")), "accuracy:dtype")
        self.assertEqual(self.verdict(model(f"return {right}[:1]")), "accuracy:shape")
        self.assertEqual(self.verdict(model("y = self.fc(x); return y", ), TWO_OUTPUTS), "accuracy:structure")
        self.assertEqual(self.verdict(model("y = self.fc(x); return y, y < 0"), TWO_OUTPUTS), "accuracy:mismatch")
        self.assertIn("output[1]", self.message)

    def test_wrong_numbers(self) -> None:
        for expression in ("torch.empty_like(x)", "torch.zeros_like(x)", "torch.full_like(x, 0.5)", "x", "x * 0 + 1e30",
                           "314 * torch.tanh(self.fc(x))"):  # fmt: skip
            self.assertEqual(self.verdict(model(f"return {expression}")), "accuracy:mismatch", expression)
        self.assertEqual(self.verdict(model("return torch.full_like(x, float('nan'))")), "accuracy:nan")

    def test_a_series_of_calls(self) -> None:
        """Each call has its slot; one result of another form, or a wrong one, makes the series wrong."""
        count, honest = "self.n = getattr(self, 'n', 0) + 1", "torch.tanh(self.fc(x))"
        kept = f"y = {honest}\nreturn self.__dict__.setdefault('y', torch.empty_like(y)).copy_(y)"
        for body, wanted in ((f"return {honest}", "correct"),
                             (kept, "correct"),
                             (f"{count}\nreturn {honest} + (self.n == 3)", "accuracy"),
                             (f"{count}\nreturn {honest}.half() if self.n == 3 else {honest}", "accuracy")):  # fmt: skip
            trial = self.trial(model(body))
            exchange_weights(trial.runner, trial.bench)
            trial.judge.must("weights", set=1)
            prepared = trial.bench.prepare_call(canary=True, calls=4)
            self.assertEqual(prepared["calls"], 4)
            answer = trial.runner.ask(protocol.OP_RUN, 1, int(prepared["forward_seed"]), 0, prepared["slot"], 4)
            self.assertEqual((answer.status, trial.bench.check()["kind"]), (protocol.OK, wanted))
        beyond = trial.bench.layout["slots"]
        for slot, calls in ((beyond, 1), (0, beyond + 1)):
            self.assertEqual(trial.runner.ask(protocol.OP_RUN, 1, 0, 0, slot, calls).status, protocol.PROTOCOL)

    def test_no_code_of_the_candidate_s_runs_between_its_inputs_and_its_call(self) -> None:
        """Freeing an answer may run some, and a mode that it leaves would see what the runner does before the next call."""
        mode = (
            "import weakref\nfrom torch.overrides import TorchFunctionMode\nclass Mode(TorchFunctionMode):\n"
            "    def __torch_function__(self, function, types, arguments=(), named=None):\n"
            "        return function(*arguments, **(named or {}))\n"
        )
        freed = "y = torch.tanh(self.fc(x))\nself.__dict__.setdefault('seen', []).append(weakref.ref(y, lambda _: CALLBACK))\nreturn y"
        for callback, entered in (("None", False), ("Mode().__enter__()", True)):
            trial = self.trial(model(mode + freed.replace("CALLBACK", callback)))
            exchange_weights(trial.runner, trial.bench)
            found = []
            for _ in range(3):
                answer = trial.runner.ask(protocol.OP_RUN, 1, 0, 0, 0, 1)
                found.append((answer.status, answer.text))
            self.assertEqual(found[0][0], protocol.OK)
            if entered:
                self.assertEqual(found[1], (protocol.STRUCTURE, "forward() left a torch function mode active"))
                self.assertEqual(found[2], (protocol.STRUCTURE, "a torch function mode was active before a call"))
            else:
                self.assertEqual([status for status, _ in found], [protocol.OK] * 3)

    def test_buffers_are_restored_without_code_of_the_candidate_s(self) -> None:
        seen: list[str] = []

        class Hooked(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
                seen.append(str(function))
                return super().__torch_function__(function, types, arguments, named or {})

        class Wrapped(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
                seen.append(str(function))
                return torch.zeros(3).as_subclass(cls)

        buffer = torch.zeros(3).as_subclass(Hooked)
        plain = runner._plain("mean", buffer)
        torch._foreach_copy_([plain], [torch.ones(3)])
        self.assertEqual(seen, [])
        self.assertEqual(plain.tolist(), [1, 1, 1])
        self.assertEqual(plain.data_ptr(), buffer.data_ptr())
        with self.assertRaisesRegex(Failure, "buffer mean is a .*Wrapped, not a plain torch.Tensor"):
            runner._plain("mean", torch.zeros(3).as_subclass(Wrapped))

    def test_a_rehearsal_works_for_as_long_as_it_is_asked_to(self) -> None:
        judge, runner = Judge(Zygotes.judges), Runner(Zygotes.runners)
        bench = Bench(judge, TASK)
        for one in (judge, runner, bench):
            self.addCleanup(one.close)
        self.assertEqual(open_job(runner, bench).status, protocol.OK)
        for nanoseconds in (0, 3_000_000, 0):
            answer = runner.ask(protocol.OP_RUN, protocol.REHEARSAL, nanoseconds, 0, 0, 1)
            self.assertEqual(answer.status, protocol.OK, answer.text)
            self.assertEqual(answer.end_ns - answer.start_ns >= 3_000_000, nanoseconds > 0)

    def test_caches(self) -> None:
        for key in ("x.data_ptr()", "x.shape", "0"):
            forward = f"c = self.cache\nreturn c.setdefault({key}, torch.tanh(self.fc(x)))"
            init = "self.fc = nn.Linear(n, n); self.cache = {}"
            self.assertEqual(self.verdict(model(forward, init)), "accuracy:mismatch", key)
            self.assertIn("stale", self.message)

    def test_views_that_put_off_work(self) -> None:
        for expression in ("torch._neg_view(-y)", "y.t().contiguous().t()", "torch.stack([y, y])[0]", "torch.complex(y, -y).conj().imag"):
            self.assertEqual(self.verdict(model(f"y = torch.tanh(self.fc(x)); return {expression}")), "correct", expression)

    def test_outputs_in_place(self) -> None:
        trial = self.trial(HONEST)
        exchange_weights(trial.runner, trial.bench)
        trial.judge.must("weights", set=1)
        answer, outcome = trial.call(protocol.RUN_IN_PLACE)
        self.assertEqual((answer.status, answer.arguments[2], len(answer.data)), (protocol.OK, 1, 8))
        self.assertNotEqual(answer.data, bytes(8))
        self.assertIn("not written", outcome["message"])
        # A result of the wrong shape is not fetched; the description gives the reason.
        other = self.trial(model("return torch.tanh(self.fc(x))[:1]"))
        exchange_weights(other.runner, other.bench)
        other.judge.must("weights", set=1)
        answer, outcome = other.call(protocol.RUN_IN_PLACE)
        self.assertEqual((answer.status, answer.arguments[2], answer.data), (protocol.OK, 0, b""))
        self.assertEqual(outcome["detail"], "shape")

    def test_right_on_some_calls_only(self) -> None:
        init = "self.fc = nn.Linear(n, n); self.calls = 0"
        for condition in ("self.calls == 1", "self.calls != 1"):
            forward = f"self.calls += 1\ny = torch.tanh(self.fc(x))\nreturn y if {condition} else y * 0.9"
            self.assertEqual(self.verdict(model(forward, init)), "accuracy:mismatch")

    def test_memory_beyond_the_cap(self) -> None:
        trial = self.trial(model("return torch.empty(100 << 30).fill_(1)"), memory=1 << 30)
        exchange_weights(trial.runner, trial.bench)
        answer, _ = trial.call()
        self.assertEqual(answer.status, protocol.OUT_OF_MEMORY, answer.text)
        listed = self.trial(model("return [bytearray(1 << 28) for _ in range(400)]"), memory=1 << 30)
        exchange_weights(listed.runner, listed.bench)
        answer, _ = listed.call()
        self.assertEqual(answer.status, protocol.OUT_OF_MEMORY, answer.text)

    def test_commands_that_make_no_sense(self) -> None:
        runner = Runner(Zygotes.runners)
        self.addCleanup(runner.close)
        for op in (protocol.OP_CONSTRUCT, protocol.OP_RUN, protocol.OP_JOB, protocol.OP_LOAD, protocol.OP_EXPORT_STATE, 77):
            self.assertEqual(runner.ask(op, 1, 2).status, protocol.PROTOCOL)
        runner.control.send(b"not a command")
        self.assertEqual(runner.ask(77).status, protocol.PROTOCOL)


@unittest.skipUnless(SUPPORT, "KGEN_RUNNER_SUPPORT names no library")
class SandboxTest(TrialCase):
    """Tests that need the support library."""

    def test_a_fork_while_running_is_fatal(self) -> None:
        init = "self.fc = nn.Linear(n, n); self.calls = 0"
        forward = "self.calls += 1\nif self.calls == 2: import os; os.fork()\nreturn torch.tanh(self.fc(x))"
        trial = self.trial(model(forward, init))
        exchange_weights(trial.runner, trial.bench)
        for index in (1, 2):
            self.assertEqual(trial.runner.ask(protocol.OP_RUN, index, 0, 0, 0, 1).status, protocol.OK)
        trial.runner.seal()
        with self.assertRaises(RunnerDied):
            trial.call()
        self.assertEqual(trial.runner.statuses(), [(1, signal.SIGSYS)])

    def test_the_supervisor_reports_start_and_end(self) -> None:
        runner = Runner(Zygotes.runners)
        runner.control.close()
        records = runner.statuses()
        self.assertEqual([what for what, _ in records], [0, 1])
        self.assertEqual(records[1][1], 0)
        os.close(runner.status)

    def test_a_crash_names_the_signal(self) -> None:
        trial = self.trial(model("import ctypes; ctypes.string_at(8); return x"))
        exchange_weights(trial.runner, trial.bench)
        answer, _ = trial.call()
        self.assertEqual((answer.op, answer.detail), (protocol.OP_CRASH, 11))


if __name__ == "__main__":
    unittest.main()
