"""Tests of the work that the zygote does in advance for its runners."""

from __future__ import annotations

import os
import socket
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from kernelgen_common import frames, zygote
from kernelgen_runner import builds, prewarm


class BuiltFilesTest(unittest.TestCase):
    @staticmethod
    def build() -> None:
        cache = Path(os.environ["TRITON_CACHE_DIR"])
        (cache / "KEY").mkdir()
        (cache / "KEY" / "helper.so").write_bytes(b"library")

    def test_files_of_a_build(self) -> None:
        self.assertEqual(prewarm.built_files(self.build), {"KEY/helper.so": b"library"})
        self.assertNotIn("kernelgen-triton-", os.environ.get("TRITON_CACHE_DIR", ""))

    def test_a_build_that_fails_afterwards(self) -> None:
        def build() -> None:
            self.build()
            raise OSError("no driver here")

        self.assertEqual(prewarm.built_files(build), {"KEY/helper.so": b"library"})

    def test_a_build_that_never_ends(self) -> None:
        with mock.patch.object(prewarm, "_SECONDS", 0.1):
            began = time.monotonic()
            self.assertEqual(prewarm.built_files(lambda: time.sleep(30)), {})
            self.assertLess(time.monotonic() - began, 10)

    def test_too_much(self) -> None:
        with mock.patch.object(prewarm, "_MOST_BYTES", 3):
            self.assertEqual(prewarm.built_files(self.build), {})

    def test_a_runner_finds_them_and_keeps_what_it_has(self) -> None:
        with tempfile.TemporaryDirectory() as directory, mock.patch.dict(os.environ):
            made = builds.Builds(directory, {}, {"KEY/helper.so": b"library", "OTHER/helper.so": b"library"})
            triton = Path(os.environ["TRITON_CACHE_DIR"])
            (triton / "KEY").mkdir(parents=True)
            (triton / "KEY" / "helper.so").write_bytes(b"its own")
            made.make_ready()
            self.assertEqual((triton / "KEY" / "helper.so").read_bytes(), b"its own")
            self.assertEqual((triton / "OTHER" / "helper.so").read_bytes(), b"library")


class IdleTest(unittest.TestCase):
    def test_a_zygote_works_ahead_when_nobody_waits(self) -> None:
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            ours.close()
            done: list[int] = []

            def main(request: dict[str, object], descriptors: list[int]) -> int:
                os.write(descriptors[0], str(len(done)).encode())
                return 0

            os._exit(zygote.serve(theirs, {}, main, lambda: done.append(1)))
        theirs.close()
        reader, writer = os.pipe()
        self.assertTrue(frames.receive(ours).body["ready"])
        answers: list[bytes] = []
        # The zygote does the work when it is idle, so it is asked until the work is done.
        while len(answers) < 100 and b"1" not in answers:
            frames.send(ours, {"op": "fork", "id": len(answers)}, [writer])
            self.assertTrue(frames.receive(ours).body["ok"])
            answers.append(os.read(reader, 1))
            time.sleep(0.05)
        ours.close()
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)
        self.assertEqual((answers[0], answers[-1]), (b"0", b"1"))


if __name__ == "__main__":
    unittest.main()
