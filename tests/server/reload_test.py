#!/usr/bin/env python3
"""What a kedge-server reads again while it runs: keys from a URL, revoked tokens, its TLS certificate.

Usage: reload_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import http.client
import http.server
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from peers import BASE, SLOWER, Server, push_body, put, read_until, run_tests
from tokens import make_keys, make_token


def wait_for(condition, seconds=90):
    """As that of peers, but what is waited for here takes seconds: it looks less often."""
    end, pause = time.monotonic() + seconds * SLOWER, threading.Event()
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition did not come true in time")
        pause.wait(0.05)


def certificate(folder, name):
    """A certificate of its own for 127.0.0.1; its two files."""
    files = folder / f"{name}.pem", folder / f"{name}-key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", str(files[1]), "-out", str(files[0]), "-subj", f"/CN={name}", "-days", "2",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return files


class Publisher:
    """A login service that publishes a key set; `respond` tells how."""

    def __init__(self, tls=None):
        publisher, self.asked = self, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.asked += 1
                publisher.respond(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, tls))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}/keys"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def publish(self, text, status=200, headers=()):
        def respond(handler):
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(text)))
            for name, value in headers:
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(text)
        self.respond = respond

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        make_keys(self.root)
        (self.root / "next").mkdir()
        make_keys(self.root / "next")

    def start(self, *options, jwks=None, environment=None):
        self.server = Server(self.root / "data", "--jwks", str(jwks or self.root / "keys.json"), "--issuer", "i",
                             "--audience", "kedge", *options,
                             environment={**os.environ, **environment} if environment else None)
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, self.server.logged()))
        self.server.metrics_headers = self.token(sub="root", org="*", role="admin")
        return self.server

    def token(self, keys="", **claims):
        return {"Authorization": "Bearer " + make_token(self.root / keys, {"sub": "ann", **claims})}

    def status(self, token):
        return self.server.request("GET", "/v1/orgs/acme/projects", headers=token)[0]

    def reloads(self, of, outcome):
        return self.server.metric(f'kedge_reloads_total{{of="{of}",outcome="{outcome}"}}')


class KeysByUrl(Base):
    def publisher(self, **options):
        publisher = Publisher(**options)
        self.addCleanup(publisher.stop)
        publisher.publish((self.root / "keys.json").read_bytes())
        return publisher

    def test_keys_of_a_url_are_changed_without_a_restart(self):
        publisher = self.publisher()
        self.start("--jwks-every", "1", jwks=publisher.url)
        old, new = self.token(), self.token("next")
        self.assertEqual((self.status(old), self.status(new)), (200, 401))
        wait_for(lambda: publisher.asked > 2)
        self.assertNotIn("keys-loaded", self.server.logged())
        publisher.publish((self.root / "next/keys.json").read_bytes())
        wait_for(lambda: self.status(new) == 200)
        self.assertEqual(self.status(old), 401)
        self.assertIn("keys-loaded", self.server.logged())

    def test_sighup_asks_the_url_at_once(self):
        publisher = self.publisher()
        self.start("--jwks-every", "86400", jwks=publisher.url)
        publisher.publish((self.root / "next/keys.json").read_bytes())
        self.assertEqual(publisher.asked, 1)
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.status(self.token("next")) == 200)
        self.assertEqual(publisher.asked, 2)

    def test_the_last_good_keys_stay_whatever_the_url_responds(self):
        publisher = self.publisher()
        self.start("--jwks-every", "1", jwks=publisher.url)
        token, failed = self.token(), 0
        elsewhere = self.publisher()
        elsewhere.publish((self.root / "next/keys.json").read_bytes())
        keys = (self.root / "next/keys.json").read_bytes()
        for text, status, headers, why in ((b"", 200, (), "jwks-invalid"), (b"<html>", 200, (), "jwks-invalid"),
                                           (b'{"keys":[]}', 200, (), "jwks-invalid"),
                                           (keys + b" " * (1 << 20), 200, (), "jwks-unreachable"),
                                           (keys, 500, (), "the status 500"), (keys, 204, (), "the status 204"),
                                           (keys, 302, (("Location", elsewhere.url),), "the status 302")):
            with self.subTest(why, status=status):
                publisher.publish(text, status, headers)
                wait_for(lambda: why in self.server.logged().split("keys-not-loaded")[-1]
                         and self.reloads("keys", "failed") > failed)
                failed = self.reloads("keys", "failed")
                self.assertEqual((self.status(token), self.status(self.token("next"))), (200, 401))
        self.assertEqual(elsewhere.asked, 0)
        publisher.publish(keys)
        wait_for(lambda: self.status(self.token("next")) == 200)

    def test_a_url_that_never_responds_blocks_neither_requests_nor_the_stop(self):
        publisher = self.publisher()
        self.start("--jwks-every", "1", jwks=publisher.url)
        hangs = threading.Event()
        self.addCleanup(hangs.set)
        publisher.respond = lambda handler: hangs.wait(600)
        asked = publisher.asked
        wait_for(lambda: publisher.asked > asked)
        self.assertEqual(self.status(self.token()), 200)
        wait_for(lambda: "request-timeout" in self.server.logged() or self.reloads("keys", "failed") > 0)
        self.assertEqual(self.status(self.token()), 200)
        asked = publisher.asked
        wait_for(lambda: publisher.asked > asked)
        self.assertEqual(self.server.stop_within(5), 0)

    def test_https_needs_a_certificate_that_is_trusted(self):
        publisher = self.publisher(tls=certificate(self.root, "login"))
        with self.assertRaisesRegex(RuntimeError, "jwks-unreachable"):
            self.start(jwks=publisher.url)
        self.start(jwks=publisher.url, environment={"SSL_CERT_FILE": str(self.root / "login.pem")})
        self.assertEqual(self.status(self.token()), 200)

    def test_a_url_over_the_network_without_tls_and_one_that_is_not_there_do_not_start(self):
        for url in ("http://login.example.com/keys", "http://127.0.0.1@login.example.com/", "http://127.0.0.1.example.com/",
                    "ftp://127.0.0.1/keys", "https://", "http://localhost\\@example.com/"):
            with self.assertRaisesRegex(RuntimeError, "--jwks takes a file", msg=url):
                self.start(jwks=url)
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            with self.assertRaisesRegex(RuntimeError, "jwks-unreachable"):
                self.start(jwks=f"http://127.0.0.1:{closed.getsockname()[1]}/keys")
        for every in ("0", "86401", "x"):
            with self.assertRaisesRegex(RuntimeError, "from 1 to 86400"):
                self.start("--jwks-every", every, jwks="http://127.0.0.1:1/keys")
        with self.assertRaisesRegex(RuntimeError, "is for a URL"):
            self.start("--jwks-every", "5")


class Revoked(Base):
    def write(self, **lists):
        (self.root / "fresh").write_text(json.dumps(lists))
        (self.root / "fresh").replace(self.root / "revoked.json")

    def setUp(self):
        super().setUp()
        self.write()
        self.start("--revoked", str(self.root / "revoked.json"))
        self.assertEqual(self.server.request("PUT", BASE, headers=self.token(role="admin"))[0], 201)

    def test_a_token_or_a_users_older_tokens_are_void_within_seconds(self):
        now = int(time.time())
        one, other = self.token(jti="t1"), self.token(jti="t2")
        self.assertEqual((self.status(one), self.status(other)), (200, 200))
        began = time.monotonic()
        self.write(tokens=["t1"])
        wait_for(lambda: self.status(one) == 401)
        self.assertLess(time.monotonic() - began, 5 * SLOWER)
        self.assertEqual(self.server.request("GET", BASE + "/versions", headers=one)[2]["code"], "token-revoked")
        self.assertEqual(self.status(other), 200)
        old, new, bob = self.token(iat=now - 100), self.token(iat=now), self.token(iat=now - 100, sub="bob")
        self.write(users=[{"user": "ann", "before": now}])
        wait_for(lambda: self.status(old) == 401)
        self.assertEqual([self.status(token) for token in (new, bob, one)], [200, 200, 200])
        self.assertGreaterEqual(self.reloads("revoked", "loaded"), 2)

    def test_a_token_that_is_revoked_while_its_body_comes_is_refused(self):
        self.server.stop()
        self.start("--revoked", str(self.root / "revoked.json"), "--request-timeout", "1")
        one, other = self.token(jti="t1"), self.token(jti="t2")
        body = json.dumps(push_body("a", [put("n1", "x" * 4000000)])).encode()
        head = (f"POST {BASE}/push HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {one['Authorization']}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        with self.server.connect(head.encode()) as raw:
            began, at = time.monotonic(), 100000
            raw.sendall(body[:at])
            wait_for(lambda: self.server.metric("kedge_held_bytes") > 0)
            self.write(tokens=["t1"])

            def goes_on_until_it_is_revoked():
                """40,000 bytes a second; and longer than a request may take, since only then the token is checked again."""
                nonlocal at
                raw.sendall(body[at:at + 2000])
                at += 2000
                return self.status(one) == 401 and time.monotonic() > began + 2

            wait_for(goes_on_until_it_is_revoked)
            raw.sendall(body[at:])
            read_until(raw, b"token-revoked")
        versions = self.server.request("GET", BASE + "/versions", headers=other)[2]["versions"]
        self.assertEqual([version for version in versions if version["mutations"]], [])

    def test_event_streams_and_tickets_of_a_revoked_token_end_and_others_open_again(self):
        one, other = self.token(jti="t1"), self.token(jti="t2")
        ticket = self.server.request("POST", BASE + "/events/ticket", headers=one)[2]["ticket"]
        streams = [self.server.events(token) for token in (one, other)]
        for raw in streams:
            read_until(raw, b"event: poke")
        self.write(tokens=["t1"])
        for raw in streams:
            read_until(raw, b"0\r\n\r\n")  # the last chunk
            raw.close()
        self.assertEqual(self.server.request("GET", f"{BASE}/events?ticket={ticket}")[0], 401)
        self.assertEqual(self.server.request("GET", BASE + "/events", headers=one)[2]["code"], "token-revoked")
        again = self.server.events(other)
        read_until(again, b"event: poke")
        self.server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]), other)
        read_until(again, b'{"version":1}')
        again.close()

    def test_a_list_that_is_wrong_or_gone_leaves_the_one_of_before(self):
        one = self.token(jti="t1")
        self.write(tokens=["t1"])
        wait_for(lambda: self.status(one) == 401)
        for change in (lambda: self.write(token=[]), (self.root / "revoked.json").unlink):
            failed = self.reloads("revoked", "failed")
            change()
            wait_for(lambda: self.reloads("revoked", "failed") > failed)
            self.assertEqual(self.status(one), 401)
        self.assertIn("revoked-not-loaded", self.server.logged())
        self.write()
        wait_for(lambda: self.status(one) == 200)

    def test_files_that_could_not_be_read_are_read_without_another_change(self):
        """As when the system has no more open files at the moment of the change."""
        old, new, revoked, pid = self.token(), self.token("next"), self.token("next", jti="t1"), self.server.process.pid
        self.assertEqual([self.status(token) for token in (old, new, revoked)], [200, 401, 401])
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
        self.write(tokens=["t1"])
        (self.root / "next/keys.json").replace(self.root / "keys.json")
        wait_for(lambda: "revoked-not-loaded" in self.server.logged() and "keys-not-loaded" in self.server.logged())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        wait_for(lambda: [self.status(token) for token in (old, new, revoked)] == [401, 200, 401])
        self.server.metrics_headers = self.token("next", sub="root", org="*", role="admin")
        self.assertEqual(self.server.request("GET", BASE + "/versions", headers=revoked)[2]["code"], "token-revoked")
        self.assertEqual((self.reloads("revoked", "failed"), self.reloads("keys", "failed")), (1, 1))

    def test_a_server_does_not_start_with_a_wrong_list_or_without_tokens(self):
        self.assertEqual(self.server.stop(), 0)
        self.write(token=[])
        with self.assertRaisesRegex(RuntimeError, "revoked-invalid"):
            self.start("--revoked", str(self.root / "revoked.json"))
        with self.assertRaisesRegex(RuntimeError, "file-unreadable"):
            self.start("--revoked", str(self.root / "nowhere"))
        with self.assertRaisesRegex(RuntimeError, "--open takes no tokens"):
            Server(self.root / "data", "--open", "--revoked", str(self.root / "revoked.json"))


class Certificate(Base):
    def setUp(self):
        super().setUp()
        self.files = self.root / "tls.pem", self.root / "tls-key.pem"
        self.install("first")
        self.start("--tls-certificate", str(self.files[0]), "--tls-key", str(self.files[1]))

    def install(self, name):
        self.made = certificate(self.root, name)
        for made, file in zip(self.made, self.files):
            shutil.copyfile(made, file)

    def connect(self):
        """Over TLS, with trust in the newest certificate alone."""
        context = ssl.create_default_context(cafile=str(self.made[0]))
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60 * SLOWER, context=context)

    def ask(self, connection, path="/v1/health"):
        connection.request("GET", path, headers=self.token(org="*", role="admin"))
        response = connection.getresponse()
        text = response.read()
        return response.status, text.decode()

    def wait_for_log(self, text, count=1):
        wait_for(lambda: self.server.logged().count(text) >= count)

    def test_sighup_loads_another_certificate_and_connections_go_on(self):
        before = self.connect()
        self.assertEqual(self.ask(before)[0], 200)
        self.install("second")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.ask(self.connect())
        self.server.process.send_signal(signal.SIGHUP)
        self.wait_for_log("certificate-loaded")
        for _ in range(20):
            self.assertEqual(self.ask(self.connect())[0], 200)
        self.assertEqual(self.ask(before)[0], 200)
        text = self.ask(before, "/v1/metrics")[1]
        self.assertIn('kedge_reloads_total{of="certificate",outcome="loaded"} 1\n', text)
        expires = int(text.split("\nkedge_certificate_expires_seconds ")[1].split()[0])
        self.assertAlmostEqual(expires, time.time() + 2 * 86400, delta=600 * SLOWER)

    def test_a_certificate_that_is_wrong_leaves_the_one_of_before(self):
        first = self.connect()
        stranger = certificate(self.root, "stranger")
        wrong = ((self.files[1], stranger[1].read_bytes(), "is not that of the certificate"),
                 (self.files[0], b"-----BEGIN CERTIFICATE-----\n", "cannot be read"),
                 (self.files[0], b"", "cannot be read"), (self.files[1], b"x", "cannot be read"))
        for count, (file, text, why) in enumerate(wrong, 1):
            with self.subTest(why, file=file.name):
                good = file.read_bytes()
                file.write_bytes(text)
                self.server.process.send_signal(signal.SIGHUP)
                self.wait_for_log("certificate-not-loaded", count)
                self.assertIn(why, self.server.logged().split("certificate-not-loaded")[-1])
                self.assertEqual(self.ask(self.connect())[0], 200)
                file.write_bytes(good)
        self.assertEqual(self.ask(first)[0], 200)

    def test_a_server_does_not_start_with_a_key_of_another_certificate(self):
        stranger = certificate(self.root, "stranger")
        with self.assertRaisesRegex(RuntimeError, "certificate-invalid"):
            Server(self.root / "other", "--jwks", str(self.root / "keys.json"), "--issuer", "i", "--audience", "kedge",
                   "--tls-certificate", str(self.files[0]), "--tls-key", str(stranger[1]))

    def test_handshakes_while_certificates_change_all_succeed(self):
        pairs = [certificate(self.root, f"c{n}") for n in range(2)]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        seen, deadline = set(), time.monotonic() + 60 * SLOWER
        while len(seen) < 2 or self.server.logged().count("certificate-loaded") < 20:
            self.assertLess(time.monotonic(), deadline)
            for made, file in zip(pairs[len(self.server.logged()) % 2], self.files):
                shutil.copyfile(made, file)
            self.server.process.send_signal(signal.SIGHUP)
            with socket.create_connection(("127.0.0.1", self.server.port)) as raw:
                with context.wrap_socket(raw) as wrapped:
                    seen.add(wrapped.getpeercert(binary_form=True))


if __name__ == "__main__":
    run_tests()
