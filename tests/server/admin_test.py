#!/usr/bin/env python3
"""kedge-admin beside a running kedge-server, on the same folder, while clients push.

Usage: admin_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM [aws]. With "aws" on real engines, which the environment
names, as scripts/stack tells it; without them it ends with 77, or fails with KEDGE_ENGINES=required. Closes with the
plain line "N passed, N failed"."""
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
from peers import BASE, PLUGIN, SLOWER, Server, push_body, put, run_tests

ADMIN = sys.argv[3]
ON_AWS = sys.argv[4:] == ["aws"]
ENGINES = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"]
LARGE = "x" * 9000


class AdminBesideServer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.files = pathlib.Path(self.folder.name)
        name = "kedge-admin-test-" + secrets.token_hex(6)
        self.stores = ["--table", name, "--bucket", name] if ON_AWS else ["--data", str(self.files / "data")]
        self.start(*["--create"] if ON_AWS else [])
        self.pushed = {}

    def start(self, *more):
        self.server = Server(self.stores, "--open", "--mutators", PLUGIN, *more)

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def push(self, client, *mutations, base=BASE):
        first = self.pushed.get((base, client), 0) + 1
        response = self.server.request("POST", base + "/push", push_body(client, mutations, first))
        self.assertEqual(response[0], 200, response)
        self.pushed[base, client] = first + len(mutations) - 1

    def admin(self, *words, project="p", code=0):
        done = subprocess.run([ADMIN, *self.stores, "--org", "acme", "--project",
                               project, *words], capture_output=True, text=True, timeout=60 * SLOWER)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()] if code in (0, 3) else done.stderr

    def verify(self, project="p"):
        return self.admin("verify", project=project)[-1]

    def get(self, path, project="p"):
        return self.server.request("GET", f"/v1/orgs/acme/projects/{project}/{path}")

    def pushing(self, client, stop):
        """Pushes until it is told to stop; small and large items, some of them again and again."""
        def run():
            number = 0
            while not stop.is_set():
                number += 1
                self.push(client, put(f"{client}-{number % 20}", {"n": number % 7, "text": LARGE}))
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def test_it_prints_its_version(self):
        said = subprocess.run([ADMIN, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^kedge-admin \d+\.\d+\.\d+\n$")

    def test_a_fork_and_a_rebase_by_request_and_by_the_admin_are_the_same(self):
        self.push("a", put("n1", {"v": 1}))
        for number in range(2, 8):
            self.push("a", put(f"n{number}", {"v": number}), ("no.such", {}))
        fork = self.server.request("POST", BASE + "/fork", {"version": 3, "to": "q"})
        self.assertEqual((fork[0], fork[2]["forked"]["version"]), (201, 3))
        body = {"from_project": "p", "from_version": 4, "to_version": 7, "job": "j"}
        rebase = self.server.request("POST", "/v1/orgs/acme/projects/q/rebase", body)
        self.assertTrue(rebase[2]["done"])
        self.admin("fork", "r", "--version", "3")
        told = self.admin("rebase", "p", "j", "--from", "4", project="r")
        self.assertEqual([(m["id"], m["outcome"]) for m in told[0]["mutations"]],
                         [(m["id"], m["outcome"]) for m in rebase[2]["mutations"]])
        for project in "qr":
            self.assertEqual(self.verify(project)["findings"], 0)
            items = self.get("versions/latest?items=1", project)[2]["collections"]
            self.assertEqual(items, self.get("versions/latest?items=1")[2]["collections"])

    def test_a_rebase_needs_the_mutators_that_were_applied(self):
        note = {"id": "n1", "title": "t", "text": "", "folder": ""}
        self.push("a", put("n0", {"v": 0}))
        self.push("a", ("notes.add", note))
        self.assertEqual(self.get("clients/a/mutations/2")[2]["outcome"], "applied")
        self.admin("fork", "q", "--version", "1")
        self.assertIn("mutator-unknown", self.admin("rebase", "p", "j", "--from", "2", project="q", code=1))
        told = self.admin("rebase", "p", "j", "--from", "2", "--mutators", PLUGIN, project="q")
        self.assertEqual(told[-1]["mutations"][0]["outcome"], "applied")

    def test_upkeep_beside_pushes_harms_nothing(self):
        stop = threading.Event()
        self.push("first", put("n0", {"n": 0}))
        threads = [self.pushing(client, stop) for client in ("a", "b", "c")]
        try:
            for round in range(4):
                self.assertEqual(self.verify()["findings"], 0)
                self.admin("checkpoint")
                self.admin("retention", "--keep-versions", "5", "--remove")
                self.admin("gc", "--grace-hours", "1", "--remove")
                self.admin("index")
                self.admin("export", str(self.files / f"{round}.jsonl"))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        summary = self.verify()
        self.assertEqual(summary["findings"], 0)
        self.assertGreater(summary["oldest"], 1)
        self.admin("import", str(self.files / "3.jsonl"), project="copy")
        self.assertEqual(self.verify("copy")["findings"], 0)
        # Every push is still decided once: it is repeated, and nothing is new.
        newest = self.get("versions?limit=1")[2]["versions"][0]["version"]
        for client in ("a", "b", "c"):
            numbers = range(1, min(self.pushed[BASE, client], 40) + 1)
            again = [put(f"{client}-{n % 20}", {"n": n % 7, "text": LARGE}) for n in numbers]
            self.assertEqual(self.server.request("POST", BASE + "/push", push_body(client, again))[0], 200)
        self.assertEqual(self.get("versions?limit=1")[2]["versions"][0]["version"], newest)

    def test_a_server_that_was_killed_during_upkeep_starts_again(self):
        for number in range(30):
            self.push("a", put(f"n{number % 5}", {"n": number, "text": LARGE}))
        self.admin("retention", "--keep-versions", "3", "--remove")
        self.server.stop(signal.SIGKILL)
        self.assertEqual(self.verify()["findings"], 0)
        self.admin("retention", "--keep-versions", "1", "--remove")
        self.start()
        self.assertEqual(self.get("versions/latest/collections/notes/n4")[2]["value"]["n"], 29)
        self.assertEqual(self.get("versions/5")[2]["code"], "version-not-retained")
        self.push("a", put("n9", {"n": 1}))
        self.assertEqual(self.verify()["findings"], 0)

    def test_an_import_under_way_is_not_seen_by_the_server(self):
        for number in range(20):
            self.push("a", put(f"n{number}", {"n": number, "text": LARGE}))
        file = self.files / "p.jsonl"
        self.admin("export", str(file))
        whole = file.read_text()
        file.write_text(whole[:len(whole) // 2])
        self.assertIn("export-damaged", self.admin("import", str(file), project="q", code=1))
        self.assertEqual(self.get("versions", "q")[0], 404)
        response = self.server.request("POST", "/v1/orgs/acme/projects/q/push", push_body("b", [put("x", 1)]))
        self.assertEqual(response[0], 404)
        file.write_text(whole)
        self.assertEqual(self.admin("import", str(file), project="q")[0]["newest"], 20)
        self.assertEqual(self.get("versions/latest?items=1", "q")[2]["collections"],
                         self.get("versions/latest?items=1")[2]["collections"])
        self.assertEqual(self.verify("q")["findings"], 0)

    @unittest.skipIf(ON_AWS, "damages a file")
    def test_damage_is_found_by_its_name_and_exit_code(self):
        self.push("a", put("n1", {"text": LARGE}))
        body = next((self.files / "data" / "blobs").rglob("*.json.gz"))
        body.write_bytes(b"not gzip")
        findings = self.admin("verify", code=3)
        self.assertEqual(findings[0]["finding"], "item-body-damaged")
        self.assertEqual(findings[-1]["findings"], 1)
        self.assertIn("item-body-damaged", self.admin("item", "notes", "n1", code=1))


if __name__ == "__main__":
    missing = [name for name in ENGINES if ON_AWS and not os.environ.get(name)]
    if missing:
        print(f"skipped: {missing[0]} is not set")
        sys.exit(1 if os.environ.get("KEDGE_ENGINES") == "required" else 77)
    run_tests()
