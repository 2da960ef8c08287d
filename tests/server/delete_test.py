#!/usr/bin/env python3
"""kedge-admin delete-project on a data folder: what asks first, what is refused, and what is left, also after kills.

Usage: delete_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import os
import pathlib
import pty
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import SLOWER, Server, push_body, put, run_tests
from tokens import ADMIN

ORG = "/v1/orgs/acme/projects/"
KILLS = 25


class Delete(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.data = self.root / "data"
        server = Server(self.data)
        try:
            self.fill(server, "kept")
        finally:
            self.assertEqual(server.stop(), 0)
        self.before = self.contents()

    def fill(self, server, name, kind="versions", pushes=3):
        """Items with bodies in blobs, a log with large entries, settings and an access list."""
        base, rng = ORG + name, random.Random(7)
        text = lambda size: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=size))
        made = server.request("PUT", base, {"kind": kind})
        self.assertEqual(made[0], 201, made)
        for n in range(pushes):
            items = [put(f"n{n}-{i}", text(12000)) for i in range(8)]
            push = {**push_body("a", items, n * 8 + 1), "kedge": {"client": "a"}}
            pushed = server.request("POST", base + "/push", push)
            self.assertEqual(pushed[0], 200, pushed[2])
        self.assertEqual(server.request("PUT", base + "/logs/events")[0], 201)
        for _ in range(5):
            entry = {"type": "set", "version": 1, "body": text(60000)}
            self.assertLess(server.request("POST", base + "/logs/events/entries", entry)[0], 300)
        access = {"expected": 0, "value": {"users": {"ann": "editor"}}}
        self.assertEqual(server.request("PUT", f"/v1/orgs/acme/resources/access/project:{name}", access)[0], 201)

    def contents(self):
        """The keys of all records, and the names of all blobs."""
        with sqlite3.connect(self.data / "records.db") as database:
            keys = {(bytes(p), bytes(s)) for p, s in database.execute("SELECT partition, sort FROM record")}
        return keys | {str(path.relative_to(self.data)) for path in (self.data / "blobs").rglob("*") if path.is_file()}

    def admin(self, *words, project="doomed", **options):
        return subprocess.run([ADMIN, "--data", str(self.data), "--org", "acme", "--project", project, *words],
                              capture_output=True, text=True, timeout=120 * SLOWER, **options)

    def add(self, *names, **options):
        server = Server(self.data)
        try:
            for name in names:
                self.fill(server, name, **options)
        finally:
            self.assertEqual(server.stop(), 0)

    def check_gone(self, *names):
        left = {(f"Project#acme/{name}".encode(), b"Discarded") for name in names}
        self.assertEqual(self.contents(), self.before | left)

    def test_nothing_is_left_of_a_project_of_either_kind_and_its_name_is_free(self):
        for kind in ("versions", "log"):
            with self.subTest(kind):
                self.add("doomed", kind=kind)
                self.assertGreater(len(self.contents()), len(self.before) + 20)
                done = self.admin("delete-project", "--yes")
                self.assertEqual((done.returncode, done.stdout), (0, '{"deleted":"doomed"}\n'), done.stderr)
                self.check_gone("doomed")
        again = self.admin("delete-project", "--yes")
        self.assertEqual(again.returncode, 1)
        self.assertIn("project-not-found", again.stderr)
        self.assertIn("project-not-found", self.admin("versions").stderr)
        server = Server(self.data)
        try:
            self.fill(server, "doomed")
            self.assertEqual(server.request("GET", ORG + "kept/versions/latest")[2]["version"], 3)
        finally:
            self.assertEqual(server.stop(), 0)
        self.assertEqual(self.admin("verify").returncode, 0)
        self.assertEqual(self.admin("verify", project="kept").returncode, 0)

    def test_a_deletion_that_was_killed_is_completed(self):
        cut = 0
        for n in range(KILLS):
            name = f"doomed{n}"
            self.add(name, pushes=1)
            process = subprocess.Popen([ADMIN, "--data", str(self.data), "--org", "acme", "--project", name,
                                        "delete-project", "--yes"], stdout=subprocess.DEVNULL)
            try:
                process.wait(timeout=0.002 * n)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            if process.returncode:
                cut += 1
                done = self.admin("delete-project", "--yes", project=name)
                # It may have been killed after its last write.
                self.assertTrue(done.returncode == 0 or "project-not-found" in done.stderr, done.stderr)
        self.assertGreater(cut, 0)
        self.check_gone(*[f"doomed{n}" for n in range(KILLS)])

    def test_it_is_refused_while_a_server_runs(self):
        self.add("doomed")
        before, server = self.contents(), Server(self.data)
        try:
            done = self.admin("delete-project", "--yes")
            self.assertEqual(done.returncode, 1)
            self.assertIn("data-folder-in-use", done.stderr)
            self.assertEqual(server.request("GET", ORG + "doomed/versions/latest")[0], 200)
        finally:
            self.assertEqual(server.stop(), 0)
        self.assertEqual(self.contents(), before)

    def test_it_asks_for_the_projects_name(self):
        self.add("doomed")
        before = self.contents()
        done = self.admin("delete-project", stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--yes", done.stderr)
        for answer, code in ((b"yes\n", 1), (b"\n", 1), (b"doomed \n", 1), (b"\x04", 1), (b"doomed\n", 0)):
            self.assertEqual(self.contents(), before)
            own, terminal = pty.openpty()
            os.write(own, answer)
            done = self.admin("delete-project", stdin=terminal)
            os.close(own)
            os.close(terminal)
            self.assertEqual(done.returncode, code, (answer, done.stderr))
            self.assertIn("not-confirmed" if code else "Type its name", done.stderr)
        self.check_gone("doomed")

    def test_a_folder_that_is_none_is_not_made(self):
        self.data = self.root / "nowhere"
        for words in (["delete-project", "--yes"], ["create-project"], ["create-log-project"], ["import", "/dev/null"]):
            done = self.admin(*words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("not-a-data-folder", done.stderr)
            self.assertIn("give --create to create-project", done.stderr)
            self.assertFalse(self.data.exists())
        self.assertEqual(self.admin("versions", "--create").returncode, 2)
        self.assertFalse(self.data.exists())
        self.assertEqual(self.admin("create-project", "--create").returncode, 0)
        self.assertTrue((self.data / "records.db").exists())
        self.assertEqual(self.admin("create-project").returncode, 0)


if __name__ == "__main__":
    run_tests()
