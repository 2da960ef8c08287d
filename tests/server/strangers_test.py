"""What peers without a token, and requests that take long, leave to the others.

Usage: strangers_test.py SERVER_PROGRAM SLOW_PLUGIN ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import json
import pathlib
import select
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import BASE, MIB, PLUGIN, Server, push_body, put, read_until, run_tests, wait_for
from tokens import make_keys, make_token

PEERS = 20
SMALL = 65536  # a body up to here does not count as held


def head(path, headers, size, token=None):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {size}", *headers]
    if token:
        lines.append(f"Authorization: {token}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Strangers(unittest.TestCase):
    """A server with tokens, and peers that have none, or a wrong one."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        make_keys(root)
        claims = {"iss": "i", "aud": "kedge", "sub": "u1", "org": "*", "role": "admin", "exp": time.time() + 3600}
        self.token = "Bearer " + make_token(root, claims)
        self.server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge")
        self.assertEqual(self.server.request("PUT", BASE, headers={"Authorization": self.token})[0], 201)
        self.server.metrics_headers = {"Authorization": self.token}
        self.peers = []

    def tearDown(self):
        for peer in self.peers:
            peer.close()
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def connect(self, data):
        self.peers.append(self.server.connect(data))
        return self.peers[-1]

    def test_bodies_of_strangers_hold_nothing_and_are_answered_with_401(self):
        for token in (None, "Bearer none.none.none"):
            peers = [self.connect(head(BASE + "/push", (), MIB, token) + b" " * (MIB - 1)) for _ in range(PEERS)]
            known = self.connect(head(BASE + "/push", (), MIB, self.token) + b" " * (MIB - 1))
            wait_for(lambda: self.server.metric("kedge_held_bytes") >= MIB - 1 - SMALL)
            self.assertEqual(self.server.metric("kedge_held_bytes"), MIB - 1 - SMALL)
            for peer in peers:
                peer.sendall(b" ")
                answer = read_until(peer, b"}")
                self.assertIn(b"HTTP/1.1 401", answer)
                self.assertIn(b"token-invalid" if token else b"token-missing", answer)
            known.sendall(b" ")
            read_until(known, b"HTTP/1.1 400")
        body = push_body("a", [put("n1", "x" * MIB)])
        self.assertEqual(self.server.request("POST", BASE + "/push", body, {"Authorization": self.token})[0], 200)

    def test_a_stranger_that_asks_first_is_refused_before_it_sends_its_body(self):
        peer = self.connect(head(BASE + "/push", ["Expect: 100-continue"], 10))
        answer = read_until(peer, b"}")
        self.assertTrue(answer.startswith(b"HTTP/1.1 401"), answer)
        body = json.dumps(push_body("a", [put("n1", 1)])).encode()
        peer = self.connect(head(BASE + "/push", ["Expect: 100-continue"], len(body), self.token))
        read_until(peer, b"HTTP/1.1 100 ")
        peer.sendall(body)
        read_until(peer, b"HTTP/1.1 200 ")


def children(pid):
    listed = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in listed for child in task.read_text().split()]


def ticks(pid):
    """What a process has used of the processor, in clock ticks; 0 when it has ended."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    except OSError:
        return 0


def shares_a_stripe(project):
    """Another name of the same place in a table of 64, by the hash FNV-1a of organization and project."""
    def place(name):
        value = 14695981039346656037
        for byte in f"acme/{name}/".encode():
            value = (value ^ byte) * 1099511628211 % 2**64
        return (value ^ value >> 32) % 64
    return next(name for name in (f"q{i}" for i in range(10000)) if place(name) == place(project))


class BusyWorkers(unittest.TestCase):
    def test_a_long_push_keeps_no_other_project_waiting(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data", "--open", "--workers", "4", "--mutators", PLUGIN)
            try:
                other = "/v1/orgs/acme/projects/" + shares_a_stripe("p")
                for path in (BASE, other):
                    self.assertEqual(server.request("PUT", path)[0], 201)
                slow = json.dumps(push_body("a", [("loop", None)] * 20)).encode()
                busy = server.connect(head(BASE + "/push", (), len(slow)) + slow)
                wait_for(lambda: max(map(ticks, children(server.process.pid)), default=0) > 20)
                push = push_body("b", [put("n1", 1)])
                self.assertEqual(server.request("POST", other + "/push", push)[0], 200)
                self.assertEqual(select.select([busy], [], [], 0)[0], [], "the long push had ended")
                busy.close()
            finally:
                server.stop(signal.SIGKILL)

    def test_health_is_told_while_the_only_worker_runs_a_long_push(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data", "--open", "--workers", "1", "--mutators", PLUGIN)
            try:
                self.assertEqual(server.request("PUT", BASE)[0], 201)
                slow = json.dumps(push_body("a", [("loop", None)] * 20)).encode()
                busy = server.connect(head(BASE + "/push", (), len(slow)) + slow)
                wait_for(lambda: max(map(ticks, children(server.process.pid)), default=0) > 20)
                behind = server.connect(f"GET {BASE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                for _ in range(3):
                    self.assertEqual(server.request("GET", "/v1/health")[2], {"status": "ok"})
                self.assertEqual(server.request("POST", "/v1/health")[0], 405)
                self.assertEqual(select.select([busy, behind], [], [], 0)[0], [], "the worker was not busy")
                busy.close()
                behind.close()
            finally:
                server.stop(signal.SIGKILL)


if __name__ == "__main__":
    run_tests()
