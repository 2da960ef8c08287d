#!/usr/bin/env python3
"""kedge-server from outside, with Python's own HTTP, sockets and gzip: an independent client.

Usage: server_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed".
KEDGE_TEST_PRESET=asan or tsan gives a slower server more time, and asks nothing of its memory."""
import base64
import concurrent.futures
import gzip
import http.client
import json
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from peers import (BASE, MIB, PLUGIN, PRESET, SERVER, SLOWER, Server, break_off, ends, pull_body, push_body, put,
                   read_until, wait_for)


class OpenServer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--mutators", PLUGIN,
                             "--origin", "https://app.example.com", "--ping", "1")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def push(self, client, *mutations, first=1):
        return self.server.request("POST", BASE + "/push", push_body(client, mutations, first))

    def pull(self, client, cookie=None):
        return self.server.request("POST", BASE + "/pull", pull_body(client, cookie))

    def metric(self, name):
        return self.server.metric(name)

    def test_health_limits_and_metrics_answer_without_a_token(self):
        self.assertEqual(self.server.request("GET", "/v1/health")[2], {"status": "ok"})
        self.assertEqual(self.server.request("GET", "/v1/limits")[0], 200)
        self.assertGreaterEqual(self.metric("kedge_connections"), 1)

    def test_what_one_client_pushes_another_pulls(self):
        self.assertEqual(self.push("a", put("n1", {"x": 1}))[0], 200)
        status, _, response = self.pull("b")
        self.assertEqual(status, 200)
        self.assertIn({"op": "put", "key": "notes/n1", "value": {"x": 1}}, response["patch"])
        self.assertEqual(response["cookie"]["order"], 1)

    def test_an_app_mutator_runs_on_the_server_and_rejects_with_its_reason(self):
        args = {"id": "none", "field": "text", "value": "x", "was": ""}
        self.assertEqual(self.push("a", ("notes.edit", args))[0], 200)
        response = self.server.request("GET", BASE + "/clients/a/mutations/1")[2]
        self.assertEqual((response["outcome"], response["code"]), ("rejected", "note-deleted"))

    def test_a_stream_tells_the_version_at_once_and_after_each_commit(self):
        self.push("a", put("n1", 1))
        raw = self.server.events()
        head = read_until(raw, b'{"version":1}')
        self.assertIn(b"text/event-stream", head)
        self.push("a", put("n1", 2), first=2)
        read_until(raw, b'{"version":2}')
        self.push("a", ("no.such", {}), first=3)
        read_until(raw, b'{"version":3}')
        raw.close()

    def test_a_dead_peer_is_found_by_the_ping(self):
        raw = self.server.events()
        read_until(raw, b"event: poke")
        self.assertEqual(self.metric("kedge_event_streams"), 1)
        read_until(raw, b"event: ping")
        break_off(raw)
        wait_for(lambda: self.metric("kedge_event_streams") == 0)

    def test_two_hundred_streams_are_told_of_a_commit(self):
        streams = [self.server.events() for _ in range(200)]
        for raw in streams:
            read_until(raw, b'{"version":0}')
        self.assertEqual(self.metric("kedge_event_streams"), 200)
        self.push("a", put("n1", 1))
        for raw in streams:
            read_until(raw, b'{"version":1}')
        for number, raw in enumerate(streams):
            break_off(raw) if number % 2 else raw.close()
        wait_for(lambda: self.metric("kedge_event_streams") == 0)
        self.assertGreaterEqual(self.metric("kedge_pokes_total"), 400)

    def test_a_stream_tells_nothing_of_a_project_of_the_same_name(self):
        other = "/v1/orgs/other/projects/p"
        raw = self.server.events()
        read_until(raw, b'{"version":0}')
        for number in range(1, 4):
            body = push_body("a", [put("n1", number)], first=number)
            self.assertEqual(self.server.request("POST", other + "/push", body)[0], 200)
        self.push("b", put("n1", 1))
        self.assertNotIn(b'{"version":3}', read_until(raw, b'{"version":1}'))
        raw.close()

    def test_names_in_the_path_of_a_stream_may_be_encoded(self):
        raw = self.server.events(path="/v1/orgs/%61cme/projects/%70/events")
        read_until(raw, b'{"version":0}')
        self.push("a", put("n1", 1))
        read_until(raw, b'{"version":1}')
        raw.close()
        for path in ("/v1/orgs/a%2Fb/projects/p/events", "/v1/orgs/a%/projects/p/events",
                     "/v1/orgs/a/projects/%00/events", "/v1/orgs/a/projects//events"):
            status, _, response = self.server.request("GET", path)
            self.assertEqual((status, response["code"]), (400, "name-invalid"), path)

    def test_methods_that_a_path_does_not_know_get_405(self):
        paths = {"/v1/health": "GET", "/v1/metrics": "GET", BASE + "/events": "GET",
                 BASE + "/events/ticket": "POST", BASE + "/push": "POST", BASE + "/versions": "GET"}
        for path, known in paths.items():
            for method in {"GET", "POST", "DELETE", "PATCH", "OPTIONSX", "PROPFIND"} - {known}:
                status, _, response = self.server.request(method, path)
                self.assertEqual((status, response["code"]), (405, "method-not-allowed"), (method, path))

    def test_head_is_a_get_without_its_body(self):
        self.push("a", put("n1", 1))
        for path in ("/v1/health", "/v1/limits", BASE + "/versions/1"):
            got = self.server.request("GET", path)
            status, headers, content = self.head(path)
            self.assertEqual((status, content), (200, b""), path)
            self.assertEqual(headers["Content-Length"], got[1]["Content-Length"], path)
        self.assertEqual(self.head(BASE + "/versions/99")[0], 404)
        self.assertEqual(self.head(BASE + "/events")[0], 405)

    def head(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20 * SLOWER)
        connection.request("HEAD", path)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, response.headers, content

    def test_responses_that_nobody_takes_are_given_back(self):
        text = "x" * MIB
        for number in range(8):
            self.push("a", put(f"n{number}", text), first=number + 1)
        body = json.dumps(pull_body("b")).encode()
        head = f"POST {BASE}/pull HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        before = self.metric("kedge_connections")
        for _ in range(10):
            raw = self.server.connect(head.encode() + body)
            self.assertTrue(raw.recv(1000).startswith(b"HTTP/1.1 200 "))
            break_off(raw)
        wait_for(lambda: self.metric("kedge_held_bytes") == 0)
        wait_for(lambda: self.metric("kedge_connections") <= before)  # `before` may count peers of other tests
        patch = self.pull("b")[2]["patch"]
        self.assertEqual({len(change["value"]) for change in patch if change["op"] == "put"}, {MIB})
        self.assertEqual(len(patch), 9)

    def test_fifty_large_bodies_at_once_stay_within_the_bound(self):
        size = 16 * MIB
        head = f"POST {BASE}/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n".encode()
        before = self.server.memory()
        peers = [self.server.connect(head) for _ in range(50)]
        chunk = b" " * MIB
        for part in range(16):
            for raw in peers:
                raw.sendall(chunk if part < 15 else chunk[1:])
        wait_for(lambda: self.metric("kedge_held_bytes") > 200 * MIB)
        if not PRESET:
            self.assertLess(self.server.memory("VmHWM") - before, (256 + 48) * MIB)
        self.assertEqual(self.push("a", put("n1", 1))[0], 200)  # a small one is not in their way
        for raw in peers:
            raw.sendall(b" ")
        codes = [json.loads(read_until(raw, b"}").split(b"\r\n\r\n")[1])["code"] for raw in peers]
        self.assertEqual(set(codes), {"overloaded", "body-not-json"})
        self.assertGreaterEqual(codes.count("body-not-json"), 10)
        for raw in peers:
            raw.close()
        wait_for(lambda: self.metric("kedge_held_bytes") == 0)
        if not PRESET:
            self.assertLess(self.server.memory() - before, 64 * MIB)  # given back to the system

    def test_metrics_count_what_happens(self):
        before = self.metric("kedge_connections")
        held = [self.server.connect() for _ in range(10)]
        wait_for(lambda: self.metric("kedge_connections") == before + 10)
        for raw in held:
            raw.close()
        wait_for(lambda: self.metric("kedge_connections") <= before)  # `before` may count peers of other tests
        good, bad = 'kedge_requests_total{class="2xx"}', 'kedge_requests_total{class="4xx"}'
        answered, refused = self.metric(good), self.metric(bad)
        self.push("a", put("n1", 1))
        self.server.request("GET", "/v1/none")
        self.assertEqual(self.metric(bad), refused + 1)
        self.assertEqual(self.metric(good), answered + 4)
        self.assertEqual(self.metric("kedge_commits_total"), 1)
        self.assertGreater(self.metric("kedge_request_seconds_sum"), 0)
        self.assertLess(self.metric("kedge_request_seconds_sum"), 20 * SLOWER)

    def test_work_behind_a_push_that_fails_is_counted_and_logged(self):
        blobs = pathlib.Path(self.folder.name) / "data/blobs/acme+/projects+/p+"
        blobs.mkdir(parents=True, exist_ok=True)
        (blobs / "chunks+").write_text("where the chunks of a checkpoint should go")
        failures = 'kedge_background_failures_total{work="checkpoints"}'
        self.assertEqual(self.metric(failures), 0)
        self.push("a", *[put(f"n{i}", "x" * 8000) for i in range(80)])
        wait_for(lambda: self.metric(failures) == 1)
        lines = [json.loads(line) for line in self.server.logged().splitlines()]
        failed = [line for line in lines if line["event"] == "background-failed"]
        self.assertEqual([(line["level"], line["work"], line["organization"], line["project"]) for line in failed],
                         [("warning", "checkpoints", "acme", "p")])
        self.assertTrue(failed[0]["detail"])

    def test_metrics_tell_what_it_would_cost_on_aws(self):
        before = self.metric("kedge_store_write_units_total")
        self.push("a", put("n1", 1))
        units = self.metric("kedge_store_write_units_total") - before
        self.assertGreaterEqual(units, 2)  # the project and its version
        self.assertLess(units, 10)
        self.assertGreater(self.metric("kedge_store_dollars_total"), units * 0.625e-6)
        self.assertNotIn("kedge-cost", self.server.request("GET", "/v1/health")[1])

    def test_a_ticket_opens_a_stream_once(self):
        self.push("a", put("n1", 1))
        ticket = self.server.request("POST", BASE + "/events/ticket")[2]["ticket"]
        raw = self.server.events(path=f"{BASE}/events?x=1&ticket={ticket}&y")
        read_until(raw, b"event: poke")
        raw.close()
        for query, status in ((f"ticket={ticket}", 401), ("ticket=", 401), ("ticket=a&ticket=b", 400)):
            self.assertEqual(self.server.request("GET", f"{BASE}/events?{query}")[0], status, query)

    def test_open_mode_answers_only_loopback_names_and_pages(self):
        self.assertEqual(self.server.request("GET", "/v1/health", headers={"Host": "evil.example"})[0], 403)
        self.assertEqual(self.server.request("GET", BASE + "/versions", headers={"Origin": "https://evil.example"})[0], 403)
        status, headers, _ = self.server.request("GET", "/v1/health", headers={"Origin": "http://localhost:3000"})
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "http://localhost:3000"))

    def test_a_preflight_is_answered_and_errors_carry_the_headers(self):
        origin = {"Origin": "https://app.example.com"}
        status, headers, _ = self.server.request("OPTIONS", BASE + "/push", headers=origin)
        self.assertEqual(status, 204)
        self.assertIn("X-Replicache-RequestID", headers["Access-Control-Allow-Headers"])
        status, headers, _ = self.server.request("GET", "/v1/none", headers=origin)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (404, origin["Origin"]))

    def test_bodies_may_be_gzip_and_nothing_else(self):
        text = json.dumps(push_body("a", [put("n1", 1)])).encode()
        post = lambda body, encoding: self.server.request("POST", BASE + "/push", body, {"Content-Encoding": encoding})
        self.assertEqual(post(gzip.compress(text), "gzip")[0], 200)
        self.assertEqual(post(text, "gzip")[0], 400)
        self.assertEqual(post(text, "br")[0], 415)
        bomb = gzip.compress(b" " * (64 << 20))
        self.assertEqual(post(bomb, "gzip")[0], 413)

    def test_a_push_over_the_cap_commits_its_prefix_and_asks_for_a_shorter_one(self):
        big = "x" * (1 << 20)
        body = push_body("a", [put(f"n{i}", big) for i in range(20)])
        status, headers, response = self.server.request("POST", BASE + "/push", body)
        self.assertEqual((status, response["code"]), (503, "push-too-large"))
        self.assertIn("Retry-After", headers)
        latest = self.server.request("GET", BASE + "/clients/a/mutations/latest")[2]
        self.assertGreaterEqual(latest["id"], 10)
        self.assertLess(latest["id"], 20)

    def test_garbage_and_half_requests_do_not_hold_the_server_up(self):
        held = []
        for data in (b"\x00\xff\xfe garbage\r\n\r\n", b"GET /v1/he", b"POST " + BASE.encode() +
                     b"/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{", b""):
            for _ in range(25):
                raw = socket.create_connection(("127.0.0.1", self.server.port))
                raw.sendall(data)
                held.append(raw)
        self.assertEqual(self.server.request("GET", "/v1/health", timeout=5)[0], 200)
        self.assertEqual(self.push("a", put("n1", 1))[0], 200)
        for raw in held:
            raw.close()

    def test_a_header_over_the_limit_is_refused_and_the_server_lives(self):
        raw = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
        try:
            raw.sendall(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 100000)
            response = raw.recv(100)
            self.assertTrue(response == b"" or response.split()[1].startswith(b"4"), response)
        except (ConnectionResetError, BrokenPipeError):
            pass  # refused while it was still sent
        raw.close()
        self.assertEqual(self.server.request("GET", "/v1/health")[0], 200)

    def test_fifty_clients_at_once_get_one_order_without_a_gap(self):
        def run(number):
            return [self.push(f"c{number}", put(f"n{number}", i), first=i)[0] for i in range(1, 6)]
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            responses = list(pool.map(run, range(50)))
        self.assertEqual({status for row in responses for status in row}, {200})
        seen, before = [], ""
        while True:
            page = self.server.request("GET", f"{BASE}/versions?limit=100{before}")[2]
            seen += page["versions"]
            if not page["next"]:
                break
            before = f"&before={page['next']}"
        numbers = [version["version"] for version in seen]
        self.assertEqual(numbers, list(range(len(numbers), 0, -1)))
        mutations = [(m["client"], m["id"]) for v in seen for m in v["mutations"]]
        self.assertEqual(len(mutations), 250)
        self.assertEqual(len(set(mutations)), 250)

    def test_a_stop_ends_streams_and_waits_for_no_idle_connection(self):
        raw = self.server.events()
        read_until(raw, b"event: poke")
        idle = self.server.connect()
        started = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - started, 4 * SLOWER)
        self.assertTrue(ends(raw))
        idle.close()
        raw.close()


class ImpatientServer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--request-timeout", "2")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def test_a_peer_that_trickles_its_head_or_body_is_cut_off(self):
        heads = [self.server.connect(b"GET /v1/health HTTP/1.1\r\nX: "), self.server.connect(
            b"POST " + BASE.encode() + b"/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n{")]
        silent = self.server.connect()
        for raw in heads:
            self.assertTrue(ends(raw, b"x"))
            raw.close()
        self.assertTrue(ends(silent))
        silent.close()
        self.assertGreaterEqual(self.server.metric("kedge_requests_cut_total"), 2)

    def test_a_body_that_breaks_off_commits_nothing(self):
        body = json.dumps(push_body("a", [put("n1", 1)])).encode()
        head = (f"POST {BASE}/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
                "Expect: 100-continue\r\n\r\n")
        for how in (break_off, socket.socket.close):
            cut = self.server.metric("kedge_requests_cut_total")
            raw = self.server.connect(head.encode())
            read_until(raw, b"HTTP/1.1 100 ")
            raw.sendall(body[:-1])
            how(raw)
            wait_for(lambda: self.server.metric("kedge_requests_cut_total") == cut + 1)
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"))[2]["cookie"]["order"], 0)


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
        early = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20 * SLOWER)
        early.connect()
        idle = [server.connect() for _ in range(200)]
        for first in range(1, 21):
            body = push_body("a", [put("n1", "x" * 100000)], first=first)
            early.request("POST", BASE + "/push", json.dumps(body))
            response = early.getresponse()
            self.assertEqual((response.status, response.read()), (200, b"{}"))
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
                         ["started", "answered", "answered", "answered", "stopping", "stopped"])
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
        done = subprocess.run([SERVER, *arguments], capture_output=True, text=True, timeout=20 * SLOWER)
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


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Tokens(unittest.TestCase):
    """RS256 by the openssl program."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        self.key = root / "key.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True,
                                 capture_output=True, text=True).stdout.strip().split("=")[1]
        keys = {"keys": [{"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "e": "AQAB",
                          "n": base64url(bytes.fromhex(modulus))}]}
        (root / "keys.json").write_text(json.dumps(keys))
        self.server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i",
                             "--audience", "kedge")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def token(self, **claims):
        head = base64url(json.dumps({"alg": "RS256", "kid": "k1"}).encode())
        all_claims = {"iss": "i", "aud": "kedge", "sub": "u1", "exp": time.time() + 600, **claims}
        signed = f"{head}.{base64url(json.dumps(all_claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], check=True,
                                   input=signed.encode(), capture_output=True).stdout
        return {"Authorization": f"Bearer {signed}.{base64url(signature)}"}

    def test_a_token_opens_its_organization_and_shows_nothing_of_another(self):
        admin = self.token(org="*", role="admin")
        for org in ("acme", "other"):
            self.assertEqual(self.server.request("PUT", f"/v1/orgs/{org}/projects/p", headers=admin)[0], 201)
        mine = self.token(org="acme")
        theirs = self.token(org="other")
        push = push_body("a", [put("n1", 1)])
        self.assertEqual(self.server.request("POST", BASE + "/push", push, mine)[0], 200)
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), mine)[0], 200)
        existing = self.server.request("POST", BASE + "/pull", pull_body("b"), theirs)
        absent = self.server.request("POST", "/v1/orgs/acme/projects/none/pull", pull_body("b"), theirs)
        self.assertEqual(existing[0], 404)
        absent[2]["detail"] = absent[2]["detail"].replace("acme/none", "acme/p")
        self.assertEqual((existing[0], existing[2]), (absent[0], absent[2]))
        for path in ("/events", "/versions", "/clients/a/mutations/1", "/snapshot?version=1"):
            self.assertEqual(self.server.request("GET", BASE + path, headers=theirs)[0], 404, path)

    def test_a_request_without_a_good_token_gets_401(self):
        status, headers, response = self.server.request("POST", BASE + "/pull", pull_body("b"))
        self.assertEqual((status, response["code"]), (401, "token-missing"))
        self.assertEqual(headers["WWW-Authenticate"], "Bearer")
        late = self.token(org="acme", exp=time.time() - 3600)
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), late)[2]["code"], "token-expired")
        broken = {"Authorization": self.token(org="acme")["Authorization"][:-4] + "AAAA"}
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), broken)[2]["code"], "token-invalid")

    def test_a_ticket_stands_in_for_the_token_once(self):
        admin = self.token(org="*", role="admin")
        self.server.request("PUT", "/v1/orgs/acme/projects/p", headers=admin)
        mine = self.token(org="acme")
        ticket = self.server.request("POST", BASE + "/events/ticket", headers=mine)[2]["ticket"]
        raw = self.server.events(path=f"{BASE}/events?ticket={ticket}")
        read_until(raw, b"event: poke")
        raw.close()
        again = self.server.request("GET", f"{BASE}/events?ticket={ticket}")
        self.assertEqual(again[0], 401)
        ticket = self.server.request("POST", BASE + "/events/ticket", headers=mine)[2]["ticket"]
        self.server.request("PUT", "/v1/orgs/acme/projects/q", headers=admin)
        other = self.server.request("GET", f"/v1/orgs/acme/projects/q/events?ticket={ticket}")
        self.assertEqual(other[0], 401)

    def test_a_stream_ends_when_its_token_expires(self):
        admin = self.token(org="*", role="admin")
        self.server.request("PUT", "/v1/orgs/acme/projects/p", headers=admin)
        leeway = 60
        lasting = self.server.events(self.token(org="acme"))
        brief = self.token(org="acme", exp=time.time() - leeway + 1 + 2 * SLOWER)
        ticket = self.server.request("POST", BASE + "/events/ticket", headers=brief)[2]["ticket"]
        streams = [self.server.events(brief), self.server.events(path=f"{BASE}/events?ticket={ticket}")]
        for raw in [lasting, *streams]:
            read_until(raw, b"event: poke")
        for raw in streams:
            read_until(raw, b"0\r\n\r\n")  # the last chunk
            raw.close()
        self.assertEqual(self.server.request("GET", BASE + "/events", headers=brief)[2]["code"], "token-expired")
        self.server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]), self.token(org="acme"))
        read_until(lasting, b'{"version":1}')
        lasting.close()


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
