"""Subclasses of the client of the library, and what models in Python may not answer."""

import asyncio
import math
import unittest

import kernelgen
from support import TASK, FixedJudge, code

BROKEN = kernelgen.Candidate("int kgen_run(void*, const kgen_run_args*) { return x; }\n")


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


if __name__ == "__main__":
    unittest.main()
