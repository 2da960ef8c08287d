#!/usr/bin/env python3
"""kedge-server from outside, with Python's own HTTP, sockets and gzip: an independent client.

Usage: server_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import base64
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SERVER, PLUGIN = sys.argv[1:3]
BASE = "/v1/orgs/acme/projects/p"


class Server:
    """A running kedge-server; its folder is given, so that it can be started again on it."""

    def __init__(self, folder, *arguments, listen="127.0.0.1:0"):
        self.process = subprocess.Popen(
            [SERVER, "--data", str(folder), "--listen", listen, *(arguments or ("--open",))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("kedge-server ready on "):
            raise RuntimeError(self.process.communicate()[1])
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode

    def request(self, method, path, body=None, headers=None, timeout=20):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            content = answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            kind = answer.headers.get("Content-Type", "")
            return answer.status, answer.headers, json.loads(content) if "json" in kind else content
        finally:
            connection.close()

    def events(self, headers=None, path=BASE + "/events"):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=40)
        lines = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())
        return raw


def push_body(client, mutations, first=1):
    return {"pushVersion": 1, "clientGroupID": "g-" + client, "profileID": "", "schemaVersion": "",
            "mutations": [{"clientID": client, "id": first + i, "name": name, "args": args,
                           "timestamp": 0} for i, (name, args) in enumerate(mutations)]}


def pull_body(client, cookie=None):
    return {"pullVersion": 1, "clientGroupID": "g-" + client, "cookie": cookie, "profileID": "",
            "schemaVersion": ""}


def put(item, value):
    return ("kedge.put", {"collection": "notes", "id": item, "value": value})


def read_until(raw, wanted, seconds=30):
    """Reads the stream until `wanted` stands in it; fails at the deadline or the end."""
    seen, end = b"", time.monotonic() + seconds
    while wanted not in seen:
        raw.settimeout(max(0.01, end - time.monotonic()))
        piece = raw.recv(4096)
        if not piece:
            raise AssertionError(f"the stream ended; seen {seen!r}")
        seen += piece
    return seen


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition did not come true in time")
        os.sched_yield()


class OpenServer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--mutators", PLUGIN,
                             "--origin", "https://app.example.com")

    def tearDown(self):
        self.server.stop()
        self.folder.cleanup()

    def push(self, client, *mutations, first=1):
        return self.server.request("POST", BASE + "/push", push_body(client, mutations, first))

    def pull(self, client, cookie=None):
        return self.server.request("POST", BASE + "/pull", pull_body(client, cookie))

    def metric(self, name):
        for line in self.server.request("GET", "/v1/metrics")[2].decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def test_health_limits_and_metrics_answer_without_a_token(self):
        self.assertEqual(self.server.request("GET", "/v1/health")[2], {"status": "ok"})
        self.assertEqual(self.server.request("GET", "/v1/limits")[0], 200)
        self.assertGreaterEqual(self.metric("kedge_connections"), 1)

    def test_what_one_client_pushes_another_pulls(self):
        self.assertEqual(self.push("a", put("n1", {"x": 1}))[0], 200)
        status, _, answer = self.pull("b")
        self.assertEqual(status, 200)
        self.assertIn({"op": "put", "key": "notes/n1", "value": {"x": 1}}, answer["patch"])
        self.assertEqual(answer["cookie"]["order"], 1)

    def test_an_app_mutator_runs_on_the_server_and_rejects_with_its_reason(self):
        args = {"id": "none", "field": "text", "value": "x", "was": ""}
        self.assertEqual(self.push("a", ("notes.edit", args))[0], 200)
        answer = self.server.request("GET", BASE + "/clients/a/mutations/1")[2]
        self.assertEqual((answer["outcome"], answer["code"]), ("rejected", "note-deleted"))

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
        read_until(raw, b"event: ping", 20)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        raw.close()
        wait_for(lambda: self.metric("kedge_event_streams") == 0, 40)

    def test_a_ticket_opens_a_stream_once(self):
        self.push("a", put("n1", 1))
        ticket = self.server.request("POST", BASE + "/events/ticket")[2]["ticket"]
        raw = self.server.events(path=f"{BASE}/events?ticket={ticket}")
        read_until(raw, b"event: poke")
        raw.close()

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
        status, headers, answer = self.server.request("POST", BASE + "/push", body)
        self.assertEqual((status, answer["code"]), (503, "push-too-large"))
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
            answer = raw.recv(100)
            self.assertTrue(answer == b"" or answer.split()[1].startswith(b"4"), answer)
        except (ConnectionResetError, BrokenPipeError):
            pass  # refused while it was still sent
        raw.close()
        self.assertEqual(self.server.request("GET", "/v1/health")[0], 200)

    def test_fifty_clients_at_once_get_one_order_without_a_gap(self):
        def run(number):
            return [self.push(f"c{number}", put(f"n{number}", i), first=i)[0] for i in range(1, 6)]
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(run, range(50)))
        self.assertEqual({status for row in answers for status in row}, {200})
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
        read_until(raw, b"event: poke") if self.push("a", put("n1", 1)) else None
        idle = socket.create_connection(("127.0.0.1", self.server.port))
        started = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - started, 15)
        idle.close()
        raw.close()


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
        answer = server.request("POST", BASE + "/pull", pull_body("b"))[2]
        self.assertEqual(answer["cookie"]["order"], 5)
        self.assertIn({"op": "put", "key": "notes/n1", "value": 5}, answer["patch"])
        self.assertEqual(server.stop(), 0)

    def refused(self, *arguments):
        done = subprocess.run([SERVER, *arguments], capture_output=True, text=True, timeout=20)
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
        self.assertIn("--jwks", self.refused(*data, *loopback))
        self.assertIn("nowhere.so", self.refused(*data, *loopback, "--open", "--mutators", "/nowhere.so"))
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
        self.server.stop()
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
        status, headers, answer = self.server.request("POST", BASE + "/pull", pull_body("b"))
        self.assertEqual((status, answer["code"]), (401, "token-missing"))
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


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
