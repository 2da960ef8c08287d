#!/usr/bin/env python3
"""The package of kedge-lambda runs where there is nothing but the package.

Usage: package_test.py BUNDLE BOOTSTRAP PLUGIN LIBRARY_FOLDER… Needs root (mount, chroot): without it ends with 77.
Closes with the plain line "N passed, N failed"."""
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
from events import Caller, Keys, http_event, pull_body, push_body, put
from runtime_api import RIE, WHICH, Function
from unpacked import System

BUNDLE, BOOTSTRAP, PLUGIN = sys.argv[1:4]
LIBRARIES = sys.argv[4:]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


class Tls(threading.Thread):
    """A server whose certificate nobody but this test knows. It closes every connection after the handshake."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.certificate, key = folder / "server.pem", folder / "server.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.shaken = self.listener.getsockname()[1], 0

    def run(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            try:
                with self.context.wrap_socket(raw, server_side=True) as connection:
                    connection.recv(1)
                    self.shaken += 1
                    connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}")
            except OSError:
                pass


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.keys = Keys(cls.root)
        cls.package = cls.root / "kedge.zip"
        (cls.root / "keys.json").write_text(cls.keys.jwks)
        cls.bundle(cls.package)

    @classmethod
    def bundle(cls, package):
        done = subprocess.run([sys.executable, BUNDLE, BOOTSTRAP, package, "--libraries", *LIBRARIES, "--certificates",
                               CERTIFICATES, "--add", PLUGIN, "--add", cls.root / "keys.json"],
                              check=True, capture_output=True, text=True)
        print(done.stdout.strip())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.system = System(self.root / "system", self.package)
        self.functions = []

    def tearDown(self):
        for function in self.functions:
            function.stop()
        self.system.remove()

    def start(self, **variables):
        settings = {"LAMBDA_TASK_ROOT": "/var/task", "KEDGE_DATA": "/tmp/data", **self.keys.variables(),
                    "KEDGE_JWKS": "keys.json", **variables}
        function = Function(self.system.command, settings)
        self.functions.append(function)
        return function

    def test_the_package_is_the_same_each_time(self):
        self.bundle(self.root / "again.zip")
        self.assertEqual((self.root / "again.zip").read_bytes(), self.package.read_bytes())

    def test_it_serves_with_nothing_but_itself(self):
        function = self.start(KEDGE_MUTATORS=pathlib.Path(PLUGIN).name)
        base = "/v1/orgs/acme/projects/p"
        Caller(function, self.keys.token(sub="root", org="*", role="admin"), base).ask("PUT", "")
        ann = Caller(function, self.keys.token(), base)
        edit = ("notes.move", {"id": "none", "folder": "x"})
        self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n1", 1), edit])).status, 200)
        self.assertIn({"op": "put", "key": "notes/n1", "value": 1},
                      ann.ask("POST", "/pull", pull_body("b")).json["patch"])
        # The app's mutator was there: it has decided, in a process of its own.
        self.assertNotEqual(ann.ask("GET", "/clients/a/mutations/2").json.get("code"), "mutator-unknown")
        if not RIE:
            maps = pathlib.Path(f"/proc/{function.pid}/maps").read_text().splitlines()
            mapped = {line.split(maxsplit=5)[5] for line in maps if "/" in line}
            self.assertTrue(mapped)
            for file in mapped:
                self.assertRegex(file, r"/var/task/|/tmp/data/")

    def test_its_own_certificate_authorities_are_trusted(self):
        server = Tls(self.root)
        server.start()
        self.addCleanup(server.listener.close)
        variables = {"KEDGE_DATA": "", "KEDGE_TABLE": "table", "KEDGE_BUCKET": "bucket", "AWS_REGION": "us-east-1",
                     "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_MAX_ATTEMPTS": "1",
                     "AWS_ENDPOINT_URL": f"https://127.0.0.1:{server.port}"}
        self.assertTrue(self.start(**variables).invoke(http_event("GET", "/v1/health"))[0])
        self.assertEqual(server.shaken, 0, "a stranger's certificate was accepted")
        shutil.copy(server.certificate, self.system.root / "var/task/lib/ca-certificates.crt")
        self.assertTrue(self.start(**variables).invoke(http_event("GET", "/v1/health"))[0])
        self.assertGreater(server.shaken, 0, self.functions[-1].logged())


MACHINE = 18  # where the header of a program or library says what machine it is for
ANOTHER = 183 if pathlib.Path(BOOTSTRAP).read_bytes()[MACHINE] == 62 else 62  # arm64, x86_64


class Machines(unittest.TestCase):
    """A package holds nothing for another machine than its program's."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def foreign(self, file, name):
        content = bytearray(pathlib.Path(file).read_bytes())
        content[MACHINE:MACHINE + 2] = ANOTHER.to_bytes(2, "little")
        (self.root / name).write_bytes(content)
        return self.root / name

    def refused(self, *added, libraries=()):
        package = self.root / "kedge.zip"
        done = subprocess.run([sys.executable, BUNDLE, BOOTSTRAP, package, "--libraries", *libraries, *LIBRARIES,
                               *(word for file in added for word in ("--add", file))], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse(package.exists())
        return done.stderr

    def test_a_plugin_for_another_machine_is_refused_whatever_its_name_is(self):
        for name in ("libnotes.so", "mutators"):
            told = self.refused(self.foreign(PLUGIN, name))
            self.assertRegex(told, rf"{name} is for (arm64|x86_64), but .*bootstrap is for (arm64|x86_64): build it for")

    def test_a_plugin_that_is_no_library_is_refused(self):
        (self.root / "libtext.so").write_text("INPUT(libnotes.so.1)")
        self.assertIn("libtext.so is no library", self.refused(self.root / "libtext.so"))

    def test_a_library_for_another_machine_is_refused(self):
        libc = next(file for folder in LIBRARIES if (file := pathlib.Path(folder, "libc.so.6")).exists())
        self.foreign(libc, "libc.so.6")
        self.assertIn("libc.so.6 is for", self.refused(libraries=[self.root]))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can mount and change its root")
        sys.exit(77)
    print(f"on {WHICH}")
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
