"""The reward service: requests, limits, fairness, cancellation, tokens, the command."""

import asyncio
import collections
import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import kernelgen
from kernelgen import serve
from serve_client import EVALUATIONS, TASKS, Client, answers, ask, running_service, wait_until
from support import FULL_RECORD, RECORD, WaitingJudge, calls_end, fake_judge, run_script
from test_evaluate import KERNEL, SLOW, children_of


class GatedJudge(kernelgen.Benchmarker):
    """Judges once its gate is open, and notes the order in which evaluations started."""

    def __init__(self, seconds: float = 0.0):
        self.gate = threading.Event()
        self.started: list[str] = []
        self.seconds = seconds

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        self.started.append(candidate.source)
        while not self.gate.is_set():
            if stop.wait(0.01):
                raise kernelgen.Cancelled("stopped")
        time.sleep(self.seconds)
        return kernelgen.EvaluationRecord()


class WordyJudge(kernelgen.Benchmarker):
    """Refuses with a message."""

    message = ""

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        return kernelgen.EvaluationRecord(
            outcome=kernelgen.Outcome(kernelgen.OutcomeKind.COMPILE, "other", self.message))


class RaisingJudge(kernelgen.Benchmarker):
    """Raises what the code names."""

    def evaluate(self, task, candidate, options=kernelgen.EvaluationOptions(), *, progress=None, stop=None):
        if candidate.source == "bug":
            raise KeyError("a secret of the judge")
        raise getattr(kernelgen, candidate.source)("the machine failed")


class AnswerTest(unittest.TestCase):
    """Services that answer at once."""

    @classmethod
    def setUpClass(cls):
        cls.service = running_service(fake_judge(), code_bytes=1000, body_bytes=5000, allow_task_text=True)
        cls.client = cls.service.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__(None, None, None)

    def assert_refused(self, answer, status, reason):
        self.assertEqual((answer.status, answer.error), (status, reason), answer.text)

    def test_a_verdict_is_the_record_with_its_score(self):
        answer = self.client.evaluate()
        self.assertEqual((answer.status, answer.json["state"], answer.json["score"]), (200, "finished", 1.5))
        record = kernelgen.EvaluationRecord.from_json(json.dumps(answer.json["record"]))
        self.assertEqual(record.candidate_id, kernelgen.Candidate("// right").id)
        self.assertEqual(record.task_name, "relu")
        again = self.client("GET", f"{EVALUATIONS}/{answer.json['id']}")
        self.assertEqual((again.status, again.json), (200, answer.json))

    def test_without_waiting_there_is_an_id(self):
        begun = self.client.evaluate(target=f"{EVALUATIONS}?wait=0")
        self.assertEqual(begun.status, 202)
        self.assertEqual(begun.headers["location"], f"{EVALUATIONS}/{begun.json['id']}")
        answer = self.client("GET", f"{EVALUATIONS}/{begun.json['id']}?wait=10")
        self.assertEqual((answer.status, answer.json["score"]), (200, 1.5))

    def test_an_evaluation_that_ended_is_not_cancelled(self):
        answer = self.client.evaluate()
        ended = self.client("DELETE", f"{EVALUATIONS}/{answer.json['id']}")
        self.assertEqual((ended.status, ended.json["state"]), (200, "finished"))

    def test_options_and_texts_of_tasks_arrive(self):
        text = (TASKS / "relu.py").read_text()
        answer = self.client("POST", EVALUATIONS, json.dumps(
            {"task_text": text, "code": "x", "target": "triton", "options": {"mode": "quick"}}).encode())
        record = answer.json["record"]
        self.assertEqual((record["mode"], record["target"]), ("quick", "triton"))
        self.assertRegex(record["task_name"], "^task-[0-9a-f]{12}$")

    def test_bodies_that_are_no_request(self):
        for body, reason in (
                (b"{", "JSON"), (b"[]", "object"), (b"{}", "code"), (ask(colour="red"), "colour"), (b"\xff", "JSON"),
                (ask(task=None), "either task"), (ask(task_text="x"), "either task"), (ask(code=7), "code"),
                (ask(target="fortran"), "fortran"), (ask(language="cobol"), "cobol"),
                (b'{"task": "relu", "code": "\\ud800"}', "JSON"), (b"[" * 4000, "JSON")):
            with self.subTest(body[:40]):
                answer = self.client("POST", EVALUATIONS, body)
                self.assert_refused(answer, 400, "invalid_argument")
                self.assertIn(reason, answer.json["error"]["message"])

    def test_options_that_are_not_possible(self):
        for options, reason in (
                ({"colour": 1}, "colour"), ({"mode": "fast"}, "fast"), ({"call_timeout": -1}, "call_timeout"),
                ({"call_timeout": "soon"}, "call_timeout"), ({"sanitizers": {"depth": 1}}, "depth"), ([], "options"),
                ({"rtol": 0.5}, "--allow-option rtol"), ({"precision": "bf16"}, "precision"),
                ({"measure": {"full_comparisons": 1}}, "measure"), ({"allow_weak_isolation": True}, "weak_isolation")):
            with self.subTest(options):
                answer = self.client.evaluate(options=options)
                self.assert_refused(answer, 400, "invalid_argument")
                self.assertIn(reason, answer.json["error"]["message"])

    def test_a_task_is_a_name_and_never_a_path(self):
        for name in ("../tasks/relu", "/etc/passwd", "./relu", "a/../relu", "relu.py/..", "", "..", "relu\0", "a//b"):
            with self.subTest(name):
                self.assert_refused(self.client.evaluate(task=name), 400, "invalid_argument")
        for name in ("nothing", "relu.py", "level1/40"):
            with self.subTest(name):
                self.assert_refused(self.client.evaluate(task=name), 404, "not_found")

    def test_links_out_of_a_folder_are_not_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "outside.py").symlink_to(TASKS / "relu.py")
            Path(folder, "inside.py").write_text((TASKS / "relu.py").read_text())
            with running_service(fake_judge(), tasks=(folder,)) as client:
                self.assert_refused(client.evaluate(task="outside"), 404, "not_found")
                self.assertEqual(client.evaluate(task="inside").status, 200)

    def test_large_requests_are_refused(self):
        before = self.client.metric('kernelgen_refused_requests_total{reason="body_too_large"}')
        self.assert_refused(self.client.evaluate("x" * 1001), 413, "code_too_large")
        self.assert_refused(self.client.evaluate("x" * 6000), 413, "body_too_large")
        after = self.client.metric('kernelgen_refused_requests_total{reason="body_too_large"}')
        self.assertEqual(after, before + 1)

    def test_a_large_body_of_unknown_length_is_refused(self):
        async def send():
            reader, writer = await asyncio.open_unix_connection(self.client.path)
            writer.write(b"POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n" +
                         b"1000\r\n" + b"x" * 4096 + b"\r\n")
            line = await reader.readline()
            writer.close()
            return line

        self.assertIn(b" 413 ", asyncio.run(send()))

    def test_a_body_is_json_by_its_type(self):
        self.assert_refused(self.client("POST", EVALUATIONS, ask(), Content_Type="text/plain"), 415, "media_type")

    def test_what_is_not_there(self):
        for method in ("GET", "DELETE"):
            self.assert_refused(self.client(method, f"{EVALUATIONS}/0123"), 404, "not_found")
        self.assert_refused(self.client("GET", "/v2"), 404, "not_found")
        self.assertEqual(self.client("PUT", EVALUATIONS).status, 405)
        for wait in ("soon", "-1", "nan", "inf"):
            for method, target in (("GET", f"{EVALUATIONS}/0123"), ("POST", EVALUATIONS)):
                self.assert_refused(self.client(method, f"{target}?wait={wait}", ask()), 400, "invalid_argument")

    def test_pages(self):
        self.assertEqual(self.client("GET", "/healthz").json["status"], "ok")
        described = self.client("GET", "/openapi.json").json
        self.assertEqual(set(described["paths"]), {EVALUATIONS, EVALUATIONS + "/{identifier}", "/healthz", "/metrics"})
        self.assertIn("code", json.dumps(described["paths"][EVALUATIONS]["post"]["requestBody"]))
        self.assertIn("openapi.json", self.client("GET", "/docs").text)

    def test_verdicts_are_counted(self):
        before = self.client.metric('kernelgen_evaluations_total{outcome="correct"}')
        self.client.evaluate()
        self.assertEqual(self.client.metric('kernelgen_evaluations_total{outcome="correct"}'), before + 1)
        self.assertGreater(self.client.metric("kernelgen_evaluation_seconds_count"), before)
        self.assertEqual(self.client.metric("kernelgen_running"), 0)


class FailureTest(unittest.TestCase):
    def test_failures_of_the_machine_are_statuses(self):
        with self.assertLogs("kernelgen.serve", "ERROR"), running_service(RaisingJudge()) as client:
            for name, status in (
                    ("InvalidArgument", 400), ("InvalidTask", 422), ("NotFound", 404), ("Unavailable", 503),
                    ("Timeout", 504), ("MissingDevice", 422), ("OutOfMemory", 507), ("Io", 500), ("bug", 500)):
                with self.subTest(name):
                    answer = client.evaluate(name)
                    self.assertEqual((answer.status, answer.json["state"]), (status, "failed"))
                    self.assertNotIn("secret", answer.text)
                    self.assertEqual("retry-after" in answer.headers, status == 503)
            self.assertEqual(client.metric('kernelgen_failures_total{code="timeout"}'), 1)

    def test_an_evaluation_has_a_deadline(self):
        judge = WaitingJudge()
        with running_service(judge, serve.QueueLimits(deadline=0.1)) as client:
            answer = client.evaluate()
            self.assertEqual((answer.status, answer.error), (504, "timeout"))
            self.assertTrue(judge.ended.wait(10))

    def test_answers_are_kept_for_a_limited_number_size_and_time(self):
        def find_all(client, ids):
            return [client("GET", f"{EVALUATIONS}/{one}").status for one in ids]

        with running_service(fake_judge(), serve.QueueLimits(keep=2)) as client:
            self.assertEqual(find_all(client, [client.evaluate().json["id"] for _ in range(3)]), [404, 200, 200])
        # So many bytes as two answers and a half have. The line of metrics rounds nothing below 2^53.
        with running_service(fake_judge()) as client:
            client.evaluate()
            size = int(client.metric("kernelgen_kept_answer_bytes"))
        self.assertGreater(size, len(RECORD) // 2)
        with running_service(fake_judge(), serve.QueueLimits(keep_bytes=size * 5 // 2)) as client:
            self.assertEqual(find_all(client, [client.evaluate().json["id"] for _ in range(4)]), [404, 404, 200, 200])
            self.assertEqual(client.metric("kernelgen_kept_answer_bytes"), 2 * size)
        # One that is too large is given to the client that waits for it, and not kept.
        with running_service(fake_judge(), serve.QueueLimits(keep_bytes=size - 1)) as client:
            answer = client.evaluate()
            self.assertEqual((answer.status, find_all(client, [answer.json["id"]])), (200, [404]))
            self.assertEqual(client.metric("kernelgen_kept_answer_bytes"), 0)
        # It takes the place of no other answer.
        judge = WordyJudge()
        with running_service(judge, serve.QueueLimits(keep_bytes=size * 5 // 2)) as client:
            kept = [client.evaluate().json["id"] for _ in range(2)]
            before = client.metric("kernelgen_kept_answer_bytes")
            judge.message = "x" * (size * 3)
            large = client.evaluate()
            self.assertEqual((large.status, find_all(client, [*kept, large.json["id"]])), (200, [200, 200, 404]))
            self.assertEqual(client.metric("kernelgen_kept_answer_bytes"), before)
        with running_service(fake_judge(), serve.QueueLimits(keep_seconds=0.001)) as client:
            self.assertEqual(find_all(client, [client.evaluate().json["id"]]), [404])

    def test_options_that_were_allowed(self):
        with running_service(fake_judge(), allowed_options=("rtol",)) as client:
            self.assertEqual(client.evaluate(options={"rtol": 0.5}).status, 200)
            self.assertEqual(client.evaluate(options={"atol": 0.5}).status, 400)
            refused = client("POST", EVALUATIONS, json.dumps({"task_text": "x", "code": "x"}).encode())
            self.assertEqual((refused.status, refused.error), (403, "task_text"))

    def test_a_full_record_passes_unchanged(self):
        with running_service(kernelgen.Judge(kernelgen._core.fake_judge(FULL_RECORD))) as client:
            record = client.evaluate().json["record"]
        self.assertEqual(record["compile"], json.loads(FULL_RECORD)["compile"])


class CancelTest(unittest.TestCase):
    def setUp(self):
        self.judge = WaitingJudge()
        service = running_service(self.judge, serve.QueueLimits(running=1))
        self.client = service.__enter__()
        self.addCleanup(service.__exit__, None, None, None)

    def begin(self) -> str:
        return self.client.evaluate(target=f"{EVALUATIONS}?wait=0").json["id"]

    def state_of(self, identifier: str) -> str:
        return self.client("GET", f"{EVALUATIONS}/{identifier}").json["state"]

    def test_what_runs_and_what_waits_can_be_cancelled(self):
        running, waiting, last = self.begin(), self.begin(), self.begin()
        self.assertTrue(self.judge.began.wait(10))
        self.assertEqual([self.state_of(running), self.state_of(waiting)], ["running", "queued"])
        self.assertEqual(self.client("DELETE", f"{EVALUATIONS}/{waiting}").json["state"], "cancelled")
        self.assertFalse(self.judge.ended.is_set())
        self.assertEqual(self.client("DELETE", f"{EVALUATIONS}/{running}").json["state"], "cancelled")
        self.assertTrue(self.judge.ended.wait(10))
        answer = self.client("GET", f"{EVALUATIONS}/{running}")
        self.assertEqual((answer.status, answer.error, answer.json["state"]), (409, "cancelled", "cancelled"))
        wait_until(lambda: self.state_of(last) == "running")
        self.assertEqual(self.client.metric('kernelgen_failures_total{code="cancelled"}'), 2)

    def test_many_that_are_cancelled_at_once_leave_their_places(self):
        async def begin_and_cancel():
            for _ in range(50):
                begun = await self.client.request("POST", f"{EVALUATIONS}?wait=0", ask())
                await self.client.request("DELETE", f"{EVALUATIONS}/{begun.json['id']}")

        asyncio.run(begin_and_cancel())
        wait_until(lambda: self.client("GET", "/healthz").json["running"] == 0)
        wait_until(lambda identifier=self.begin(): self.state_of(identifier) == "running")

    def test_a_client_that_goes_away_cancels(self):
        async def send_and_leave():
            _, writer = await self.client.send("POST", EVALUATIONS, ask())
            await asyncio.to_thread(self.judge.began.wait, 10)
            writer.close()

        asyncio.run(send_and_leave())
        self.assertTrue(self.judge.ended.wait(10))
        wait_until(lambda: self.client("GET", "/healthz").json["running"] == 0)

    def test_a_client_that_goes_away_after_its_id_does_not_cancel(self):
        self.assertEqual(self.client.evaluate(target=f"{EVALUATIONS}?wait=0.05").status, 202)
        self.assertFalse(self.judge.ended.wait(0.2))

    def test_a_stop_answers_those_that_wait(self):
        judge, found = WaitingJudge(), []
        with running_service(judge, serve.QueueLimits(running=1)) as client:
            threads = [threading.Thread(target=lambda: found.append(client.evaluate())) for _ in range(3)]
            for thread in threads:
                thread.start()
            wait_until(lambda: client("GET", "/healthz").json["queued"] == 2)
        for thread in threads:
            thread.join()
        self.assertEqual([(answer.status, answer.error) for answer in found], [(503, "unavailable")] * 3)
        self.assertTrue(judge.ended.wait(10))
        self.assertTrue(calls_end())


class QueueTest(unittest.TestCase):
    def test_limits_of_the_queue(self):
        judge = GatedJudge()
        with running_service(judge, serve.QueueLimits(running=1, queue=5, queue_per_client=3)) as client:
            def begin(name):
                return client.evaluate(target=f"{EVALUATIONS}?wait=0", client=name)

            self.assertEqual([begin("greedy").status for _ in range(4)], [202] * 4)
            refused = begin("greedy")
            self.assertEqual((refused.status, refused.error), (429, "client_limit"))
            self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
            self.assertEqual([begin("small").status for _ in range(2)], [202] * 2)
            refused = begin("other")
            self.assertEqual((refused.status, refused.error), (429, "queue_full"))
            self.assertEqual(client.metric("kernelgen_queue_length"), 5)
            self.assertEqual(client.metric('kernelgen_refused_requests_total{reason="queue_full"}'), 1)
            judge.gate.set()
            wait_until(lambda: begin("other").status == 202)
            self.assertEqual(begin("a b").status, 400)

    def test_clients_take_turns(self):
        judge = GatedJudge()
        with running_service(judge, serve.QueueLimits(running=1)) as client:
            def begin(name, number):
                client.evaluate(f"{name} {number}", target=f"{EVALUATIONS}?wait=0", client=name)

            for number in range(8):
                begin("greedy", number)
            for number in range(2):
                for name in ("a", "b"):
                    begin(name, number)
            judge.gate.set()
            wait_until(lambda: len(judge.started) == 12)
        self.assertEqual(judge.started[:8], [
            "greedy 0", "greedy 1", "a 0", "b 0", "greedy 2", "a 1", "b 1", "greedy 3"])

    def test_two_hundred_clients(self):
        judge = GatedJudge()
        judge.gate.set()

        async def ask_all(client):
            async def ask_twice(number):
                return [await client.request("POST", EVALUATIONS, ask(f"// {number} {turn}"), X_Client_Id=f"c{number}")
                        for turn in range(2)]

            return sum(await asyncio.gather(*[ask_twice(number) for number in range(200)]), [])

        with running_service(judge) as client:
            began = time.monotonic()
            found = asyncio.run(ask_all(client))
            seconds = time.monotonic() - began
            counted = client.metric('kernelgen_evaluations_total{outcome="correct"}')
        print(f"400 requests of 200 clients: {seconds:.1f} s, {400 / seconds:.0f} a second", file=sys.stderr)
        self.assertEqual(collections.Counter(answer.status for answer in found), {200: 400})
        self.assertEqual(len({answer.json["id"] for answer in found}), 400)
        self.assertEqual({answer.json["record"]["candidate_id"] for answer in found},
                         {kernelgen.Candidate(f"// {number} {turn}").id for number in range(200) for turn in range(2)})
        self.assertEqual((len(judge.started), len(set(judge.started)), counted), (400, 400, 400))

    def test_a_greedy_client_does_not_slow_small_ones(self):
        judge = GatedJudge(seconds=0.002)

        async def ask_all(client):
            async def evaluate(name, number):
                return await client.request("POST", EVALUATIONS, ask(f"{name} {number}"), X_Client_Id=name)

            async def ask_one_by_one(name):
                return [await evaluate(name, number) for number in range(5)]

            greedy = [asyncio.create_task(evaluate("greedy", number)) for number in range(190)]
            while (await client.request("GET", "/healthz")).json["queued"] < 188:
                await asyncio.sleep(0.02)
            judge.gate.set()
            small = await asyncio.gather(*[ask_one_by_one(f"small{number}") for number in range(10)])
            waiting = sum(not task.done() for task in greedy)
            return sum(small, []) + await asyncio.gather(*greedy), waiting

        with running_service(judge, serve.QueueLimits(running=2)) as client:
            found, waiting = asyncio.run(ask_all(client))
        self.assertEqual(collections.Counter(answer.status for answer in found), {200: 240})
        # Between two evaluations of a small client, every other client has at most one turn, and two run.
        places = [judge.started.index(f"small{number} 0") for number in range(10)]
        last = max(judge.started.index(f"small{number} 4") for number in range(10))
        print(f"greedy client of 190, small clients of 5: the last small one started as number {last} of 240, "
              f"{waiting} of the greedy client waited still", file=sys.stderr)
        self.assertEqual(len(judge.started), 240)
        among_small = [source for source in judge.started[min(places):last] if source.startswith("greedy")]
        self.assertLess(len(among_small), 150)
        self.assertGreater(waiting, 0)


class TokenTest(unittest.TestCase):
    ONE, TWO = "first-token-of-this-test", "second-token-of-this-test"

    def test_a_token_is_needed_everywhere_but_for_health(self):
        with running_service(fake_judge(), tokens=(self.ONE, self.TWO)) as client:
            for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": self.ONE},
                          {"Authorization": f"Basic {self.ONE}"}, {"Authorization": f"Bearer {self.ONE}x"},
                          {"Authorization": "Bearer \xff"}):
                for method, target in (("POST", EVALUATIONS), ("GET", f"{EVALUATIONS}/1"), ("GET", "/metrics")):
                    with self.subTest(given=given, target=target):
                        answer = client(method, target, ask(), **given)
                        self.assertEqual((answer.status, answer.error), (401, "unauthorized"))
                        self.assertEqual(answer.headers["www-authenticate"], "bearer")
                        self.assertNotIn(self.ONE, answer.text)
            self.assertEqual(client("GET", "/healthz").status, 200)
            for token in (self.ONE, self.TWO):
                self.assertEqual(client("POST", EVALUATIONS, ask(), Authorization=f"Bearer {token}").status, 200)

    def test_answers_belong_to_their_token(self):
        with running_service(fake_judge(), tokens=(self.ONE, self.TWO)) as client:
            begun = client("POST", EVALUATIONS, ask(), Authorization=f"Bearer {self.ONE}").json["id"]
            statuses = [client(method, f"{EVALUATIONS}/{begun}", Authorization=f"Bearer {token}").status
                        for method in ("GET", "DELETE") for token in (self.ONE, self.TWO)]
        self.assertEqual(statuses, [200, 404, 200, 404])

    def test_a_token_has_one_share_whatever_its_client_ids(self):
        limits = serve.QueueLimits(running=1, queue_per_client=2)
        for trusted, expected in ((False, [202, 202, 202, 429]), (True, [202] * 4)):
            with running_service(WaitingJudge(), limits, tokens=(self.ONE,), trust_client_ids=trusted) as client:
                found = [client("POST", f"{EVALUATIONS}?wait=0", ask(), Authorization=f"Bearer {self.ONE}",
                                X_Client_Id=f"c{number}").status for number in range(4)]
            self.assertEqual(found, expected)

    def test_pages_of_other_names_are_refused(self):
        with running_service(fake_judge(), allowed_hosts=("localhost", "127.0.0.1", "::1")) as client:
            found = [client("POST", EVALUATIONS, ask(), Host=host).status
                     for host in ("localhost:8471", "127.0.0.1", "[::1]:8471", "evil.test", "localhost.evil.test")]
        self.assertEqual(found, [200, 200, 200, 403, 403])


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "kernelgen.serve", *arguments], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(kernelgen.__file__))})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def refusal_of(self, *arguments: str) -> str:
        """What the command says when it refuses to start."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            serve.main(arguments)
        self.assertEqual(ended.exception.code, 64, said.getvalue())
        self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
        return said.getvalue()

    def test_other_addresses_need_tokens(self):
        self.assertIn("--token-file", self.refusal_of("--host", "0.0.0.0", "--port", "0", "--tasks", str(TASKS)))

    def test_tokens_that_are_of_no_use(self):
        file = self.folder / "tokens"
        file.write_text("# none\nshort\n")
        said = self.refusal_of("--token-file", str(file), "--tasks", str(TASKS), "--port", "0")
        self.assertIn("16 characters", said)
        self.assertNotIn("short", said)

    def test_arguments_that_are_of_no_use(self):
        tasks = ("--port", "0", "--tasks", str(TASKS))
        for arguments, reason in (
                (("--port", "0"), "--tasks"), (("--port", "0", "--tasks", "/no/such/folder"), "/no/such/folder"),
                ((*tasks, "--queue", "0"), "whole number above 0"), ((*tasks, "--deadline", "nan"), "seconds above 0"),
                ((*tasks, "--allow-option", "mode"), "must be one of"), (("--port", "99999"), "from 0 to 65535"),
                ((*tasks, "--token-file", "/no/such/file"), "/no/such/file"), ((*tasks, "--hurry"), "--hurry"),
                ((*tasks, "--host", "192.0.2.1"), "192.0.2.1"), ((*tasks, "--unix", "/no/such/socket"), "/no/such")):
            with self.subTest(reason):
                self.assertIn(reason, self.refusal_of(*arguments))
        file = self.folder / "file"
        file.write_text("kept")
        self.assertIn("no socket", self.refusal_of("--unix", str(file), "--tasks", str(TASKS)))
        self.assertEqual(file.read_text(), "kept")

    def test_the_extra_is_named_where_it_is_missing(self):
        done = run_script("""
            import sys
            sys.modules["uvicorn"] = None
            import kernelgen
            from kernelgen import serve
            serve.main(["--tasks", "."])
            """)
        self.assertEqual(done.returncode, 69)
        self.assertRegex(done.stderr, r"^kgen-serve: .*uvicorn.*pip install 'kernelgen\[serve\]'\n$")

    def test_an_import_needs_no_extra(self):
        done = run_script("""
            import sys
            import kernelgen, kernelgen.serve
            print({"fastapi", "uvicorn", "prometheus_client", "pydantic"} & sys.modules.keys())
            """)
        self.assertEqual(done.stdout, "set()\n", done.stderr)

    def test_ctrl_c_and_a_port(self):
        tokens = self.folder / "tokens"
        tokens.write_text("a-token-of-this-test\n")
        process = self.start("--host", "0.0.0.0", "--port", "0", "--token-file", str(tokens), "--tasks", str(TASKS))
        self.assertRegex(process.stderr.readline(), r"listening at http://0.0.0.0:\d+\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(15), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_a_real_kernel_and_the_end(self):
        path = str(self.folder / "socket")
        process = self.start("--unix", path, "--tasks", str(TASKS), "--cache-dir", str(self.folder / "cache"))
        self.assertIn(path, process.stderr.readline())
        wait_until(lambda: answers(path))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertIn("in use", self.refusal_of("--unix", path, "--tasks", str(TASKS)))
        client, options = Client(path), {"mode": "correctness_only", "threads": 1}
        answer = client.evaluate(KERNEL.source, options=options)
        self.assertEqual(answer.status, 200, answer.text)
        self.assertEqual(answer.json["record"]["outcome"]["kind"], "correct", answer.text)
        begun = client.evaluate(SLOW.source, target=f"{EVALUATIONS}?wait=0.5", options=options)
        self.assertEqual((begun.status, begun.json["state"]), (202, "running"))
        self.assertTrue(children_of(process.pid))
        before = descendants_of(process.pid)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(15), 0)
        self.assertFalse(os.path.exists(path))
        wait_until(lambda: not any(os.path.exists(f"/proc/{one}") for one in before))
        said = process.stderr.read()
        self.assertIn(": correct after", said)
        self.assertNotIn("Traceback", said)


def descendants_of(process: int) -> list[int]:
    """The processes below a process."""
    found = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text().split():
            found += [int(child), *descendants_of(int(child))]
    return found


if __name__ == "__main__":
    unittest.main()
