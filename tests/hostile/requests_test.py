#!/usr/bin/env python3
"""More than 5,000 requests that no honest client sends: heads, framings, targets, tokens, cookies, bodies.

Each is refused with a problem document and the right status; none is an internal failure, and
none changes what it must not. Usage: requests_test.py SERVER_PROGRAM PLUGIN KEDGE_ADMIN. Closes with the plain line
"N passed, N failed"."""
import base64
import collections
import contextlib
import itertools
import json
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from raw import END, HOST, Peer, answers_of, everything, request, the_answer
from peers import BASE, Server, pull_body, push_body, put, run_tests
from tokens import make_keys, make_token

PATH = BASE.encode()
HIDDEN = request(b"PUT", b"/v1/orgs/acme/projects/hidden")
sent = collections.Counter() # by test: what was sent


def post(headers, body=b"", line=None):
    return (line or b"POST " + PATH + b"/pull HTTP/1.1") + b"\r\n" + headers + b"\r\n" + body


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        make_keys(root)
        claims = {"iss": "i", "aud": "kedge", "sub": "u", "org": "acme", "role": "editor", "exp": time.time() + 3600}
        cls.root, cls.claims = root, claims
        cls.text = make_token(root, claims)
        cls.token = b"Bearer " + cls.text.encode()
        admin = make_token(root, {**claims, "org": "*", "role": "admin", "sub": "root"})
        cls.admin = {"Authorization": "Bearer " + admin}
        cls.server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge",
                            "--budget", "user_requests_per_second=0", "--budget", "organization_requests_per_second=0")
        cls.server.metrics_headers = cls.admin
        for path in (BASE, BASE + "/logs/events"):
            assert cls.server.request("PUT", path, body={"description": "x"} if "logs" in path else None,
                                      headers=cls.admin)[0] == 201
        mine = {"Authorization": cls.token.decode()}
        assert cls.server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]), mine)[0] == 200

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls.folder.cleanup()
        assert code == 0, cls.server.logged()
        print(f"{sum(sent.values())} requests: {dict(sent)}")
        assert sum(sent.values()) >= 5000

    def state(self):
        """What a request that is refused must not change."""
        pull = self.server.request("POST", BASE + "/pull", pull_body("reader"), self.admin)[2]
        projects = self.server.request("GET", "/v1/orgs/acme/projects", headers=self.admin)[2]
        return pull["patch"], pull["cookie"], projects

    def run(self, result=None):
        before = self.server.metric('kedge_requests_total{class="5xx"}')
        outcome = super().run(result)
        after = self.server.metric('kedge_requests_total{class="5xx"}')
        if after != before:
            result.addFailure(self, (AssertionError, AssertionError(f"{after - before} internal failures"), None))
        return outcome

    def check_refusal(self, answer, what):
        self.assertIn(answer.status, range(400, 500), (what, answer))
        self.assertEqual(answer.headers.get("content-type"), "application/problem+json", (what, answer))
        self.assertEqual(answer.problem["status"], answer.status, (what, answer))
        self.assertRegex(answer.problem["code"], r"^[a-z-]+$", what)
        self.assertEqual(answer.headers.get("x-content-type-options"), "nosniff", (what, answer))

    def answer(self, data):
        return the_answer(self.server.port, data)

    def refused_alone(self, what, data, statuses=(400,)):
        """The only response is a refusal with one of the statuses, and the connection is closed."""
        sent[self.id().rpartition(".")[2]] += 1
        answers = answers_of(everything(self.server.port, data + HIDDEN, then_end=False))
        self.assertEqual(len(answers), 1, (what, answers))
        for answer in answers:
            self.check_refusal(answer, what)
            self.assertIn(answer.status, statuses, (what, answer))
            self.assertEqual(answer.headers.get("connection", "").lower(), "close", (what, answer))

    def test_heads_with_another_meaning_elsewhere_are_refused_and_nothing_behind_them_runs(self):
        before = self.state()
        known = HOST + b"Authorization: " + self.token + b"\r\n"
        body = json.dumps(pull_body("b")).encode()
        length = b"Content-Length: %d\r\n" % len(body)
        good = post(known + length, body)
        self.assertEqual(self.answer(good).status, 200)
        # A bare line feed, a bare carriage return and a NUL at each place of the head, in place of a byte or before it.
        head = good[:good.index(END) + 4]
        for at, wrong in itertools.product(range(len(head)), (b"\n", b"\r", b"\0")):
            if head[at:at + 1] == wrong:
                continue
            put_before = head[:at] + wrong + head[at:]
            if at == 0 and wrong != b"\0":
                continue # an empty line before a request is allowed
            if wrong == b"\r" and head[at:at + 1] == b"\n":
                continue # a second carriage return at the end of a line: see below
            if wrong == b"\n" and (head[at - 1:at] == b"\r" or head[at:at + 1] == b"\r"):
                continue # ends the line or the head properly, or is listed below
            self.refused_alone((at, wrong, "before"), put_before + body, (400, 401, 404, 405))
        for lines in (b"\r\r\n", b"\n", b"\n\r"):
            for at in [place for place in range(len(head)) if head.startswith(b"\r\n", place)]:
                self.refused_alone((at, lines), head[:at] + lines + head[at + 2:] + body)
        for header in self.hostile_headers(body):
            self.refused_alone(header, post(known + header, body), (400, 413, 415, 501))
        for name in (b"Content-Length", b"Transfer-Encoding", b"Host", b"Authorization", b"X-Other"):
            for byte in range(256):
                if bytes([byte]) in b"!#$%&'*+-.^_`|~0123456789:\t" or chr(byte).isascii() and chr(byte).isalpha():
                    continue
                if byte in (10, 13):
                    continue # above
                wrong = name + bytes([byte]) + b": 1\r\n"
                self.refused_alone(wrong, post(known + length + wrong, body))
                if byte < 32 or byte == 127:
                    wrong = b"X-Value: a" + bytes([byte]) + b"b\r\n"
                    self.refused_alone(wrong, post(known + length + wrong, body))
        self.assertEqual(self.state(), before)

    def hostile_headers(self, body):
        size = len(body)
        for value in (b"", b" ", b"-1", b"+%d" % size, b"0x%x" % size, b"%d " % size + b"1", b"%d,%d" % (size, size),
                      b"%d, %d" % (size, size), b"1e2", b"%d.0" % size, b"18446744073709551616", b"9" * 100,
                      b"\xd9\xa1", b"%d;" % size, b"'%d'" % size, b"NaN"):
            yield b"Content-Length: " + value + b"\r\n"
        for one, two in itertools.product((size, 0, 1, size + 1), repeat=2):
            yield b"Content-Length: %d\r\nContent-Length: %d\r\n" % (one, two)
        for coding in (b"chunked", b"Chunked", b"identity", b"gzip", b"gzip, chunked", b"chunked, chunked", b"chunked, identity",
                       b"xchunked", b"chunked;q=1", b"\"chunked\"", b",chunked", b"chunked,", b"cow"):
            yield b"Transfer-Encoding: " + coding + b"\r\nContent-Length: %d\r\n" % size
            yield b"Content-Length: %d\r\nTransfer-Encoding: " % size + coding + b"\r\n"
            if coding.lower() != b"chunked":
                yield b"Transfer-Encoding: " + coding + b"\r\n"
            for other in (b"chunked", b"identity"):
                yield b"Transfer-Encoding: " + coding + b"\r\nTransfer-Encoding: " + other + b"\r\n"
        for name in (b"Content-Length ", b" Content-Length", b"Content-Length\t", b"Transfer-Encoding ",
                     b" Transfer-Encoding", b"Transfer-Encoding\x0b", b"Host ", b"Content Length", b"", b":", b"Content-Length:"):
            yield name + b": chunked\r\nContent-Length: %d\r\n" % size
        yield b"X-Folded: a\r\n b\r\nContent-Length: %d\r\n" % size
        yield b"X-Folded: a\r\n\tb\r\nContent-Length: %d\r\n" % size
        yield b"no colon\r\nContent-Length: %d\r\n" % size
        for host in (b"Host: 127.0.0.1\r\n", b"Host: other\r\n", b"Host:\r\n", b"host: x\r\n"):
            yield host + b"Content-Length: %d\r\n" % size # beside the one that is there

    def test_chunks_that_are_none_are_refused_and_nothing_behind_them_runs(self):
        before = self.state()
        body = json.dumps(pull_body("b")).encode()
        size = b"%x" % len(body)
        head = post(HOST + b"Authorization: " + self.token + b"\r\nTransfer-Encoding: chunked\r\n")
        good = size + b"\r\n" + body + b"\r\n0\r\n\r\n"
        self.assertEqual(self.answer(head + good).status, 200)
        sizes = [b"+" + size, b"-" + size, b"0x" + size, b" " + size, size + b" ", size + b"g", b"g", b"", b"f" * 17,
                 b"8" + b"0" * 15, size + b"\0", b"\0" + size, size + b"\t", b"\xff", size + b",", size + b":", b"1.1"]
        ends = [b"\n", b"\r", b"\r\r\n", b"\n\r", b"", b" \n", b"\0\r\n"]
        for wrong in sizes:
            self.refused_alone(wrong, head + wrong + b"\r\n" + body + b"\r\n0\r\n\r\n")
            self.refused_alone(wrong, head + size + b"\r\n" + body + b"\r\n" + wrong + b"\r\n\r\n")
        for wrong in ends:
            self.refused_alone(wrong, head + size + wrong + body + b"\r\n0\r\n\r\n")
            self.refused_alone(wrong, head + size + b"\r\n" + body + wrong + b"0\r\n\r\n")
            self.refused_alone(wrong, head + size + b"\r\n" + body + b"\r\n0" + wrong + b"\r\n")
        for trailer in (b"X : 1\r\n", b"no colon\r\n", b"Content-Length: 3\n", b"X: a\0b\r\n", b"X: 1\rY: 2\r\n"):
            self.refused_alone(trailer, head + size + b"\r\n" + body + b"\r\n0\r\n" + trailer + b"\r\n")
        self.assertEqual(self.state(), before)

    def test_lines_and_heads_without_end_are_refused_with_a_problem(self):
        known = HOST + b"Authorization: " + self.token + b"\r\n"
        for size in (30000, 33000, 40000, 70000, 300000):
            for what, data in (
                    ("target", b"GET /" + b"a" * size + b" HTTP/1.1\r\n" + known + b"\r\n"),
                    ("query", b"GET " + PATH + b"/versions?" + b"a" * size + b" HTTP/1.1\r\n" + known + b"\r\n"),
                    ("method", b"G" * size + b" / HTTP/1.1\r\n" + known + b"\r\n"),
                    ("version", b"GET / HTTP/" + b"1" * size + b"\r\n" + known + b"\r\n"),
                    ("value", b"GET / HTTP/1.1\r\n" + known + b"X: " + b"a" * size + b"\r\n\r\n"),
                    ("name", b"GET / HTTP/1.1\r\n" + known + b"a" * size + b": 1\r\n\r\n"),
                    ("headers", b"GET / HTTP/1.1\r\n" + known + b"A: 1\r\n" * (size // 6) + b"\r\n"),
                    ("token", b"GET / HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + b"a" * size + b"\r\n\r\n")):
                with self.subTest(what, size=size):
                    self.refused(what, data)

    def test_heads_at_the_limits_are_taken_and_one_byte_more_is_not(self):
        """The library has room for what the gate lets through: also with cookies, which are left out."""
        def head(headers, parameters, size, cookie):
            query = b"&".join(b"a%d=" % number for number in range(parameters))
            lines = [b"X-%d: %d" % (number, number) for number in range(headers - 4)]
            first = b"GET " + PATH + b"/versions?" + query + b" HTTP/1.1\r\n" + HOST + b"Authorization: " + self.token
            start = b"\r\n".join([first, *lines, b"Cookie: " + cookie]) + b"\r\nX: "
            return start + b"a" * (size - len(start) - 4) + b"\r\n\r\n"
        cookies = [b"a=b; " * 1000, b"a=b", b";" * 5000]
        for parameters, headers, size, cookie in itertools.product((1, 32, 33), (5, 64, 65), (16383, 16384, 16385), cookies):
            taken = parameters <= 32 and headers <= 64 and size <= 16384
            text = head(headers, parameters, size, cookie)
            self.assertEqual(len(text), size)
            sent["limits"] += 1
            answer = self.answer(text)
            if taken:
                self.assertEqual(answer.status, 200, (parameters, headers, size, answer))
            else:
                self.check_refusal(answer, (parameters, headers, size))
                self.assertIn(answer.status, (414, 431))
                self.assertEqual(answer.headers["connection"].lower(), "close")
        for length in (8192, 8193): # of the target
            target = b"/v1/" + b"a" * (length - 4)
            answer = self.answer(request(b"GET", target, self.token))
            self.assertEqual(answer.status, 404 if length == 8192 else 414)

    def refused(self, what, data):
        """The only response is a refusal, and the server closes the connection."""
        sent[self.id().rpartition(".")[2]] += 1
        answers = answers_of(everything(self.server.port, data, then_end=False))
        self.assertEqual(len(answers), 1, what)
        self.check_refusal(answers[0], what)
        self.assertIn(answers[0].status, (400, 401, 404, 405, 414, 431), answers[0])

    def test_request_lines_that_are_none_are_refused(self):
        known = HOST + b"Connection: close\r\nAuthorization: " + self.token + b"\r\n\r\n"
        lines = [b"GET", b"GET ", b"GET /", b"GET / ", b" GET / HTTP/1.1", b"GET  / HTTP/1.1", b"GET / HTTP/1.1 ",
                 b"GET\t/\tHTTP/1.1", b"GET / HTTP/1.2", b"GET / HTTP/2.0", b"GET / HTTP/0.9", b"GET / http/1.1",
                 b"GET / HTTP/1.10", b"GET / HTTP/11", b"GET / HTTP/ 1.1", b"GET / XTTP/1.1", b"GET / HTTP/1.1 x",
                 b"G\0T / HTTP/1.1", b"G(T / HTTP/1.1", b"GET /\0 HTTP/1.1", b"GET / a HTTP/1.1", b"\xff\xfe / HTTP/1.1",
                 b"PRI * HTTP/2.0", b"GET /\x7f HTTP/1.1", b"GET /\xff HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00",
                 b"{}", b"<xml/>", b"CONNECT 127.0.0.1:1 HTTP/1.1", b"GET http://127.0.0.1/v1/limits HTTP/1.1",
                 b"GET //v1/limits HTTP/1.1", b"GET * HTTP/1.1", b"GET v1/limits HTTP/1.1", b"GET ?x HTTP/1.1",
                 b"GET \\v1\\limits HTTP/1.1", b"TRACE /v1/limits HTTP/1.1", b"get /v1/limits HTTP/1.1"]
        for line in lines:
            with self.subTest(line=line):
                self.refused(line, line + b"\r\n" + known)

    def test_targets_lead_nowhere_else(self):
        """Paths that some program might take for another path: what is there is never shown."""
        parts = [b"..", b".", b"%2e%2e", b"%2E.", b"..%2f", b"%2f", b"%5c", b"\\", b"%00", b"%0d%0a", b"%ff", b"%c0%af", b"%",
                 b"%2", b"%zz", b"+", b"%20", b";x", b"*", b"~", b"%252e%252e", b"\xc3\xa9", b"%e2%80%ae", b"a" * 65, b""]
        peer = Peer(self.server.port)
        batch = []
        for one, two in itertools.product(parts, repeat=2):
            for form in (b"/v1/orgs/%s/projects/%s", b"/v1/%s/orgs/%s/projects/p", b"/v1/orgs/acme/projects/p/%s/%s",
                         b"/v1/orgs/acme/projects/p/../%s%s"):
                batch.append(request(b"GET", form % (one, two), self.token))
        for start in range(0, len(batch), 100):
            for asked, answer in zip(batch[start:start + 100], peer.ask(batch[start:start + 100])):
                sent["targets"] += 1
                self.check_refusal(answer, asked)
                self.assertIn(answer.status, (400, 404, 405), (asked, answer))
        peer.close()

    def hostile_tokens(self):
        header, payload, signature = self.text.split(".")
        decode = lambda part: base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        head, claims = json.loads(decode(header)), json.loads(decode(payload))
        for name in ("none", "None", "NONE", "HS256", "HS512", "RS256", "", 1, None, "ES384"):
            for ending in (signature, "", encode(b"\0" * 64)):
                yield f"{encode(json.dumps({**head, 'alg': name}).encode())}.{payload}.{ending}"
        for member, value in (("jwk", {"kty": "oct", "k": "AA"}), ("jku", "http://127.0.0.1:1/"), ("x5u", "http://127.0.0.1:1/"),
                              ("x5c", ["AA"]), ("kid", "../../etc/passwd"), ("kid", ""), ("kid", None), ("kid", 7),
                              ("crit", ["exp"]), ("zip", "DEF"), ("b64", False)):
            yield f"{encode(json.dumps({**head, member: value}).encode())}.{payload}.{signature}"
        for change in ({"org": "*"}, {"org": "other"}, {"role": "admin"}, {"sub": "root"}, {"exp": 9e15}, {"exp": "x"},
                       {"exp": -1}, {"iss": "x"}, {"aud": "x"}, {"aud": []}, {"nbf": 9e15}, {"projects": []}):
            yield f"{header}.{encode(json.dumps({**claims, **change}).encode())}.{signature}"
        for at in range(0, len(self.text), 2): # each other byte, once
            if self.text[at] != "." and at != len(self.text) - 1:
                yield self.text[:at] + ("A" if self.text[at] != "A" else "B") + self.text[at + 1:]
        for at in range(0, len(self.text), 3):
            yield self.text[:at]
        for text in (".", "..", "...", "a.b.c", self.text + ".", "." + self.text, self.text + ".x", f"{header}..{signature}",
                     f".{payload}.{signature}", self.text.replace(".", ".."), "\xff.\xff.\xff", "e30.e30.e30", "e30.e30.",
                     encode(b"[" * 5000) + ".e30.e30", encode(b"{\"a\":" * 5000) + ".e30.e30", "A" * 20000):
            yield text
        for claims_text in (b"[]", b"1", b"null", b"{", b"\"x\"", b"{}", b"{\"exp\":1e999}", b"[" * 3000):
            yield f"{header}.{encode(claims_text)}.{signature}"

    def test_tokens_that_are_not_signed_open_nothing(self):
        before = self.state()
        peer = Peer(self.server.port)
        texts = list(self.hostile_tokens())
        push = json.dumps(push_body("evil", [put("n1", "evil")])).encode()
        for start in range(0, len(texts), 20):
            batch = [request(*what, b"Bearer " + text.encode("latin-1"), body)
                     for text in texts[start:start + 20]
                     for what, body in (((b"GET", PATH), None), ((b"POST", PATH + b"/push"), push))]
            for asked, answer in zip(batch, peer.ask(batch)):
                sent["tokens"] += 1
                self.check_refusal(answer, asked)
                self.assertEqual(answer.status, 431 if len(asked) > 16384 else 401, (asked, answer))
        schemes = [b"Basic ", b"bearer:", b"", b"Digest ", b"Token ", b"JWT ", b"Bearer\t\t,", b"Bearer Bearer ", b"Bearer,"]
        for asked, answer in zip(schemes, peer.ask([request(b"GET", PATH, one + self.text.encode()) for one in schemes])):
            sent["tokens"] += 1
            self.assertEqual(answer.status, 401, asked)
        for number in range(300):
            text = random.Random(number).randbytes(16).hex().encode()
            answer = peer.ask([request(b"GET", PATH + b"/events?ticket=" + text)])[0]
            sent["tickets"] += 1
            self.check_refusal(answer, text)
            self.assertEqual((answer.status, answer.problem["code"]), (401, "token-invalid"))
        self.assertEqual(self.state(), before)

    VALUES = [None, True, 0, -1, 1.5, 2 ** 53, 2 ** 63, -2 ** 63, 1e300, "", "x", "\0", "\ud7ff\uffff", "a" * 600, "../x", [], [[]],
              [None], {}, {"a": {}}, {"": 0}, ["x"] * 300, json.loads("[" * 60 + "]" * 60)]

    def bodies(self):
        """Valid messages with each of their members replaced by each of the values, left out, or doubled."""
        push = push_body("evil", [put("n2", 1)])
        messages = {b"/push": {**push, "kedge": {"client": "evil"}}, b"/pull": {**pull_body("evil"), "kedge": {"client": "evil"}},
                    b"/clients/evil/retire": {"clientGroupID": "g-evil", "uid": "0" * 32},
                    b"/fork": {"from": {"organization": "acme", "project": "p", "version": 1}},
                    b"/rebase": {"job": "j", "from": {"organization": "acme", "project": "p"}, "from_version": 1, "to_version": 1},
                    b"/logs/events/entries": {"type": "x", "version": 1, "id": "0" * 32, "body": 1},
                    b"/logs/events/truncate": {"before": 1}}
        for path, message in messages.items():
            for place in self.places(message):
                for value in self.VALUES:
                    yield path, json.dumps(self.replaced(message, place, value)).encode()
            text = json.dumps(message).encode()
            for at in range(0, len(text), max(1, len(text) // 40)):
                yield path, text[:at]
                yield path, text[:at] + b"\xff" + text[at:]
                yield path, text[:at] + b"\0" + text[at:]
            for wrong in (b"", b"null", b"[]", b"1", b"\"\"", text + b"x", text + text, b"\xef\xbb\xbf" + text, b"[" * 100000,
                          b"{\"a\":" * 50000, text.replace(b"{", b"{\"x\":1,\"x\":2,", 1), b"1" * 100000, b"\"\\ud800\"",
                          text.decode().encode("utf-16")):
                yield path, wrong

    def places(self, value, path=()):
        yield path
        members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, member in members:
            yield from self.places(member, path + (key,))

    def replaced(self, message, place, value):
        if not place:
            return value
        copy = dict(message) if isinstance(message, dict) else list(message)
        copy[place[0]] = self.replaced(copy[place[0]], place[1:], value)
        return copy

    def test_bodies_with_wrong_members_are_refused_or_mean_what_they_say(self):
        peer = Peer(self.server.port)
        batch = list(self.bodies())
        statuses = collections.Counter()
        for start in range(0, len(batch), 25):
            part = batch[start:start + 25]
            asked = [request(b"POST", PATH + path, self.token, body) for path, body in part]
            for what, answer in zip(part, peer.ask(asked)):
                sent["bodies"] += 1
                statuses[answer.status] += 1
                if answer.status not in (200, 201, 202):
                    self.check_refusal(answer, what)
                    self.assertIn(answer.status, (400, 403, 404, 409, 413), (what, answer))
        self.assertGreater(statuses[400], 1000, statuses)
        peer.close()
        patch = self.state()[0] # whatever was taken was an edit of notes
        self.assertIn({"op": "put", "key": "notes/n1", "value": 1}, patch)

    def test_cookies_and_queries_that_no_server_made_are_refused_or_start_anew(self):
        peer = Peer(self.server.port)
        cookies = self.VALUES + [{"order": value, "lineage": "x"} for value in self.VALUES] + [
            {"order": 1, "lineage": value} for value in self.VALUES] + [{"order": order, "lineage": lineage, "x": 1}
            for order in (0, 1, 2, 99) for lineage in ("", "0" * 16, "0" * 32, "f" * 64)]
        asked = [request(b"POST", PATH + b"/pull", self.token, json.dumps(pull_body("c", cookie)).encode()) for cookie in cookies]
        numbers = [b"", b"-1", b"0", b"1", b"1.0", b"1e1", b"+1", b" 1", b"01", b"9" * 30, b"0x1", b"%31", b"1%00", b"latest", b"\xd9\xa1"]
        for name, number in itertools.product((b"limit", b"before", b"version", b"after", b"from", b"to", b"cursor"), numbers):
            for path in (b"/versions", b"/snapshot", b"/clients/a/mutations", b"/logs/events/entries", b"/logs", b"/versions/1/collections/notes"):
                asked.append(request(b"GET", PATH + path + b"?" + name + b"=" + number, self.token))
                asked.append(request(b"GET", PATH + path + b"?" + name + b"=1&" + name + b"=" + number, self.token))
        for start in range(0, len(asked), 50):
            for what, answer in zip(asked[start:start + 50], peer.ask(asked[start:start + 50])):
                sent["cookies"] += 1
                if answer.status != 200:
                    self.check_refusal(answer, what)
                    self.assertIn(answer.status, (400, 404, 409, 410), (what, answer))
        peer.close()


class Encrypted(unittest.TestCase):
    """The gate stands behind the decryption, too."""

    def test_behind_tls_heads_are_as_strict_and_large_bodies_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            certificate, key = str(root / "tls.pem"), str(root / "tls-key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                            "-subj", "/CN=127.0.0.1", "-days", "2"], check=True, capture_output=True)
            make_keys(root)
            token = b"Bearer " + make_token(root, {"org": "acme", "role": "admin"}).encode()
            server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge",
                            "--tls-certificate", certificate, "--tls-key", key)
            context = ssl.create_default_context(cafile=certificate)
            context.check_hostname = False

            def ask(data):
                with socket.create_connection(("127.0.0.1", server.port), timeout=180) as plain:
                    with context.wrap_socket(plain) as raw:
                        raw.sendall(data)
                        seen = b""
                        with contextlib.suppress(ConnectionResetError, ssl.SSLError):
                            while piece := raw.recv(65536):
                                seen += piece
                        return answers_of(seen)

            try:
                end = b"Connection: close\r\n"
                self.assertEqual([answer.status for answer in ask(request(b"PUT", PATH, token, headers=end))], [201])
                push = json.dumps(push_body("a", [put("n1", "x" * (3 << 20))])).encode()
                self.assertEqual([a.status for a in ask(request(b"POST", PATH + b"/push", token, push, end))], [200])
                three = request(b"GET", PATH, token) * 2 + request(b"GET", PATH, token, headers=end)
                self.assertEqual([answer.status for answer in ask(three)], [200] * 3)
                for line in (b"X: a\n", b"X: a\0b\r\n", b"Host: twice\r\n"):
                    answer, = ask(request(b"GET", PATH, token, headers=line) + HIDDEN)
                    self.assertEqual((answer.status, answer.problem["code"]), (400, "head-invalid"))
            finally:
                self.assertEqual(server.stop(), 0, server.logged())


if __name__ == "__main__":
    run_tests()
