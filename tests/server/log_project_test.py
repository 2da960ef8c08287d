#!/usr/bin/env python3
"""A log project against a kedge-server: pushes, pulls, a snapshot, a restart, a retire; and queued mode.

Usage: log_project_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import hashlib
import pathlib
import struct
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import Server, run_tests

BASE = "/v1/orgs/acme/projects/sheet"


def put(number, item, value):
    return {"clientID": "c1", "id": number, "name": "kedge.put", "timestamp": 7,
            "args": {"collection": "cells", "id": item, "value": value}}


def state_hash(items):
    hashed = hashlib.sha256()
    for key, value in items:
        for text in (key.encode(), value.encode()):
            hashed.update(struct.pack("<I", len(text)) + text)
    return hashed.hexdigest()


class LogProject(unittest.TestCase):
    options = ["--open", "--ping", "1"]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.start()
        self.assertEqual(self.ask("PUT", "", {"kind": "log"}, status=201)["kind"], "log")

    def start(self):
        self.server = Server(pathlib.Path(self.folder.name) / "data", *self.options)

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def ask(self, method, path, body=None, status=200):
        answered, _, response = self.server.request(method, BASE + path, body)
        self.assertEqual(answered, status, response)
        return response

    def push(self, *mutations, status=200):
        return self.ask("POST", "/push", {"pushVersion": 1, "clientGroupID": "c1", "mutations": list(mutations),
                                          "kedge": {"client": "c1"}}, status)

    def pull(self, cookie, lowest=1):
        return self.ask("POST", "/pull", {"pullVersion": 1, "clientGroupID": "c1", "cookie": cookie, "kedge": {
            "client": "c1", "lowest_pending": lowest, "highest_id": 100}})

    def test_a_copy_that_replays_has_the_hash_of_the_snapshot(self):
        self.push(*[put(number, f"i{number % 3}", number) for number in range(1, 8)])
        response = self.pull(None)
        items = {}
        for entry in response["kedge"]["log"]["entries"]:
            for mutation in entry["mutations"]:
                items["cells/" + mutation["args"]["id"]] = str(mutation["args"]["value"])
        made = self.ask("POST", "/snapshot")
        self.assertEqual(made, {"version": 1, "made": True})
        self.push(put(8, "i0", 8))
        first = self.pull(None)["kedge"]
        self.assertEqual(first["snapshot"]["version"], 1)
        self.assertEqual(first["log"]["hash"], state_hash(sorted(items.items())))
        page = self.ask("GET", "/snapshot?version=1")
        self.assertEqual({item["key"]: str(item["value"]) for item in page["items"]}, items)
        self.assertEqual(page["next"], None)

    def test_what_was_pushed_survives_a_restart_and_is_not_doubled(self):
        for number in range(1, 6):
            self.assertEqual(self.push(put(number, "a", number))["kedge"]["version"], number)
        self.assertEqual(self.server.stop(), 0)
        self.start()
        for number in range(1, 6):
            self.assertEqual(self.push(put(number, "a", number))["kedge"]["version"], 5)
        pulled = self.pull(None)
        self.assertEqual(len(pulled["kedge"]["log"]["entries"]), 5)
        retired = self.ask("POST", "/clients/c1/retire",
                           {"clientGroupID": "c1", "lowest_pending": 4, "earlier": []})
        self.assertEqual(retired["lmid"], 5)
        self.assertEqual(retired["outcomes"], [])  # no snapshot has decided them
        self.assertEqual(self.push(put(6, "a", 6), status=409)["code"], "client-retired")
        self.assertEqual(self.pull(pulled["cookie"])["kedge"]["retired"], True)

    def test_a_poke_tells_the_new_version(self):
        self.push(put(1, "a", 1))
        raw = self.server.connect(f"GET {BASE}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        raw.settimeout(90)
        text = b""
        while b'"version":1' not in text:
            text += raw.recv(4096)
        self.push(put(2, "a", 2))
        while b'"version":2' not in text:
            text += raw.recv(4096)
        raw.close()


class QueuedServer(LogProject):
    """A log project needs no queue: its pushes are appended at once, also by a server in queued mode."""
    options = ["--open", "--ping", "1", "--mode", "queued"]


if __name__ == "__main__":
    run_tests()
