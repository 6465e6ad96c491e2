#!/usr/bin/env python3
"""Workers behind a real ssh: sshd of Debian's openssh-server on loopback, with keys of its own.

The model's kernels are wrong, so nothing is timed and a busy machine changes no verdict.
"""

import argparse
import ctypes
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from launched_campaign import LaunchedCampaign, WRONG

SKIPPED = 77
PATH = "/usr/sbin:/sbin:" + os.environ["PATH"]
MISSING = [name for name in ("ssh", "sshd", "ssh-keygen") if not shutil.which(name, path=PATH)]

SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {path}/host_key
AuthorizedKeysFile {path}/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
"""

CLIENT = """
Host node1 node2
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {path}/key
  IdentitiesOnly yes
  UserKnownHostsFile {path}/known_hosts
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
Host gone
  HostName 127.0.0.1
  Port 1
  BatchMode yes
"""


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


class Server:
    """sshd, until stop(); it serves this user only."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="kgen-ssh-"))
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path / name], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.path / "server").write_text(SERVER.format(path=self.path, port=port))
        self.config = self.path / "client"
        self.config.write_text(CLIENT.format(path=self.path, port=port, user=getpass.getuser()))
        if os.geteuid() == 0:
            # What systemd makes on an installed server.
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.process = subprocess.Popen([shutil.which("sshd", path=PATH), "-D", "-E", self.path / "log", "-f", self.path / "server"],
                                        preexec_fn=die_with_parent)

    def log(self):
        log = self.path / "log"
        return log.read_text() if log.exists() else ""

    def accepts(self):
        """Whether this user may log in: a machine can lock the account."""
        deadline = time.monotonic() + 20
        while "listening on" not in self.log().lower() and time.monotonic() < deadline:
            time.sleep(0.02)
        return subprocess.run(["ssh", "-F", self.config, "node1", "true"], check=False, timeout=60).returncode == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.path)


class Ssh(LaunchedCampaign):
    server = None

    def setUp(self):
        super().setUp()
        self.ssh = f"ssh -F {self.server.config}"
        # A shell on the node splits what ssh passes on.
        self.path = self.path / "it's a folder; $HOME"
        (self.path / "tasks").mkdir(parents=True)
        for file in (*self.path.parent.glob("tasks/*"), self.path.parent / "model"):
            file.rename(self.path / file.relative_to(self.path.parent))
        self.results = self.path.parent / "more results"
        self.spool = self.results / ".spool"

    def check_done(self, done):
        self.assertEqual(done.returncode, 2, done.stderr + self.server.log())
        self.assertIn("3 runs: 3 failed", done.stdout)

    def test_workers_of_two_nodes_judge_and_end_with_the_batch(self):
        done = self.batch("--worker", f"{self.ssh} node1", "--worker", f"{self.ssh} node2")
        self.check_done(done)
        self.assertEqual(len(list(self.spool.glob("evaluate-*.result.json"))), 3)
        self.check_ended()

    def test_a_connection_that_is_cut_is_made_again(self):
        running = self.start("--worker", f"{self.ssh} node1")
        self.wait_until(self.claims, "a claim")
        connections = subprocess.run(["pgrep", "-f", f"^{self.ssh} node1"], capture_output=True, text=True, check=True)
        for pid in connections.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        out, err = running.communicate(timeout=300)
        self.assertIn("worker 1 (ssh -F", err)
        self.assertIn("it is started again", err)
        self.check_done(subprocess.CompletedProcess([], running.returncode, out, err))
        self.check_ended()

    def test_a_worker_on_the_node_that_is_killed_is_started_again(self):
        running = self.start("--worker", f"{self.ssh} node1")
        self.wait_until(self.claims, "a claim")
        self.end_workers()
        out, err = running.communicate(timeout=300)
        self.check_done(subprocess.CompletedProcess([], running.returncode, out, err))
        self.check_ended()

    def test_an_interrupted_batch_leaves_nothing_on_the_node(self):
        running = self.start("--worker", f"{self.ssh} node1")
        self.interrupt(running)

    def test_a_node_that_cannot_be_reached(self):
        done = self.batch("--worker", f"{self.ssh} gone")
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("Connection refused", done.stderr.splitlines()[-1])

    def test_a_launch_prefix(self):
        code = self.path / "wrong.cpp"
        code.write_text(WRONG)
        done = subprocess.run(
            [self.kgen, "eval", "--problem", str(self.path / "tasks/t1.py"), "--code", str(code), "--target", "cpp", "--device", "cpu",
             "--launch-prefix", f"{self.ssh} node1", "--cache-dir", str(self.path / "cache"), "--config", "/dev/null"],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 2, done.stderr + self.server.log())
        self.assertIn("accuracy", done.stdout)
        self.wait_until(lambda: not self.workers(), "the worker ends", 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    options, rest = parser.parse_known_args()
    if MISSING:
        print("missing: " + ", ".join(MISSING))
        sys.exit(SKIPPED)
    LaunchedCampaign.kgen, Ssh.server = options.kgen, Server()
    try:
        if not Ssh.server.accepts():
            print("no login:\n" + Ssh.server.log())
            sys.exit(SKIPPED)
        unittest.main(argv=[sys.argv[0], *rest])
    finally:
        Ssh.server.stop()
