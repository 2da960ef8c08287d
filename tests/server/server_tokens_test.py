#!/usr/bin/env python3
"""A kedge-server with tokens: who may see what, and until when.

Usage: server_tokens_test.py SERVER_PROGRAM PLUGIN LIBKEDGE ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import ctypes
import http.client
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import BASE, SERVER, SLOWER, Server, pull_body, push_body, put, read_until, run_tests, wait_for
from tokens import make_keys, make_token


LIBRARY = sys.argv[3]
OK, NOT_FOUND, FORBIDDEN = 0, 2, 18
STOPPED = 4


class Options(ctypes.Structure):
    """kedge_options, as far as this test sets them."""
    _fields_ = [("version", ctypes.c_uint32), ("size", ctypes.c_uint32), ("path", ctypes.c_char_p),
                ("url", ctypes.c_char_p), ("ca_file", ctypes.c_char_p), ("organization", ctypes.c_char_p),
                ("project", ctypes.c_char_p), ("mutators", ctypes.c_void_p), ("mutator_count", ctypes.c_size_t),
                ("user", ctypes.c_char_p), ("role", ctypes.c_char_p), ("offline", ctypes.c_bool),
                ("create_project", ctypes.c_bool), ("server_wait_ms", ctypes.c_int64),
                ("token", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("code", ctypes.c_char * 64), ("message", ctypes.c_char * 256)]


class Status(ctypes.Structure):
    """kedge_sync_status."""
    _fields_ = [("size", ctypes.c_uint32), ("connection", ctypes.c_int), ("resyncing", ctypes.c_bool),
                ("version", ctypes.c_int64), ("pending", ctypes.c_int64), ("rejected", ctypes.c_int64),
                ("withheld", ctypes.c_int64), ("unrecovered", ctypes.c_int64), ("client", ctypes.c_char * 129),
                ("last_error", Error)]


class Client:
    """A database that asks the given function for its token."""

    def __init__(self, folder, port, project, token, create):
        self.library = ctypes.CDLL(LIBRARY)
        self.error = Error()
        self.db = ctypes.c_void_p()

        def give(_userdata, buffer, size):
            ctypes.memmove(buffer, token().encode() + b"\0", len(token()) + 1)
            return OK

        self.give = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(give)
        self.options = Options(1, ctypes.sizeof(Options), str(folder).encode(), f"http://127.0.0.1:{port}".encode(),
                               None, b"acme", project.encode(), create_project=create,
                               token=ctypes.cast(self.give, ctypes.c_void_p))
        self.check(self.library.kedge_open(ctypes.byref(self.options), ctypes.byref(self.db), ctypes.byref(self.error)))

    def check(self, status):
        if status != OK:
            raise AssertionError((status, self.error.code, self.error.message))

    def put(self):
        args = b'{"collection":"notes","id":"a","value":1}'
        self.check(self.library.kedge_mutate(self.db, b"kedge.put", args, ctypes.c_size_t(len(args)), None,
                                             ctypes.byref(self.error)))

    def sync(self, timeout_ms=20000):
        return self.library.kedge_sync(self.db, timeout_ms * SLOWER, ctypes.byref(self.error))

    def status(self):
        status = Status(ctypes.sizeof(Status))
        self.check(self.library.kedge_get_sync_status(self.db, ctypes.byref(status), ctypes.byref(self.error)))
        return status

    def go_online(self, online=True):
        self.check(self.library.kedge_set_online(self.db, online, ctypes.byref(self.error)))

    def close(self):
        self.check(self.library.kedge_close(self.db))


class Tokens(unittest.TestCase):
    """ES256, with keys of kedge-admin."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        make_keys(root)
        self.start()

    def start(self):
        root = pathlib.Path(self.folder.name)
        self.server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def token(self, keys="", **claims):
        all_claims = {"iss": "i", "aud": "kedge", "sub": "u1", "exp": time.time() + 600, **claims}
        return {"Authorization": "Bearer " + make_token(pathlib.Path(self.folder.name) / keys, all_claims)}

    def test_sighup_takes_other_keys_and_keeps_the_old_ones_when_the_file_is_wrong(self):
        root = pathlib.Path(self.folder.name)
        (root / "next").mkdir()
        make_keys(root / "next")
        old, new = self.token(org="*", role="admin"), self.token(keys="next", org="*", role="admin")
        status = lambda token: self.server.request("GET", "/v1/orgs/acme/projects", headers=token)[0]
        self.assertEqual((status(old), status(new)), (200, 401))
        (root / "next" / "keys.json").replace(root / "keys.json")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: status(new) == 200)
        self.assertEqual(status(old), 401)
        (root / "keys.json").write_text("{")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "keys-not-loaded" in self.server.logged())
        self.assertIn("jwks-invalid", self.server.logged())
        self.assertEqual(status(new), 200)

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

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_a_client_creates_the_project_that_its_token_allows(self):
        allowed = self.token(org="acme", projects=["new"])["Authorization"].removeprefix("Bearer ")
        client = Client(pathlib.Path(self.folder.name) / "client", self.server.port, "new", lambda: allowed, True)
        client.put()
        client.check(client.sync())
        client.close()
        admin = self.token(org="*", role="admin")
        self.assertEqual(self.server.request("GET", "/v1/orgs/acme/projects/new", headers=admin)[2]["version"], 1)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_a_client_whose_token_allows_no_project_keeps_its_edits_until_one_does(self):
        tokens = [self.token(org="acme", projects=["other"])["Authorization"].removeprefix("Bearer ")]
        client = Client(pathlib.Path(self.folder.name) / "client", self.server.port, "new", lambda: tokens[0], True)
        client.put()
        self.assertEqual(client.sync(), NOT_FOUND, client.error.message)
        admin = self.token(org="*", role="admin")
        self.assertEqual(self.server.request("GET", "/v1/orgs/acme/projects/new", headers=admin)[0], 404)
        client.close()
        tokens[0] = self.token(org="acme", projects=["new"])["Authorization"].removeprefix("Bearer ")
        client = Client(pathlib.Path(self.folder.name) / "client", self.server.port, "new", lambda: tokens[0], True)
        client.check(client.sync())
        client.close()
        self.assertEqual(self.server.request("GET", "/v1/orgs/acme/projects/new", headers=admin)[2]["version"], 1)

    def of_user(self, user):
        return self.token(org="acme", sub=user, role="admin")["Authorization"].removeprefix("Bearer ")

    def client(self, token):
        return Client(pathlib.Path(self.folder.name) / "client", self.server.port, "p", token, True)

    def edit_as_ann(self, synced, pending):
        """The id of the client of Ann's folder, after so many edits of hers that are synced, and so many that are not."""
        token = self.of_user("ann")
        client = self.client(lambda: token)
        for _ in range(synced):
            client.put()
        client.check(client.sync())
        client.go_online(False)
        for _ in range(pending):
            client.put()
        name = client.status().client
        client.close()
        return name

    def users(self):
        """Who has made the edits that the server has."""
        headers = {"Authorization": "Bearer " + self.of_user("eve")}
        versions = self.server.request("GET", BASE + "/versions", headers=headers)[2]["versions"]
        return [edit["user"] for version in versions for edit in version["mutations"]]

    def check_it_stops(self, client, pending):
        for _ in range(2):
            self.assertEqual((client.sync(), client.error.code), (FORBIDDEN, b"other-user"))
        status = client.status()
        self.assertEqual((status.connection, status.last_error.code), (STOPPED, b"other-user"))
        self.assertEqual(status.pending, pending)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_a_folder_of_another_user_stops_until_its_own_user_is_there(self):
        tokens = {user: self.of_user(user) for user in ("ann", "bob")}
        for pending in (0, 1):
            with self.subTest(pending):
                name, user = self.edit_as_ann(1, pending), ["bob"]
                client = self.client(lambda: tokens[user[0]])
                self.check_it_stops(client, pending)
                client.put()
                self.check_it_stops(client, pending + 1)
                self.assertNotIn("bob", self.users())
                user[0] = "ann"
                client.go_online()
                client.check(client.sync())
                status = client.status()
                self.assertEqual((status.pending, status.rejected, status.client), (0, 0, name))
                client.close()
        self.assertEqual(self.users(), ["ann"] * 5)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_a_user_that_has_come_back_meanwhile_is_asked_for_without_a_stop(self):
        tokens = [self.of_user(user) for user in ("bob", "ann")]
        for pending in (0, 1):
            with self.subTest(pending):
                name, left = self.edit_as_ann(1, pending), list(tokens)
                client = self.client(lambda: left.pop(0) if len(left) > 1 else left[0])
                client.check(client.sync())
                self.assertEqual((client.status().pending, client.status().client), (0, name))
                client.close()
        self.assertEqual(self.users(), ["ann"] * 3)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_a_restored_server_does_not_give_the_edits_of_one_user_to_another(self):
        data = pathlib.Path(self.folder.name) / "data"
        self.edit_as_ann(1, 0)
        self.assertEqual(self.server.stop(), 0)
        shutil.copytree(data, data.with_name("backup"))
        self.start()
        self.edit_as_ann(1, 1)
        self.assertEqual(self.server.stop(), 0)
        shutil.rmtree(data)
        data.with_name("backup").rename(data)
        self.start()
        tokens, user = {user: self.of_user(user) for user in ("ann", "bob")}, ["bob"]
        client = self.client(lambda: tokens[user[0]])
        self.check_it_stops(client, 1)
        self.assertEqual(self.users(), ["ann"])
        user[0] = "ann"
        client.go_online()
        client.check(client.sync())
        self.assertEqual((client.status().pending, client.status().unrecovered), (0, 0))
        client.close()
        self.assertEqual(self.users(), ["ann"] * 3)

    def test_a_request_without_a_good_token_gets_401(self):
        status, headers, response = self.server.request("POST", BASE + "/pull", pull_body("b"))
        self.assertEqual((status, response["code"]), (401, "token-missing"))
        self.assertEqual(headers["WWW-Authenticate"], "Bearer")
        late = self.token(org="acme", exp=time.time() - 3600)
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), late)[2]["code"], "token-expired")
        broken = {"Authorization": self.token(org="acme")["Authorization"][:-4] + "AAAA"}
        self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), broken)[2]["code"], "token-invalid")

    def test_a_token_that_is_known_is_not_checked_again(self):
        reader = self.token(org="acme", role="metrics")

        def checks():
            text = self.server.request("GET", "/v1/metrics", headers=reader)[2].decode()
            return int(re.search(r"^kedge_token_checks_total (\d+)$", text, re.MULTILINE)[1])

        before = checks()
        good = self.token(org="acme")
        forged = {"Authorization": good["Authorization"][:-8] + "AAAAAAAA"}
        for _ in range(5):
            self.assertNotEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), good)[0], 401)
        self.assertEqual(checks() - before, 1)
        for count in range(5):
            self.assertEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), forged)[0], 401)
            self.assertNotEqual(self.server.request("POST", BASE + "/pull", pull_body("b"), good)[0], 401)
        self.assertEqual(checks() - before, 6)

    def test_metrics_need_a_token_with_their_role_or_for_every_organization(self):
        def ask(headers=None):
            status, _, response = self.server.request("GET", "/v1/metrics", headers=headers)
            return status, response["code"] if status != 200 else b"kedge_held_bytes" in response

        self.assertEqual(ask(), (401, "token-missing"))
        for claims in ({"org": "acme"}, {"org": "acme", "role": "admin"}, {"org": "acme", "role": "editor"}):
            self.assertEqual(ask(self.token(**claims)), (403, "not-allowed"), claims)
        for claims in ({"org": "acme", "role": "metrics"}, {"org": "*", "role": "admin"}):
            self.assertEqual(ask(self.token(**claims)), (200, True))

    def test_a_user_that_a_client_names_itself_is_ignored(self):
        mine = self.token(org="acme")
        self.assertEqual(self.server.request("PUT", BASE, headers=mine)[0], 201)
        named = {**mine, "Kedge-User": "eve"}
        self.assertEqual(self.server.request("POST", BASE + "/push", push_body("a", [put("n1", 1)]), named)[0], 200)
        mutation = self.server.request("GET", BASE + "/clients/a/mutations/1", headers=mine)[2]
        self.assertEqual(mutation["user"], "u1")

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

    def test_a_ticket_opens_a_stream_for_whom_the_access_list_admits(self):
        admin = self.token(org="*", role="admin")
        self.server.request("PUT", "/v1/orgs/acme/projects/p", headers=admin)
        mine = self.token(org="acme")
        tickets = lambda: [self.server.request("POST", BASE + "/events/ticket", headers=who)[2]["ticket"] for who in (mine, admin)]
        admits = lambda user, expected: self.server.request(
            "PUT", BASE + "/access", {"expected": expected, "value": {"users": {user: "editor"}}}, admin)[0]
        self.assertEqual(admits("u1", 0), 201)
        for ticket in tickets():
            raw = self.server.events(path=f"{BASE}/events?ticket={ticket}")
            self.assertTrue(read_until(raw, b"\r\n").startswith(b"HTTP/1.1 200 "))
            raw.close()
        ticket = tickets()[0]
        self.assertEqual(admits("u2", 1), 200)
        self.assertEqual(self.server.request("GET", f"{BASE}/events?ticket={ticket}")[0], 404)

    def test_a_stream_ends_when_its_token_expires(self):
        admin = self.token(org="*", role="admin")
        self.server.request("PUT", "/v1/orgs/acme/projects/p", headers=admin)
        leeway = 60
        lasting = self.server.events(self.token(org="acme"))
        brief = self.token(org="acme", exp=time.time() - leeway + 10 * SLOWER)
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


class Rights(unittest.TestCase):
    """What a mutation may not do, whatever its mutator says."""

    def outcomes(self, server, mutations, headers=None):
        """The codes of the mutations of a new native client; "" of one that is applied."""
        self.clients = getattr(self, "clients", 0) + 1
        client = f"c{self.clients}"
        body = {**push_body(client, mutations), "kedge": {"client": client}}
        self.assertEqual(server.request("POST", BASE + "/push", body, headers)[0], 200)
        found = []

        def are_decided():
            found[:] = [server.request("GET", f"{BASE}/clients/{client}/mutations/{at}", headers=headers)
                        for at in range(1, len(mutations) + 1)]
            return {status for status, _, _ in found} == {200}

        wait_for(are_decided)  # in queued mode later than the response
        return [outcome.get("code", "") for _, _, outcome in found]

    def test_builtins_that_the_server_does_not_take_are_rejected_also_in_a_batch(self):
        batch = lambda *parts: ("kedge.batch", {"mutations": [{"name": name, "args": args} for name, args in parts]})
        move = ("notes.move", {"id": "none", "folder": "x"}) # the app's own, which rejects an absent note
        pushed = [put("n1", 1), batch(put("n1", 1)), batch(move), move, ("kedge.noop", None)]
        denied = "not-allowed"
        for allowed, expected in (("none", [denied, denied, denied, "note-deleted", ""]),
                                  ("kedge.batch", [denied, denied, "note-deleted", "note-deleted", ""]),
                                  ("kedge.put,kedge.batch", ["", "", "note-deleted", "note-deleted", ""]),
                                  ("kedge.put", ["", denied, denied, "note-deleted", ""]),
                                  ("all", ["", "", "note-deleted", "note-deleted", ""])):
            with self.subTest(allowed), tempfile.TemporaryDirectory() as folder:
                server = Server(folder, "--open", "--mutators", sys.argv[2], "--builtins", allowed)
                try:
                    self.assertEqual(self.outcomes(server, pushed), expected)
                finally:
                    self.assertEqual(server.stop(), 0)

    def test_a_list_of_builtins_with_another_name_does_not_start(self):
        with tempfile.TemporaryDirectory() as folder:
            for wrong in ("", "put", "kedge.put,", "kedge.put,notes.move", "kedge.none", "none,kedge.put"):
                with self.assertRaisesRegex(RuntimeError, "builtins-invalid", msg=wrong):
                    Server(folder, "--open", "--mutators", sys.argv[2], "--builtins", wrong)

    def test_a_reader_changes_nothing_in_direct_and_in_queued_mode(self):
        for mode in ("direct", "queued"):
            with self.subTest(mode), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                make_keys(root)
                server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge",
                                "--mode", mode, "--mutators", sys.argv[2])
                token = lambda role: {"Authorization": "Bearer " + make_token(root, {
                    "iss": "i", "aud": "kedge", "sub": "u-" + role, "org": "acme", "role": role,
                    "exp": time.time() + 600})}
                try:
                    self.assertEqual(server.request("PUT", "/v1/orgs/acme/projects/p", headers=token("admin"))[0], 201)
                    self.assertEqual(self.outcomes(server, [put("n1", 1)], token("editor")), [""])
                    denied = self.outcomes(server, [put("n1", 2), ("notes.move", {"id": "n1", "folder": "x"}),
                                                    ("kedge.noop", None)], token("reader"))
                    self.assertEqual(denied, ["not-allowed", "not-allowed", ""])
                    pulled = server.request("POST", BASE + "/pull", pull_body("r"), token("reader"))[2]
                    self.assertIn({"op": "put", "key": "notes/n1", "value": 1}, pulled["patch"])
                finally:
                    self.assertEqual(server.stop(), 0)


class Encrypted(unittest.TestCase):
    """A server with a certificate of its own."""

    def connect(self, server, **limits):
        context = ssl.create_default_context(cafile=self.certificate)
        context.check_hostname = False
        for name, value in limits.items():
            context.set_ciphers(value) if name == "ciphers" else setattr(context, name, value)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60 * SLOWER, context=context)
        try:
            connection.request("GET", "/v1/health")
            response = connection.getresponse()
            response.read()
            return response.status, connection.sock.version() if connection.sock else ""
        finally:
            connection.close()

    def test_old_tls_and_ciphers_that_do_not_authenticate_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.certificate, key = str(root / "tls.pem"), str(root / "tls-key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                            self.certificate, "-subj", "/CN=127.0.0.1", "-days", "2"], check=True, capture_output=True)
            make_keys(root)
            server = Server(root / "data", "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge",
                            "--tls-certificate", self.certificate, "--tls-key", key)
            try:
                for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                    self.assertEqual(self.connect(server, maximum_version=version)[0], 200)
                old = dict(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1,
                           ciphers="ALL:@SECLEVEL=0")
                blocks = dict(maximum_version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-RSA-AES128-SHA256:AES128-SHA")
                for refused in (old, blocks):
                    with self.assertRaises((ssl.SSLError, ConnectionError)):
                        self.connect(server, **refused)
            finally:
                self.assertEqual(server.stop(), 0)


class OpenOrTokens(unittest.TestCase):
    def test_beyond_loopback_it_has_tls_or_stands_behind_a_proxy(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            make_keys(root)
            tokens = ["--jwks", str(root / "keys.json"), "--issuer", "i", "--audience", "kedge"]
            with self.assertRaisesRegex(RuntimeError, "--behind-proxy"):
                Server(root / "data", *tokens, listen="0.0.0.0:0")
            with self.assertRaisesRegex(RuntimeError, "listen-failed"): # an address that no machine has
                Server(root / "data", *tokens, "--behind-proxy", listen="192.0.2.1:0")

    def test_a_server_that_is_given_tokens_does_not_start_open(self):
        with tempfile.TemporaryDirectory() as folder:
            for option in ("--jwks", "--issuer", "--audience", "--algorithms"):
                with self.assertRaisesRegex(RuntimeError, "--open takes no tokens", msg=option):
                    Server(pathlib.Path(folder) / "data", "--open", option, "RS256").stop()


class Version(unittest.TestCase):
    def test_the_server_prints_its_version(self):
        said = subprocess.run([SERVER, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^kedge-server \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    run_tests()
