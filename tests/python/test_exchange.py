"""The arena: layout, guard distance, secret padding, job text, hostile reports and state exports."""

from __future__ import annotations

import json
import os
import random
import unittest

import harness
import torch
from kernelgen_judge import check, exchange, exported_state
from kernelgen_judge.values import TensorSpec


def spec(name: str, dtype: str, shape: tuple[int, ...]) -> TensorSpec:
    return exchange.contiguous_spec(TensorSpec(name, dtype, shape, shape))


class LayoutTest(unittest.TestCase):
    def test_tensors_end_at_the_end_of_their_segment(self) -> None:
        specs = [spec("a", "float32", (3,)), spec("b", "uint8", (4096,)), spec("c", "int64", (0, 5)), spec("d", "bool", ())]
        layout = exchange.make_layout([("input", item) for item in specs])
        for segment in layout.segments:
            self.assertEqual(segment.segment_offset % 4096, 0)
            self.assertEqual(segment.segment_bytes % 4096, 0)
            self.assertEqual(segment.begin % 64, 0)
            self.assertLess(segment.segment_bytes - segment.offset - segment.nbytes, 64)
        self.assertEqual([s.nbytes for s in layout.segments[:4]], [12, 4096, 0, 1])
        self.assertEqual(layout.segments[-1].role, "report")

    def test_views_keep_strides(self) -> None:
        layout = exchange.make_layout([("input", TensorSpec("t", "float32", (3, 4), (1, 3)))])
        memory = exchange.Memory.private(layout, "test")
        view = memory.view(layout.segments[0])
        view.copy_(torch.arange(12.0).view(3, 4))
        self.assertEqual(view.stride(), (1, 3))
        self.assertTrue(torch.equal(memory.raw(layout.segments[0]).view(torch.float32)[:3], torch.tensor([0.0, 4.0, 8.0])))

    def test_padding_tells_where_somebody_wrote(self) -> None:
        layout = exchange.make_layout([("input", spec("a", "float32", (3,))), ("output", spec("b", "int8", (70,)))])
        memory = exchange.Memory.private(layout, "test")
        padding = exchange.Padding(memory)
        padding.fill()
        self.assertEqual(padding.broken(), [])
        segment = layout.segments[1]
        memory._all[segment.begin - 1] ^= 1
        self.assertEqual(padding.broken(), ["b"])
        padding.fill()
        memory._all[segment.begin + segment.nbytes] ^= 1
        self.assertEqual(padding.broken(), ["b"])

    def test_poison_is_secret_and_no_number(self) -> None:
        words = {exchange.poison_word("float32")[0] for _ in range(50)}
        self.assertGreater(len(words), 45)
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            word, size = exchange.poison_word(dtype)
            data = torch.frombuffer(bytearray(word.to_bytes(size, "little")), dtype=getattr(torch, dtype))
            self.assertTrue(bool(data.isnan().all()))

    def test_native_job_escapes_names(self) -> None:
        layout = exchange.make_layout([("input", spec("a b%\n[0]", "float32", (2,)))])
        text = exchange.native_job(layout, 3, [("input", "h0", "none", "None"), ("init", "n", "str", "x y")])
        self.assertIn("tensor input a%20b%25%0A[0] float32 1 2 1 ", text)
        self.assertIn("absent input h0\n", text)
        self.assertIn("scalar init n str x%20y\n", text)
        self.assertTrue(text.isascii() and text.endswith("\nend\n"))

    def test_memory_smaller_than_the_layout_is_refused(self) -> None:
        layout = exchange.make_layout([("input", spec("a", "float32", (3000,)))])
        descriptor = harness.memory_file(size=4096)
        with self.assertRaises(exchange.ExchangeError):
            exchange.Memory(descriptor, layout)
        os.close(descriptor)


class ReportTest(unittest.TestCase):
    @staticmethod
    def framed(body: bytes) -> bytes:
        return len(body).to_bytes(4, "little") + body

    def test_empty_means_none(self) -> None:
        self.assertIsNone(check.parse_report(bytes(4)))

    def test_malformed_reports(self) -> None:
        for body in (b"x", b"[]", b"{}", b'{"tensors": 3}', b'{"tensors":[{"dtype":3,"shape":[]}]}',
                     b'{"tensors":[{"dtype":"f","shape":[-1]}]}', b'{"tensors":[{"dtype":"f","shape":[true]}]}',
                     b'{"tensors":[{"dtype":"f","shape":[1e9]}]}', b"[" * 50000):  # fmt: skip
            with self.assertRaises((ValueError, KeyError, TypeError)):
                check.parse_report(self.framed(body))
        with self.assertRaises(ValueError):
            check.parse_report(b"\xff\xff\xff\xff")


class ExportedStateTest(unittest.TestCase):
    def read(self, data: bytes) -> exported_state.ExportedState:
        descriptor = harness.memory_file(data)
        try:
            return exported_state.read_state(descriptor, len(data))
        finally:
            os.close(descriptor)

    @staticmethod
    def export(header: object, data: bytes = b"") -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return len(text).to_bytes(4, "little") + text + data

    def test_hostile_exports_are_refused(self) -> None:
        good = {"name": "w", "dtype": "float32", "shape": [2], "offset": 200, "nbytes": 8}
        bad = [{**good, "offset": 0}, {**good, "offset": 1 << 40}, {**good, "nbytes": 9}, {**good, "shape": [-2]},
               {**good, "shape": [1 << 60]}, {**good, "dtype": "object"}, {**good, "name": 7}, {**good, "shape": None}]  # fmt: skip
        headers = [{"tensors": [entry]} for entry in bad] + [{"tensors": [good, good]}, {"tensors": 1}, [], b"\xff", b"[" * 99999]
        headers += [{"tensors": [], "declared": [1]}, {"tensors": [], "declared": {"a": 5}}]
        for header in headers:
            with self.assertRaises(exported_state.StateFormatError):
                self.read(self.export(header, bytes(300)))
        for data in (b"", b"\x01", b"\xff\xff\xff\x7f", b"\xff\xff\x00\x00"):
            with self.assertRaises(exported_state.StateFormatError):
                self.read(data)

    def test_fuzzed_exports_raise_nothing_else(self) -> None:
        rng = random.Random(3)
        entry = {"name": "w", "dtype": "float32", "shape": [2], "offset": 120, "nbytes": 8}
        good = self.export({"tensors": [entry], "declared": {"a": None}}, bytes(64))
        for _ in range(500):
            data = bytearray(good)
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                self.read(bytes(data))
            except exported_state.StateFormatError:
                pass


if __name__ == "__main__":
    unittest.main()
