"""What models in Python may not answer."""

import math
import unittest

import kernelgen
from support import TASK, FixedJudge, code

BROKEN = kernelgen.Candidate("int kgen_run(void*, const kgen_run_args*) { return x; }\n")


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
