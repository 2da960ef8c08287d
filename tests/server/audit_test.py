#!/usr/bin/env python3
"""The audit log: what was done to a server and its data, who was refused, and that no flood fills the disk.

Usage: audit_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import contextlib
import http.client
import json
import os
import pathlib
import resource
import select
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import BASE, MIB, Server, push_body, put as put_item, read_until, run_tests, wait_for
from tokens import ADMIN, make_keys, make_token

BURST = 100  # as backend/front/audit.h says
PER_MINUTE = 60


class Audit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.file = self.root / "audit"
        make_keys(self.root)

    def start(self, *options, prepare=None):
        self.server = Server(self.root / "data", "--jwks", str(self.root / "keys.json"), "--issuer", "i", "--audience",
                             "kedge", "--audit", str(self.file), *options, prepare=prepare)
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, self.server.logged()))

    def token(self, **claims):
        return {"Authorization": "Bearer " + make_token(self.root, {"sub": "ann", **claims})}

    def lines(self, **wanted):
        """The lines that have these fields."""
        every = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [line for line in every if wanted.items() <= line.items()]

    def refused(self, status, code, **fields):
        [line] = self.lines(what="refused", status=status, code=code)
        self.assertEqual({name: line.get(name) for name in fields}, fields)
        self.assertAlmostEqual(line["time"] / 1000, time.time(), delta=600)
        return line

    def test_starts_stops_and_reloads_are_told_with_who_caused_them(self):
        self.start()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.lines(what="keys-loaded"))
        (self.root / "wrong.json").write_text("{}")
        (self.root / "wrong.json").replace(self.root / "keys.json")  # at once: the server may look at any moment
        wait_for(lambda: self.lines(what="keys-not-loaded", code="jwks-invalid"))
        self.assertEqual(self.server.stop(), 0)
        told = [line["what"] for line in self.lines()]
        self.assertEqual(told, ["started", "reload", "keys-loaded", "keys-not-loaded", "stop", "stopped"])
        for what in ("reload", "stop"):
            [line] = self.lines(what=what)
            self.assertEqual(line["user"], f"uid {os.getuid()}, process {os.getpid()}")

    def test_each_refusal_tells_who_asked_from_where_for_what(self):
        self.start("--budget", "user_event_streams=1")
        self.assertEqual(self.server.request("PUT", BASE, headers=self.token(role="admin"))[0], 201)
        status, headers, _ = self.server.request("GET", BASE + "/versions?secret=s3cret")
        self.assertEqual(status, 401)
        line = self.refused(401, "token-missing", address="127.0.0.1", method="GET", path=BASE + "/versions", user=None)
        self.assertEqual(headers["X-Request-Id"], line["request"])
        self.server.request("GET", BASE + "/versions", headers=self.token(exp=1))
        self.refused(401, "token-expired", user=None)
        self.server.request("GET", "/v1/metrics", headers=self.token(role="editor"))
        self.refused(403, "not-allowed", user="ann", role="editor", organization="acme", path="/v1/metrics")
        self.server.request("POST", BASE + "/push", b'{"a":"' + b"x" * (17 * MIB) + b'"}', self.token())
        self.refused(413, "body-too-large", user="ann", organization="acme", method="POST")
        with self.server.events(self.token()) as stream:
            stream.recv(100)
            self.server.request("GET", BASE + "/events", headers=self.token())
        self.refused(429, "budget-exceeded", user="ann", path=BASE + "/events")
        self.assertEqual(self.server.request("GET", BASE + "/versions/9", headers=self.token())[0], 404)
        self.assertEqual(len(self.lines(what="refused")), 5)
        text = self.file.read_text()
        self.assertNotIn("s3cret", text)
        self.assertNotIn("Bearer", text)

    def test_each_administrative_change_tells_who_made_it_from_where_and_what(self):
        self.start()
        admin, member = self.token(role="admin"), self.token(sub="bob", role="editor")
        resource = "/v1/orgs/acme/resources/theme/r1"
        put = {"expected": 0, "value": {"a": 1}}
        asked = [(member, "PUT", BASE, None, 201), (admin, "PUT", BASE + "/settings", put, 201),
                 (admin, "PUT", "/v1/orgs/acme/settings", put, 201), (admin, "PUT", resource, put, 201),
                 (admin, "POST", resource + "/rollback", {"expected": 1, "to": 1}, 200),
                 (admin, "DELETE", resource + "?expected=2", None, 200),
                 (admin, "PUT", BASE + "/access", {"expected": 0, "value": {"users": {"ann": "x"}}}, 201),
                 (admin, "POST", BASE + "/fork", {"version": 1, "to": "q"}, 201),
                 (admin, "POST", BASE + "/rebase", {"from_project": "q", "from_version": 2, "to_version": 2, "job": "j"}, 200),
                 (admin, "POST", BASE + "/logs/l/truncate", {"before": 0}, 200)]
        push = lambda project, client, item: self.assertEqual(self.server.request(
            "POST", f"/v1/orgs/acme/projects/{project}/push", push_body(client, [put_item(item, 1)]), admin)[0], 200)
        for token, method, path, body, status in asked:
            if path.endswith("/fork"):
                push("p", "a", "n1")
                self.server.request("PUT", BASE + "/logs/l", headers=admin)
            if path.endswith("/rebase"):
                push("q", "b", "n2")
            answered, headers, response = self.server.request(method, path, body, token)
            self.assertEqual(answered, status, (path, response))
            line = self.lines(what="changed")[-1]
            self.assertEqual({name: line.get(name) for name in ("method", "path", "status", "organization", "address", "user",
                                                                "role", "request", "detail", "code")},
                             {"method": method, "path": path.partition("?")[0], "status": status, "organization": "acme",
                              "address": "127.0.0.1", "user": "bob" if token is member else "ann",
                              "role": "editor" if token is member else "admin", "request": headers["X-Request-Id"],
                              "detail": "q" if path.endswith(("/fork", "/rebase")) else None, "code": None})
        self.assertEqual(len(self.lines(what="changed")), len(asked))
        # What changes nothing, or is no administration, has no line.
        for token, method, path, body in ((admin, "PUT", BASE, None), (admin, "PUT", BASE + "/settings", put),
                                          (member, "PUT", "/v1/orgs/acme/settings", put), (admin, "GET", BASE + "/access", None),
                                          (admin, "POST", BASE + "/pull", {"pullVersion": 1, "clientGroupID": "g",
                                                                           "cookie": None})):
            self.server.request(method, path, body, token)
        self.assertEqual(len(self.lines(what="changed")), len(asked))
        self.refused(403, "not-allowed", user="bob", path="/v1/orgs/acme/settings")

    def stops_outside_a_commit(self):
        """Stops the server for a while; whether it has its records free."""
        self.server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.server.process.pid, os.WSTOPPED)
        records = sqlite3.connect(self.root / "data/records.db", timeout=0, isolation_level=None)
        with contextlib.closing(records), contextlib.suppress(sqlite3.OperationalError):
            records.execute("BEGIN IMMEDIATE")
            return True
        return False

    def test_a_rebase_that_is_refused_when_a_part_is_done_has_its_line(self):
        """One worker, which others wait for: the rebase takes several time slices, and its last one finds nothing to go on with."""
        self.start("--workers", "1", "--request-timeout", "3600")
        admin, source, target = self.token(role="admin"), "/v1/orgs/acme/projects/q", BASE
        self.assertEqual(self.server.request("PUT", source, headers=admin)[0], 201)

        def push(project, client, mutations):
            self.assertEqual(self.server.request("POST", project + "/push", push_body(client, mutations), admin)[0], 200)

        def version(project):
            return self.server.request("GET", project, headers=admin)[2]["version"]
        push(source, "a", [put_item("small", 1)])
        self.assertEqual(self.server.request("POST", source + "/fork", {"version": 1, "to": "p"}, admin)[0], 201)
        # Only the target has the item, and reads all of it for each patch.
        push(target, "t", [put_item("large", {f"member{i}": "x" * 1000 for i in range(6000)})])
        test = {"op": "test", "path": "", "value": {}}
        push(source, "b", [("kedge.patch", {"collection": "notes", "id": "large", "patch": [test]})] * 250)
        last = version(source)
        push(source, "c", [put_item("small", 2)])
        rebase = json.dumps({"from_project": "q", "from_version": 2, "to_version": last, "job": "j"}).encode()
        with self.server.connect((f"POST {target}/rebase HTTP/1.1\r\nHost: a\r\nAuthorization: {admin['Authorization']}\r\n"
                                  f"Content-Length: {len(rebase)}\r\n\r\n").encode() + rebase) as raw:
            wait_for(lambda: version(target) > 2)
            # The rebase stands still while the command starts and runs, but not within a commit, for which the command
            # would wait in vain.
            while not self.stops_outside_a_commit():
                self.server.process.send_signal(signal.SIGCONT)
                version(target)
            try:
                done = self.admin("--project", "q", "retention", "--keep-versions", "1", "--remove")
            finally:
                self.server.process.send_signal(signal.SIGCONT)
            self.assertEqual(done.returncode, 0, done.stderr)
            while not select.select([raw], [], [], 0)[0]:
                version(target)
            answer = read_until(raw, b"}")
        self.assertTrue(answer.startswith(b"HTTP/1.1 404"), answer)
        self.assertIn(b"version-not-retained", answer)
        [line] = self.lines(what="changed", path=target + "/rebase")
        self.assertEqual((line["status"], line["code"], line["detail"]), (404, "version-not-retained", "q"))

    def test_a_flood_of_refusals_is_counted_and_not_written_and_hides_no_other_kind(self):
        self.start()
        peers = [http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60) for _ in range(4)]
        began, asked = time.monotonic(), 2000
        for n in range(asked):
            peer = peers[n % 4]
            peer.request("GET", f"/v1/orgs/acme/projects/{n}/versions/{'x' * 5000}")
            peer.getresponse().read()
        written = len(self.lines(status=401))
        allowed = BURST + (time.monotonic() - began) / 60 * PER_MINUTE + 1
        self.assertLessEqual(written, allowed)
        self.assertGreaterEqual(written, BURST)
        self.assertLess(self.file.stat().st_size, written * 1000)
        self.server.request("GET", "/v1/metrics", headers=self.token(role="editor"))
        self.refused(403, "not-allowed", user="ann")
        self.server.metrics_headers = self.token(org="*", role="admin")
        self.assertEqual(self.server.metric("kedge_audit_omitted_total"), asked - written)
        self.assertEqual(self.server.stop(), 0)
        lines = self.lines(status=401)
        told = sum(line.get("omitted", 0) for line in lines) + len([line for line in lines if line["what"] == "refused"])
        self.assertEqual(told, asked)

    def test_a_peer_behind_a_proxy_has_the_address_that_the_proxy_has_seen(self):
        for options, address in (((), "127.0.0.1"), (("--behind-proxy",), "2001:db8::7")):
            self.file.unlink(missing_ok=True)
            self.start(*options)
            self.server.request("GET", BASE + "/versions", headers={"X-Forwarded-For": "192.0.2.9, 2001:db8::7"})
            self.refused(401, "token-missing", address=address)
            self.assertEqual(self.server.stop(), 0)
        self.file.unlink()
        self.start("--behind-proxy")
        # The peer's own header, and that of a proxy that does not change it.
        with self.server.connect(f"GET {BASE}/versions HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.9\r\n"
                                 "X-Forwarded-For: 2001:db8::8\r\n\r\n".encode()) as raw:
            read_until(raw, b"}")
        self.refused(401, "token-missing", address="2001:db8::8")
        self.assertEqual(self.server.stop(), 0)
        self.file.unlink()
        self.start("--behind-proxy")
        self.server.request("GET", BASE + "/versions", headers={"X-Forwarded-For": "mallory"})
        self.refused(401, "token-missing", address="127.0.0.1")

    def test_a_file_that_was_renamed_is_made_anew_on_sighup(self):
        self.start()
        self.file.rename(self.root / "audit.1")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.file.exists() and self.lines(what="keys-loaded"))  # the file may be there before it is used
        self.server.request("GET", BASE + "/versions")
        self.assertEqual(len(self.lines(what="refused")), 1)
        self.assertNotIn("refused", (self.root / "audit.1").read_text())

    def test_a_line_behind_one_that_was_written_in_part_is_whole(self):
        """A limit of the size of files in the place of a disk that is full."""
        ignore = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.start(prepare=ignore)
        pid, ask = self.server.process.pid, lambda name: self.server.request("GET", f"{BASE}/versions/{name}")[0]
        self.assertEqual(ask("first"), 401)
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        whole = self.file.stat().st_size
        for room in (20, 10): # the second one has no room for more than the line feed of its own, and some bytes
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (whole + room, before[1]))
            self.assertEqual(ask("torn"), 401)
            whole = self.file.stat().st_size
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (whole, before[1]))
        self.assertEqual(ask("none"), 401)
        self.assertEqual(self.file.stat().st_size, whole)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.assertEqual(ask("last"), 401)
        self.server.metrics_headers = self.token(org="*", role="admin")
        self.assertEqual(self.server.metric("kedge_audit_failures_total"), 3)
        first, *torn, last = self.file.read_text().splitlines()[1:]
        self.assertEqual([json.loads(line)["path"] for line in (first, last)],
                         [BASE + "/versions/first", BASE + "/versions/last"])
        self.assertEqual([len(line) for line in torn], [20, 9])

    def test_a_line_behind_one_that_another_process_has_written_in_part_is_whole(self):
        """A power cut has ended the process, or its disk was full."""
        part = '{"time":7,"what":"ref'
        self.file.write_text(part)
        self.start()
        first, started = self.file.read_text().splitlines()
        self.assertEqual((first, json.loads(started)["what"]), (part, "started"))
        with self.file.open("a") as file:
            file.write(part)
        self.assertEqual(self.admin("--project", "p", "create-project").returncode, 0)
        *_, torn, begun, done = self.file.read_text().splitlines()
        self.assertEqual((torn, json.loads(begun)["outcome"], json.loads(done)["outcome"]), (part, "begun", "done"))

    def test_a_file_that_is_made_anew_does_not_begin_with_the_end_of_a_line(self):
        self.start(prepare=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        ask = lambda: self.assertEqual(self.server.request("GET", BASE + "/versions")[0], 401)
        for _ in range(9):
            ask()
        limits = resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.process.pid, resource.RLIMIT_FSIZE, (self.file.stat().st_size + 20, limits[1]))
        ask()
        self.file.rename(self.root / "audit.1")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.file.exists() and self.file.stat().st_size > 0)
        self.assertEqual(self.file.read_bytes()[:1], b"{")
        self.assertFalse((self.root / "audit.1").read_text().endswith("\n"))

    def test_a_server_whose_audit_log_cannot_be_written_does_not_start(self):
        for wrong in (self.root / "nowhere/audit", self.root):
            with self.assertRaisesRegex(RuntimeError, "audit-failed"):
                Server(self.root / "data", "--open", "--audit", str(wrong))

    # ---- kedge-admin ----

    def admin(self, *words, audit=None):
        return subprocess.run([ADMIN, "--data", str(self.root / "data"), "--org", "acme", *words, "--audit",
                               str(audit or self.file)], capture_output=True, text=True, timeout=60)

    def test_commands_that_change_something_are_told_before_and_after(self):
        self.start()
        self.assertEqual(self.admin("--project", "p", "create-project").returncode, 0)
        begun, done = self.lines(what="create-project")
        for line, outcome in ((begun, "begun"), (done, "done")):
            self.assertEqual((line["outcome"], line["organization"], line["project"]), (outcome, "acme", "p"))
            self.assertTrue(line["user"].startswith(f"uid {os.getuid()}, "))
        self.assertEqual(self.admin("--project", "p", "fork", "q", "--version", "9").returncode, 1)
        begun, failed = self.lines(what="fork")
        self.assertEqual((begun["arguments"], failed["outcome"], failed["detail"]), (["q"], "failed", "exit code 1"))
        for words in (("--project", "p", "versions"), ("--project", "p", "verify"), ("--project", "p", "gc")):
            before = self.file.read_text()
            self.assertEqual(self.admin(*words).returncode, 0)
            self.assertEqual(self.file.read_text(), before)
        self.assertEqual(self.admin("--project", "p", "gc", "--remove").returncode, 0)
        self.assertEqual([line["outcome"] for line in self.lines(what="gc")], ["begun", "done"])

    def test_a_command_that_cannot_be_told_is_not_run(self):
        self.start()
        for unwritable in (self.root / "nowhere/audit", "/dev/full"):
            done = self.admin("--project", "p", "create-project", audit=unwritable)
            self.assertEqual(done.returncode, 1)
            self.assertIn("audit-failed", done.stderr)
            self.assertEqual(self.admin("--project", "p", "versions").returncode, 1)

    def test_a_token_that_is_made_is_told_but_not_itself(self):
        words = [ADMIN, "token", str(self.root / "key.json"), "--issuer", "i", "--audience", "kedge", "--org", "acme",
                 "--user", "ann", "--audit", str(self.file)]
        token = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        self.assertEqual([line["outcome"] for line in self.lines(what="token", detail="ann")], ["begun", "done"])
        self.assertNotIn(token[-20:], self.file.read_text())


if __name__ == "__main__":
    run_tests()
