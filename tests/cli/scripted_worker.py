#!/usr/bin/env python3
"""A worker without a judge (docs/protocol.md): describes every task, and gives a candidate the score that its text says.

    scripted_worker.py LOG [what follows is ignored: the command line of a real worker]
    scripted_worker.py LOG --spool DIR

Every candidate that it begins to judge adds a line with its id to LOG; its process id is in LOG.pid. So a test can count
what was judged, and kill it.
"""

import hashlib
import json
import os
import pathlib
import re
import struct
import sys
import threading
import time

HEADER = struct.Struct("<4sI")
JUDGING_SECONDS = 0.01
#: A claim that was not touched for so long belongs to a worker that died.
LEASE_SECONDS = 1


def append_line(path, line):
    with open(path, "a") as file:
        file.write(line + "\n")


def record_of(request, log):
    candidate = request["candidate"]
    identity = hashlib.sha256(candidate["source"].encode()).hexdigest()
    append_line(log, candidate["id"])
    time.sleep(JUDGING_SECONDS)
    record = {"schema": 1, "id": identity[:32], "task_name": request["task"]["name"],
              "task_content_id": request["task"]["content_id"], "candidate_id": candidate["id"],
              "target": candidate["target"], "language": candidate["language"]}
    score = re.search(r"score ([0-9.]+)", candidate["source"])
    if score is None:
        record["outcome"] = {"kind": "accuracy", "detail": "mismatch", "message": "output: 3 of 9 elements are wrong"}
        return record
    value = float(score[1])
    record["outcome"] = {"kind": "correct", "detail": "", "message": ""}
    record["timing"] = {"speedup_call": {"value": value, "low": value, "high": value}, "reference_median_ns": 2e6,
                        "candidate_median_ns": 2e6 / value}
    return record


def answer(message, log):
    """The answer to a request; nothing for other messages."""
    if message["type"] == "evaluate":
        return {"type": "record", "id": message["id"], "record": record_of(message["request"], log)}
    if message["type"] == "describe":
        task = message["task"]
        return {"type": "description", "id": message["id"],
                "description": {"name": task["name"], "content_id": task["content_id"], "level": task["level"],
                                "inputs": [{"name": "x", "dtype": "float32", "shape": [4], "strides": [1]}],
                                "outputs": [{"name": "output", "dtype": "float32", "shape": [4], "strides": [1]}]}}
    return None


def serve_stream(log):
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    writing = threading.Lock()

    def send(message):
        body = json.dumps(message).encode()
        with writing:
            sink.write(HEADER.pack(b"KGF1", len(body)) + body)
            sink.flush()

    def work(message):
        reply = answer(message, log)
        if reply is not None:
            send(reply)

    send({"type": "hello", "protocol": 1, "kernelgen_version": "scripted", "device": "cpu: scripted", "pid": os.getpid()})
    while True:
        header = source.read(HEADER.size)
        if len(header) < HEADER.size:
            return
        message = json.loads(source.read(HEADER.unpack(header)[1]))
        if message["type"] == "shutdown":
            return
        threading.Thread(target=work, args=(message,), daemon=True).start()


def serve_spool(directory, log):
    holder = f"scripted-{os.getpid()}"
    while True:
        for request in sorted(directory.glob("[!.]*.request.json")):
            identifier = request.name.removesuffix(".request.json")
            result = directory / f"{identifier}.result.json"
            claim = directory / f"{identifier}.claim.{holder}"
            if result.exists():
                continue
            try:
                os.utime(request)
                request.rename(claim)
                hidden = directory / f".{identifier}.{holder}"
                hidden.write_text(json.dumps(answer(json.loads(claim.read_text()), log)))
                hidden.rename(result)
                claim.rename(request)
            except FileNotFoundError:  # another worker, or the client withdrew it
                continue
        for claim in directory.glob("[!.]*.claim.*"):
            try:
                if time.time() - claim.stat().st_mtime > LEASE_SECONDS and not claim.name.endswith(holder):
                    claim.rename(directory / f"{claim.name.split('.claim.')[0]}.request.json")
            except FileNotFoundError:
                continue
        time.sleep(0.005)


if __name__ == "__main__":
    log_file = sys.argv[1]
    pathlib.Path(log_file + ".pid").write_text(str(os.getpid()))
    if sys.argv[2:3] == ["--spool"]:
        serve_spool(pathlib.Path(sys.argv[3]), log_file)
    else:
        serve_stream(log_file)
