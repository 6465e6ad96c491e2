"""What children of a zygote inherit."""

from __future__ import annotations

import subprocess
import sys
import unittest

#: Forks children as a zygote does, and counts those in which the first result differs from the second.
FORKS = """
import os
import torch
from kernelgen_common.zygote import import_hidden_dependencies

import_hidden_dependencies()
numbers = torch.randn(64, 1024)
different = 0
for _ in range(60):
    child = os.fork()
    if child == 0:
        torch.set_num_threads(2)
        torch.zeros(1 << 18).add_(1)
        os._exit(0 if torch.equal(numbers.exp(), numbers.exp()) else 1)
    different += os.waitpid(child, 0)[1] != 0
print(different)
"""


class ZygoteTest(unittest.TestCase):
    def test_first_calls_of_children_are_as_exact_as_later_ones(self) -> None:
        done = subprocess.run([sys.executable, "-c", FORKS], check=True, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.stdout.strip(), "0")


if __name__ == "__main__":
    unittest.main()
