#!/usr/bin/env python3
"""Key pairs and tokens of kedge-admin: docs/how-to/keys-and-tokens.md as it stands, and what is refused.

Usage: keys_test.py SERVER_PROGRAM NOTES_PLUGIN ADMIN_PROGRAM NOTES_PROGRAM PAGE. Closes with the plain line "N passed, N failed"."""
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import PLUGIN, SERVER, SLOWER, Server, free_port, run_tests, wait_for
from tokens import ADMIN, admin, make_keys

PAGE = pathlib.Path(sys.argv[5])
TOKEN = ("--issuer", "i", "--audience", "kedge", "--org", "acme", "--user", "ann")


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def start(self, *options):
        server = Server(self.root / "data", "--jwks", str(self.root / "keys.json"), "--issuer", "i",
                        "--audience", "kedge", *options)
        self.addCleanup(server.stop)
        return server

    def status(self, server, key="key.json", *options):
        token = admin("token", self.root / key, *TOKEN, *options)
        return server.request("GET", "/v1/orgs/acme/projects", headers={"Authorization": "Bearer " + token})[0]

    def test_the_page_leads_from_a_key_pair_to_an_app_and_to_other_keys(self):
        blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 5)
        port = str(free_port())
        blocks = [block.replace("7420", port).replace("libnotes.so", PLUGIN) for block in blocks]
        script = "set -eum\ntrap 'kill %1; wait %1' EXIT\n" + "echo ----\n".join(blocks)
        folders = {str(pathlib.Path(program).parent) for program in (SERVER, ADMIN, sys.argv[4])}
        with open(self.root / "log", "w+") as log:
            done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE,
                                  stderr=log, text=True, cwd=self.root, timeout=180 * SLOWER,
                                  env={**os.environ, "PATH": ":".join([*folders, os.environ["PATH"]])})
            log.seek(0)
            self.assertEqual(done.returncode, 0, (done.stdout, log.read()))
        parts = done.stdout.split("----\n")
        self.assertIn('"status":"ok"', parts[0])
        self.assertIn("from Ann", parts[2])
        self.assertIn('"acme"', parts[3])
        self.assertIn('"private-2.json"', parts[4])
        self.assertEqual(len(json.loads((self.root / "keys.json").read_text())["keys"]), 2)

    def test_a_server_takes_tokens_of_each_algorithm(self):
        for algorithm in ("ES256", "EdDSA", "RS256"):
            with self.subTest(algorithm):
                admin("make-keys", self.root / algorithm, self.root / "keys.json", "--algorithm", algorithm)
        server = self.start()
        for algorithm in ("ES256", "EdDSA", "RS256"):
            self.assertEqual(self.status(server, algorithm), 200, algorithm)

    def test_only_its_user_reads_the_private_key_and_nothing_is_overwritten(self):
        make_keys(self.root)
        mode = lambda name: stat.S_IMODE((self.root / name).stat().st_mode)
        self.assertEqual((mode("key.json"), mode("keys.json")), (0o600, 0o644))
        before = [(self.root / name).read_bytes() for name in ("key.json", "keys.json")]
        self.assertNotIn(b'"d"', before[1])
        self.refused("file-exists", "make-keys", "key.json", "keys.json")
        (self.root / "wrong").write_text("[]")
        self.refused("jwks-invalid", "make-keys", "other", "wrong")
        self.refused("algorithm-invalid", "make-keys", "other", "keys.json", "--algorithm", "HS256")
        self.refused("file-failed", "make-keys", "other", "nowhere/keys.json")
        self.assertEqual([(self.root / name).read_bytes() for name in ("key.json", "keys.json")], before)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["key.json", "keys.json", "wrong"])

    def refused(self, code, *arguments):
        done = subprocess.run([ADMIN, *arguments], capture_output=True, text=True, timeout=60, cwd=self.root)
        self.assertEqual((done.returncode, done.stdout), (2 if code == "usage" else 1, ""), done.stderr)
        self.assertIn(f"({code})", done.stderr)
        return done.stderr

    def test_a_wrong_command_line_makes_no_token_and_says_what_is_allowed(self):
        make_keys(self.root)
        cases = (("--org ORG", "usage", TOKEN[:4] + TOKEN[6:]), ("--user U", "usage", TOKEN[:6]),
                 ("--issuer I", "usage", TOKEN[2:]), ("--audience A", "usage", TOKEN[:2] + TOKEN[4:]),
                 ("from 1 to 525600", "usage", (*TOKEN, "--minutes", "0")),
                 ("from 1 to 525600", "usage", (*TOKEN, "--minutes", "-1")),
                 ("does not take --data", "usage", (*TOKEN, "--data", "x")),
                 ("does not take --project", "usage", (*TOKEN, "--project", "x")),
                 ("for the role admin", "claims-invalid", (*TOKEN[:5], "*", *TOKEN[6:])),
                 ("organization", "invalid-name", (*TOKEN[:5], "a/b", *TOKEN[6:])),
                 ("project", "invalid-name", (*TOKEN, "--projects", "a,,b")),
                 ("at most 64", "claims-invalid", (*TOKEN, "--projects", ",".join(["p"] * 65))),
                 ("JSON object", "claims-invalid", (*TOKEN, "--claims", "[]")),
                 ("1 to 255 bytes", "claims-invalid", (*TOKEN[:7], "")))
        for said, code, options in cases:
            with self.subTest(said):
                self.assertIn(said, self.refused(code, "token", "key.json", *options))
        self.assertIn("no private key", self.refused("key-invalid", "token", "keys.json", *TOKEN))
        self.refused("input-failed", "token", "nowhere", *TOKEN)

    def test_a_token_has_what_was_asked_for(self):
        make_keys(self.root)
        server = self.start()
        self.assertEqual(self.status(server), 200)
        self.assertEqual(self.status(server, "key.json", "--claims", '{"exp":1}'), 401)
        self.assertEqual(self.status(server, "key.json", "--claims", '{"aud":"other"}'), 401)
        ask = lambda project, *options: server.request("PUT", "/v1/orgs/acme/projects/" + project, headers={
            "Authorization": "Bearer " + admin("token", self.root / "key.json", *TOKEN, *options)})[0]
        self.assertEqual(ask("a", "--projects", "b,c"), 404)
        self.assertEqual(ask("c", "--projects", "b,c"), 201)

    def test_tokens_of_the_key_before_and_of_the_new_one_are_taken_after_sighup(self):
        make_keys(self.root)
        server = self.start()
        admin("make-keys", self.root / "second", self.root / "keys.json")
        self.assertEqual(self.status(server), 200)  # the new one may be taken already: the file is looked at every second
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "keys-loaded" in server.logged())
        self.assertEqual((self.status(server), self.status(server, "second")), (200, 200))

    def test_a_server_that_stops_while_it_reads_again_ends_well(self):
        make_keys(self.root)
        revoked = self.root / "revoked.json"
        for _ in range(4):
            revoked.write_text('{"tokens":[]}')
            server = self.start("--revoked", str(revoked))
            with open(self.root / "long", "w") as file:  # reading it takes longer than stopping
                json.dump({"tokens": [f"{number:020}" for number in range(40000)]}, file)
            (self.root / "long").rename(revoked)
            server.process.send_signal(signal.SIGHUP)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(60 * SLOWER), 0)


if __name__ == "__main__":
    run_tests()
