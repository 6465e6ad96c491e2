"""Options, tasks, candidates, records, tables, prompts: what needs no judge."""

import dataclasses
import importlib.util
import json
import math
import pickle
import tempfile
import unittest
from pathlib import Path

import kernelgen
from kernelgen import _core, errors
from kernelgen._codec import encode
from kernelgen.options import options_from, plain
from support import FULL_RECORD, KERNEL, RECORD, ROOT, TASK, fake_judge, run_script


class OptionsTest(unittest.TestCase):
    def test_defaults_are_those_of_the_library(self):
        self.assertEqual(plain(kernelgen.EvaluationOptions()), {
            **_core.check_options({}), "shrink": [], "compile_for": []})

    def test_policies_have_the_defaults_of_the_library(self):
        policies = (kernelgen.HybridPolicy(), kernelgen.EvolvePolicy(), kernelgen.ReflectPolicy(),
                    kernelgen.RoundsPolicy(), kernelgen.OneShotPolicy())
        for policy in policies:
            with self.subTest(policy.kind):
                self.assertEqual(_core.policy_options(policy.kind, policy.settings()),
                                 _core.policy_options(policy.kind, {}))

    def test_settings_of_a_policy_arrive(self):
        options = dict(_core.policy_options("hybrid", kernelgen.HybridPolicy(seeds=7).settings()))
        self.assertIn("7", options.values())

    def test_options_survive_the_way_to_a_judge_in_python(self):
        options = kernelgen.EvaluationOptions(
            mode="quick", rtol=0.5, shrink=(("n", 3),), compile_for=("gfx942",), call_timeout=1.5,
            baselines=kernelgen.BaselineOptions(kinds=("compile",)), library_use="assisted")
        self.assertEqual(options_from(_core.check_options(plain(options))), options)

    def test_every_name_of_the_enums_is_known(self):
        for mode in kernelgen.EvaluationMode:
            kernelgen.EvaluationOptions(mode=mode).check()
        for precision in kernelgen.Precision:
            kernelgen.EvaluationOptions(precision=precision).check()
        for use in kernelgen.LibraryUse:
            kernelgen.EvaluationOptions(library_use=use).check()
        for kind in kernelgen.BaselineKind:
            kernelgen.EvaluationOptions(baselines=kernelgen.BaselineOptions(kinds=(kind,))).check()
        for kind in kernelgen.OutcomeKind:
            record = kernelgen.EvaluationRecord(outcome=kernelgen.Outcome(kind))
            self.assertEqual(kernelgen.EvaluationRecord.from_json(record.to_json()).outcome.kind, kind)
        self.assertEqual([str(target) for target in kernelgen.Target], kernelgen.targets()[:len(kernelgen.Target)])

    def test_impossible_options_are_refused_by_name(self):
        measure, baselines = kernelgen.MeasureOptions, kernelgen.BaselineOptions
        cases = {
            "call_timeout": {"call_timeout": -1}, "build_timeout": {"build_timeout": 0},
            "task_timeout": {"task_timeout": math.inf}, "rtol": {"rtol": -0.1}, "atol": {"atol": math.nan},
            "threads": {"threads": -1}, "memory_limit": {"memory_limit": 0}, "mode": {"mode": "fast"},
            "precision": {"precision": "fp4"}, "library_use": {"library_use": "none"},
            "hip_cpu.wave_size": {"hip_wave_size": 48}, "measure.deadline": {"measure": measure(deadline=-2)},
            "measure.max_samples": {"measure": measure(max_samples=0)},
            "baselines.kinds": {"baselines": baselines(kinds=("slow",))},
            "baselines.timeout": {"baselines": baselines(timeout=math.nan)},
        }
        for name, options in cases.items():
            with self.subTest(name), self.assertRaises(kernelgen.InvalidArgument) as raised:
                kernelgen.EvaluationOptions(**options).check()
            self.assertRegex(str(raised.exception), f"option {name} is .*; it must be .")

    def test_an_option_of_a_wrong_type_is_refused_by_name(self):
        for options, text in (({"threads": "many"}, "threads is 'many'; it must be a whole number"),
                              ({"rtol": "small"}, "rtol is 'small'; it must be a number"),
                              ({"device": 3}, "device is 3; it must be a text"),
                              ({"allow_weak_isolation": "yes"}, "it must be True or False"),
                              ({"memory_limit": -1}, "memory_limit is -1; it must be a whole number")):
            with self.subTest(text), self.assertRaisesRegex(kernelgen.InvalidArgument, text):
                kernelgen.EvaluationOptions(**options).check()


HALF = "half \ud800 pair"


class HalfSurrogateTest(unittest.TestCase):
    """Python's texts may have halves of surrogate pairs, which UTF-8 lacks: json.loads makes them of cut replies."""

    def test_functions_refuse_them(self):
        record = kernelgen.EvaluationRecord()
        cases = {
            "extract_code": lambda: kernelgen.extract_code(HALF),
            "extract_code target": lambda: kernelgen.extract_code("x", HALF),
            "extract_code finish": lambda: kernelgen.extract_code(kernelgen.Reply("x", HALF)),
            "read_analysis": lambda: kernelgen.read_analysis(HALF),
            "classify_error": lambda: kernelgen.classify_error(record, HALF),
            "detect": lambda: kernelgen.detect(HALF),
            "load_task": lambda: kernelgen.load_task(HALF),
            "load_candidate": lambda: kernelgen.load_candidate(HALF),
            "open_model": lambda: kernelgen.open_model(HALF),
            "open_local_judge": lambda: kernelgen.open_local_judge(python=HALF),
            "open_remote_judge": lambda: kernelgen.open_remote_judge(["ssh", HALF]),
            "find_installation": lambda: kernelgen.find_installation(HALF),
            "read_journal": lambda: kernelgen.read_journal(HALF),
            "from_json": lambda: kernelgen.EvaluationRecord.from_json(HALF),
            "PromptBuilder": lambda: kernelgen.PromptBuilder(HALF),
            "variants": lambda: kernelgen.PromptBuilder().variants(HALF),
            "policy": lambda: kernelgen.run(TASK, kernelgen.ScriptedLLMClient([]), fake_judge(), policy=HALF),
        }
        self.check(cases)

    def test_members_refuse_them(self):
        judge, model = fake_judge(), kernelgen.ScriptedLLMClient([])
        record = kernelgen.EvaluationRecord(outcome=kernelgen.Outcome(kernelgen.OutcomeKind.CRASH, "x", HALF))
        cases = {
            "Task": lambda: kernelgen.Task("a", HALF),
            "Task name": lambda: judge.evaluate(kernelgen.Task(HALF, "x = 1"), KERNEL),
            "Candidate": lambda: kernelgen.Candidate(HALF),
            "options": kernelgen.EvaluationOptions(device=HALF).check,
            "list in options": kernelgen.EvaluationOptions(compile_for=("gfx942", HALF)).check,
            "pair in options": kernelgen.EvaluationOptions(shrink=((HALF, 3),)).check,
            "record": record.to_json,
            "error in a prompt": lambda: kernelgen.PromptBuilder().build(
                TASK, kind="repair", base=kernelgen.Attempt("x", record)),
            "prompt": lambda: kernelgen.PromptBuilder().build(TASK, instructions=HALF),
            "list in prompt": lambda: kernelgen.PromptBuilder().build(TASK, findings=["a", HALF]),
            "attempt": lambda: kernelgen.PromptBuilder().build(TASK, kind="repair", base=kernelgen.Attempt(HALF)),
            "repair": lambda: kernelgen.repair(TASK, KERNEL, model, judge, escalations=(HALF,)),
            "run": lambda: kernelgen.run(TASK, model, judge, name=HALF),
            "directory": lambda: kernelgen.run(TASK, model, judge, directory=HALF),
            "settings": lambda: kernelgen.run(TASK, model, judge, policy=kernelgen.RoundsPolicy(strategy=HALF)),
            "audit": lambda: kernelgen.audit([HALF], judge),
        }
        self.check(cases)

    def check(self, cases):
        for name, call in cases.items():
            with self.subTest(name), self.assertRaises(kernelgen.InvalidArgument) as raised:
                call()
            line = str(raised.exception)
            self.assertRegex(line, "surrogate", name)
            self.assertNotIn("\n", line, name)
            line.encode()  # The message itself can be printed.

    def test_a_long_text_is_not_repeated_in_the_message(self):
        with self.assertRaises(kernelgen.InvalidArgument) as raised:
            kernelgen.extract_code("x" * 100_000 + HALF)
        self.assertRegex(str(raised.exception), "^the text 'x+\\.\\.\\. has half of a surrogate pair at index 100005; it must")
        self.assertLess(len(str(raised.exception)), 400)

    def test_whole_pairs_and_other_texts_pass(self):
        for text in ("\U0001f600 \u00e9", "\0", "\uffff"):
            self.assertEqual(kernelgen.Candidate(text).source, text)


class TaskTest(unittest.TestCase):
    def test_a_missing_task_is_not_found(self):
        with self.assertRaises(FileNotFoundError) as raised:
            kernelgen.load_task("no/such/task.py")
        self.assertIsInstance(raised.exception, kernelgen.NotFound)
        self.assertIn("no/such/task.py", str(raised.exception))

    def test_a_folder_is_no_task(self):
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.load_task(ROOT / "examples")

    def test_a_file_that_is_no_text_is_no_task(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "task.py"
            path.write_bytes(b"\xff\xfe\x00")
            with self.assertRaises(kernelgen.InvalidTask):
                kernelgen.load_task(path)

    def test_a_task_from_text_has_the_id_of_its_content(self):
        self.assertEqual(kernelgen.Task("relu", TASK.text).content_id, TASK.content_id)

    def test_an_unknown_target_is_refused(self):
        with self.assertRaisesRegex(ValueError, "fortran"):
            kernelgen.Candidate("x", "fortran")

    def test_an_unknown_language_is_refused(self):
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "cobol"):
            kernelgen.Candidate("x", "cpp", "cobol")

    def test_candidates_have_ids_by_content(self):
        self.assertEqual(kernelgen.Candidate(KERNEL.source, "cpp").id, KERNEL.id)
        self.assertNotEqual(kernelgen.Candidate(KERNEL.source, "torch").id, KERNEL.id)

    def test_files_tell_target_and_language(self):
        found = kernelgen.load_candidate(ROOT / "examples/kernels/relu.c")
        self.assertEqual((found.target, found.language), ("cpp", "c"))

    def test_files_that_are_no_candidates_are_refused(self):
        with self.assertRaises(kernelgen.NotFound):
            kernelgen.load_candidate("no/such/kernel.cpp")
        with self.assertRaisesRegex(kernelgen.InvalidArgument, "target"):
            kernelgen.load_candidate(ROOT / "README.md")
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.load_candidate(ROOT)


class RecordTest(unittest.TestCase):
    def test_every_member_of_a_record_is_read_and_written(self):
        record = kernelgen.EvaluationRecord.from_json(FULL_RECORD)
        written, expected = encode(record), json.loads(FULL_RECORD)
        # The library leaves these out where they are empty.
        for members, name in ((written, "sanitizers"), (written, "compiled_for"), (written["timing"], "baselines")):
            if not members[name]:
                del members[name]
        self.assertEqual(written, expected)

    def test_a_record_that_was_made_here_is_read_by_the_library(self):
        full = kernelgen.EvaluationRecord.from_json(FULL_RECORD)
        again = kernelgen.EvaluationRecord.from_json(json.dumps(encode(full)))
        self.assertEqual(again, full)

    def test_numbers_that_json_lacks_survive(self):
        ratio = kernelgen.Ratio(math.inf, 1, math.inf)
        record = kernelgen.EvaluationRecord(timing=kernelgen.TimingReport(speedup_call=ratio))
        again = kernelgen.EvaluationRecord.from_json(record.to_json())
        self.assertEqual(again.timing.speedup_call, ratio)

    def test_score_and_class(self):
        record = kernelgen.EvaluationRecord.from_json(RECORD)
        self.assertEqual(record.score, 1.5)
        self.assertEqual(str(record.outcome), "correct")
        self.assertIsNone(kernelgen.EvaluationRecord().score)
        self.assertEqual(kernelgen.Outcome(kernelgen.OutcomeKind.ACCURACY, "nan").name, "accuracy:nan")

    def test_what_is_no_record_is_refused(self):
        for text in ("", "[]", "{}", "{\"schema\": 1, \"cases\": 3}"):
            with self.subTest(text), self.assertRaises(kernelgen.InvalidArgument):
                kernelgen.EvaluationRecord.from_json(text)
        with self.assertRaises(kernelgen.Unsupported):
            kernelgen.EvaluationRecord.from_json("{\"schema\": 99}")

    def test_records_are_frozen(self):
        with self.assertRaises(AttributeError):
            kernelgen.EvaluationRecord().id = "other"

    def test_records_can_be_pickled_and_changed(self):
        record = kernelgen.EvaluationRecord.from_json(FULL_RECORD)
        self.assertEqual(pickle.loads(pickle.dumps(record)), record)
        changed = dataclasses.replace(record, labels=("mine",))
        self.assertEqual(kernelgen.EvaluationRecord.from_json(changed.to_json()).labels, ("mine",))

    def test_html_escapes_what_candidates_wrote(self):
        evil = "<script>alert('x')</script>"
        record = kernelgen.EvaluationRecord(
            task_name=evil, labels=(evil,), environment=kernelgen.EnvironmentReport(device=evil),
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.CRASH, evil, evil), timing=kernelgen.TimingReport())
        page = record._repr_html_()
        self.assertNotIn("<script", page)
        self.assertEqual(page.count("&lt;script&gt;"), 5)

    def test_html_of_a_timed_record_has_its_numbers(self):
        page = kernelgen.EvaluationRecord.from_json(RECORD)._repr_html_()
        for text in ("correct", "2.02x (2.01 to 2.04)", "4.05 ms"):
            self.assertIn(text, page)


class TableTest(unittest.TestCase):
    def test_rows_are_flat_and_have_the_same_keys(self):
        rows = kernelgen.to_table([kernelgen.EvaluationRecord.from_json(RECORD), kernelgen.EvaluationRecord()])
        self.assertEqual(rows[0].keys(), rows[1].keys())
        self.assertEqual((rows[0]["score"], rows[1]["score"]), (1.5, None))
        for row in rows:
            for value in row.values():
                self.assertIsInstance(value, (str, int, float, bool, type(None)))

    def test_rows_of_a_search_name_actions_and_those_without_a_record_their_reason(self):
        history = {"seed1": kernelgen.ActionResult(kernelgen.Action("seed1"), message="no code")}
        row, = kernelgen.to_table(history)
        self.assertEqual((row["action"], row["message"], row["outcome"]), ("seed1", "no code", None))


def is_installed(name):
    return importlib.util.find_spec(name) is not None


class DataFrameTest(unittest.TestCase):
    """Rows of more than 100 records, as many as polars looks at for the types of columns: failures, then successes."""

    def setUp(self):
        failed = kernelgen.EvaluationRecord(outcome=kernelgen.Outcome(kernelgen.OutcomeKind.CRASH, "x", "it crashed"))
        full = kernelgen.EvaluationRecord.from_json(FULL_RECORD)
        self.rows = kernelgen.to_table([failed] * 150 + [kernelgen.EvaluationRecord.from_json(RECORD), full])

    def test_columns_have_one_type(self):
        for name in self.rows[0]:
            kinds = {type(row[name]) for row in self.rows if row[name] is not None}
            self.assertEqual(len(kinds), 1, f"{name}: {kinds}")

    @unittest.skipUnless(is_installed("pandas"), "pandas is not installed")
    def test_pandas(self):
        import pandas

        frame = pandas.DataFrame(self.rows)
        self.assertEqual(frame.shape, (152, len(self.rows[0])))
        for name in ("score", "speedup_call", "reference_ns", "candidate_ns", "milliseconds"):
            self.assertEqual(str(frame[name].dtype), "float64", name)
        self.assertEqual(str(frame["correct"].dtype), "bool")
        self.assertEqual(frame["score"].max(), max(row["score"] or 0 for row in self.rows))
        self.assertEqual(dict(frame.groupby("outcome").size())["crash:x"], 150)

    @unittest.skipUnless(is_installed("polars"), "polars is not installed")
    def test_polars(self):
        import polars

        frame = polars.DataFrame(self.rows, infer_schema_length=None)
        self.assertEqual(frame.shape, (152, len(self.rows[0])))
        for name in ("score", "speedup_call", "reference_ns", "candidate_ns", "milliseconds"):
            self.assertEqual(frame.schema[name], polars.Float64, name)
        self.assertEqual(frame.schema["correct"], polars.Boolean)
        self.assertEqual(frame["score"].max(), max(row["score"] or 0 for row in self.rows))
        self.assertEqual(frame.filter(polars.col("outcome") == "crash:x").height, 150)


class ErrorTest(unittest.TestCase):
    def test_every_code_of_the_library_has_a_class(self):
        for code, kind in errors._CLASSES.items():
            error = errors.error_from(code, "message", ["inner", "outer"], "outer: inner: message")
            self.assertIs(type(error), kind)
            self.assertIsInstance(error, kernelgen.Error)
            self.assertEqual(str(error), "outer: inner: message")

    def test_classes_are_those_that_python_programs_expect(self):
        for kind, base in ((kernelgen.InvalidArgument, ValueError), (kernelgen.NotFound, FileNotFoundError),
                           (kernelgen.PermissionDenied, PermissionError), (kernelgen.Timeout, TimeoutError),
                           (kernelgen.OutOfMemory, MemoryError), (kernelgen.Unsupported, NotImplementedError),
                           (kernelgen.Unavailable, ConnectionError), (kernelgen.Io, OSError)):
            self.assertTrue(issubclass(kind, base))
            self.assertEqual(str(kind("text")), "text")

    def test_errors_can_be_pickled(self):
        for kind in errors._CLASSES.values():
            again = pickle.loads(pickle.dumps(kind("message", ["context"])))
            self.assertEqual((type(again), str(again), again.context), (kind, "context: message", ("context",)))


class PromptTest(unittest.TestCase):
    def test_a_seed_prompt_shows_the_task(self):
        prompt = kernelgen.PromptBuilder().build(TASK, target="triton", instructions="Use one block.")
        self.assertIn(TASK.text.strip(), prompt.text)
        self.assertIn("Use one block.", prompt.text)
        self.assertGreater(prompt.estimated_tokens, 100)

    def test_a_repair_prompt_shows_the_error(self):
        record = kernelgen.EvaluationRecord(
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.ACCURACY, "mismatch", "output[3] is 7 and not 8"))
        prompt = kernelgen.PromptBuilder().build(
            TASK, kind="repair", base=kernelgen.Attempt(KERNEL.source, record),
            description=kernelgen.EvaluationRecord.from_json(FULL_RECORD).task)
        self.assertIn("output[3] is 7 and not 8", prompt.text)

    def test_impossible_prompts_are_refused(self):
        builder = kernelgen.PromptBuilder()
        for name, arguments in {"kind": {"kind": "poem"}, "variant": {"variant": "no-such"}, "base": {"kind": "repair"},
                                "without": {"without": ["jokes"]}, "threads": {"threads": 0},
                                "target": {"target": "fortran"}}.items():
            with self.subTest(name), self.assertRaises(kernelgen.InvalidArgument):
                builder.build(TASK, **arguments)

    def test_templates_that_are_missing_are_not_found(self):
        with self.assertRaises(kernelgen.Error):
            kernelgen.PromptBuilder("no/such/folder")

    def test_variants(self):
        self.assertTrue(kernelgen.PromptBuilder().variants("seed", "cpp"))

    def test_code_comes_out_of_replies(self):
        found = kernelgen.extract_code("Sure!\n```cpp\nint kgen_run(void*) { return 0; }\n```\n")
        self.assertEqual(found.code.strip(), "int kgen_run(void*) { return 0; }")
        refused = kernelgen.extract_code("I cannot do that.")
        self.assertIsNone(refused.code)
        self.assertTrue(refused.problem)

    def test_analyses_come_out_of_replies(self):
        self.assertEqual(kernelgen.read_analysis("{\"bottleneck\": \"memory\"}").bottleneck, "memory")
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.read_analysis("no object")

    def test_errors_are_classified(self):
        record = kernelgen.EvaluationRecord(
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.ACCURACY, "nan", "output has 3 NaN"))
        report = kernelgen.classify_error(record)
        self.assertIn(report.error_class, kernelgen.error_classes())
        self.assertEqual(report.error_class, "accuracy.nan")
        self.assertEqual(kernelgen.classify_error(kernelgen.EvaluationRecord()).error_class, "")

    def test_time_loops_are_detected(self):
        report = kernelgen.detect(kernelgen.load_candidate(ROOT / "examples/kernels/gru_hidden.cu"))
        self.assertEqual(report.verdict, "persistent")
        self.assertTrue(report.reason and report.evidence)
        self.assertEqual(kernelgen.detect(KERNEL).verdict, "not-recurrent")
        self.assertEqual(kernelgen.detect("", "triton").verdict, "unknown")


class ImportTest(unittest.TestCase):
    def test_the_import_needs_neither_torch_nor_asyncio(self):
        done = run_script("""
            import sys, kernelgen
            print(kernelgen.EvaluationOptions().mode, {"torch", "asyncio", "numpy"} & sys.modules.keys())
            """)
        self.assertEqual(done.stdout, "full set()\n", done.stderr)

    def test_the_installation_is_found(self):
        self.assertTrue(Path(kernelgen.find_installation()["worker"]).exists())
        with self.assertRaises(kernelgen.MissingTool):
            kernelgen.find_installation("/no/such/prefix")

    def test_all_names_exist(self):
        for name in kernelgen.__all__:
            self.assertTrue(hasattr(kernelgen, name), name)


if __name__ == "__main__":
    unittest.main()
