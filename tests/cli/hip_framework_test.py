"""The command lines of the HIP framework, with kgen in place of its scripts: exit codes, files, members of results.

The gateway is a server on loopback with scripted replies. Evaluates kernels on the CPU; needs torch (KGEN_PYTHON).
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

ARGUMENTS = argparse.Namespace()

TASK = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
"""
RIGHT = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp_min(x, 0)
"""
# Right, and far slower than the reference.
SLOW = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = x
        for _ in range(20):
            y = torch.relu(y)
        return y
"""
WRONG = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
"""
OLD_MEMBERS = {"problem", "code_path", "compile_success", "accuracy_pass", "max_diff", "mean_diff", "has_nan", "has_inf", "ref_time_ms",
               "new_time_ms", "speedup", "perf_analysis", "rocprof_metrics", "error"}


class Gateway(http.server.ThreadingHTTPServer):
    """Answers chat completions with the code that `choose` returns for a prompt."""

    def __init__(self, choose):
        super().__init__(("127.0.0.1", 0), Handler)
        self.choose, self.requests, self.lock = choose, [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def prompts(self):
        return [request["messages"][-1]["content"] for _, request in self.requests]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.headers["Authorization"], request))
            code = self.server.choose(request["messages"][-1]["content"])
        text = f"Here it is.\n\n```python\n{code}```\n" if code else "I cannot do that."
        reply = {"model": request["model"], "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                 "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class HipFrameworkTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name)
        self.level = self.path / "datasets/KernelBench/level1"
        self.level.mkdir(parents=True)
        for name in ("19_ReLU", "20_MatMul", "21_Other"):
            (self.level / f"{name}.py").write_text(TASK)
        self.problem = self.level / "19_ReLU.py"

    def kgen(self, *arguments, gateway=None, environment=None):
        variables = {name: value for name, value in os.environ.items()
                     if name not in ("LLM_GATEWAY_KEY", "LLM_GATEWAY_URL", "LLM_GATEWAY_MODEL", "NUM_SAMPLES", "MAX_ATTEMPTS")
                     and not name.lower().endswith("_proxy")}
        variables |= {"XDG_CACHE_HOME": ARGUMENTS.cache, "XDG_CONFIG_HOME": str(self.path), "KERNELBENCH_DIR": str(self.level)}
        if gateway:
            variables |= {"LLM_GATEWAY_KEY": "secret", "LLM_GATEWAY_URL": gateway.url, "LLM_GATEWAY_MODEL": "model"}
        variables |= environment or {}
        return subprocess.run([ARGUMENTS.kgen, *map(str, arguments)], capture_output=True, text=True, timeout=500, check=False,
                              env=variables, cwd=self.path)

    def gateway(self, choose):
        server = Gateway(choose)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def prompts(self):
        """The framework's folder of prompts, as its description shows it."""
        folder = self.path / "prompts"
        folder.mkdir()
        for name in ("elementwise_bf16", "gemm_rocblas", "gemm_hipkittens"):
            (folder / f"{name}.txt").write_text(f"Prompt {name}: {{{{ }}}} stays as it is.\n")
        (folder / "config.json").write_text("""{
  "default_prompt": "gemm_hipkittens.txt",
  "patterns": {
    "relu|sigmoid|tanh": "elementwise_bf16.txt",
    "matmul|gemm": "gemm_rocblas.txt",
    "attention": "gemm_hipkittens.txt"
  },
  "reflection_hints": {
    "PERFORMANCE TOO SLOW": ["优化建议1", "优化建议2"],
    "Accuracy error": ["修复建议1"]
  }
}
""")
        return folder

    # generate.py

    def test_generate_needs_a_key_before_anything_is_done(self):
        for environment in ({}, {"LLM_GATEWAY_KEY": ""}):
            for command in (("generate", "--problem", self.problem, "--output", "code.py"), ("batch", "1", "40")):
                done = self.kgen(*command, environment=environment)
                self.assertEqual(done.returncode, 69, done.stderr)
                self.assertEqual(done.stderr, "kgen: --llm: LLM_GATEWAY_KEY is empty or not set; set it to the key for provider gateway, "
                                              "or name another model (--llm)\n")
        self.assertFalse((self.path / "results").exists())

    def test_generate_writes_code_and_reply(self):
        gateway = self.gateway(lambda _: RIGHT)
        done = self.kgen("generate", "--problem", self.problem, "--output", "output_code.py", "--response-file", "llm_response.txt",
                         gateway=gateway)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.path / "output_code.py").read_text(), RIGHT)
        self.assertIn("Here it is.", (self.path / "llm_response.txt").read_text())
        self.assertEqual(gateway.requests[0][0], "Bearer secret")
        self.assertEqual(gateway.requests[0][1]["model"], "model")
        # The prompt that comes with kgen for this kind of task, and the reference.
        self.assertIn("Elementwise work on bf16", gateway.prompts()[0])
        self.assertIn(TASK.strip(), gateway.prompts()[0])

    def test_generate_takes_a_prompt_of_its_own_several_samples_and_replies_without_code(self):
        gateway = self.gateway(lambda prompt: RIGHT if "custom" in prompt else "")
        (self.path / "custom_prompt.txt").write_text("A custom prompt.")
        done = self.kgen("generate", "--problem", self.problem, "--output", "o.py", "--prompt", "custom_prompt.txt", "--num-samples", "3",
                         gateway=gateway)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in self.path.glob("o*.py")), ["o_s1.py", "o_s2.py", "o_s3.py"])
        self.assertTrue(gateway.prompts()[0].startswith("A custom prompt."))
        self.assertIn(TASK, gateway.prompts()[0])
        done = self.kgen("generate", "--problem", self.problem, "--output", "none.py", gateway=gateway)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_config_json_chooses_the_prompt_of_generate(self):
        gateway = self.gateway(lambda _: RIGHT)
        self.prompts()
        for task, name in (("19_ReLU", "elementwise_bf16"), ("20_MatMul", "gemm_rocblas"), ("21_Other", "gemm_hipkittens")):
            done = self.kgen("generate", "--problem", self.level / f"{task}.py", "--output", "o.py", gateway=gateway)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"Prompt {name}: {{{{ }}}} stays as it is.", gateway.prompts()[-1])
        done = self.kgen("generate", "--problem", self.problem, "--output", "o.py", "--prompt", "prompts/elementwise_bf16.txt",
                         gateway=gateway)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(gateway.prompts()[-1].startswith("Prompt elementwise_bf16"))

    def test_a_name_of_the_set_is_a_prompt_and_another_one_is_an_error(self):
        gateway = self.gateway(lambda _: RIGHT)
        done = self.kgen("generate", "--problem", self.problem, "--output", "o.py", "--prompt", "prompts/gemm_hipkittens.txt",
                         gateway=gateway)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("HipKittens' tiles on the matrix units", gateway.prompts()[-1])
        done = self.kgen("generate", "--problem", self.problem, "--output", "o.py", "--prompt", "gone.txt", gateway=gateway)
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, r"^kgen: --prompt: there is no file gone\.txt, and the prompt set has attention\.txt, .*\n$")

    def test_what_is_wrong_in_config_json_is_named_with_its_place(self):
        gateway = self.gateway(lambda _: RIGHT)
        folder = self.prompts()
        for text, place in (('{"patterns": {,}}', "prompts/config.json:1:15: not JSON"),
                            ('{"patterns": {\n "(": "gemm_rocblas.txt"}}', "prompts/config.json:2:2: not a regular expression"),
                            ('{"default_prompt":\n "gone.txt"}', "prompts/config.json:2:2: there is no prompt gone.txt")):
            (folder / "config.json").write_text(text)
            for command in (("generate", "--problem", self.problem, "--output", "o.py"), ("batch", "19", "20")):
                done = self.kgen(*command, gateway=gateway)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertIn(place, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(gateway.requests, [])

    # eval.py

    def evaluate(self, code, *more):
        (self.path / "generated_code.py").write_text(code)
        done = self.kgen("eval", "--code", "generated_code.py", "--problem", self.problem, "--output", "result.json", *more)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        return done.returncode, json.loads((self.path / "result.json").read_text())

    def test_eval_of_a_slow_kernel_exits_with_1_and_profiles_it(self):
        code, result = self.evaluate(SLOW, "--quick")
        self.assertEqual(code, 1)
        self.assertLessEqual(OLD_MEMBERS, set(result))
        self.assertTrue(result["compile_success"] and result["accuracy_pass"])
        self.assertLess(result["speedup"], 1)
        self.assertAlmostEqual(result["ref_time_ms"] / result["new_time_ms"], result["speedup"], places=6)
        self.assertRegex(result["error"], r"^PERFORMANCE TOO SLOW: speedup 0\.\d+x < 1\.0x$")
        self.assertEqual((result["problem"], result["code_path"]), (str(self.problem), "generated_code.py"))
        # A sandbox may be missing here; then it says so.
        if result["rocprof_metrics"]:
            self.assertIn("no kernel of its own ran, only torch's operations", result["perf_analysis"])
            self.assertIn("counters unavailable: a CPU has no counters", result["perf_analysis"])
            self.assertEqual(set(result["rocprof_metrics"]), {"kernel_name", "duration_ms", "l2_cache_hit_rate",
                                                              "mfma_utilization_pct", "optimization_hints", "raw_metrics"})
        else:
            self.assertTrue(result["perf_analysis"].startswith("unavailable: "), result["perf_analysis"])
        # It is a record, too.
        self.assertEqual(result["outcome"]["kind"], "correct")

    def test_eval_of_a_wrong_kernel_exits_with_2(self):
        code, result = self.evaluate(WRONG)
        self.assertEqual(code, 2)
        self.assertTrue(result["compile_success"])
        self.assertFalse(result["accuracy_pass"])
        self.assertAlmostEqual(result["max_diff"], 1, places=3)
        self.assertTrue(result["error"].startswith("Accuracy error: accuracy:"), result["error"])
        self.assertEqual((result["speedup"], result["perf_analysis"], result["has_nan"]), (None, None, False))
        code, result = self.evaluate("class ModelNew(:\n")
        self.assertEqual((code, result["compile_success"], result["max_diff"]), (2, False, None))

    def test_eval_of_a_right_kernel_exits_with_0_where_only_that_is_asked(self):
        code, result = self.evaluate(RIGHT, "--correctness-only")
        self.assertEqual((code, result["accuracy_pass"], result["error"], result["speedup"]), (0, True, "", None))

    # run_batch.sh, generate_report.py

    def test_batch_makes_three_attempts_and_writes_the_old_files(self):
        gateway = self.gateway(lambda prompt: SLOW if "Prompt elementwise_bf16" in prompt else WRONG if "rocblas" in prompt else "")
        self.prompts()
        done = self.kgen("batch", "19", "20", gateway=gateway, environment={"NUM_SAMPLES": "1", "MAX_ATTEMPTS": "2"})
        self.assertEqual(done.returncode, 1, done.stderr)
        results = self.path / "results"
        log = (results / "batch_run.log").read_text()
        self.assertRegex(log, r"\A\d{4}-\d\d-\d\dT\S+ kgen \S+\n")
        self.assertRegex(log, r"2/2 .*(partial|failed) ")
        for name in ("summary.json", "detailed_report.txt", "detailed_report.json"):
            self.assertTrue((results / name).is_file(), name)
        statuses = {run["task"]: run["status"] for run in json.loads((results / "summary.json").read_text())["runs"]}
        self.assertEqual(statuses, {"19_ReLU": "partial", "20_MatMul": "failed"})
        relu = results / "19_ReLU"
        for name in ("prompt_1.txt", "code_1.py", "result_1.json", "response_1.txt", "best_prompt.txt", "best_code.py", "best_result.json"):
            self.assertTrue((relu / name).is_file(), name)
        self.assertEqual((relu / "best_code.py").read_text(), SLOW)
        best = json.loads((relu / "best_result.json").read_text())
        self.assertLessEqual(OLD_MEMBERS, set(best))
        self.assertEqual(best["code_path"], "results/19_ReLU/code_1.py")
        self.assertIsNotNone(best["perf_analysis"])
        # The second attempt has the hints for the first one's error, and what the profiler found.
        second = (relu / "prompt_2.txt").read_text()
        self.assertIn("- 优化建议1\n- 优化建议2\n", second)
        if "unavailable" not in best["perf_analysis"].replace("counters unavailable", ""):
            self.assertIn("no kernel of its own ran", second)
        self.assertIn("- 修复建议1\n", (results / "20_MatMul/prompt_2.txt").read_text())
        self.assertFalse((results / "20_MatMul/best_code.py").exists())
        self.assertEqual(len(gateway.requests), 4)
        # The same command has nothing left to do, and the report tells the same.
        self.assertEqual(self.kgen("batch", "19", "20", gateway=gateway, environment={"NUM_SAMPLES": "1", "MAX_ATTEMPTS": "2"}).returncode, 1)
        self.assertEqual(len(gateway.requests), 4)
        done = self.kgen("report", "results/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("19_ReLU", done.stdout)

    def test_batch_has_the_frameworks_numbers_and_ranges(self):
        gateway = self.gateway(lambda _: "")
        done = self.kgen("batch", "21", "40", gateway=gateway)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(gateway.requests), 9)
        result = json.loads((self.path / "results/21_Other/result_9.json").read_text())
        self.assertEqual((result["compile_success"], result["accuracy_pass"]), (False, False))
        self.assertTrue(result["error"])
        self.assertEqual([path.name for path in (self.path / "results").iterdir() if path.is_dir()], ["21_Other"])
        for arguments, words in ((("40", "1"), "end before they begin|ends before it begins"), (("1", "5"), "no task")):
            done = self.kgen("batch", *arguments, gateway=gateway)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertRegex(done.stderr, words)
        done = self.kgen("batch", "1", "5", gateway=gateway, environment={"KERNELBENCH_DIR": ""})
        self.assertEqual(done.returncode, 64)
        self.assertIn("KERNELBENCH_DIR", done.stderr)

    def test_a_checkout_and_a_plain_folder_serve_as_well(self):
        gateway = self.gateway(lambda _: "")
        plain = self.path / "plain"
        self.level.rename(plain)
        self.level.mkdir()
        for place in (plain, self.path / "datasets"):
            if place != plain:
                plain.rename(self.path / "datasets/KernelBench/level1")
            done = self.kgen("batch", "19", "21", "--first-n", "2", "--dry-run", gateway=gateway, environment={"KERNELBENCH_DIR": str(place)})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 runs", done.stdout)

    def test_print_config_tells_what_a_range_implies(self):
        done = self.kgen("batch", "1", "40", "--print-config", "--target", "hip", environment={"NUM_SAMPLES": "5"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'(?m)^policy = "reflect" +# START END$')
        self.assertRegex(done.stdout, r'(?m)^profile = "sandboxed" +# START END$')
        self.assertRegex(done.stdout, r'(?m)^target = \["hip"\] +# command line$')
        self.assertRegex(done.stdout, r"(?m)^samples = 5 +# NUM_SAMPLES$")
        done = self.kgen("batch", "1", "40", environment={"MAX_ATTEMPTS": "many"})
        self.assertEqual(done.returncode, 64)
        self.assertTrue(done.stderr.startswith("kgen: MAX_ATTEMPTS: expected a whole number"), done.stderr)

    def test_every_command_line_of_the_page_is_known(self):
        """The options of each command in the description are options of kgen."""
        help_of = {command: self.kgen(command, "--help").stdout for command in ("generate", "eval", "batch", "report")}
        for command, options in {"generate": ["--problem", "--output", "--prompt", "--response-file", "--num-samples"],
                                 "eval": ["--code", "--problem", "--output"], "batch": ["--first-n", "--start", "--end"]}.items():
            for option in options:
                self.assertTrue(re.search(rf"{option}\b", help_of[command]), (command, option))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    _, rest = parser.parse_known_args(namespace=ARGUMENTS)
    with tempfile.TemporaryDirectory() as cache:
        ARGUMENTS.cache = cache
        unittest.main(argv=[sys.argv[0], *rest])
