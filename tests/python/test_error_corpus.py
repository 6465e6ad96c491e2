"""Provokes a sample of the corpus of errors again, with the installed tools."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

PROVOKE = Path(__file__).resolve().parents[2] / "tools" / "provoke_errors.py"
#: Without `kgen`, because tests/verdicts checks its outcomes.
TOOLS = ["g++", "clang++", "gcc", "clang", "nvcc", "hipcc", "triton", "triton-hip", "torch", "cuda-runtime", "hip-runtime"]


class ErrorCorpus(unittest.TestCase):
    def test_tools_still_refuse_what_they_refused(self) -> None:
        command = [sys.executable, str(PROVOKE), "--check", "--every", "29", "--only", *TOOLS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # g++ and torch are always installed.
        self.assertRegex(done.stdout, r"(?m)^(?:\d{2,}) messages, 0 wrong")


if __name__ == "__main__":
    unittest.main()
