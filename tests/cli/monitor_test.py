#!/usr/bin/env python3
"""kgen monitor: on a pseudo terminal, with keys and signals; as a web server, with requests that it must refuse."""

import argparse
import concurrent.futures
import fcntl
import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from journals import Journal, make_campaign

KGEN = None
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, arguments, columns=80, rows=24, program=None):
        self.master, self.slave = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen([str(program or KGEN), *map(str, arguments)], stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, preexec_fn=self.take_terminal,
                                        env={**os.environ, "TERM": "xterm-256color"})

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def wait_for(self, expected, seconds=20):
        """Waits until the text appears in what is written from now on, and forgets what was before it."""
        end = time.monotonic() + seconds
        while expected not in self.text:
            if time.monotonic() > end:
                raise AssertionError(f"{expected!r} did not appear in {self.text[-3000:]!r}")
            self.read(0.2)
        self.text = self.text[self.text.index(expected):]

    def end(self, seconds=20):
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0)
        return self.process.wait(timeout=1)

    def is_restored(self):
        return termios.tcgetattr(self.slave)[:6] == self.before[:6]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class MonitorTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = pathlib.Path(directory.name) / "results"


class TerminalTest(MonitorTest):
    def open(self, *more, **size):
        terminal = Terminal(["monitor", self.results, "--interval", "0.1", *more], **size)
        self.addCleanup(terminal.close)
        return terminal

    def test_a_campaign_that_begins_later_and_grows(self):
        terminal = self.open()
        terminal.wait_for(ENTER)
        terminal.wait_for("it does not exist")
        journal = Journal(self.results / "1_Task", live=True)
        terminal.wait_for("1_Task")
        journal.attempt(1, 1.5)
        terminal.wait_for("1.50x")
        journal.attempt(2)
        terminal.press("\r")
        terminal.wait_for("12 of 1024 elements differ")
        terminal.press("\x1b")
        terminal.wait_for("q quit")
        terminal.resize(200, 40)
        terminal.wait_for("openai gpt-5")
        journal.finish("goal reached", reached=True)
        terminal.wait_for("1 success")
        terminal.press("q")
        self.assertEqual(terminal.end(), 0)
        self.assertIn(LEAVE, terminal.text)
        self.assertTrue(terminal.is_restored())
        self.assertEqual(sorted(path.name for path in self.results.rglob("*")), ["1_Task", "events.jsonl"])

    def test_signals_give_the_terminal_back(self):
        make_campaign(self.results)
        for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, "\x03"):
            with self.subTest(stop=stop):
                terminal = self.open()
                terminal.wait_for("q quit")
                self.assertFalse(terminal.is_restored())
                if isinstance(stop, str):
                    terminal.press(stop)
                else:
                    terminal.process.send_signal(stop)
                self.assertEqual(terminal.end(), 130)
                self.assertIn(LEAVE, terminal.text)
                self.assertTrue(terminal.is_restored())

    def test_suspended_and_continued(self):
        make_campaign(self.results)
        script = '"$0" monitor "$1" --interval 0.1; echo stopped; fg > /dev/null; echo "code $?"'
        terminal = Terminal(["-mc", script, KGEN, self.results], program="bash")
        self.addCleanup(terminal.close)
        terminal.wait_for("q quit")
        terminal.press("\x1a")
        terminal.wait_for(LEAVE)
        terminal.wait_for("stopped")
        terminal.wait_for(ENTER)
        terminal.wait_for("q quit")
        self.assertFalse(terminal.is_restored())
        terminal.press("q")
        terminal.wait_for(LEAVE)
        terminal.wait_for("code 0")
        terminal.end()
        self.assertTrue(terminal.is_restored())

    def test_a_terminal_that_goes_away_ends_it(self):
        make_campaign(self.results)
        terminal = self.open()
        terminal.wait_for("q quit")
        os.close(terminal.master)
        terminal.master = os.dup(terminal.slave)
        self.assertIn(terminal.process.wait(timeout=20), (70, 74, 1, 69, 130))

    def test_without_a_terminal(self):
        make_campaign(self.results)
        run = subprocess.run([str(KGEN), "monitor", str(self.results)], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("9 of 12 runs over", run.stdout)
        self.assertNotIn("\x1b", run.stdout)


class ServerTest(MonitorTest):
    def setUp(self):
        super().setUp()
        make_campaign(self.results)
        Journal(self.results / "99_Task").attempt(1, name="<img src=x onerror=alert(1)>")
        self.server = self.serve("0")
        address = self.server.stdout.readline()
        self.port = int(re.fullmatch(r"http://localhost:(\d+)/  \(Ctrl-C ends it\)\n", address)[1])

    def serve(self, port):
        server = subprocess.Popen([str(KGEN), "monitor", str(self.results), "--serve", port, "--interval", "0.1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (server.kill(), server.communicate()))
        return server

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def test_page_and_data(self):
        status, page, headers = self.ask("/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertIn(b"monitor.js", page)
        campaign = json.loads(self.ask("/campaign.json")[1])
        self.assertEqual(campaign["counts"], {"running": 4, "success": 6, "partial": 3})
        self.assertEqual(len(campaign["runs"]), 13)
        run = json.loads(self.ask("/run.json?name=99_Task")[1])
        self.assertEqual(run["attempts"][0]["id"], "<img src=x onerror=alert(1)>")
        Journal(self.results / "99_Task").attempt(1, 3.0)
        end = time.monotonic() + 20
        while json.loads(self.ask("/run.json?name=99_Task")[1])["score"] != 3.0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_what_is_refused(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.ask("/", method)[0], 405, method)
        for host in ("evil.example", f"evil.example:{self.port}", "localhost.evil.example"):
            self.assertEqual(self.ask("/campaign.json", Host=host)[0], 403, host)
        for path in ("/../../etc/passwd", "/events.jsonl", "/99_Task/events.jsonl", "/%2e%2e/x"):
            self.assertEqual(self.ask(path)[0], 404, path)
        status, body, headers = self.ask("/", "HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)
        self.assertEqual(self.ask("/", **{"X-Large": "x" * 100_000})[0], 400)
        for garbage in (b"\0\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
                connection.sendall(garbage)
                self.assertRegex(connection.recv(1000), rb"^HTTP/1.1 4\d\d ")
        self.assertEqual(self.ask("/")[0], 200)

    def test_it_listens_on_loopback_only(self):
        listening = [line.split()[1] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()
                     if line.split()[1].endswith(f":{self.port:04X}") and line.split()[3] == "0A"]
        self.assertEqual(listening, [f"0100007F:{self.port:04X}"])

    def test_many_viewers_cost_one_reader(self):
        def bytes_read():
            io = pathlib.Path(f"/proc/{self.server.pid}/io").read_text()
            return int(re.search(r"rchar: (\d+)", io)[1])

        before = bytes_read()
        with concurrent.futures.ThreadPoolExecutor(40) as viewers:
            answers = list(viewers.map(lambda _: self.ask("/campaign.json")[0], range(400)))
        self.assertEqual(set(answers), {200})
        journals = sum(path.stat().st_size for path in self.results.rglob("events.jsonl"))
        # Sockets count, too: about 100 bytes a request. Journals that have not changed are not read again.
        self.assertLess(bytes_read() - before, 400 * 200 + journals)

    def test_silent_connections_do_not_keep_others_out(self):
        silent = [socket.create_connection(("127.0.0.1", self.port), timeout=20) for _ in range(60)]
        self.assertEqual(self.ask("/campaign.json")[0], 200)
        for connection in silent:
            connection.close()

    def test_ends(self):
        other = self.serve(str(self.port))
        self.assertEqual(other.wait(timeout=20), 73)
        self.assertIn("the port is in use", other.stderr.read())
        self.server.send_signal(signal.SIGINT)
        self.assertEqual(self.server.wait(timeout=20), 130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    KGEN = options.kgen.absolute()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
