"""Clients of the library in forked children and below subclasses, and what models in Python may not answer."""

import asyncio
import math
import unittest

import kernelgen
from support import KERNEL, TASK, FixedJudge, code, run_script

BROKEN = kernelgen.Candidate("int kgen_run(void*, const kgen_run_args*) { return x; }\n")

SERVER = """
import http.server, json, os, sys, threading
import kernelgen

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
model = kernelgen.open_model(f"vllm:m@http://127.0.0.1:{server.server_port}/v1")
ask = lambda: model.complete(kernelgen.Request("hi", timeout=10)).text
"""


class Priced(kernelgen.Model):
    """A client of the library with prices and answers of its own."""

    def __init__(self, native, answer=None):
        super().__init__(native)
        self.answer = answer
        self.asked = 0

    def terms(self, kind="seed"):
        return kernelgen.ModelTerms(kernelgen.Prices(1e6, 2e6))

    def complete(self, request, stop=None):
        self.asked += 1
        return self.answer or super().complete(request, stop)


class Answering(kernelgen.LLMClient):
    """A model in Python that gives one answer, and has terms."""

    def __init__(self, answer, terms=kernelgen.ModelTerms()):
        self.answer = answer
        self.known = terms

    def complete(self, request, stop):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def terms(self, kind):
        return self.known


class ForkTest(unittest.TestCase):
    """Forks happen in a program of their own: the test's process has threads of other tests."""

    def run_with_server(self, text):
        return run_script(SERVER + text, timeout=60)

    def test_a_child_asks_with_connections_of_its_own(self):
        done = self.run_with_server("""
first = ask()
child = os.fork()
if child == 0:
    os._exit(0 if ask() == "hello" else 1)
print(first, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ask())
""")
        self.assertEqual(done.stdout, "hello 0 hello\n", done.stderr)

    def test_a_child_ends_by_itself(self):
        done = self.run_with_server("""
import multiprocessing
def work(ask):
    if ask:
        print(ask(), flush=True)
for argument in (None, ask):
    child = multiprocessing.get_context("fork").Process(target=work, args=(argument,), daemon=True)
    child.start()
    child.join(30)
    print(child.exitcode, flush=True)
if os.fork() == 0:
    print(model.identity(), flush=True)
    del model, ask
    sys.exit()
print(os.waitstatus_to_exitcode(os.wait()[1]))
""")
        self.assertEqual(done.stdout, "0\nhello\n0\nvllm m\n0\n", done.stderr)


class SubclassTest(unittest.TestCase):
    def test_its_own_methods_are_called(self):
        model = Priced(kernelgen.open_model("command:cat")._native, code("fixed"))
        outcome = kernelgen.repair(TASK, BROKEN, model, FixedJudge())
        self.assertEqual((outcome.best, model.asked), ("start/repair1", 1))
        # Without the prices, a limit of cost would be refused.
        kernelgen.run(TASK, model, FixedJudge(), policy=kernelgen.OneShotPolicy(), budget=kernelgen.Budget(cost=1e9))
        self.assertGreater(model.asked, 1)

    def test_it_may_ask_the_client_of_the_library(self):
        model = Priced(kernelgen.open_model("command:cat")._native)
        self.assertEqual(model.complete("hello").text, "hello")
        self.assertEqual(asyncio.run(model.complete_async("hello")).text, "hello")
        self.assertEqual(model.asked, 2)


class WrongNumberTest(unittest.TestCase):
    """Each of these numbers would turn a limit of tokens or money off."""

    def test_negative_counts_end_the_search(self):
        for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens"):
            model = Answering(kernelgen.Reply(code("fixed"), **{name: -100}))
            with self.subTest(name), self.assertRaisesRegex(
                    ValueError, fr"^Answering.complete\(\) returned {name}=-100; it must be None, or 0 or more$"):
                kernelgen.repair(TASK, BROKEN, model, FixedJudge())

    def test_terms_are_checked(self):
        with self.assertRaisesRegex(ValueError, r"^Answering.terms\(\) returned max_output_tokens=-5; it must be"):
            kernelgen.repair(TASK, BROKEN, Answering("", kernelgen.ModelTerms(None, -5)), FixedJudge())
        for price in (math.nan, math.inf, -1.0):
            for prices in (kernelgen.Prices(price, 1), kernelgen.Prices(1, price), kernelgen.Prices(1, 1, price),
                           kernelgen.Prices(1, 1, 1, price)):
                with self.subTest(prices), self.assertRaisesRegex(kernelgen.InvalidArgument, "per_million.* is no price"):
                    kernelgen.repair(TASK, BROKEN, Answering("", kernelgen.ModelTerms(prices)), FixedJudge())


class Quota(kernelgen.PermissionDenied):
    """An error of a program's own."""


class ErrorTest(unittest.TestCase):
    def test_an_error_of_a_subclass_arrives_unchanged(self):
        mine = Quota("nothing is left")

        class Asking(Priced):
            def complete(self, request, stop=None):
                raise mine

        with self.assertRaises(Quota) as raised:
            asyncio.run(Asking(kernelgen.open_model("command:cat")._native).complete_async("hello"))
        self.assertIs(raised.exception, mine)

    def test_an_error_of_a_judge_arrives_unchanged(self):
        mine = Quota("nothing is left")

        class Judge(kernelgen.Benchmarker):
            def evaluate(self, *arguments, **options):
                raise mine

        with self.assertRaises(Quota) as raised:
            asyncio.run(Judge().evaluate_async(TASK, KERNEL))
        self.assertIs(raised.exception, mine)


if __name__ == "__main__":
    unittest.main()
