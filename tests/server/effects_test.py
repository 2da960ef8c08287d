#!/usr/bin/env python3
"""What follows the writes of logs, by a kedge-server: snapshots appear that nobody asked the server for.

Usage: effects_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM [aws]. With "aws" on real engines, which the environment
names, as scripts/stack tells it; without them it ends with 77, or fails with KEDGE_ENGINES=required. Closes with the
plain line "N passed, N failed"."""
import contextlib
import hashlib
import json
import os
import pathlib
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import SLOWER, Server, push_body, put, wait_for

ADMIN = sys.argv[3]
ON_AWS = sys.argv[4:] == ["aws"]
ENGINES = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS"]
LARGE = "x" * 60000


def value(item, text):
    return {"type": "kedge.put", "version": 1, "body": {"collection": "notes", "id": item, "value": text}}


class Effects(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        name = "kedge-effects-test-" + secrets.token_hex(6)
        self.stores = (["--table", name, "--bucket", name, "--snapshots", name + ".fifo"] if ON_AWS
                       else ["--data", str(pathlib.Path(self.folder.name) / "data")])
        self.server = None

    def start(self):
        self.server = Server(self.stores, "--open", *["--create"] * ON_AWS)

    def stop(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.assertNotIn('"level":"error"', self.server.logged())

    def tearDown(self):
        if self.server:
            self.stop()
        self.folder.cleanup()

    def ask(self, method, path, body=None, status=200):
        answered, _, response = self.server.request(method, "/v1/orgs/acme/projects/p" + path, body)
        self.assertEqual(answered, status, response)
        return response

    def admin(self, *words, code=0, scope=("--org", "acme", "--project", "p")):
        done = subprocess.run([ADMIN, *self.stores, *scope, *words], capture_output=True,
                              text=True, timeout=60 * SLOWER)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def make_log(self):
        self.ask("PUT", "", status=201)
        self.ask("PUT", "/logs/l", status=201)

    def append(self, *entries):
        for entry in entries:
            number = self.ask("POST", "/logs/l/entries", entry)["number"]
        return number

    def want(self):
        return self.append({"type": "Snapshot", "version": 1})

    def snapshot(self, number, log="l"):
        """Waits for the snapshot of the entry."""
        entry = lambda: self.ask("GET", f"/logs/{log}/entries?from={number}&limit=1")["entries"][0]
        wait_for(lambda: "snapshot" in entry(), 60)
        wait_for(lambda: self.ask("GET", f"/logs/{log}")["last_snapshot"] == number)
        return entry()["snapshot"]

    def state(self, number):
        return self.ask("GET", f"/logs/l/snapshots/{self.snapshot(number)}")

    def test_a_log_gets_the_snapshot_that_an_entry_asks_for(self):
        self.start()
        self.make_log()
        self.append(value("a", 1), value("b", LARGE), value("a", 2))
        number = self.want()
        self.assertEqual(self.state(number), {"log": "l", "number": number, "chunks": [],
                                              "collections": {"notes": {"a": 2, "b": LARGE}}})
        # The next one begins with it; a mutation that is refused changes nothing.
        self.append({"type": "kedge.delete", "version": 1, "body": {"collection": "notes", "id": "b"}},
                    value("", 3), {"type": "kedge.put", "version": 1, "body": {"collection": "/"}},
                    {"type": "kedge.project", "version": 1, "body": {"name": "x"}})
        number = self.want()
        self.assertEqual(self.state(number), {"log": "l", "number": number, "project": {"name": "x"}, "chunks": [],
                                              "collections": {"notes": {"": 3, "a": 2}}})
        self.ask("GET", f"/logs/l/snapshots/{'0' * 64}", status=404)

    def test_a_large_snapshot_is_read_in_chunks_and_goes_with_a_truncation(self):
        self.start()
        self.make_log()
        self.append(*[value(f"n{item}", f"{item}{LARGE}") for item in range(9)])
        first = self.want()
        made = self.state(first)
        notes = made["collections"]["notes"]
        self.assertGreater(len(made["chunks"]), 0)
        for digest, collection, item in made["chunks"]:
            chunk = self.ask("GET", f"/logs/l/snapshots/{self.snapshot(first)}/{digest}")
            self.assertEqual(min(chunk[collection]), item)
            notes.update(chunk["notes"])
        self.assertEqual(notes, {f"n{item}": f"{item}{LARGE}" for item in range(9)})
        gone = f"/logs/l/snapshots/{self.snapshot(first)}"
        second = self.want()
        self.state(second)
        self.ask("POST", "/logs/l/truncate", {"before": second})
        self.ask("GET", gone, status=404)
        self.ask("GET", f"{gone}/{made['chunks'][0][0]}", status=404)
        self.state(second)

    @unittest.skipIf(ON_AWS, "the message is changed in the server's file")
    def test_a_request_that_died_is_shown_and_put_back(self):
        self.start()
        self.make_log()
        self.append(value("a", 1))
        self.stop()
        queue = pathlib.Path(self.folder.name) / "data/snapshots.db"
        body = '{"log":"l","organization":"acme","project":"p"}'
        with contextlib.closing(sqlite3.connect(queue)) as database, database:
            database.execute("INSERT INTO message(group_id, body, sent_ms, receive_count, visible_ms,"
                             " changed_ms, dead) VALUES(?, ?, 5, 9, 0, 0, 1)", [b"g", body.encode()])
        letter = {"id": hashlib.sha256(body.encode()).hexdigest(), "organization": "acme", "project": "p", "log": "l",
                  "sent": 5}
        found = lambda: self.admin("dead-letters", scope=[])
        self.assertEqual(found(), {"dead_letters": [], "snapshots": [letter], "more": False})
        self.assertEqual(self.admin("redrive", letter["id"], scope=[]), {"redriven": 1})
        self.assertEqual(found()["snapshots"], [])
        self.start()
        self.assertEqual(self.state(self.want())["collections"], {"notes": {"a": 1}})

    def test_a_new_segment_gets_its_snapshot(self):
        self.start()
        self.make_log()
        self.append(value("a", 1))
        self.snapshot(self.want())
        self.append(value("a", 2))
        self.ask("POST", "/logs/l/segments", {})
        first = self.ask("GET", "/logs/l")["next"] - 1
        self.assertEqual(self.state(first)["collections"], {"notes": {"a": 2}})
        loaded = self.ask("GET", "/logs/l/entries?from=snapshot")["entries"]
        self.assertEqual([entry["number"] for entry in loaded], [first])

    def test_a_log_of_an_apps_own_events_is_left_to_the_app(self):
        self.start()
        self.make_log()
        self.append({"type": "deposited", "version": 1, "body": {"amount": 100}})
        number = self.want()
        wait_for(lambda: self.server.metric("kedge_snapshots_refused_total") >= 2)  # of entry 0, too
        entry = self.ask("GET", f"/logs/l/entries?from={number}")["entries"][0]
        self.assertNotIn("snapshot", entry)
        self.ask("POST", f"/logs/l/entries/{number}/metadata", {"snapshot": "the app's"})
        self.assertEqual(self.snapshot(number), "the app's")

    @unittest.skipIf(ON_AWS, "a thousand pushes one by one take minutes there")
    def test_a_log_project_gets_a_snapshot_while_it_is_written(self):
        self.start()
        self.ask("PUT", "", {"kind": "log"}, status=201)
        for number in range(1, 1030):  # a snapshot is due after a thousand
            body = push_body("c", [put(f"n{number % 7}", number)], number)
            self.ask("POST", "/push", {**body, "kedge": {"client": "c"}})
        wait_for(lambda: self.ask("GET", "/logs/mutations")["last_snapshot"], 60)
        number = self.ask("GET", "/logs/mutations")["last_snapshot"]
        entry = self.ask("GET", f"/logs/mutations/entries?from={number}")["entries"][0]
        self.assertEqual(entry["type"], "Snapshot")
        items = {item["key"]: item["value"] for item in self.ask("GET", f"/snapshot?version={number}")["items"]}
        self.assertEqual(len(items), 7)
        self.assertEqual(max(items.values()), number - 1)  # each entry before it has a mutation

    def test_a_server_that_stopped_goes_on_where_it_was(self):
        self.start()
        self.make_log()
        self.append(value("a", 1))
        number = self.want()
        self.stop()
        self.start()
        self.assertEqual(self.state(number)["collections"], {"notes": {"a": 1}})

    def test_what_no_stream_told_is_made_up_for(self):
        """Written before a server has ever followed the logs."""
        body = pathlib.Path(self.folder.name) / "body"
        body.write_text(json.dumps(value("a", 1)["body"]))
        self.admin("create-project", "--create")  # the first of the backend
        self.admin("create-log", "l")
        self.admin("append-log", "l", "kedge.put", str(body))
        number = self.admin("append-log", "l", "Snapshot", str(body))["number"]
        self.start()
        told = self.admin("reprocess-logs", "--since", "2020-01-01")
        self.assertEqual((told["logs"], told["without_snapshot"]), (1, 2))
        self.assertEqual(self.state(number)["collections"], {"notes": {"a": 1}})


if __name__ == "__main__":
    if ON_AWS and not all(map(os.environ.get, ENGINES)):
        required = os.environ.get("KEDGE_ENGINES") == "required"
        print(f"{'failed' if required else 'skipped'}: the environment names no engines")
        sys.exit(1 if required else 77)
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
