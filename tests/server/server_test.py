#!/usr/bin/env python3
"""kedge-server from outside, with Python's own HTTP, sockets and gzip: requests, limits, metrics, broken peers.

Usage: server_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed".
KEDGE_TEST_PRESET=asan or tsan gives a slower server more time, and asks nothing of its memory."""
import concurrent.futures
import gzip
import http.client
import json
import pathlib
import socket
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import (BASE, MIB, OpenServer, PRESET, SLOWER, Server, break_off, ends, pull_body, push_body, put,
                   read_until, run_tests, wait_for)


class Requests(OpenServer):
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
        args = {"id": "none", "folder": "x"}
        self.assertEqual(self.push("a", ("notes.move", args))[0], 200)
        response = self.server.request("GET", BASE + "/clients/a/mutations/1")[2]
        self.assertEqual((response["outcome"], response["code"]), ("rejected", "note-deleted"))

    def test_methods_that_a_path_does_not_know_get_405(self):
        get, post = "GET, HEAD, OPTIONS", "POST, OPTIONS"
        paths = {"/v1/health": get, "/v1/metrics": get, BASE + "/events": "GET, OPTIONS", BASE + "/events/ticket": post,
                 BASE + "/push": post, BASE + "/versions": get, BASE: "PUT, GET, HEAD, OPTIONS"}
        for path, known in paths.items():
            for method in {"GET", "POST", "DELETE", "PATCH", "OPTIONSX", "PROPFIND"} - set(known.split(", ")):
                status, headers, response = self.server.request(method, path)
                self.assertEqual((status, response["code"]), (405, "method-not-allowed"), (method, path))
                self.assertEqual(headers["Allow"], known, (method, path))

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
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60 * SLOWER)
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
        self.assertLess(self.metric("kedge_request_seconds_sum"), 600) # seconds, and no smaller unit

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

    def wait_for_newer_server(self, client, name, version=1):
        """Pushes a mutation that waits for its mutator, as libkedge sends it."""
        body = push_body(client, [(name, {})])
        body["mutations"][0].update(version=version, wait=True)
        body["schemaVersion"] = "2"
        status, _, problem = self.server.request("POST", BASE + "/push", body)
        self.assertEqual((status, problem["code"]), (409, "server-too-old"))

    def test_the_start_tells_the_mutators_and_a_push_that_waits_for_a_newer_one_is_counted_and_logged(self):
        def lines():
            return [json.loads(line) for line in self.server.logged().splitlines()]

        started = next(line for line in lines() if line["event"] == "started")
        versions = {mutator["name"]: mutator["version"] for mutator in started["mutators"]}
        self.assertIn("notes.move", versions)
        self.assertNotIn("mutators_omitted", started)
        self.assertEqual(self.metric("kedge_mutator_missing_total"), 0)
        newer = versions["notes.move"] + 1
        self.wait_for_newer_server("a", "notes.move", newer)
        self.wait_for_newer_server("a", "notes.none")
        self.assertEqual(self.metric("kedge_mutator_missing_total"), 2)
        missing = [line for line in lines() if line["event"] == "mutator-missing"]
        for line in missing:
            del line["time"]
        common = {"level": "warning", "event": "mutator-missing", "organization": "acme", "project": "p", "schema": "2"}
        self.assertEqual(missing, [{**common, "mutator": "notes.move", "wanted": newer, "here": newer - 1},
                                   {**common, "mutator": "notes.none", "wanted": 1, "here": 0}])

    def test_a_flood_of_mutators_that_no_server_has_is_left_out_of_the_log(self):
        for _ in range(200):
            self.wait_for_newer_server("a", "no.such")
        self.assertEqual(self.metric("kedge_mutator_missing_total"), 200)
        missing = [line for line in self.server.logged().splitlines() if "mutator-missing" in line]
        self.assertGreaterEqual(len(missing), 100)
        self.assertLess(len(missing), 200)

        def told():
            self.wait_for_newer_server("a", "no.such")
            return any('"omitted":' in line for line in self.server.logged().splitlines())
        wait_for(told)

    def test_metrics_tell_what_it_would_cost_on_aws(self):
        before = self.metric("kedge_store_write_units_total")
        self.push("a", put("n1", 1))
        units = self.metric("kedge_store_write_units_total") - before
        self.assertGreaterEqual(units, 8)  # the project, the check of its name, its organization, its version
        self.assertLess(units, 12)
        self.assertGreater(self.metric("kedge_store_dollars_total"), units * 0.625e-6)
        self.assertNotIn("kedge-cost", self.server.request("GET", "/v1/health")[1])

    def test_open_mode_answers_only_loopback_names_and_pages(self):
        self.assertEqual(self.server.request("GET", "/v1/health", headers={"Host": "evil.example"})[0], 403)
        self.assertEqual(self.server.request("GET", BASE + "/versions", headers={"Origin": "https://evil.example"})[0], 403)
        status, headers, _ = self.server.request("GET", "/v1/health", headers={"Origin": "http://localhost:3000"})
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "http://localhost:3000"))
        # An image of a page: a browser tells where from, and no origin.
        for site, expected in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
            status = self.server.request("GET", "/v1/health", headers={"Sec-Fetch-Site": site})[0]
            self.assertEqual(status, expected, site)
        local = {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"}
        self.assertEqual(self.server.request("GET", "/v1/health", headers=local)[0], 200)

    def test_a_preflight_is_answered_and_errors_carry_the_headers(self):
        origin = {"Origin": "https://app.example.com"}
        status, headers, _ = self.server.request("OPTIONS", BASE + "/push", headers=origin)
        self.assertEqual(status, 204)
        allowed = headers["Access-Control-Allow-Headers"].split(", ")
        self.assertLessEqual({"Authorization", "Kedge-User", "X-Replicache-RequestID"}, set(allowed))
        status, headers, _ = self.server.request("GET", "/v1/none", headers=origin)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (404, origin["Origin"]))
        self.assertIn("X-Request-Id", headers["Access-Control-Expose-Headers"].split(", "))

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

    def test_a_first_mutation_that_no_push_holds_is_rejected_and_blocks_nothing(self):
        def send(*mutations):
            listed = [{"clientID": "a", "id": at, "name": "kedge.put", "timestamp": 1,
                       "args": {"collection": "notes", "id": f"n{at}", "value": value}} for at, value in mutations]
            body = {"pushVersion": 1, "clientGroupID": "a", "profileID": "p", "schemaVersion": "", "mutations": listed}
            return self.server.request("POST", BASE + "/push", body)
        large = (1, "x" * (17 << 20))
        for _ in range(2):
            status, _, response = send(large, (2, "y"))
            self.assertEqual((status, response["code"]), (503, "push-too-large"))
            self.assertIn("the first 1 mutations are decided", response["detail"])
        outcome = self.server.request("GET", BASE + "/clients/a/mutations/1")[2]
        self.assertEqual((outcome["outcome"], outcome["code"]), ("rejected", "args-too-large"))
        self.assertEqual(send((2, "y"))[0], 200)
        latest = self.server.request("GET", BASE + "/clients/a/mutations/latest")[2]
        self.assertEqual((latest["id"], latest["name"], latest.get("code")), (2, "kedge.put", None))

    def test_garbage_and_half_requests_do_not_hold_the_server_up(self):
        held = []
        for data in (b"\x00\xff\xfe garbage\r\n\r\n", b"GET /v1/he", b"POST " + BASE.encode() +
                     b"/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{", b""):
            for _ in range(25):
                raw = socket.create_connection(("127.0.0.1", self.server.port))
                raw.sendall(data)
                held.append(raw)
        self.assertEqual(self.server.request("GET", "/v1/health", timeout=30)[0], 200)
        self.assertEqual(self.push("a", put("n1", 1))[0], 200)
        for raw in held:
            raw.close()

    def test_a_header_over_the_limit_is_refused_and_the_server_lives(self):
        raw = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
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

    def test_a_body_that_nobody_needs_has_the_time_of_a_head_however_fast_it_comes(self):
        head = b"POST /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000000\r\n\r\n"
        with self.server.connect(head) as raw:
            self.assertTrue(ends(raw, b"x" * 2000, seconds=30))

    def test_a_body_that_takes_longer_than_the_timeout_is_taken_as_long_as_it_comes(self):
        body = json.dumps(push_body("a", [put("n1", "x" * 300000)])).encode()
        head = f"POST {BASE}/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        with self.server.connect(head.encode()) as raw:
            began = time.monotonic()
            for at in range(0, len(body), 5000):  # at 50,000 bytes a second
                time.sleep(max(0, began + at / 50000 - time.monotonic()))
                raw.sendall(body[at:at + 5000])
            self.assertGreater(time.monotonic() - began, 5)
            read_until(raw, b"HTTP/1.1 200 ")

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


if __name__ == "__main__":
    run_tests()
