"""Heads of requests that a proxy might read otherwise than the server: each is refused with a problem document, the
connection is closed, and what stands behind the head is never run as a request.

Usage: head_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import http.client
import io
import json
import re
import tempfile
import unittest

from peers import BASE, Server, pull_body, push_body, put, run_tests

HOST = b"Host: 127.0.0.1\r\n"
PUSH = json.dumps(push_body("smuggled", [put("n1", 1)])).encode()
HIDDEN = b"POST " + BASE.encode() + b"/push HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(PUSH) + PUSH


def post(headers, body=b"", version=b"HTTP/1.1"):
    return b"POST " + BASE.encode() + b"/pull " + version + b"\r\n" + headers + b"\r\n" + body


REFUSED = {
    "two lengths": (post(HOST + b"Content-Length: 2\r\nContent-Length: 9\r\n", b"{}"), "more than one Content-Length"),
    "two equal lengths": (post(HOST + b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}"),
                          "more than one Content-Length"),
    "a length and a coding": (post(HOST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                              "beside a Transfer-Encoding"),
    "a coding and a length": (post(HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", b"0\r\n\r\n"),
                              "beside a Transfer-Encoding"),
    "a space before the colon of a coding": (post(HOST + b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
                                             "a space before the colon"),
    "a space before the colon of a length": (post(HOST + b"Content-Length : 2\r\n", b"{}"), "a space before the colon"),
    "another coding": (post(HOST + b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"), "must be chunked"),
    "two codings": (post(HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                    "more than one Transfer-Encoding"),
    "a list of codings": (post(HOST + b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), "must be chunked"),
    "a coding in HTTP/1.0": (post(HOST + b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"HTTP/1.0"), "HTTP/1.0 has no"),
    "no host": (post(b"Content-Length: 2\r\n", b"{}"), "Host is missing"),
    "two hosts": (post(HOST + HOST + b"Content-Length: 2\r\n", b"{}"), "more than one Host"),
    "two tokens": (post(HOST + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n", b"{}"),
                   "more than one Authorization"),
    "a control character in a value": (post(HOST + b"X-A: a\x01b\r\nContent-Length: 2\r\n", b"{}"), "control character"),
    "a name that is none": (post(HOST + b"X(A): a\r\nContent-Length: 2\r\n", b"{}"), "not allowed"),
}
# The HTTP library refuses these itself, before it shows them to the server.
REFUSED_BELOW = {
    "a list of lengths": post(HOST + b"Content-Length: 2, 2\r\n", b"{}"),
    "a length with a sign": post(HOST + b"Content-Length: +2\r\n", b"{}"),
    "a length in hexadecimal digits": post(HOST + b"Content-Length: 0x2\r\n", b"{}"),
    "a chunk whose size is no number": post(HOST + b"Transfer-Encoding: chunked\r\n", b"+2\r\n{}\r\n0\r\n\r\n"),
}
TAKEN = {
    "a length": post(HOST + b"Content-Length: %d\r\n", b"%s"),
    "a coding": post(HOST + b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n"),
    "a coding in capitals": post(HOST + b"TRANSFER-ENCODING: Chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n"),
    "a space behind a coding": post(HOST + b"Transfer-Encoding: chunked \r\n", b"%x\r\n%s\r\n0\r\n\r\n"),
    "a tab behind a coding": post(HOST + b"Transfer-Encoding:\tchunked\t\r\n", b"%x\r\n%s\r\n0\r\n\r\n"),
    "a space behind a length": post(HOST + b"Content-Length:%d \r\n", b"%s"),
    "a space behind a host": post(HOST[:-2] + b" \r\nContent-Length: %d\r\n", b"%s"),
    "a tab in a value": post(HOST + b"X-A: a\tb\r\nContent-Length: %d\r\n", b"%s"),
}


IDLE_S = 45 # after so long without a request the server closes a connection (KEDGE_SERVER_IDLE_TIMEOUT_S)


def everything(raw):
    """All that the server sends until it closes; fails when it waits longer, say for another request."""
    raw.settimeout(IDLE_S / 2)
    seen = b""
    try:
        while piece := raw.recv(65536):
            seen += piece
    except ConnectionResetError:
        pass # it closed before it had read all
    return seen


class Parsed:
    def __init__(self, text):
        class Fake:
            def makefile(self, *_):
                return io.BytesIO(text)
        response = http.client.HTTPResponse(Fake())
        response.begin()
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        self.statuses = re.findall(rb"HTTP/1.1 ([0-9]+)", text)


class Heads(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(self.server.stop)

    def test_a_head_with_two_meanings_is_refused_and_nothing_behind_it_runs(self):
        for what, (head, why) in REFUSED.items():
            with self.subTest(what), self.server.connect(head + HIDDEN) as raw:
                answer = Parsed(everything(raw))
                self.assertEqual(answer.status, 400)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
                self.assertEqual(answer.headers["Connection"].lower(), "close")
                problem = json.loads(answer.body)
                self.assertEqual(problem["code"], "head-invalid")
                self.assertIn(why, problem["detail"])
                self.assertEqual(answer.statuses, [b"400"])
        for what, head in REFUSED_BELOW.items():
            with self.subTest(what), self.server.connect(head + HIDDEN) as raw:
                self.assertEqual(set(Parsed(everything(raw)).statuses), {b"400"})
        status, _, problem = self.server.request("GET", BASE + "/clients/smuggled/mutations/latest")
        self.assertIn((status, problem["code"]), [(404, "project-not-found"), (404, "mutation-not-found")])

    def test_heads_with_one_meaning_are_taken_and_a_body_has_nothing_of_the_next_request(self):
        """As through a proxy that sends requests of several peers on one connection."""
        pull = json.dumps(pull_body("a")).encode()
        self.assertEqual(self.server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]))[0], 200)
        last = b"GET /v1/limits HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
        for what, form in TAKEN.items():
            with self.subTest(what), self.server.connect(form % (len(pull), pull) + last) as raw:
                self.assertEqual(Parsed(everything(raw)).statuses, [b"200", b"200"])

    def test_an_old_request_may_lack_a_host_and_is_the_last_one_of_its_connection(self):
        last = b"GET /v1/limits HTTP/1.1\r\n" + HOST + b"\r\n"
        with self.server.connect(b"GET /v1/health HTTP/1.0\r\n\r\n" + last) as raw:
            answer = Parsed(everything(raw))
            # In open mode the host must be a loopback name; without tokens there is no 400.
            self.assertEqual((answer.statuses, json.loads(answer.body)["code"]), ([b"403"], "not-allowed"))


run_tests()
