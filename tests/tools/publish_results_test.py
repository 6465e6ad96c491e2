#!/usr/bin/env python3
"""tools/publish_results.py: the best kernel of each task, as it was written, with its record, and nothing that tells a machine."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UUID = "GPU-08f3e30a-8a10-0135-bada-13f71feaef21"


def record(task, candidate, call, device=None):
    timing = {"speedup_call": {"value": call}, "speedup_device": {"value": device} if device else None}
    environment = {"device": "NVIDIA H200 (sm_90), 132 SMs", "device_uuid": UUID, "system": "Linux 6.1.0-thishost x86_64"}
    return {"task_name": task, "candidate_id": candidate, "outcome": {"kind": "correct"}, "timing": timing,
            "environment": environment, "problem": f"/home/me/KernelBench/level3/{task}.py",
            "compile": {"command": "nvcc -I /opt/there/kgen/share/kernelgen/abi"}}  # fmt: skip


class PublishResults(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def run_of(self, task, target, suffix, found):
        run = self.place / "results" / task / target
        run.mkdir(parents=True)
        (run / "events.jsonl").write_text(json.dumps({"task": {"path": f"/home/me/KernelBench/level3/{task}.py"}}) + "\n")
        if found:
            (run / f"best_code{suffix}").write_text(f"// {found['candidate_id']}\n")
            (run / "best_result.json").write_text(json.dumps(found))

    def publish(self, *more):
        subprocess.run([sys.executable, "-B", ROOT / "tools/publish_results.py", self.place / "results", "--kgen", "kgen", "--tasks",
                        "/home/me", "--kernels", self.place / "out", *more], check=True, timeout=60)  # fmt: skip
        return sorted(file.name for file in (self.place / "out").iterdir())

    def test_the_best_kernel_of_each_task(self):
        self.run_of("35_LSTM", "cuda", ".cu", record("35_LSTM", "a", 40.0, 8.0))
        self.run_of("35_LSTM", "triton", ".py", record("35_LSTM", "b", 50.0, 2.0))
        self.run_of("36_LSTMHn", "triton", ".py", record("36_LSTMHn", "c", 3.0))
        self.run_of("37_LSTMCn", "cuda", ".cu", None)
        names = ["claims.json", "level3_35_lstm.cu", "level3_35_lstm.json", "level3_36_lstmhn.json", "level3_36_lstmhn.py"]
        self.assertEqual(self.publish(), names)
        out = self.place / "out"
        self.assertEqual((out / "level3_35_lstm.cu").read_text(), "// a\n")
        claims = json.loads((out / "claims.json").read_text())
        self.assertEqual(claims["level3_35_lstm.cu"], {"correct": True, "speedup": 40.0, "device": "NVIDIA H200"})
        kept = json.loads((out / "level3_35_lstm.json").read_text())
        self.assertEqual(kept["environment"], {"device": "NVIDIA H200 (sm_90), 132 SMs", "device_uuid": "GPU", "system": "Linux x86_64"})
        self.assertEqual(kept["problem"], "KernelBench/level3/35_LSTM.py")
        self.assertEqual(kept["compile"]["command"], "nvcc -I share/kernelgen/abi")
        # Another target has the best kernel now, and one task is gone.
        shutil.rmtree(self.place / "results")
        self.run_of("35_LSTM", "triton", ".py", record("35_LSTM", "b", 50.0, 9.0))
        self.run_of("35_LSTM", "cuda", ".cu", record("35_LSTM", "a", 90.0))
        self.assertEqual(self.publish(), ["claims.json", "level3_35_lstm.json", "level3_35_lstm.py"])

    def test_the_median_of_an_audit(self):
        self.run_of("35_LSTM", "cuda", ".cu", record("35_LSTM", "a", 40.0, 8.0))
        records = self.place / "audit"
        records.mkdir()
        for number, call in enumerate((41.0, 45.0)):
            (records / f"{number}.json").write_text(json.dumps(record("35_LSTM", "a", call, 8.0)))
        (records / "other.json").write_text(json.dumps(record("35_LSTM", "b", 1.0)))
        elsewhere = record("35_LSTM", "a", 2.0)
        elsewhere["environment"]["device"] = "NVIDIA H100 (sm_90)"
        (records / "elsewhere.json").write_text(json.dumps(elsewhere))
        self.publish("--records", records)
        self.assertEqual(json.loads((self.place / "out" / "claims.json").read_text())["level3_35_lstm.cu"]["speedup"], 41.0)


if __name__ == "__main__":
    unittest.main()
