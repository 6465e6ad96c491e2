#!/usr/bin/env python3
"""kgen asks servers that other projects wrote: two that play a provider, faults included, and one that runs a model."""

import argparse
import collections
import fcntl
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
MAKE_MODELS = HERE / "make_tiny_models.py"
SKIPPED = 77
# Exit codes of kgen.
SUCCESS, WRONG_USAGE, COME_BACK_LATER = 0, 64, 75

KGEN = None
ENVIRONMENT = None
LLMOCK = None
LLMOCK_WITH_LITTLE_CONTEXT = None
PROMPT = "Reply with the single word: ready\n"

# A proxy of this machine must not come between kgen and a server on loopback, and nothing is to be downloaded.
CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("PIP_", "PYTHON"))}

Answer = collections.namedtuple("Answer", "code reply error")


def request(url, method="GET", body=None, headers=None):
    """Sends one request to a server, and returns the JSON of its answer."""
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    message = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    with opener.open(message, timeout=60) as answer:
        return json.load(answer)


class Environment:
    """A virtual environment with the servers, below a directory that is kept."""

    def __init__(self, directory):
        self.directory = directory.resolve()
        self.python = self.directory / "environment" / "bin" / "python"
        self.models = self.directory / "models"
        torch = importlib.util.find_spec("torch")
        self.torch = pathlib.Path(torch.origin).parent.parent if torch and torch.origin else None

    def prepare(self):
        """Installs what is missing. Returns why that was not possible, or an empty text."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self.install()

    def install(self):
        requirements = HERE / "requirements.txt"
        parts = [sys.version, str(self.torch), requirements.read_text(), MAKE_MODELS.read_text()]
        wanted = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        stamp = self.directory / "installed"
        if stamp.exists() and stamp.read_text() == wanted and self.python.exists():
            return ""
        stamp.unlink(missing_ok=True)
        for part in (self.python.parent.parent, self.models):
            shutil.rmtree(part, ignore_errors=True)
        venv = self.run(sys.executable, "-m", "venv", self.python.parent.parent, check=False)
        if venv.returncode != 0:
            return f"no virtual environment can be made, so pip cannot install anything: {venv.stdout}{venv.stderr}"
        if self.torch:
            folder = self.run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout
            (pathlib.Path(folder.strip()) / "torch_of_the_test.pth").write_text(f"{self.torch}\n")
        # transformers would bring torch along.
        left_out = ("#",) if self.torch else ("#", "transformers")
        packages = [line for line in requirements.read_text().splitlines() if line and not line.startswith(left_out)]
        pip = self.run(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                       "--timeout", "30", *packages, check=False)
        if pip.returncode != 0:
            return f"pip cannot install {', '.join(packages)}\n{pip.stderr[-2000:]}"
        if self.has_transformers():
            self.run(self.python, "-B", MAKE_MODELS, self.models)
        stamp.write_text(wanted)
        return ""

    def has_transformers(self):
        """False without torch, which is too large to be installed for a test, and for a Python that is too old."""
        return self.torch is not None and (self.python.parent / "transformers").exists()

    @staticmethod
    def run(*command, check=True):
        # pip needs the proxies and the index that the environment names; servers do not.
        environment = {**os.environ, "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=900, env=environment)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-3000:]}")
        return done


class Server:
    """A program that listens on a free port of loopback, until it is closed."""

    def __init__(self, program, *arguments, ready):
        self.log = tempfile.TemporaryFile()
        self.home = tempfile.TemporaryDirectory()
        for _ in range(3):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self.url = f"http://127.0.0.1:{port}"
            self.process = subprocess.Popen(
                [str(ENVIRONMENT.python.parent / program), *map(str, arguments), "--port", str(port)],
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**CLEAN, "HOME": self.home.name, "HF_HOME": self.home.name, "HF_HUB_OFFLINE": "1",
                     "HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"})
            # Another program may have taken the port in the meantime; the server ends then.
            if self.wait_until_ready(self.url + ready):
                return
        self.close()
        raise RuntimeError(f"{program} does not start: {self.text()}")

    def wait_until_ready(self, url):
        end = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < end:
            try:
                request(url)
                return True
            except (OSError, ValueError):
                time.sleep(0.1)
        self.stop()
        return False

    def text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-3000:]

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def close(self):
        self.stop()
        self.log.close()
        self.home.cleanup()


class Kgen(unittest.TestCase):
    """Runs `kgen models --check` with keys and a configuration of its own."""

    KEYS = {"OPENAI_API_KEY": "sk-test-openai-key", "ANTHROPIC_API_KEY": "sk-test-anthropic-key",
            "GEMINI_API_KEY": "test-gemini-key"}
    provider, base = "openai", "/v1"
    server = None

    def check(self, model, base=None, provider=None, providers=None, server=None):
        """`providers`: what the user's own list of providers holds."""
        with tempfile.TemporaryDirectory() as home:
            if providers:
                (pathlib.Path(home) / "kgen").mkdir()
                (pathlib.Path(home) / "kgen" / "providers.json").write_text(json.dumps({"providers": providers}))
            url = (server or self.server).url + (self.base if base is None else base)
            done = subprocess.run(
                [str(KGEN), "models", "--check", f"{provider or self.provider}:{model}@{url}", "--json"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                timeout=200, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": home,
                                  "XDG_CONFIG_HOME": home, **self.KEYS})
        for key in self.KEYS.values():
            self.assertNotIn(key, done.stdout + done.stderr)
        if done.returncode == SUCCESS:
            self.assertEqual(done.stderr, "")
            return Answer(SUCCESS, json.loads(done.stdout), "")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Akgen: [^\n]+\n\Z")
        return Answer(done.returncode, None, done.stderr.strip())

    def assert_reply(self, answer, text, finish="stop", **usage):
        """`usage`: the numbers that the server gives; the others are absent."""
        self.assertEqual((answer.code, answer.error), (SUCCESS, ""))
        self.assertEqual(answer.reply["text"], text)
        self.assertEqual(answer.reply["finish"], finish)
        self.assertEqual({name: count for name, count in answer.reply["usage"].items() if count is not None}, usage)
        self.assertEqual(answer.reply["left_out"], "")

    def assert_error(self, answer, code, *parts):
        self.assertEqual(answer.code, code, answer.error)
        for part in parts:
            self.assertIn(part, answer.error)


class LlmockCases:
    """Cases for each protocol. llmock applies a fault to requests for one model, and keeps a list of all requests."""

    TEXT = "A reply: é 你 😀."
    # Names of llmock for the reasons why a reply ends, and what they are in kgen.
    finishes = {"length": "length"}
    # Numbers of usage that the protocol has besides those of input and output.
    more_usage = {}
    # The provider's words for a prompt that is too long.
    too_long = ""

    def setUp(self):
        self.server = LLMOCK
        self.model = f"{self.provider}-{self._testMethodName}"

    def script(self, what, **fields):
        """What happens to the next request of this test; `times` is another number of them, None all."""
        behavior = {"type": what, "match": {"model": self.model}, **fields}
        request(LLMOCK.url + "/_llmock/scenario", "POST", {"behaviors": [behavior]})

    def requests(self, server=None):
        """The requests of this test, in the order of their beginnings."""
        records = request((server or self.server).url + "/_llmock/requests")["requests"]
        return sorted((record for record in records if record["model"] == self.model), key=lambda one: one["seq"])

    def ask(self):
        return self.check(self.model)

    def usage_of(self, text):
        # llmock counts a token for four characters, rounded down, and at least one of a reply.
        return {"input_tokens": len(PROMPT) // 4, "output_tokens": max(1, len(text) // 4), **self.more_usage}

    def assert_answered(self, attempts, text=TEXT, finish="stop"):
        self.script("reply", text=text)
        answer = self.ask()
        self.assert_reply(answer, text, finish, **self.usage_of(text))
        self.assertEqual(answer.reply["model"], self.model)
        self.assertEqual(len(self.requests()), attempts)
        return answer

    def assert_refused(self, status, words, exit_code=WRONG_USAGE, attempts=1, **fields):
        self.script("fail", status=status, **fields)
        answer = self.ask()
        self.assert_error(answer, exit_code, f"{self.provider} {self.model} at 127.0.0.1:", f"HTTP {status}: {words}")
        self.assertEqual(len(self.requests()), attempts)
        return answer

    def assert_repeated(self, what, **fields):
        """One fault, then a reply."""
        self.script(what, **fields)
        answer = self.ask()
        self.assertEqual(answer.code, SUCCESS, answer.error)
        self.assertEqual(answer.reply["finish"], "stop")
        self.assertEqual(answer.reply["usage"]["input_tokens"], len(PROMPT) // 4)
        seen = self.requests()
        self.assertEqual(len(seen), 2)
        self.assertEqual(seen[0]["fingerprint"], seen[1]["fingerprint"])
        return seen

    def test_a_streamed_reply_is_read_whole(self):
        answer = self.assert_answered(attempts=1)
        self.assertGreater(answer.reply["first_output_s"], 0)
        self.assertGreaterEqual(answer.reply["latency_s"], answer.reply["first_output_s"])
        self.assertEqual(answer.reply["identity"], f"{self.provider} {self.model}")
        self.assertTrue(self.requests()[0]["stream"])

    def test_a_reply_in_one_piece_is_the_same_one(self):
        self.script("reply", text=self.TEXT)
        answer = self.check(self.model, providers=[{"name": self.provider, "streams": False}])
        self.assert_reply(answer, self.TEXT, **self.usage_of(self.TEXT))
        self.assertFalse(self.requests()[0]["stream"])

    def test_the_reason_of_the_end_is_that_of_the_server(self):
        for sent, shown in self.finishes.items():
            self.script("reply", text=self.TEXT, finish_reason=sent)
            self.assert_reply(self.ask(), self.TEXT, shown, **self.usage_of(self.TEXT))

    def test_a_slow_first_token_is_waited_for(self):
        self.script("slow_first_token", seconds=2)
        answer = self.assert_answered(attempts=1)
        self.assertGreaterEqual(answer.reply["first_output_s"], 2)

    # kgen gives up an answer that stands still for two minutes. No option shortens that, and `kgen models --check`
    # itself ends after two minutes, so a longer pause is left to tests/process/server_stream_test.cpp.
    def test_a_short_pause_in_the_stream_is_waited_for(self):
        self.script("stream_fault", kind="stall", after_chunks=2, stall_seconds=2)
        answer = self.assert_answered(attempts=1)
        self.assertGreaterEqual(answer.reply["latency_s"], 2)

    def test_400_is_an_error_at_once(self):
        self.assert_refused(400, "Bad request.")

    def test_401_is_an_error_at_once(self):
        self.assert_refused(401, "Unauthorized.")

    def test_403_is_an_error_at_once(self):
        self.assert_refused(403, "Forbidden.")

    def test_404_is_an_error_at_once(self):
        self.assert_refused(404, "Resource not found.")

    def test_422_is_an_error_at_once(self):
        self.assert_refused(422, "Unprocessable entity.")

    def test_a_key_in_an_error_is_not_shown(self):
        key = self.KEYS[self.provider.split("-")[0].upper() + "_API_KEY"]
        self.assert_refused(401, "Incorrect API key provided: [key].", message=f"Incorrect API key provided: {key}.")

    def test_a_message_with_line_ends_is_one_line(self):
        self.assert_refused(400, "first", message="first\nsecond\x1b[31m\r\nthird")

    def test_a_prompt_that_is_too_long_is_told_in_the_providers_words(self):
        answer = self.check(self.model, server=LLMOCK_WITH_LITTLE_CONTEXT)
        self.assert_error(answer, WRONG_USAGE, f"HTTP 400: {self.too_long}")
        self.assertEqual(len(self.requests(LLMOCK_WITH_LITTLE_CONTEXT)), 1)

    def test_an_error_with_the_code_prompt_too_long_is_told_in_the_providers_words(self):
        self.assert_refused(400, "9000 tokens are more than 8000", message="9000 tokens are more than 8000",
                            code="prompt_too_long")

    def test_429_is_repeated(self):
        self.assert_repeated("fail", status=429)

    def test_429_is_repeated_after_the_wait_that_the_server_asks_for(self):
        first, second = self.assert_repeated("fail", status=429, retry_after=3)
        self.assertGreaterEqual(second["started_at"] - first["ended_at"], 2.95)

    def test_429_with_a_wait_of_minutes_is_not_waited_for(self):
        answer = self.assert_refused(429, "Rate limit exceeded.", COME_BACK_LATER, retry_after=150, times=None)
        self.assertIn("(1 attempt, the server asks to wait 150 s)", answer.error)

    def test_500_is_repeated(self):
        self.assert_repeated("fail", status=500)

    def test_503_is_repeated(self):
        self.assert_repeated("fail", status=503)

    def test_503_is_repeated_after_the_wait_that_the_server_asks_for(self):
        first, second = self.assert_repeated("fail", status=503, retry_after=3)
        self.assertGreaterEqual(second["started_at"] - first["ended_at"], 2.95)

    def test_529_is_repeated(self):
        self.assert_repeated("fail", status=529)

    def test_a_stream_that_breaks_off_is_repeated(self):
        self.assert_repeated("stream_fault", kind="disconnect", after_chunks=2)

    def test_a_stream_that_ends_before_its_reply_is_repeated(self):
        self.assert_repeated("stream_fault", kind="truncate", after_chunks=2)

    def test_a_stream_without_anything_is_repeated(self):
        self.assert_repeated("stream_fault", kind="truncate", after_chunks=0)

    def test_an_event_that_is_no_json_makes_the_reply_be_asked_for_again(self):
        self.assert_repeated("stream_fault", kind="malformed", after_chunks=3)

    def test_streams_that_always_break_off_are_an_error(self):
        self.assert_given_up("stream_fault", "transfer closed with outstanding read data remaining (3 attempts)", 3,
                             kind="disconnect", after_chunks=2)

    def test_streams_that_always_end_before_their_reply_are_an_error(self):
        self.assert_given_up("stream_fault", "the stream ended after ", 3, kind="truncate", after_chunks=2)

    def test_streams_with_an_event_that_is_no_json_are_an_error(self):
        self.assert_given_up("stream_fault", "the stream holds an event that is no JSON: {", 3, kind="malformed",
                             after_chunks=3)

    def assert_given_up(self, what, words, attempts, **fields):
        self.script(what, times=None, **fields)
        answer = self.ask()
        self.assert_error(answer, COME_BACK_LATER, words, f"({attempts} attempts")
        self.assertEqual(len(self.requests()), attempts)


class ChatCompletions(LlmockCases, Kgen):
    finishes = {"length": "length", "content_filter": "refused", "tool_calls": "other"}
    too_long = "This model's maximum context length is 4 tokens."

    def test_the_request_asks_for_usage(self):
        self.assert_answered(attempts=1)
        body = self.requests()[0]["body"]
        self.assertEqual(body["messages"], [{"role": "user", "content": PROMPT}])
        self.assertEqual(body["stream_options"], {"include_usage": True})

    def test_429_that_stays_is_an_error(self):
        self.assert_given_up("fail", "HTTP 429: Rate limit exceeded.", 5, status=429)

    def test_500_that_stays_is_an_error(self):
        self.assert_given_up("fail", "HTTP 500: Internal server error.", 4, status=500)

    def test_503_that_stays_is_an_error(self):
        self.assert_given_up("fail", "HTTP 503: Service unavailable.", 4, status=503)

    def test_529_that_stays_is_an_error(self):
        self.assert_given_up("fail", "HTTP 529: Service overloaded.", 4, status=529)

    def test_llmock_finds_no_fault_with_what_follows_on_faults(self):
        request(LLMOCK.url + "/_llmock/requests", "DELETE")
        faults = [{"what": "fail", "status": status, "retry_after": 1} for status in (401, 429, 503)]
        faults += [{"what": "stream_fault", "kind": kind, "after_chunks": 2} for kind in ("disconnect", "truncate")]
        for number, fault in enumerate(faults):
            # A request of its own: llmock takes the next one with the same body for a repetition.
            self.model = f"verdict-{number}"
            self.script(**fault)
            self.ask()
        verdict = request(LLMOCK.url + "/_llmock/verdict")
        self.assertEqual((verdict["findings"], verdict["passed"], verdict["faults_injected"]), ([], True, len(faults)))


class Responses(LlmockCases, Kgen):
    provider = "openai-responses"
    more_usage = {"cached_tokens": 0, "reasoning_tokens": 0}
    too_long = "This model's maximum context length is 4 tokens."


class Messages(LlmockCases, Kgen):
    provider, base = "anthropic", "/anthropic/v1"
    finishes = {"length": "length", "max_tokens": "length", "refusal": "refused", "tool_use": "other"}
    too_long = "prompt is too long: 8 tokens > 4 maximum"


class GenerateContent(LlmockCases, Kgen):
    provider, base = "gemini", "/gemini/v1beta"
    finishes = {"length": "length", "content_filter": "refused"}
    too_long = "The input token count (8) exceeds the maximum number of tokens allowed (4)."


class Stubllm(Kgen):
    """stubllm ends its streams without usage, and answers by the name of the model."""

    TEXT = "One word: ready."
    FIXTURES = {
        "plain": {"response": {"content": TEXT, "stream_chunk_delay_ms": 1,
                               "usage": {"prompt_tokens": 10, "completion_tokens": 12, "total_tokens": 22}}},
        "busy-once": {"sequence": [{"http_status": 503, "error_message": "busy"}, {"content": TEXT}]},
        "no-money": {"response": {"http_status": 429, "error_message": "insufficient_quota: your quota is used up"}},
        "no-key": {"response": {"http_status": 401, "error_message": "Who are you?"}},
    }

    @classmethod
    def setUpClass(cls):
        fixtures = [{"name": name, "match": {"model": name}, **what} for name, what in cls.FIXTURES.items()]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            # YAML understands JSON.
            json.dump({"fixtures": fixtures}, file)
            file.flush()
            cls.server = Server("stubllm", "serve", "--host", "127.0.0.1", "--fixture-file", file.name, ready="/health")
        cls.addClassCleanup(cls.server.close)

    def count(self, name):
        return request(self.server.url + "/_stats")["fixture_call_counts"].get(name, 0)

    def assert_asked(self, name, times, before):
        self.assertEqual(self.count(name) - before, times)

    def test_a_stream_of_chat_completions_has_no_usage(self):
        before = self.count("plain")
        answer = self.check("plain")
        self.assert_reply(answer, self.TEXT)
        self.assertEqual(answer.reply["model"], "plain")
        self.assert_asked("plain", 1, before)

    def test_a_chat_completion_in_one_piece_has_its_usage(self):
        answer = self.check("plain", providers=[{"name": "openai", "streams": False}])
        self.assert_reply(answer, self.TEXT, input_tokens=10, output_tokens=12)

    def test_an_answer_of_generate_content_in_one_piece_has_its_usage(self):
        answer = self.check("plain", base="/v1beta", provider="gemini",
                            providers=[{"name": "gemini", "streams": False}])
        self.assert_reply(answer, self.TEXT, input_tokens=10, output_tokens=12)

    def test_a_stream_of_generate_content_has_no_usage(self):
        answer = self.check("plain", base="/v1beta", provider="gemini")
        self.assert_reply(answer, self.TEXT)

    def test_a_server_that_is_busy_is_asked_again(self):
        self.assert_reply(self.check("busy-once"), self.TEXT)
        self.assert_asked("busy-once", 2, 0)

    def test_an_account_without_money_is_asked_once(self):
        self.assert_error(self.check("no-money"), COME_BACK_LATER, "HTTP 429: insufficient_quota: your quota is used up")
        self.assert_asked("no-money", 1, 0)

    def test_a_key_that_is_not_accepted_is_an_error_at_once(self):
        self.assert_error(self.check("no-key"), WRONG_USAGE, "HTTP 401: Who are you?")
        self.assert_asked("no-key", 1, 0)

    def test_a_protocol_that_the_server_does_not_speak_is_an_error_at_once(self):
        self.assert_error(self.check("plain", provider="openai-responses"), WRONG_USAGE, "HTTP 404: Not Found")


class Transformers(Kgen):
    """`transformers serve` computes the replies of models that say "ready steady go", or go on for ever."""

    PROMPT_TOKENS = 9
    # The server's limit of a reply where a request has none.
    LIMIT = 1024

    @classmethod
    def setUpClass(cls):
        if not ENVIRONMENT.has_transformers():
            raise unittest.SkipTest("needs a Python of 3.11 or newer that has torch")
        cls.server = Server("transformers", "serve", "--host", "127.0.0.1", "--device", "cpu", "--dtype", "float32",
                            ready="/health")
        cls.addClassCleanup(cls.server.close)

    def ask(self, name, **options):
        model = str(ENVIRONMENT.models / name)
        answer = self.check(model, **options)
        if answer.code == SUCCESS:
            self.assertEqual(answer.reply["model"], model)
            self.assertNotEqual(answer.reply["request_id"], "")
        return answer

    def test_a_stream_of_chat_completions_is_what_the_model_says(self):
        answer = self.ask("stops")
        # The end counts as a token.
        self.assert_reply(answer, "ready steady go", input_tokens=self.PROMPT_TOKENS, output_tokens=4)
        self.assertGreater(answer.reply["first_output_s"], 0)

    def test_a_chat_completion_in_one_piece_is_the_same(self):
        answer = self.ask("stops", providers=[{"name": "openai", "streams": False}])
        self.assert_reply(answer, "ready steady go", input_tokens=self.PROMPT_TOKENS, output_tokens=4)

    def test_a_stream_of_chat_completions_ends_at_its_limit(self):
        answer = self.ask("goes_on")
        self.assertTrue(answer.reply["text"].startswith("go steady go steady go"), answer.reply["text"])
        self.assertEqual(answer.reply["finish"], "length")
        self.assertEqual(answer.reply["usage"], {"input_tokens": self.PROMPT_TOKENS, "output_tokens": self.LIMIT,
                                                 "cached_tokens": None, "reasoning_tokens": None, "cache_write_tokens": None})
        self.assertLess(answer.reply["first_output_s"], answer.reply["latency_s"])

    def test_a_stream_of_responses_is_what_the_model_says(self):
        answer = self.ask("stops", provider="openai-responses")
        self.assert_reply(answer, "ready steady go", input_tokens=self.PROMPT_TOKENS, output_tokens=4, cached_tokens=0,
                          reasoning_tokens=0)

    def test_a_response_in_one_piece_is_the_same(self):
        answer = self.ask("stops", provider="openai-responses",
                          providers=[{"name": "openai-responses", "streams": False}])
        self.assert_reply(answer, "ready steady go", input_tokens=self.PROMPT_TOKENS, output_tokens=4, cached_tokens=0,
                          reasoning_tokens=0)

    # Its reason to finish is not asserted: this server calls a response completed that its limit cut.
    def test_a_long_stream_of_responses_is_read_whole(self):
        answer = self.ask("goes_on", provider="openai-responses")
        self.assertTrue(answer.reply["text"].startswith("go steady go steady go"), answer.reply["text"])
        self.assertEqual(answer.reply["usage"], {"input_tokens": self.PROMPT_TOKENS, "output_tokens": self.LIMIT,
                                                 "cached_tokens": 0, "reasoning_tokens": 0, "cache_write_tokens": None})

    def test_a_protocol_that_the_server_does_not_speak_is_an_error_at_once(self):
        self.assert_error(self.check("any", provider="anthropic"), WRONG_USAGE, "HTTP 404: Not Found")


def setUpModule():
    global LLMOCK, LLMOCK_WITH_LITTLE_CONTEXT
    LLMOCK = Server("llmock", "serve", "--host", "127.0.0.1", ready="/health")
    unittest.addModuleCleanup(LLMOCK.close)
    LLMOCK_WITH_LITTLE_CONTEXT = Server("llmock", "serve", "--host", "127.0.0.1", "--context-window", "4",
                                        ready="/health")
    unittest.addModuleCleanup(LLMOCK_WITH_LITTLE_CONTEXT.close)


def main():
    global KGEN, ENVIRONMENT
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True, type=pathlib.Path)
    parser.add_argument("--venv", required=True, type=pathlib.Path, help="where the servers are installed, and kept")
    arguments, rest = parser.parse_known_args()
    KGEN = arguments.kgen.resolve()
    ENVIRONMENT = Environment(arguments.venv)
    missing = ENVIRONMENT.prepare()
    if missing:
        print(missing, file=sys.stderr)
        return SKIPPED
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
