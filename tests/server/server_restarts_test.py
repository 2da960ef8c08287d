#!/usr/bin/env python3
"""A kedge-server that is stopped, killed and started again; its log; what keeps it from starting.

Usage: server_restarts_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import gzip
import http.client
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
from peers import (BASE, SERVER, SLOWER, Server, ends, pull_body, push_body, put, read_until, run_tests,
                   wait_for)


class Restarts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.folder.name) / "data"

    def tearDown(self):
        self.folder.cleanup()

    def test_what_was_answered_survives_a_kill(self):
        for round_number in range(1, 6):
            server = Server(self.data)
            body = push_body("a", [put("n1", round_number)], first=round_number)
            self.assertEqual(server.request("POST", BASE + "/push", body)[0], 200)
            server.stop(signal.SIGKILL)
        server = Server(self.data)
        response = server.request("POST", BASE + "/pull", pull_body("b"))[2]
        self.assertEqual(response["cookie"]["order"], 5)
        self.assertIn({"op": "put", "key": "notes/n1", "value": 5}, response["patch"])
        self.assertEqual(server.stop(), 0)

    def test_what_it_makes_is_its_users_alone_and_what_others_can_read_is_told(self):
        stop = lambda server: (self.assertEqual(server.stop(), 0), server.logged())[1]
        server = Server(self.data, prepare=lambda: os.umask(0o022))
        self.assertEqual(server.request("POST", BASE + "/push", push_body("a", [put("n1", "x" * 100000)]))[0], 200)
        self.assertNotIn("data-readable-by-others", stop(server))
        made = [self.data, *self.data.rglob("*")]
        self.assertGreater(len(made), 5)
        self.assertEqual([path for path in made if path.stat().st_mode & 0o077], [])
        self.data.chmod(0o755)
        self.assertNotIn("data-readable-by-others", stop(Server(self.data)))
        (self.data / "records.db").chmod(0o644)
        self.assertIn("chmod -R go-rwx", stop(Server(self.data)))

    def test_a_stop_under_load_keeps_what_was_answered(self):
        server = Server(self.data)
        answered, responses, lock = set(), set(), threading.Lock()

        def run(number):
            for first in range(1, 100000):
                body = push_body(f"c{number}", [put(f"n{number}", first)], first=first)
                try:
                    status = server.request("POST", BASE + "/push", body)[0]
                except (OSError, http.client.HTTPException):
                    return
                with lock:
                    responses.add(status)
                    if status == 200:
                        answered.add((f"c{number}", first))
                if status != 200:
                    return

        threads = [threading.Thread(target=run, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        stream = server.events()
        wait_for(lambda: len(answered) > 100)
        self.assertEqual(server.stop(), 0)
        for thread in threads:
            thread.join()
        self.assertTrue(ends(stream))
        stream.close()
        self.assertLessEqual(responses, {200, 503})
        server = Server(self.data)
        for client in {client for client, _ in answered}:
            latest = server.request("GET", f"{BASE}/clients/{client}/mutations/latest")[2]["id"]
            self.assertGreaterEqual(latest, max(number for name, number in answered if name == client))
        self.assertEqual(server.stop(), 0)

    def test_idle_peers_leave_the_backend_its_files(self):
        server = Server(self.data, prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120)))
        self.assertIn("few-open-files", server.logged())
        early = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60 * SLOWER)

        def push(first):
            body = push_body("a", [put("n1", "x" * 100000)], first=first)
            early.request("POST", BASE + "/push", json.dumps(body))
            response = early.getresponse()
            self.assertEqual((response.status, response.read()), (200, b"{}"))

        push(1) # from now on its place is its own
        idle = [server.connect() for _ in range(200)]
        for first in range(2, 22):
            push(first)
        for raw in idle:
            raw.close()
        wait_for(lambda: server.metric("kedge_connections") <= 2)
        early.close()
        self.assertEqual(server.stop(), 0)

    def test_a_response_tells_what_it_cost_in_a_header_and_in_the_log(self):
        server = Server(self.data, "--open", "--cost-header", "--log-level", "debug")
        checkpoint = 1  # of the reader that follows the logs, in its first round
        wait_for(lambda: server.metric("kedge_store_write_units_total") == checkpoint)
        headers = server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]))[1]
        cost = json.loads(headers["kedge-cost"])
        self.assertGreaterEqual(cost["write_units"], 2)
        self.assertEqual((cost["blob_puts"], cost["queue_requests"]), (0, 0))
        dollars = cost["write_units"] * 0.625e-6 + cost["read_units"] * 0.125e-6
        self.assertAlmostEqual(cost["dollars"], dollars, 12)
        second = server.request("POST", BASE + "/push", push_body("a", [put("n1", 2)], 2))[1]
        self.assertEqual(json.loads(second["kedge-cost"])["write_units"], 1)
        self.assertEqual(json.loads(second["kedge-cost"])["read_units"], 0)  # the head is in memory
        self.assertEqual(server.metric("kedge_store_write_units_total"), cost["write_units"] + 1 + checkpoint)
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.logged().splitlines()]
        self.assertEqual([line["cost"] for line in lines if line.get("path", "").endswith("/push")][0], cost)

    def test_the_log_tells_the_schema_version_of_the_app(self):
        server = Server(self.data, "--open", "--log-level", "debug")
        sent = ["2.1", "", "x" * 65, None]
        for number, version in enumerate(sent, 1):
            for path, body in (("/push", push_body("a", [put("n1", number)], number)), ("/pull", pull_body("a"))):
                body["schemaVersion"] = version
                if version is None:
                    del body["schemaVersion"]
                self.assertEqual(server.request("POST", BASE + path, body)[0], 200)
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.logged().splitlines()]
        told = [line.get("schema") for line in lines if line.get("path", "").endswith(("/push", "/pull"))]
        self.assertEqual(told, ["2.1", "2.1"] + 6 * [None])

    def test_the_log_tells_requests_and_no_secrets(self):
        server = Server(self.data, "--open", "--log-level", "debug")
        ticket = server.request("POST", BASE + "/events/ticket")[2]["ticket"]
        raw = server.events(path=f"{BASE}/events?ticket={ticket}", headers={"Authorization": "Bearer s3cret"})
        read_until(raw, b"event: poke")
        server.request("GET", "/v1/none")
        self.assertEqual(server.stop(), 0)
        raw.close()
        lines = [json.loads(line) for line in server.logged().splitlines()]
        self.assertEqual([line["event"] for line in lines],
                         ["started", "responded", "responded", "responded", "stopping", "stopped"])
        told = [(line["method"], line["path"], line["status"]) for line in lines[1:4]]
        self.assertEqual(told, [("POST", BASE + "/events/ticket", 200), ("GET", BASE + "/events", 200),
                                ("GET", "/v1/none", 404)])
        self.assertTrue(all(line["duration_us"] > 0 for line in lines[1:4]))
        self.assertTrue(lines[0]["url"].endswith(f":{server.port}"))
        self.assertNotIn(ticket, server.logged())
        self.assertNotIn("s3cret", server.logged())

    def test_a_lost_body_is_left_out_counted_and_logged(self):
        server = Server(self.data)
        server.request("POST", BASE + "/push", push_body("a", [put("gone", "g" * 20000), put("here", "h" * 20000)]))
        bodies = {gzip.decompress(file.read_bytes())[1:2]: file for file in self.data.rglob("*.json.gz")}
        bodies[b"g"].unlink()
        status, _, pulled = server.request("POST", BASE + "/pull", pull_body("b"))
        self.assertEqual(status, 200)
        self.assertEqual([change.get("key") for change in pulled["patch"]], [None, "notes/here"])
        _, _, page = server.request("GET", BASE + "/snapshot")
        self.assertEqual(page["damaged"], {"code": "items-damaged", "count": 1, "keys": ["notes/gone"],
                                           "collections": []})
        self.assertEqual(server.metric("kedge_items_damaged_total"), 2)
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.logged().splitlines()]
        damaged = [line for line in lines if line["event"] == "items-damaged"]
        self.assertEqual([(line["level"], line["items"], line["code"], line["path"]) for line in damaged],
                         [("error", 1, "item-body-missing", BASE + "/pull"),
                          ("error", 1, "item-body-missing", BASE + "/snapshot")])

    def test_new_clients_are_limited_when_told_so(self):
        server = Server(self.data, "--open", "--new-clients-per-minute", "2")
        self.assertEqual(server.request("GET", "/v1/limits")[2]["new_clients_per_minute"], 2)
        for client in "ab":
            self.assertEqual(server.request("POST", BASE + "/push", push_body(client, [put(client, 1)]))[0], 200)
        status, headers, problem = server.request("POST", BASE + "/push", push_body("c", [put("c", 1)]))
        self.assertEqual((status, problem["code"]), (429, "too-many-clients"))
        self.assertIn(int(headers["Retry-After"]), range(1, 32))
        self.assertEqual(server.request("POST", BASE + "/push", push_body("a", [put("a", 2)], 2))[0], 200)
        self.assertEqual(server.stop(), 0)

    def test_the_log_is_quiet_about_requests_when_not_asked(self):
        server = Server(self.data)
        server.request("GET", "/v1/none")
        self.assertEqual(server.stop(), 0)
        events = [json.loads(line)["event"] for line in server.logged().splitlines()]
        self.assertEqual(events, ["started", "stopping", "stopped"])

    def refused(self, *arguments):
        done = subprocess.run([SERVER, *arguments], capture_output=True, text=True, timeout=60 * SLOWER)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_what_cannot_start_says_why(self):
        data = ["--data", str(self.data)]
        loopback = ["--listen", "127.0.0.1:0"]
        self.assertIn("--data", self.refused())
        self.assertIn("--listen", self.refused(*data))
        self.assertIn("--what", self.refused("--what", "x"))
        self.assertIn("ADDRESS:PORT", self.refused(*data, "--listen", "nowhere", "--open"))
        self.assertIn("loopback", self.refused(*data, "--listen", "0.0.0.0:0", "--open").lower()
                      + self.refused(*data, "--listen", "10.0.0.1:1", "--open"))
        self.assertIn("one or the other", self.refused(*data, "--table", "t", *loopback, "--open"))
        self.assertIn("--create is for AWS", self.refused(*data, "--create", *loopback, "--open"))
        self.assertIn("--bucket BUCKET", self.refused("--table", "t", *loopback, "--open"))
        self.assertIn("--table TABLE", self.refused("--queue", "q.fifo", *loopback, "--open"))
        self.assertIn("--jwks", self.refused(*data, *loopback))
        self.assertIn("0 to 1000000", self.refused(*data, *loopback, "--open", "--new-clients-per-minute", "-1"))
        self.assertIn("nowhere.so", self.refused(*data, *loopback, "--open", "--mutators", "/nowhere.so"))
        for option in ("--workers", "--request-timeout", "--ping", "--log-level"):
            for value in ("0", "x", "7x", "-1", "", "99999999999999999999"):
                self.assertIn(option, self.refused(*data, *loopback, "--open", option, value))
        self.assertIn("https://*.example.com", self.refused(*data, *loopback, "--open", "--origin", "https://*.example.com"))
        self.assertIn("compact or seed", self.refused(*data, *loopback, "--open", "--cadence", "x"))
        stranger = pathlib.Path(self.folder.name) / "stranger"
        stranger.mkdir()
        (stranger / "records.db").write_bytes(b"this is no database, it is a letter" * 100)
        self.assertIn("records.db", self.refused("--data", str(stranger), *loopback, "--open"))
        server = Server(self.data)
        self.assertIn(str(self.data), self.refused(*data, *loopback, "--open"))
        other = ["--data", str(self.data) + "2", "--listen", f"127.0.0.1:{server.port}", "--open"]
        self.assertIn("in use", self.refused(*other))
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    run_tests()
