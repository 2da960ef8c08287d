#!/usr/bin/env python3
"""Large responses of a kedge-server are made in parts, as they are read: what slow readers hold, leave to others, and get.

Usage: parts_test.py SERVER_PROGRAM PLUGIN LIBKEDGE ADMIN. Closes with the plain line "N passed, N failed"."""
import contextlib
import hashlib
import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import MIB, SLOWER, Server, ends, pull_body, push_body, put, read_until, run_tests, wait_for

ADMIN = sys.argv[4]
LARGE = "/v1/orgs/acme/projects/large"
SMALL = "/v1/orgs/acme/projects/small"
ITEMS = 72  # of 1.5 MB, and as many hundreds of small ones
PART = MIB // 2
READERS = 24


class OldConnection(http.client.HTTPConnection):
    """A client of HTTP/1.0, which gets no response in chunks."""
    _http_vsn = 10
    _http_vsn_str = "HTTP/1.0"


def request(path, body, token=""):
    data = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}Content-Length: {len(data)}\r\n\r\n".encode() + data


def value(number):
    return chr(97 + number % 26) * 1500000


class Parts(unittest.TestCase):
    """A server with a project `large`, whose first pull has 108 MB. Its folder is made once; each test has a copy."""

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        server = Server(pathlib.Path(cls.made.name) / "data", "--open")
        try:
            for path in (LARGE, SMALL):
                assert server.request("PUT", path)[0] == 201
            for first in range(0, ITEMS, 8):
                items = [put(f"n{number:03}", value(number)) for number in range(first, first + 8)]
                assert server.request("POST", LARGE + "/push", push_body("a", items, first=first + 1))[0] == 200
            items = [put(f"s{number:03}", "y" * number) for number in range(ITEMS)]
            assert server.request("POST", LARGE + "/push", push_body("a", items, first=ITEMS + 1))[0] == 200
        finally:
            assert server.stop() == 0, server.logged()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = pathlib.Path(self.folder.name) / "data"
        self.peers = []
        self.count = 2 * ITEMS

    def start(self, *options):
        shutil.copytree(pathlib.Path(self.made.name) / "data", self.data)
        self.server = Server(self.data, "--open", *options)
        self.addCleanup(self.stop)

    def push(self, *mutations):
        body = push_body("a", mutations, first=self.count + 1)
        self.count += len(mutations)
        self.assertEqual(self.server.request("POST", LARGE + "/push", body)[0], 200)

    def stop(self):
        for peer in self.peers:
            peer.close()
        self.assertEqual(self.server.stop(), 0, self.server.logged())

    def admin(self, *words):
        done = subprocess.run([ADMIN, "--data", str(self.data), "--org", "acme", "--project", "large", *words],
                              capture_output=True, text=True, timeout=60 * SLOWER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def read(self, cookie=None, client=http.client.HTTPConnection):
        connection = client("127.0.0.1", self.server.port, timeout=90 * SLOWER)
        self.addCleanup(connection.close)
        connection.request("POST", LARGE + "/pull", json.dumps(pull_body("b", cookie)), {"Host": "127.0.0.1"})
        return connection.getresponse()

    def slow(self, project=LARGE):
        """A reader that has read the head of its response and no more."""
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(90 * SLOWER)
        raw.connect(("127.0.0.1", self.server.port))
        raw.sendall(request(project + "/pull", pull_body("b")))
        self.peers.append(raw)
        self.assertTrue(raw.recv(12).startswith(b"HTTP/1.1 200"))
        return raw

    def assert_small_pull_is_served(self):
        self.assertEqual(self.server.request("POST", SMALL + "/pull", pull_body("b"))[0], 200)

    def test_the_parts_are_the_whole_response(self):
        self.start()
        whole = self.read(client=OldConnection)
        self.assertIsNone(whole.headers["Transfer-Encoding"])
        parts = self.read()
        self.assertEqual((parts.status, parts.headers["Transfer-Encoding"]), (200, "chunked"))
        text = parts.read()
        self.assertEqual(hashlib.sha256(text).hexdigest(), hashlib.sha256(whole.read()).hexdigest())
        patch = json.loads(text)["patch"]
        self.assertEqual((len(patch), patch[0]["op"]), (1 + 2 * ITEMS, "clear"))
        self.assertEqual(patch[1]["value"], value(0))

    def test_a_large_delta_comes_in_parts_as_well(self):
        self.start()
        cookie = json.loads(self.read().read())["cookie"]
        for number in range(8):
            self.push(put(f"d{number}", chr(65 + number) * 2000000), put(f"n{number:03}", number))
        self.push(("kedge.delete", {"collection": "notes", "id": "n007"}))
        parts, whole = self.read(cookie), self.read(cookie, client=OldConnection)
        self.assertEqual(parts.headers["Transfer-Encoding"], "chunked")
        text = parts.read()
        self.assertEqual(text, whole.read())
        patch = json.loads(text)["patch"]
        self.assertEqual([operation["op"] for operation in patch].count("del"), 1)
        self.assertEqual(len(patch), 16)

    def test_what_would_be_too_large_is_refused_and_not_begun(self):
        self.start()
        for first in range(0, 24, 8):
            self.push(*[put(f"x{number:03}", value(number)) for number in range(first, first + 8)])
        response = self.read()
        self.assertEqual((response.status, json.loads(response.read())["code"]), (500, "response-too-large"))

    def test_a_small_response_has_a_length(self):
        self.start()
        status, headers, _ = self.server.request("POST", SMALL + "/pull", pull_body("b"))
        self.assertEqual((status, headers["Transfer-Encoding"]), (200, None))
        self.assertGreater(int(headers["Content-Length"]), 0)

    def test_slow_readers_hold_little_and_no_worker(self):
        self.start("--workers", "2")
        self.read().read()
        before = self.server.memory()
        for _ in range(READERS):
            self.slow()
        self.assertLess(self.server.metric("kedge_held_bytes"), READERS * (PART + 2 * MIB))
        self.assert_small_pull_is_served()
        self.assertEqual(len(json.loads(self.read().read())["patch"]), 1 + 2 * ITEMS)
        if SLOWER == 1:  # a sanitizer needs memory of its own
            self.assertLess(self.server.memory("VmHWM") - before, READERS * 6 * MIB)

    def test_a_response_is_of_one_version_whatever_is_committed(self):
        self.start()
        slow = self.read()
        first = slow.read(1000)
        for number in range(ITEMS):
            self.push(put(f"n{number:03}", "changed"), put(f"s{number:03}", "changed"), put(f"z{number}", "new"))
        response = json.loads(first + slow.read())
        values = [operation["value"] for operation in response["patch"][1:]]
        self.assertEqual(values, [value(number) for number in range(ITEMS)] + ["y" * number for number in range(ITEMS)])
        after = json.loads(self.read(response["cookie"]).read())["patch"]
        self.assertEqual(len(after), 3 * ITEMS)

    def test_a_reader_that_takes_longer_than_the_timeout_is_served_as_long_as_it_reads(self):
        self.start("--request-timeout", "3")
        slow, began, taken = self.slow(), time.monotonic(), 0
        while time.monotonic() < began + 9:
            taken += len(slow.recv(2000))
            time.sleep(max(0, began + taken / 40000 - time.monotonic()))  # 40,000 bytes a second
        self.assertGreater(taken, 200000)
        self.assertEqual(self.server.metric("kedge_requests_cut_total"), 0)
        self.assertGreater(self.server.metric("kedge_held_bytes"), 0)

    def test_readers_that_stop_or_take_less_than_4_kib_a_second_are_cut(self):
        self.start("--request-timeout", "1")
        stopped, trickling = self.slow(), self.slow()

        def all_are_cut():
            with contextlib.suppress(ConnectionError):
                trickling.recv(1)  # for each question, so some 2 KB a second at most
            return self.server.metric("kedge_held_bytes") == 0
        wait_for(all_are_cut, seconds=240)
        self.assertEqual(self.server.metric("kedge_requests_cut_total"), 2)
        self.assertTrue(ends(stopped))
        self.assertTrue(ends(trickling))

    def test_a_reader_that_stops_is_seen_although_the_system_could_hold_its_response(self):
        self.start("--request-timeout", "3")
        body = push_body("a", [put("n1", "x" * 400000)])
        self.assertEqual(self.server.request("POST", SMALL + "/push", body)[0], 200)
        self.slow(SMALL)
        self.assertGreater(self.server.metric("kedge_held_bytes"), 0)
        wait_for(lambda: self.server.metric("kedge_held_bytes") == 0)

    def test_a_server_that_stops_cuts_what_is_under_way(self):
        self.start()
        slow = self.read()
        slow.read(1000)
        self.slow()

        def read_on():
            with self.assertRaises(http.client.IncompleteRead):
                slow.read()

        self.server.stop_within(7, read_on)

    def test_a_response_of_a_version_that_is_removed_is_cut_and_never_wrong(self):
        self.start()
        slow = self.read()
        slow.read(1000)
        self.push(*[put(f"n{number:03}", "changed") for number in range(ITEMS)])
        self.admin("retention", "--keep-versions", "1", "--remove")
        bodies = list((self.data / "blobs/acme+/projects+/large+/notes+").glob("*.json.gz"))
        self.assertEqual(len(bodies), 26)
        for body in bodies:  # as garbage collection does when the grace is over
            body.unlink()
        with self.assertRaises(http.client.IncompleteRead):
            slow.read()
        self.assertIn("version-gone", self.server.logged())
        patch = json.loads(self.read().read())["patch"]
        self.assertEqual(patch[1]["value"], "changed")


if __name__ == "__main__":
    run_tests()
