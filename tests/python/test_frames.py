"""Framing: round trips, descriptors, and every way a peer can break it."""

from __future__ import annotations

import os
import random
import socket
import unittest

import harness  # noqa: F401 - finds the packages
from kernelgen_common import frames, values


class FramesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.left, self.right = socket.socketpair()
        self.right.settimeout(10)

    def tearDown(self) -> None:
        self.left.close()
        self.right.close()

    def receive_raw(self, data: bytes) -> frames.Frame | None:
        self.left.sendall(data)
        self.left.shutdown(socket.SHUT_WR)
        return frames.receive(self.right)

    def test_round_trip_with_descriptors(self) -> None:
        reader, writer = os.pipe()
        frames.send(self.left, {"op": "x", "text": "ä\u2028\ud800"}, [writer])
        os.close(writer)
        frame = frames.receive(self.right)
        self.assertEqual(len(frame.descriptors), 1)
        os.write(frame.descriptors[0], b"!")
        self.assertEqual(os.read(reader, 1), b"!")
        frame.close()
        os.close(reader)

    def test_end_between_frames_is_none(self) -> None:
        self.assertIsNone(self.receive_raw(b""))

    def test_torn_header_and_torn_body(self) -> None:
        with self.assertRaises(frames.FrameError):
            self.receive_raw(b"KGF1\x05")
        self.setUp()
        with self.assertRaises(frames.FrameError):
            self.receive_raw(frames.encode({"a": 1})[:-1])

    def test_bad_magic_and_huge_length(self) -> None:
        for data in (b"HTTP\x05\0\0\0", b"KGF1\xff\xff\xff\xff"):
            with self.assertRaises(frames.FrameError):
                frames.decode_header(data)

    def test_body_that_is_no_object(self) -> None:
        for body in (b"[1]", b"nope", b"\xff", b"[" * 100000):
            with self.assertRaises(frames.FrameError):
                frames.decode_body(body)

    def test_too_long_a_body_is_refused_before_it_is_sent(self) -> None:
        with self.assertRaises(frames.FrameError):
            frames.encode({"x": "y" * (frames.MAX_BODY + 1)})

    def test_fuzzed_bytes_raise_nothing_else(self) -> None:
        rng = random.Random(7)
        good = frames.encode({"op": "prepare_call", "id": 3, "list": [1, 2.5, None]})
        for _ in range(300):
            data = bytearray(good * rng.randint(1, 2))
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            self.setUp()
            try:
                self.assertIsInstance(self.receive_raw(bytes(data)), (frames.Frame, type(None)))
            except frames.FrameError:
                pass
            self.tearDown()


class ValuesTest(unittest.TestCase):
    def test_round_trip(self) -> None:
        value = [1, True, None, "s", 2.5, float("inf"), (3, [4]), {"k": {1: 2}}]
        flat = values.flatten(value, "v")
        self.assertEqual(values.decode(flat.structure, {}), value)

    def test_hostile_json(self) -> None:
        deep: object = None
        for _ in range(100):
            deep = {"list": [deep]}
        for encoded in ([], {}, {"a": 1, "b": 2}, {"tensor": "x"}, {"float": "zz"}, {"dict": [1]}, {"dtype": "x"}, deep):
            with self.assertRaises(values.ValueFormatError):
                values.decode(encoded, {})

    def test_differences_have_words(self) -> None:
        tensor = {"tensor": "a"}
        self.assertEqual(values.difference({"tuple": [tensor]}, {"list": [{"tensor": "b"}]}), "")
        self.assertIn("expected a sequence of 2", values.difference({"tuple": [tensor, tensor]}, tensor))
        self.assertIn("keys", values.difference({"dict": [["a", tensor]]}, {"dict": [["b", tensor]]}))
        self.assertIn("expected 3", values.difference({"list": [3]}, {"list": [4]}))


if __name__ == "__main__":
    unittest.main()
