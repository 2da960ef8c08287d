#!/usr/bin/env python3
"""A real nginx with deploy/nginx.conf in front of a real kedge-server: pushes, pulls and events arrive, by libkedge and by
HTTP/2; what is too large, too much or too old is refused; and a proxy that buffers events is noticed.

Usage: proxy_test.py ROOT SERVER_PROGRAM PLUGIN ADMIN_PROGRAM NOTES_PROGRAM. Closes with the plain line
"N passed, N failed". Ends with 77 when there is no nginx."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests/server"))
from peers import BASE, MIB, PLUGIN, SLOWER, Server, free_port, pull_body, push_body, put, read_until, run_tests, wait_for  # noqa: E402
from tokens import admin, make_keys, make_token  # noqa: E402

NOTES = sys.argv[4]
CONF = (ROOT / "deploy/nginx.conf").read_text()
WRAPPED = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{conf}
}}
"""


class Proxy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        make_keys(self.root)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", str(self.root / "privkey.pem"), "-out", str(self.root / "fullchain.pem"),
                        "-subj", "/CN=kedge", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        self.server = Server(self.root / "data", "--jwks", str(self.root / "keys.json"), "--issuer", "i",
                             "--audience", "kedge", "--mutators", PLUGIN, "--ping", "1")
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, self.server.logged()))
        self.token = make_token(self.root, {"role": "admin"})
        self.headers = {"Authorization": "Bearer " + self.token}
        self.context = ssl.create_default_context(cafile=str(self.root / "fullchain.pem"))

    def start(self, *changes):
        """nginx with the file as it stands but for names of this machine, and `changes`."""
        self.port = free_port()
        conf = CONF
        for old, new in (("127.0.0.1:7420", f"127.0.0.1:{self.server.port}"),
                         ("listen 443", f"listen 127.0.0.1:{self.port}"), ("/etc/ssl/kedge/", f"{self.root}/"), *changes):
            self.assertIn(old, conf)
            conf = conf.replace(old, new)
        file = self.root / "nginx.conf"
        file.write_text(WRAPPED.format(folder=self.root, conf=conf))
        command = ["nginx", "-p", str(self.root), "-e", str(self.root / "errors"), "-c", str(file)]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=60)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("warn", checked.stderr)
        nginx = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop, nginx)
        wait_for(self.listens)

    def stop(self, nginx):
        nginx.send_signal(signal.SIGTERM)
        nginx.wait(timeout=60 * SLOWER)

    def listens(self):
        with socket.socket() as raw:
            return raw.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, method, path, body=None, context=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60 * SLOWER,
                                                 context=context or self.context)
        try:
            connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, self.headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def events(self):
        raw = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.port)), server_hostname="127.0.0.1")
        self.addCleanup(raw.close)
        raw.sendall(f"GET {BASE}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        return raw

    def notes(self, who, *words):
        done = subprocess.run([NOTES, "--data", str(self.root / who), "--url", f"https://127.0.0.1:{self.port}",
                               "--org", "acme", "--project", "p", *words], capture_output=True, text=True,
                              timeout=120 * SLOWER,
                              env={**os.environ, "KEDGE_TOKEN": self.token,
                                   "SSL_CERT_FILE": str(self.root / "fullchain.pem")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_an_app_pushes_and_pulls_and_events_come_at_once(self):
        self.start()
        self.assertEqual(self.ask("GET", "/v1/health")[0], 200)
        self.assertEqual(self.ask("PUT", BASE)[0], 201)
        self.notes("ann", "add", "from Ann")
        self.notes("ann", "sync")
        self.notes("bob", "sync")
        self.assertIn("from Ann", self.notes("bob", "list"))
        raw = self.events()
        seen = read_until(raw, b'{"version":1}', 30)
        self.assertIn(b"text/event-stream", seen)
        for version in range(2, 7):
            self.assertEqual(self.ask("POST", BASE + "/push", push_body("a", [put("n1", version)], version - 1))[0], 200)
            began = time.monotonic()  # the event was due before this response
            read_until(raw, b'{"version":%d}' % version, 30)
            self.assertLess(time.monotonic() - began, 2 * SLOWER)

    def test_events_come_over_http_2(self):
        self.start()
        self.ask("PUT", BASE)
        curl = subprocess.Popen(["curl", "--silent", "--no-buffer", "--http2", "--include", "--cacert",
                                 str(self.root / "fullchain.pem"), "--header", f"Authorization: Bearer {self.token}",
                                 f"https://127.0.0.1:{self.port}{BASE}/events"], stdout=subprocess.PIPE)
        self.addCleanup(lambda: (curl.kill(), curl.communicate()))
        self.assertTrue(curl.stdout.readline().startswith(b"HTTP/2 200"))
        self.ask("POST", BASE + "/push", push_body("a", [put("n1", 1)]))
        while curl.stdout.readline() != b'data: {"version":1}\n':
            self.assertIsNone(curl.poll())

    def test_large_pushes_and_pulls_pass_and_what_is_too_large_is_refused(self):
        self.start()
        self.ask("PUT", BASE)
        for n in range(14):
            pushed = self.ask("POST", BASE + "/push", push_body("a", [put(f"n{n}", "x" * (MIB - 4096))], n + 1))
            self.assertEqual(pushed[0], 200, pushed[1])
        status, body = self.ask("POST", BASE + "/pull", pull_body("r"))
        self.assertEqual(status, 200)
        self.assertGreater(len(body), 13 * MIB)
        padded = json.dumps(push_body("a", [put("n", 1)], 15)).encode()
        self.assertEqual(self.ask("POST", BASE + "/push", padded + b" " * (16 * MIB - len(padded)))[0], 200)
        self.assertEqual(self.ask("POST", BASE + "/push", b" " * (18 * MIB))[0], 413)

    def test_old_tls_and_floods_are_refused(self):
        self.start(("rate=50r/s", "rate=1r/m"), ("burst=500", "burst=5"))
        old = ssl.create_default_context(cafile=str(self.root / "fullchain.pem"))
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.ask("GET", "/v1/health", context=old)
        statuses = [self.ask("GET", "/v1/health")[0] for _ in range(20)]
        self.assertEqual(set(statuses), {200, 429})

    def test_a_proxy_that_buffers_is_noticed(self):
        """What the other tests would see if nginx buffered events, and did not mind the server's X-Accel-Buffering."""
        self.start(("proxy_buffering off;", "proxy_ignore_headers X-Accel-Buffering; proxy_buffering on;"))
        self.ask("PUT", BASE)
        raw = self.events()
        with self.assertRaises(TimeoutError):
            read_until(raw, b"event: poke", 5 / SLOWER)


if __name__ == "__main__":
    if not shutil.which("nginx"):
        print("nginx is not installed (package nginx-light)")
        sys.exit(77)
    run_tests()
