#!/usr/bin/env python3
"""kedge-server and kedge-admin on AWS's protocols, against real engines.

Usage: aws_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM. The environment names the engines, as scripts/stack tells it.
Closes with the plain line "N passed, N failed"; without engines it ends with 77, or fails with KEDGE_ENGINES=required."""
import glob
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import BASE, PLUGIN, SERVER, Server, pull_body, push_body, put, read_until, run_tests

ADMIN = sys.argv[3]
ENGINES = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS"]
NAME = "kedge-server-test-" + secrets.token_hex(6)
STORES = ["--table", NAME, "--bucket", NAME, "--queue", NAME + ".fifo"]
# What making a stack takes, and serving it does not.
MAKING = {"dynamodb:CreateTable", "s3:CreateBucket", "s3:GetLifecycleConfiguration",
          "s3:PutLifecycleConfiguration", "sqs:CreateQueue"}


def run(program, *arguments, **variables):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


class OnAws(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.actions = pathlib.Path(self.folder.name) / "actions"
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            self.assertEqual(server.stop(), 0, server.logged())
        if os.environ.get("KEDGE_AWS_ACTIONS") and self.actions.exists():  # what all tests together used
            with open(os.environ["KEDGE_AWS_ACTIONS"], "a") as record:
                record.write(self.actions.read_text())
        self.folder.cleanup()

    def start(self, *arguments, stores=STORES):
        server = Server([*stores, "--create"], "--open", *arguments,
                        environment={**os.environ, "KEDGE_AWS_ACTIONS": str(self.actions)})
        self.servers.append(server)
        return server

    def push(self, server, client, *mutations, first=1, base=BASE):
        return server.request("POST", base + "/push", push_body(client, mutations, first))[0]

    def patch(self, server, base=BASE):
        return server.request("POST", base + "/pull", pull_body("reader"))[2]["patch"]

    def test_two_servers_serve_one_project(self):
        one, two = self.start(), self.start()
        self.assertEqual(self.push(one, "a", put("n1", 1)), 200)
        self.assertEqual(self.push(two, "b", put("n2", 2)), 200)
        self.assertEqual(self.push(one, "a", put("n1", 3), first=2), 200)
        for server in (one, two):
            patch = self.patch(server)
            self.assertIn({"op": "put", "key": "notes/n1", "value": 3}, patch)
            self.assertIn({"op": "put", "key": "notes/n2", "value": 2}, patch)

    def test_a_stream_tells_what_another_server_commits(self):
        base = "/v1/orgs/acme/projects/told"
        one, two = self.start(), self.start()
        self.assertEqual(self.push(one, "a", put("n1", 1), base=base), 200)
        self.assertIn(one.request("PUT", base + "/logs/l")[0], (200, 201))
        streams = one.events(path=base + "/events"), one.events(path=base + "/logs/l/events")
        read_until(streams[0], b'{"version":1}')
        read_until(streams[1], b'{"number":0}')
        self.assertEqual(self.push(two, "b", put("n2", 2), base=base), 200)
        read_until(streams[0], b'{"version":2}')
        self.assertEqual(two.request("POST", base + "/logs/l/entries", {"type": "t", "version": 1, "body": 1})[0], 200)
        read_until(streams[1], b'{"number":1}')
        self.assertEqual(self.push(two, "b", put("n2", 3), first=2, base=base), 200)
        read_until(streams[0], b'{"version":3}')
        for raw in streams:
            raw.close()

    def test_what_was_pushed_is_there_after_a_restart_and_for_the_admin(self):
        base = "/v1/orgs/acme/projects/restart"
        server = self.start()
        large = "x" * 20000
        self.assertEqual(self.push(server, "a", put("large", large), base=base), 200)
        self.servers.remove(server)
        self.assertEqual(server.stop(), 0)
        self.assertIn({"op": "put", "key": "notes/large", "value": large}, self.patch(self.start(), base))
        code, out, _ = run(ADMIN, *STORES[:4], "--org", "acme", "--project", "restart", "item", "notes", "large")
        self.assertEqual(code, 0)
        self.assertIn(large, out)

    @unittest.skipIf(os.environ.get("KEDGE_TEST_PRESET") in ("asan", "tsan"),
                     "a sanitizer and libfaketime cannot both come first")
    def test_retention_by_days_removes_nothing_by_a_clock_that_is_ahead(self):
        server, base = self.start(), "/v1/orgs/acme/projects/clock"
        for value in (1, 2, 3):
            self.assertEqual(self.push(server, "a", put("n", value), first=value, base=base), 200)
        (library,) = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")

        def retain(moment):
            return run(ADMIN, *STORES[:4], "--org", "acme", "--project", "clock", "retention", "--keep-days", "30",
                       "--remove", LD_PRELOAD=library, FAKETIME=moment)
        code, out, told = retain("+60d")
        self.assertEqual((code, out), (1, ""), told)
        self.assertIn("kedge-admin: warning: this machine's clock is", told)
        self.assertIn("would remove versions that are younger", told)
        code, out, told = retain("+0")
        self.assertEqual((code, json.loads(out)["oldest"], told), (0, 1, ""))

    def test_a_queued_push_is_decided(self):
        base = "/v1/orgs/acme/projects/queued"
        server = self.start("--mode", "queued")
        self.assertEqual(self.push(server, "a", put("n1", 1), base=base), 200)
        # The pull of another client shows the commit; the consumers wait for messages, not the test.
        with server.events(path=base + "/events") as raw:
            seen = b""
            while b'{"version":1}' not in seen:
                piece = raw.recv(4096)
                self.assertTrue(piece)
                seen += piece
        self.assertIn({"op": "put", "key": "notes/n1", "value": 1}, self.patch(server, base))

    def test_metrics_and_the_file_tell_the_actions(self):
        server = self.start()
        self.push(server, "a", put("n1", 1), base="/v1/orgs/acme/projects/metrics")
        lines = server.request("GET", "/v1/metrics")[2].decode().splitlines()
        calls = [line.split('"')[1].split() for line in lines if line.startswith("kedge_aws_calls_total{")]
        counted = {action for actions in calls for action in actions}  # a transaction's call has several
        for family in ("retries", "seconds", "errors"):
            self.assertIn(f"# TYPE kedge_aws_{family}_total counter", lines)
        self.assertIn("dynamodb:PutItem", counted)
        written = self.actions.read_text().split()
        self.assertEqual(sorted(written), sorted(action for actions in calls for action in actions))
        self.assertEqual(set(written), counted)
        self.assertTrue({"dynamodb:DescribeTable", "s3:ListBucket", "sqs:GetQueueAttributes"} <= counted - MAKING)

    def test_the_process_of_app_mutators_has_none_of_the_connections(self):
        base = "/v1/orgs/acme/projects/plugin"
        edit = ("notes.move", {"id": "none", "folder": "x"})
        server = self.start("--mutators", PLUGIN)
        self.assertEqual(self.push(server, "a", put("n1", 1), edit, base=base), 200)
        tasks = pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
        children = [child for task in tasks for child in (task / "children").read_text().split()]
        self.assertTrue(children)
        for child in children:
            files = [os.readlink(file) for file in pathlib.Path(f"/proc/{child}/fd").iterdir()]
            self.assertLessEqual(sum("socket:" in file for file in files), 1, files)
            os.kill(int(child), signal.SIGKILL)
        # The connections of the server outlive the child.
        self.assertEqual(self.push(server, "a", edit, put("n1", 2), first=3, base=base), 200)

    def test_a_mistake_ends_the_start_with_its_name(self):
        listen = ["--listen", "127.0.0.1:0", "--open"]
        missing = ["--table", NAME + "-none", "--bucket", NAME]
        for stores, variables, code in [
                (missing, {}, "aws-table-missing"),
                (STORES, {"AWS_SECRET_ACCESS_KEY": "wrong"}, "aws-credentials-refused"),
                (STORES, {"AWS_REGION": "not a region"}, "aws-region-invalid"),
                (STORES, {"KEDGE_AWS_ACTIONS": "/nowhere/actions"}, "file-unwritable")]:
            if stores is STORES and not self.servers:
                self.start()
            status, out, complaint = run(SERVER, *stores, *listen, **variables)
            self.assertNotEqual(status, 0)
            self.assertEqual(out, "")
            self.assertIn(f"({code})", complaint)
        self.assertEqual(run(ADMIN, *missing, "projects", "acme")[0], 1)

    def test_queued_mode_needs_a_queue(self):
        self.start()
        status, _, complaint = run(SERVER, *STORES[:4], "--listen", "127.0.0.1:0", "--open", "--mode", "queued")
        self.assertEqual(status, 2)
        self.assertIn("--queue", complaint)


if __name__ == "__main__":
    absent = [name for name in ENGINES if not os.environ.get(name)]
    if absent:
        required = os.environ.get("KEDGE_ENGINES") == "required"
        print(f"{'failed' if required else 'skipped'}: {absent[0]} is not set")
        sys.exit(1 if required else 77)
    run_tests()
