"""Profiles: on a processor, and reports of other profilers."""

import asyncio
import json
import subprocess
import unittest

import kernelgen
from support import KERNEL, KGEN, ROOT, FixedJudge, calls_end

TASK = kernelgen.load_task(ROOT / "tests/tasks/relu.py")


class ProfileTest(unittest.TestCase):
    def test_the_reference_on_a_processor(self):
        report = kernelgen.profile(TASK, device="cpu")
        self.assertIsNone(report.profile.unavailable)
        self.assertEqual(report.profile.source, "timeline")
        self.assertTrue(report.profile.kernels and report.profile.call_ns > 0)
        self.assertIsNone(report.profile.no_counters)

    def test_a_candidate_on_a_processor(self):
        report = kernelgen.profile(TASK, KERNEL, timeout=120)
        self.assertIsNone(report.profile.unavailable)
        self.assertGreater(report.profile.call_ns, 0)

    def test_a_candidate_that_does_not_compile_is_unavailable(self):
        report = kernelgen.profile(TASK, kernelgen.Candidate("int x = y;"))
        self.assertRegex(report.profile.unavailable.reason, "it does not compile: compile:")

    def test_impossible_requests_are_refused(self):
        for text, arguments in (("metric_set", {"metric_set": "all"}), ("timeout", {"timeout": 0}),
                                ("precision", {"precision": "fp4"}),
                                ("device", {"candidate": kernelgen.Candidate("x", "cuda"), "device": "cpu"})):
            with self.subTest(text), self.assertRaisesRegex(kernelgen.InvalidArgument, text):
                kernelgen.profile(TASK, **arguments)

    def test_it_can_be_cancelled(self):
        async def main():
            running = asyncio.create_task(kernelgen.profile_async(TASK, KERNEL))
            await asyncio.sleep(0.5)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        asyncio.run(main())
        self.assertTrue(calls_end())

    def test_only_a_judge_of_the_library_takes_profiles(self):
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.run(TASK, kernelgen.ScriptedLLMClient([]), FixedJudge(), profiles=True)


class ReportTest(unittest.TestCase):
    def test_a_report_of_ncu(self):
        report = kernelgen.read_profile_reports([ROOT / "tests/data/profile/ncu_recorded_h200.csv"])
        self.assertEqual(report.profile.source, "ncu")
        kernel = report.profile.kernels[0]
        self.assertTrue(kernel.metrics and kernel.duration_ns > 0)
        self.assertTrue(report.findings)
        self.assertEqual([finding.weight for finding in report.findings],
                         sorted((finding.weight for finding in report.findings), reverse=True))

    def test_findings_are_those_of_kgen(self):
        for file in ("profile/ncu_recorded_h200.csv", "rocprof/v1.csv"):
            path = ROOT / "tests/data" / file
            told = subprocess.run([*KGEN, "profile", "--report", str(path), "--json"], capture_output=True,
                                  text=True, timeout=60)
            findings = json.loads(told.stdout)["findings"]
            report = kernelgen.read_profile_reports([path])
            with self.subTest(file):
                self.assertTrue(findings, told.stderr)
                self.assertEqual([finding.message for finding in report.findings],
                                 [finding["message"] for finding in findings])

    def test_what_is_no_report_is_refused(self):
        with self.assertRaises(kernelgen.NotFound):
            kernelgen.read_profile_reports(["no/such/file.csv"])
        with self.assertRaises(kernelgen.InvalidArgument):
            kernelgen.read_profile_reports([ROOT / "README.md"])


if __name__ == "__main__":
    unittest.main()
