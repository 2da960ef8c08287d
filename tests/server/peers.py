"""A running kedge-server, and peers of it that are slow, broken or patient."""
import contextlib
import http.client
import gzip
import json
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SERVER, PLUGIN = sys.argv[1:3]
BASE = "/v1/orgs/acme/projects/p"
PRESET = os.environ.get("KEDGE_TEST_PRESET", "")
SLOWER = {"asan": 3, "tsan": 6}.get(PRESET, 1)
MIB = 1 << 20


class Server:
    """A running kedge-server; its folder is given, so that it can be started again on it, or the
    options that name its stores on AWS."""

    def __init__(self, stores, *arguments, listen="127.0.0.1:0", prepare=None, environment=None):
        self.log = tempfile.TemporaryFile()
        stores = stores if isinstance(stores, list) else ["--data", str(stores)]
        self.process = subprocess.Popen(
            [SERVER, *stores, "--listen", listen, *(arguments or ("--open",))],
            stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=prepare, env=environment)
        line = self.process.stdout.readline()
        if not line.startswith("kedge-server ready on "):
            self.stop()
            raise RuntimeError(self.logged())
        self.port = int(line.rsplit(":", 1)[1])
        self.metrics_headers = {}

    def logged(self):
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.communicate(timeout=60 * SLOWER)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode

    def without_processor(self):
        """The seconds for which the main thread has waited so far for a processor that others had."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[1]) / 1e9

    def stop_within(self, seconds, meanwhile=lambda: None):
        """Stops it, which takes at most so many seconds, but for those in which others have the processor."""
        began, before = time.monotonic(), self.without_processor()
        self.process.send_signal(signal.SIGTERM)
        meanwhile()
        wait_for(lambda: os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
        took = time.monotonic() - began
        own = took - (self.without_processor() - before)
        code = self.stop()
        assert own < seconds * SLOWER, f"it took {took:.2f} s, of which others had the processor for {took - own:.2f} s"
        return code

    def request(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * SLOWER)
        try:
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            content = response.read()
            if response.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            kind = response.headers.get("Content-Type", "")
            return response.status, response.headers, json.loads(content) if "json" in kind else content
        finally:
            connection.close()

    def connect(self, data=b""):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=90 * SLOWER)
        raw.sendall(data)
        return raw

    def metric(self, name):
        status = 429
        while status == 429: # a condition that is waited for may ask more often than one user may
            status, _, text = self.request("GET", "/v1/metrics", headers=self.metrics_headers)
        for line in text.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def memory(self, name="VmRSS"):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(name))

    def events(self, headers=None, path=BASE + "/events"):
        lines = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
        return self.connect(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())


def push_body(client, mutations, first=1):
    return {"pushVersion": 1, "clientGroupID": "g-" + client, "profileID": "", "schemaVersion": "",
            "mutations": [{"clientID": client, "id": first + i, "name": name, "args": args,
                           "timestamp": 0} for i, (name, args) in enumerate(mutations)]}


def pull_body(client, cookie=None):
    return {"pullVersion": 1, "clientGroupID": "g-" + client, "cookie": cookie, "profileID": "",
            "schemaVersion": ""}


def put(item, value):
    return ("kedge.put", {"collection": "notes", "id": item, "value": value})


def read_until(raw, wanted, seconds=90):
    """Reads the stream until `wanted` stands in it; fails at the deadline or the end."""
    seen, end = b"", time.monotonic() + seconds * SLOWER
    while wanted not in seen:
        raw.settimeout(max(0.01, end - time.monotonic()))
        piece = raw.recv(4096)
        if not piece:
            raise AssertionError(f"the stream ended; seen {seen!r}")
        seen += piece
    return seen


def wait_for(condition, seconds=90):
    step, end = threading.Event(), time.monotonic() + seconds * SLOWER
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition did not come true in time")
        step.wait(0.01)  # the processor is the server's meanwhile


def ends(raw, trickle=None, seconds=60):
    """Whether the server ends the connection within the time; sends `trickle` meanwhile."""
    end = time.monotonic() + seconds * SLOWER
    try:
        while time.monotonic() < end:
            if not select.select([raw], [], [], 0.1)[0]:
                if trickle:
                    raw.sendall(trickle)
            elif not raw.recv(65536):
                return True
    except (ConnectionResetError, BrokenPipeError):
        return True
    return False


def free_port():
    """A port of 127.0.0.1 for a program that must be told one. It lies below those that the system gives to whoever asks
    for any port, so no other program gets it before this one listens."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(max(1024, lowest // 2), max(2048, lowest))
    while True:
        port = random.SystemRandom().choice(ports)
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


def break_off(raw):
    """Closes with a reset instead of an orderly end."""
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    raw.close()


class OpenServer(unittest.TestCase):
    """A test with a server of its own in open mode."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--mutators", PLUGIN,
                             "--origin", "https://app.example.com", "--ping", "1")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def push(self, client, *mutations, first=1):
        return self.server.request("POST", BASE + "/push", push_body(client, mutations, first))

    def pull(self, client, cookie=None):
        return self.server.request("POST", BASE + "/pull", pull_body(client, cookie))

    def metric(self, name):
        return self.server.metric(name)


def run_tests():
    """Runs the tests of the program, and ends it; its last line is "N passed, N failed"."""
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
