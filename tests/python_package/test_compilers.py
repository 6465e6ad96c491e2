"""Targets and compilers of a program's own, and the compiler of evaluations."""

import asyncio
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path

import kernelgen
from support import FULL_RECORD, KERNEL, ROOT, calls_end, run_script

TASK = kernelgen.load_task(ROOT / "tests/tasks/relu.py")
EXPRESSION = kernelgen.register_target(
    "expression", file_extension=".expr", prompt_text="Write one C expression of the element `float x`.")
OPTIONS = kernelgen.EvaluationOptions(mode="correctness_only")

SOURCE = """#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}
KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* in = static_cast<const float*>(args->inputs.items[0]->data);
  auto* out = static_cast<float*>(args->outputs.items[0]->data);
  for (uint64_t i = 0; i < args->inputs.items[0]->element_count; ++i) { const float x = in[i]; out[i] = EXPRESSION; }
  return 0;
}
"""


class ExpressionCompiler(kernelgen.KernelCompiler):
    """Compiles "x < 0 ? 0 : x" by way of C++, or does what a function says in its place."""

    def __init__(self, cpp):
        self.cpp = cpp
        self.requests = []
        self.answer = None
        self.answers = {}

    def supports(self, target):
        return self.answers["supports"]() if "supports" in self.answers else target == EXPRESSION

    def compile(self, request, stop):
        self.requests.append(request)
        if self.answer is not None:
            return self.answer(request, stop)
        return self.cpp.compile(self.translate(request), stop)

    def key(self, request, stop):
        if "key" in self.answers:
            return self.answers["key"]()
        return self.cpp.key(self.translate(request), stop)

    @staticmethod
    def translate(request):
        source = SOURCE.replace("EXPRESSION", request.candidate.source)
        return kernelgen.CompileRequest(kernelgen.Candidate(source), request.extra_flags, request.timeout)


class TargetTest(unittest.TestCase):
    def test_it_is_a_target_like_any_other(self):
        self.assertIn("expression", kernelgen.targets())
        candidate = kernelgen.Candidate("x", EXPRESSION)
        self.assertEqual((candidate.target, candidate.language), ("expression", "custom"))
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "kernel.expr"
            file.write_text("x")
            self.assertEqual(kernelgen.load_candidate(file), candidate)
        prompt = kernelgen.PromptBuilder().build(TASK, target=EXPRESSION)
        self.assertIn("Write one C expression", prompt.text)

    def test_impossible_targets_are_refused(self):
        for arguments, text in (({"name": "Expression"}, "lower case|letter"), ({"name": "cpp"}, "cpp"),
                                ({"name": EXPRESSION}, EXPRESSION), ({"name": "a", "device": "tpu"}, "device is \"tpu\""),
                                ({"name": "a", "artifact": "wasm"}, "artifact is \"wasm\"; it must be shared_object or")):
            with self.subTest(text), self.assertRaisesRegex(kernelgen.InvalidArgument, text):
                kernelgen.register_target(**arguments)

    def test_another_process_reads_its_records(self):
        record = kernelgen.EvaluationRecord.from_json(FULL_RECORD.replace("\"target\": \"cpp\"", "\"target\": \"expression\""))
        done = run_script("""
            import kernelgen, sys
            print(kernelgen.EvaluationRecord.from_json(sys.stdin.read()).target, "expression" in kernelgen.targets())
            """, stdin=record.to_json())
        self.assertEqual(done.stdout, f"{record.target} False\n", done.stderr)


class LocalCompilerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.compiler = kernelgen.open_local_compiler(cache_dir=cls.directory.name)

    def test_a_candidate_is_built(self):
        self.assertTrue(self.compiler.supports("cpp"))
        self.assertFalse(self.compiler.supports("cuda"))
        built = self.compiler.compile(KERNEL)
        self.assertIsInstance(built, kernelgen.Compiled)
        self.assertEqual(Path(built.path).read_bytes()[:4], b"\x7fELF")
        self.assertIn("compiler.version", self.compiler.key(KERNEL))
        self.assertEqual((built.report.cache, self.compiler.compile(KERNEL).report.cache), ("miss", "hit"))
        self.assertEqual(self.compiler.compile(KERNEL), self.compiler.compile(KERNEL))

    def test_a_candidate_that_does_not_compile_is_a_value(self):
        failed = self.compiler.compile(kernelgen.Candidate("int kgen_run(void*, const kgen_run_args*) { return y; }\n"))
        self.assertIsInstance(failed, kernelgen.CompileFailed)
        self.assertEqual(failed.outcome.kind, kernelgen.OutcomeKind.COMPILE)
        self.assertTrue(failed.report.diagnostics)

    def test_what_is_missing(self):
        with self.assertRaisesRegex(kernelgen.MissingTool, "/no/such/prefix"):
            kernelgen.open_local_compiler(installation="/no/such/prefix")
        # Looked for when it is first needed: it may be installed later.
        compiler = kernelgen.open_local_compiler(compiler="no-such-compiler", cache_dir=self.directory.name)
        with self.assertRaisesRegex(kernelgen.MissingTool, "no-such-compiler"):
            compiler.compile(KERNEL)
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "device"):
            kernelgen.open_local_compiler("cuda", device="cpu", cache_dir=self.directory.name)


class CustomCompilerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.compiler = ExpressionCompiler(kernelgen.open_local_compiler(cache_dir=cls.directory.name))
        cls.judge = kernelgen.open_local_judge(compilers=[cls.compiler])
        cls.addClassCleanup(cls.judge.close)

    def evaluate(self, source, answer=None, options=OPTIONS):
        with unittest.mock.patch.object(self.compiler, "answer", answer):
            return self.judge.evaluate(TASK, kernelgen.Candidate(source, EXPRESSION), options)

    def test_candidates_are_judged(self):
        record = self.evaluate("x < 0 ? 0 : x")
        self.assertEqual((record.outcome.name, record.target), ("correct", EXPRESSION))
        self.assertTrue([label for label in record.labels if label.startswith("custom-compiler: ")], record.labels)
        self.assertEqual(self.evaluate("x").outcome.kind, kernelgen.OutcomeKind.ACCURACY)
        self.assertEqual(self.evaluate("y").outcome.name, "compile:undeclared_identifier")
        self.assertEqual(self.compiler.requests[0].candidate.target, EXPRESSION)

    def test_candidates_of_other_targets_are_not_its_affair(self):
        before = len(self.compiler.requests)
        self.assertEqual(self.judge.evaluate(TASK, KERNEL, OPTIONS).outcome.name, "correct")
        self.assertEqual(len(self.compiler.requests), before)

    def test_a_search_has_the_target(self):
        model = kernelgen.ScriptedLLMClient(["```expression\nx\n```", "```expression\nx > 0 ? x : 0\n```"])
        outcome = kernelgen.run(TASK, model, self.judge, target=EXPRESSION, options=OPTIONS,
                                policy=kernelgen.HybridPolicy(seeds=1, stages=(), analyze=False))
        self.assertEqual(outcome.best_result.candidate.source.strip(), "x > 0 ? x : 0", outcome)
        self.assertIn("Write one C expression", model.requests[0].prompt)

    def test_without_a_compiler_it_is_unsupported(self):
        with kernelgen.open_local_judge() as judge, self.assertRaisesRegex(kernelgen.Unsupported, "expression"):
            judge.evaluate(TASK, kernelgen.Candidate("x", EXPRESSION), OPTIONS)

    def test_a_refusal_is_the_outcome(self):
        refusal = kernelgen.CompileFailed(
            kernelgen.Outcome(kernelgen.OutcomeKind.SYNTAX, "", "line 1: no \"x\""),
            kernelgen.CompileReport(log="all of it", diagnostics=(kernelgen.Diagnostic("error", "a.expr", 1, 1, "no x"),)))
        record = self.evaluate("1", lambda request, stop: refusal)
        self.assertEqual((record.outcome.name, record.outcome.message), ("syntax", "line 1: no \"x\""))
        self.assertEqual((record.compile.log, record.compile.diagnostics), ("all of it", refusal.report.diagnostics))

    def test_an_error_of_this_package_is_the_answer(self):
        def answer(request, stop):
            raise kernelgen.MissingTool("there is no exprc")

        with self.assertRaisesRegex(kernelgen.MissingTool, "there is no exprc"):
            self.evaluate("x", answer)

    def test_another_exception_arrives_unchanged(self):
        mine = ZeroDivisionError("mine")

        def answer(request, stop):
            raise mine

        with self.assertRaises(ZeroDivisionError) as raised:
            self.evaluate("x", answer)
        self.assertIs(raised.exception, mine)
        model = kernelgen.ScriptedLLMClient(["```expression\nx\n```"])
        with unittest.mock.patch.object(self.compiler, "answer", answer), self.assertRaises(ZeroDivisionError) as raised:
            kernelgen.run(TASK, model, self.judge, target=EXPRESSION, options=OPTIONS, policy=kernelgen.OneShotPolicy())
        self.assertIs(raised.exception, mine)
        self.assertTrue(calls_end())

    def test_wrong_types_are_named(self):
        with self.assertRaisesRegex(TypeError, "ExpressionCompiler.compile.. returned int, not Compiled or CompileFailed"):
            self.evaluate("x", lambda request, stop: 3)

    def test_exceptions_of_its_other_methods_arrive_like_those_of_compile(self):
        class Quota(kernelgen.MissingTool):
            pass

        for name in ("supports", "key"):
            for mine in (ZeroDivisionError("mine"), Quota("there is no exprc")):
                def answer():
                    raise mine

                with self.subTest(name, mine=mine), unittest.mock.patch.dict(self.compiler.answers, {name: answer}):
                    with self.assertRaises(type(mine)) as raised:
                        self.evaluate("x < 0 ? 0 : x")
                    self.assertIs(raised.exception, mine)
        self.assertEqual(self.evaluate("x < 0 ? 0 : x").outcome.name, "correct")

    def test_a_key_that_is_no_text_is_a_type_error(self):
        with unittest.mock.patch.dict(self.compiler.answers, {"key": lambda: 3}), self.assertRaisesRegex(
                TypeError, r"^ExpressionCompiler.key\(\) returned int, not a text$"):
            self.evaluate("x")

    def test_an_override_of_the_compiler_of_the_library_is_called(self):
        class Counting(kernelgen.LocalCompiler):
            count = 0

            def compile(self, request, stop=None):
                Counting.count += 1
                return super().compile(request, stop)

        with kernelgen.open_local_judge(compilers=[Counting(self.compiler.cpp._native)]) as judge:
            record = judge.evaluate(TASK, KERNEL, OPTIONS)
        self.assertEqual((record.outcome.name, Counting.count), ("correct", 1))

    def test_it_is_told_to_stop_after_the_time_for_building(self):
        stopped = threading.Event()

        def answer(request, stop):
            if stop.wait(60):
                stopped.set()
            raise kernelgen.Cancelled("stopped")

        record = self.evaluate("x", answer, kernelgen.EvaluationOptions(mode="correctness_only", build_timeout=0.5))
        self.assertEqual(record.outcome.name, "timeout:build")
        self.assertTrue(stopped.is_set())

    def test_a_task_that_is_cancelled_stops_it(self):
        began, stopped = threading.Event(), threading.Event()

        def answer(request, stop):
            began.set()
            if stop.wait(60):
                stopped.set()
            raise kernelgen.Cancelled("stopped")

        async def main(judge):
            running = asyncio.create_task(judge.evaluate_async(TASK, kernelgen.Candidate("x", EXPRESSION), OPTIONS))
            await asyncio.to_thread(began.wait, 20)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        with unittest.mock.patch.object(self.compiler, "answer", answer):
            asyncio.run(main(self.judge))
        self.assertTrue(stopped.wait(10) and calls_end())

    def test_a_judge_that_is_forgotten_is_no_trouble_at_the_end(self):
        done = run_script("""
            import kernelgen
            class Compiler(kernelgen.KernelCompiler):
                def supports(self, target): return True
                def compile(self, request, stop): raise LookupError
            judge = kernelgen.open_local_judge(compilers=[Compiler()])
            print("end")
            """)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("end\n", "", 0))


if __name__ == "__main__":
    unittest.main()
