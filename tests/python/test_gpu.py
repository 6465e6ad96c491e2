"""Tests of the binding of gpu.h on the fake device, which uses memory of the CPU and fails on demand."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import unittest

import torch
from harness import SUPPORT, memory_file
from kernelgen_common.gpu import Gpu, GpuError, tensor_at

DRIVER = ctypes.CDLL("libcuda.so.1")


class GpuTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gpu = Gpu(str(SUPPORT), "")
        self.addCleanup(self.gpu.close)
        self.addCleanup(DRIVER.kgen_fake_cuda_fault, 0)

    def test_facts_and_the_device_of_a_uuid(self) -> None:
        self.assertEqual(self.gpu.facts.vendor, "fake")
        self.assertEqual(self.gpu.torch_device, torch.device("cpu"))
        Gpu(str(SUPPORT), self.gpu.facts.uuid).close()
        with self.assertRaisesRegex(GpuError, "no GPU GPU-none"):
            Gpu(str(SUPPORT), "GPU-none")

    def test_a_library_that_knows_no_gpu(self) -> None:
        with self.assertRaises(AttributeError):
            Gpu("libc.so.6", "")
        with self.assertRaises(OSError):
            Gpu("/nonexistent.so", "")

    def test_memory_is_shared_with_another_process(self) -> None:
        address, descriptor = self.gpu.allocate_shared(100_000)
        view = tensor_at(address, 100_000, "cpu")
        view.fill_(3)
        program = (
            "import sys; from kernelgen_common.gpu import Gpu, tensor_at\n"
            "gpu = Gpu(sys.argv[1], ''); address = gpu.import_shared(int(sys.argv[2]), 100_000)\n"
            "view = tensor_at(address, 100_000, 'cpu'); assert int(view.sum()) == 300_000; view[7] = 9\n"
            "gpu.free_shared(address)\n"
        )
        command = [sys.executable, "-c", program, str(SUPPORT), str(descriptor)]
        subprocess.run(command, pass_fds=[descriptor], check=True, timeout=300)
        self.assertEqual(int(view[7]), 9)
        os.close(descriptor)
        self.gpu.free_shared(address)
        with self.assertRaisesRegex(GpuError, "no shared memory"):
            self.gpu.free_shared(address)

    def test_what_is_no_shared_memory_cannot_be_mapped(self) -> None:
        descriptor = memory_file(b"x")
        with self.assertRaises(GpuError):
            self.gpu.import_shared(-1, 4096)
        os.close(descriptor)

    def test_more_memory_than_there_is(self) -> None:
        free, total = self.gpu.memory()
        self.assertLess(free, total + 1)
        with self.assertRaises(GpuError) as caught:
            self.gpu.allocate_shared(total + 1)
        self.assertTrue(caught.exception.out_of_memory)
        self.assertIn("out of memory", str(caught.exception))

    def test_a_way_of_sharing_is_chosen(self) -> None:
        for way in ("virtual_memory", ""):
            self.gpu.choose_sharing(way)
            address, descriptor = self.gpu.allocate_shared(4096)
            os.close(descriptor)
            self.gpu.free_shared(address)
        # This driver has no such handles, and another way is no replacement for the chosen one.
        self.gpu.choose_sharing("ipc_handle")
        with self.assertRaisesRegex(GpuError, r"sharing memory: .*\(801\)"):
            self.gpu.allocate_shared(4096)
        with self.assertRaisesRegex(GpuError, "memory is not shared by 'magic'"):
            self.gpu.choose_sharing("magic")

    def test_copies_and_fills(self) -> None:
        address, descriptor = self.gpu.allocate_shared(8192)
        os.close(descriptor)
        view = tensor_at(address, 8192, "cpu")
        self.gpu.fill(address, 0x5A, 4096, self.gpu.stream())
        self.gpu.copy(address + 4096, address, 4000)
        self.gpu.synchronize()
        self.assertEqual((int(view[:4096].min()), int(view[8095])), (0x5A, 0x5A))
        self.assertEqual(tensor_at(address, 0, "cpu").numel(), 0)
        del view
        self.gpu.free_shared(address)

    def test_a_timed_call(self) -> None:
        self.gpu.begin_call()
        sum(range(100_000))
        call = self.gpu.end_call()
        self.assertGreater(call.device_ns, 10_000)
        self.assertGreaterEqual(call.host_ns, 0)
        self.gpu.begin_call()
        DRIVER.kgen_fake_cuda_delay(ctypes.c_int64(3_000_000))
        self.assertGreaterEqual(self.gpu.end_call().off_stream_ns, 3_000_000)
        self.assertIsNone(self.gpu.clocks())

    def test_a_device_fault_has_number_and_words(self) -> None:
        self.gpu.begin_call()
        DRIVER.kgen_fake_cuda_fault(700)
        with self.assertRaises(GpuError) as caught:
            self.gpu.end_call()
        self.assertEqual(caught.exception.number, 700)
        self.assertIn("illegal memory access", str(caught.exception))
        with self.assertRaises(GpuError):
            self.gpu.synchronize()

    def test_graphs(self) -> None:
        address, descriptor = self.gpu.allocate_shared(4096)
        os.close(descriptor)
        view = tensor_at(address, 4096, "cpu")
        view.zero_()
        stream = self.gpu.stream()
        self.gpu.begin_capture(stream)
        self.gpu.fill(address, 1, 10, stream)
        graph = self.gpu.end_capture(stream)
        self.assertEqual(int(view.sum()), 0)
        self.gpu.replay(graph)
        self.assertEqual(int(view.sum()), 10)
        self.gpu.free_graph(graph)
        with self.assertRaises(GpuError):
            self.gpu.end_capture(stream)


if __name__ == "__main__":
    unittest.main()
