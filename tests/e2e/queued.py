"""A server in queued mode: what others do to a direct one, done to it; and what only it has."""
import contextlib
import http.client
import json
import signal
import sqlite3
import subprocess
import threading

import folders
import servers
from harness import DEADLINE_S, Case, Programs

QUEUED = ("--mode", "queued", "--visibility", "1", "--claim-bytes", "8000")
LARGE = 20000  # bytes of a text whose push goes through blobs


class Queued(Case):
    server_options = QUEUED

    def until(self, condition):
        """Looks again and again, until it holds."""
        step, waited = threading.Event(), 0.0
        while not condition():
            self.assertLess(waited, DEADLINE_S)
            step.wait(0.02)
            waited += 0.02

    def claims(self, server):
        return list(server.folder.glob("blobs/**/pushes*/*"))

    def admin(self, server, *words):
        done = subprocess.run([Programs.admin, "--data", str(server.folder), *words],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class RestoredServers(servers.RestoredServers):
    server_options = QUEUED
    test_while_live_views_run = None  # counts versions, which merging makes fewer


class KilledServers(servers.KilledServers):
    server_options = QUEUED


class CopiedFolders(folders.CopiedFolders):
    server_options = QUEUED


class Pushes(Queued):
    def test_copies_converge_through_the_queue(self):
        server = self.server()
        copies = [self.copy(f"c{number}", server) for number in range(3)]
        for copy in copies:
            for number in range(5):
                copy.add(text="l" * (LARGE if number == 2 else 10))
        self.check_converged(server, *copies)
        self.assertGreaterEqual(server.metric("kedge_queued_messages_total"), 3)
        self.assertGreaterEqual(server.metric("kedge_queued_claims_total"), 3)
        self.assertEqual(server.metric("kedge_consumed_messages_total"),
                         server.metric("kedge_queued_messages_total"))
        self.until(lambda: not self.claims(server))

    def test_live_views_see_each_other_by_pokes(self):
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        live_a, live_b = self.live(a), self.live(b)
        live_a.wait("online")
        live_b.wait("online")
        for number in range(10):
            live_a.type(f'add "number {number}."')
            live_b.wait(f"number {number}.")
        live_a.wait("0 pending")
        self.assertEqual((live_a.end(), live_b.end()), (0, 0))
        self.check_converged(server, a, b, acknowledged=[f"number {n}." for n in range(10)])
        pushes = [r for r in server.requests() if r["path"].endswith("/push")]
        self.assertLess(len(pushes), 25)

    def test_many_writers_of_one_project_are_merged(self):
        server = self.server()
        copies = [self.copy(f"c{number}", server) for number in range(8)]
        for copy in copies:
            for _ in range(3):
                copy.add()
        threads = [threading.Thread(target=copy.sync) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.check_converged(server, *copies)
        self.assertLessEqual(len(server.versions()), server.metric("kedge_consumed_messages_total"))

    def test_stopped_with_a_full_queue_and_started_again(self):
        """In either mode: what is queued is decided, or pushed again by who still holds it."""
        server = self.server()
        copies = [self.copy(f"c{number}", server) for number in range(3)]
        for options in (QUEUED, (), QUEUED):
            for copy in copies:
                copy.write(20, 3000, f"{copy.folder.name}-{len(copy.acknowledged)}-")
                with subprocess.Popen(copy.command("sync"), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as syncing:
                    before = server.metric("kedge_request_seconds_count")
                    self.until(lambda: server.metric("kedge_request_seconds_count") > before + 2 or
                               syncing.poll() is not None)
                    syncing.kill()
            server.stop()
            server.options = list(options)
            server.start()
        self.check_converged(server, *copies)


OFTEN = 42  # deliveries; all fifty, a second apart, would take a minute


class Poison(Queued):
    def change(self, server, statement, *values):
        """Straight in the queue's file."""
        queue = sqlite3.connect(server.folder / "queue.db", timeout=DEADLINE_S)
        with queue:
            queue.execute(statement, values)
        queue.close()

    def send(self, server, body):
        """Somebody else's message."""
        self.change(server, "INSERT INTO message(group_id, sent_ms, receive_count, body) VALUES(?, 0, ?, ?)",
                    b"Project#demo/notes", OFTEN, body)

    def test_it_holds_nobody_up_and_is_buried_with_its_reason(self):
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        a.add()
        a.sync()
        self.send(server, b"what is this")
        self.send(server, b'{"format":1,"organization":"demo","project":"notes","claim":"' +
                  b"0" * 64 + b'"}')
        for _ in range(3):
            a.add()
            b.add(text="p" * LARGE)
            a.sync()
            b.sync()
        self.check_converged(server, a, b)
        self.until(lambda: len(self.admin(server, "dead-letters")["dead_letters"]) == 2)
        found = self.admin(server, "dead-letters")["dead_letters"]
        self.assertEqual([letter["code"] for letter in found],
                         ["message-unreadable", "claim-check-missing"])
        self.assertEqual(self.admin(server, "redrive", found[0]["id"]), {"redriven": 1})
        self.assertEqual(self.admin(server, "redrive-all"), {"redriven": 1, "more": False})
        self.change(server, "UPDATE message SET receive_count = ? WHERE dead = 0", OFTEN)
        a.add()
        self.check_converged(server, a, b)
        self.until(lambda: len(self.admin(server, "dead-letters")["dead_letters"]) == 2)
        server.stop(signal.SIGTERM)
        self.assertIn("message-undecidable", server.log_path.read_text())


class Tenants(Queued):
    """An organization with thousands of pushes that wait, in many projects, and another one with one."""
    server_options = ("--mode", "queued", "--consumers", "2")
    projects, rounds = 200, 10
    served = 2 * 10 + 2  # projects that the consumers have in hand when the push comes, and a batch beside each

    def push(self, organization, project, number):
        mutation = {"clientID": f"c{number}", "id": 1, "name": "kedge.put", "timestamp": 0,
                    "args": {"collection": "notes", "id": f"n{number}", "value": {"text": "x" * 50}}}
        body = {"pushVersion": 1, "clientGroupID": f"g{number}", "profileID": "", "schemaVersion": "",
                "mutations": [mutation], "kedge": {"client": f"c{number}"}}
        answer = self.request("POST", organization, project, "push", body)
        self.assertEqual(answer, {"kedge": {"queued": True}})

    def request(self, method, organization, project, what, body=None):
        path = f"/v1/orgs/{organization}/projects/{project}/{what}"
        self.connection.request(method, path, json.dumps(body) if body else None)
        response = self.connection.getresponse()
        text = response.read()
        self.assertEqual(response.status, 200, text)
        return json.loads(text)

    def versions(self, organization, project):
        return self.request("GET", organization, project, "versions?limit=100")["versions"]

    @contextlib.contextmanager
    def nothing_decided(self, server):
        """The consumers wait for a lock of the records, which the responses to queued pushes do not need."""
        records = sqlite3.connect(server.folder / "records.db", timeout=DEADLINE_S, isolation_level=None)
        records.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            records.execute("ROLLBACK")
            records.close()

    def test_a_push_waits_for_one_turn_of_another_organization(self):
        server = self.server()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
        self.addCleanup(self.connection.close)
        noisy = [f"p{number}" for number in range(self.projects)]
        for organization, project in [("quiet", "q"), *(("noisy", project) for project in noisy)]:
            self.push(organization, project, 0)
        self.until(lambda: server.metric("kedge_consumed_messages_total") == self.projects + 1)
        with self.nothing_decided(server):
            for number in range(1, self.rounds + 1):
                for project in noisy:
                    self.push("noisy", project, number)
            self.push("quiet", "q", 1)
        self.until(lambda: len(self.versions("quiet", "q")) == 2)
        came = self.versions("quiet", "q")[0]["created"]
        before = sum(version["created"] <= came for project in noisy
                     for version in self.versions("noisy", project)) - self.projects
        self.assertLessEqual(before, self.served)
        self.assertLess(server.metric("kedge_consumed_messages_total"), self.projects * self.rounds)


class Options(Queued):
    def refused(self, *options):
        done = subprocess.run([Programs.server, "--data", str(self.root / "x"), "--listen",
                               "127.0.0.1:0", "--open", *options], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 2)
        self.assertFalse((self.root / "x").exists(), "a folder was made for wrong options")
        return done.stderr

    def test_what_is_wrong_is_named(self):
        self.assertIn("--mode takes direct or queued", self.refused("--mode", "later"))
        self.assertIn("for queued mode", self.refused("--consumers", "2"))
        self.assertIn("--consumers", self.refused("--mode", "queued", "--consumers", "17"))
        self.assertIn("--claim-bytes", self.refused("--mode", "queued", "--claim-bytes", "2000000"))
        self.assertIn("--visibility", self.refused("--mode", "queued", "--visibility", "0"))
