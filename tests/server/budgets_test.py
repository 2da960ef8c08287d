#!/usr/bin/env python3
"""What one user and one organization may take of a kedge-server, what they are told beyond it, and that it is left to
others: event streams, tickets, connections, bodies and responses in memory, requests and bytes a second.

Usage: budgets_test.py SERVER_PROGRAM PLUGIN LIBKEDGE. Closes with the plain line "N passed, N failed"."""
import contextlib
import gzip
import json
import pathlib
import re
import resource
import secrets
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
from peers import MIB, SLOWER, Server, ends, pull_body, push_body, put, read_until, run_tests, wait_for
from raw import Peer
from server_tokens_test import Client
from tokens import make_keys, make_token

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def base(organization):
    return f"/v1/orgs/{organization}/projects/p"


def request(method, path, token=None, body=b"", *headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if token:
        lines.append("Authorization: " + token["Authorization"])
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Budgets(unittest.TestCase):
    """A server with tokens and two organizations, acme and other."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        make_keys(self.root)
        self.tokens = {}
        self.peers = []

    def start(self, *budgets, options=(), prepare=None):
        self.start_server(*budgets, options=options, prepare=prepare)
        for organization in ("acme", "other"):
            self.assertEqual(self.server.request("PUT", base(organization), headers=self.admin)[0], 201)

    def start_server(self, *budgets, options=(), prepare=None):
        """Peers may hold a connection or half a body for as long as a test needs, unless `options` sets their time."""
        given = [part for budget in budgets for part in ("--budget", budget)]
        if "--request-timeout" not in options:
            given += ["--request-timeout", "3600"]
        self.server = Server(self.root / "data", "--jwks", str(self.root / "keys.json"), "--issuer", "i",
                             "--audience", "kedge", *given, *options, prepare=prepare)
        self.addCleanup(self.stop)
        self.admin = self.token("*", "root", role="admin")
        self.server.metrics_headers = self.admin

    def stop(self):
        for peer in self.peers:
            peer.close()
        self.assertEqual(self.server.stop(), 0, self.server.logged())

    def token(self, organization, user, **claims):
        key = (organization, user)
        if key not in self.tokens:
            claims = {"iss": "i", "aud": "kedge", "sub": user, "org": organization, "exp": time.time() + 3600, **claims}
            self.tokens[key] = {"Authorization": "Bearer " + make_token(self.root, claims)}
        return self.tokens[key]

    def connect(self, data=b""):
        self.peers.append(self.server.connect(data))
        return self.peers[-1]

    def stream(self, organization, user):
        return self.connect(request("GET", base(organization) + "/events", self.token(organization, user)))

    def ask_at_once(self, *requests):
        """The responses to requests that are sent together on one connection. The server takes each one right after the
        one before, however slow the test is."""
        peer = Peer(self.server.port)
        try:
            return [(answer.status, {"Retry-After": answer.headers.get("retry-after")}, answer.problem)
                    for answer in peer.ask(requests)]
        finally:
            peer.close()

    def assert_refused(self, answer, budget, limit):
        """A response, parsed or raw: 429, a Retry-After, and a detail that names the budget and its size."""
        if isinstance(answer, socket.socket):
            text = read_until(answer, b"}")
            head, _, body = text.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 429 "), text)
            self.assertIn(b"application/problem+json", head)
            retry = int(head.lower().split(b"retry-after:")[1].split()[0])
            problem = json.loads(body)
        else:
            status, headers, problem = answer
            self.assertEqual(status, 429, problem)
            retry = int(headers["Retry-After"])
        self.assertEqual(problem["code"], "budget-exceeded")
        self.assertIn(f"the budget {budget} is {limit}", problem["detail"])
        self.assertIn(f"try again in {retry} s", problem["detail"])
        self.assertGreaterEqual(retry, 1)
        self.assertGreaterEqual(self.server.metric(f'kedge_budget_refusals_total{{budget="{budget}"}}'), 1)
        return retry

    def test_limits_tell_the_budgets_and_their_defaults(self):
        self.start("user_event_streams=7")
        budgets = self.server.request("GET", "/v1/limits")[2]["budgets"]
        self.assertEqual(budgets, {
            "user_requests_per_second": 1000, "organization_requests_per_second": 5000,
            "user_bytes_per_second": 128 * MIB, "organization_bytes_per_second": 512 * MIB,
            "user_event_streams": 7, "organization_event_streams": 1024,
            "user_tickets": 64, "organization_tickets": 1024,
            "user_connections": 256, "organization_connections": 1536,
            "user_held_bytes": 144 * MIB, "organization_held_bytes": 192 * MIB,
            "organization_projects": 10000, "organization_stored_bytes": 65536 * MIB,
            "address_connections": 0, "stranger_connections": 1024})
        text = (pathlib.Path(__file__).resolve().parents[2] / "docs/explanation/bounds.md").read_text()
        told = {name: int(value) for name, value in re.findall(r"^\| `([a-z_]+)` \| ([0-9]+) \|", text, re.M)}
        self.assertEqual(told, {**budgets, "user_event_streams": 64})

    def test_a_budget_that_is_none_does_not_start(self):
        with self.assertRaisesRegex(RuntimeError, "budget-invalid"):
            self.start("streams=1")

    def test_streams_of_a_user_and_of_an_organization_leave_others_theirs(self):
        self.start("user_event_streams=3", "organization_event_streams=5")
        for _ in range(3):
            read_until(self.stream("acme", "u"), b"event: poke")
        self.assert_refused(self.stream("acme", "u"), "user_event_streams", 3)
        ticket = self.server.request("POST", base("acme") + "/events/ticket", headers=self.token("acme", "u"))[2]
        self.assert_refused(self.connect(request("GET", base("acme") + "/events?ticket=" + ticket["ticket"])),
                            "user_event_streams", 3)
        last = [self.stream("acme", "v") for _ in range(2)]
        for raw in last:
            read_until(raw, b"event: poke")
        self.assert_refused(self.stream("acme", "v"), "organization_event_streams", 5)
        read_until(self.stream("other", "u"), b"event: poke")
        self.assertEqual(self.server.metric("kedge_event_streams"), 6)
        last[0].close()
        push = push_body("a", [put("n1", 1)])
        self.assertEqual(self.server.request("POST", base("acme") + "/push", push, self.token("acme", "w"))[0], 200)

        def opens():
            raw = self.stream("acme", "v")
            opened = read_until(raw, b"\r\n").startswith(b"HTTP/1.1 200")
            raw.close()
            return opened
        wait_for(opens)

    def test_tickets_of_one_organization_evict_nobody_elses(self):
        self.start("user_tickets=20", "organization_tickets=30")
        ask = lambda organization, user: self.server.request("POST", base(organization) + "/events/ticket",
                                                             headers=self.token(organization, user))
        first = ask("other", "u")[2]["ticket"]
        got = [ask("acme", "u") for _ in range(20)]
        self.assertEqual({answer[0] for answer in got}, {200})
        retry = self.assert_refused(ask("acme", "u"), "user_tickets", 20)
        self.assertLessEqual(retry, 60)
        for _ in range(10):
            self.assertEqual(ask("acme", "v")[0], 200)
        self.assert_refused(ask("acme", "v"), "organization_tickets", 30)
        for organization, ticket in (("other", first), ("acme", got[0][2]["ticket"])):
            raw = self.connect(request("GET", f"{base(organization)}/events?ticket={ticket}"))
            read_until(raw, b"event: poke")
        self.assertEqual(ask("acme", "v")[0], 200) # one was used

    def test_peers_that_say_nothing_keep_nobody_out(self):
        """4,600 connections, more than there are places, and some of them send a head without an end."""
        count = 4600 if SLOWER == 1 else 1500
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.start()
        known = self.stream("acme", "u")
        read_until(known, b"event: poke")
        for number in range(count):
            self.connect(b"GET /v1/he" if number % 2 else b"")
            if number % 500 == 499:
                self.assertEqual(self.server.request("GET", base("acme"), headers=self.token("acme", "u"))[0], 200)
        wait_for(lambda: self.server.metric("kedge_stranger_connections") <= 1024)
        self.assertGreaterEqual(self.server.metric('kedge_budget_refusals_total{budget="stranger_connections"}'),
                                count - 1100)
        self.assertEqual(self.server.request("GET", "/v1/health")[0], 200)
        push = push_body("a", [put("n1", 1)])
        self.assertEqual(self.server.request("POST", base("acme") + "/push", push, self.token("acme", "u"))[0], 200)
        read_until(known, b'{"version":1}')

    def test_an_address_has_so_many_connections(self):
        self.start("address_connections=10")
        idle = []
        while len(idle) < 10:  # connections that were closed before may still count
            raw = self.connect(HEALTH)
            if read_until_or_end(raw):
                idle.append(raw)
        self.assertTrue(ends(self.connect()))
        for raw in idle:
            raw.close()
        wait_for(lambda: read_until_or_end(self.connect(HEALTH)))
        self.assertGreaterEqual(self.server.metric('kedge_budget_refusals_total{budget="address_connections"}'), 1)

    def test_connections_beyond_a_users_budget_are_answered_and_closed(self):
        self.start("user_connections=5")
        mine = request("GET", base("acme"), self.token("acme", "u"))
        kept = [self.connect(mine) for _ in range(5)]
        for raw in kept:
            self.assertNotIn(b"connection: close", read_until(raw, b"}").lower())
        beyond = self.connect(mine)
        answer = read_until(beyond, b"}")
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "))
        self.assertIn(b"connection: close", answer.lower())
        self.assertTrue(ends(beyond))
        self.assert_refused(self.stream("acme", "u"), "user_connections", 5)
        self.assertNotIn(b"connection: close", read_until(self.connect(
            request("GET", base("acme"), self.token("acme", "v"))), b"}").lower())
        kept[0].sendall(mine) # the connections that are known go on
        read_until(kept[0], b"}")

    def test_bodies_of_an_organization_are_held_up_to_its_budget_also_small_ones(self):
        self.start("organization_held_bytes=200000")
        head = request("POST", base("acme") + "/push", self.token("acme", "u"), b" " * 60000)[:-1]
        peers = [self.connect(head) for _ in range(5)] # each lacks its last byte
        known = self.token("acme", "v")
        body = json.dumps(pull_body("b")).encode().ljust(40000)
        # Before it asks: a request that is taken holds what the third of the bodies needs.
        wait_for(lambda: self.server.metric('kedge_budget_refusals_total{budget="organization_held_bytes"}') == 2)
        self.assert_refused(self.server.request("POST", base("acme") + "/pull", body, known),
                            "organization_held_bytes", 200000)
        self.assertEqual(self.server.request("POST", base("other") + "/pull", body, self.token("other", "v"))[0], 200)
        codes = []
        for raw in peers:
            raw.sendall(b" ")
            codes.append(json.loads(read_until(raw, b"}").partition(b"\r\n\r\n")[2])["code"])
        self.assertEqual(sorted(codes), ["body-not-json"] * 3 + ["budget-exceeded"] * 2)
        wait_for(lambda: self.server.request("POST", base("acme") + "/pull", body, known)[0] == 200)

    def test_a_request_is_refused_for_the_budget_before_it_changes_something(self):
        self.start("organization_held_bytes=100000")
        resource = "/v1/orgs/acme/resources/plan/p"
        put_it = {"expected": 0, "value": 1}
        self.assertEqual(self.server.request("PUT", resource, put_it, self.admin)[0], 201)
        head = request("POST", base("acme") + "/push", self.token("acme", "u"), b" " * 99990)[:-1]
        chief = self.token("acme", "chief", role="admin")
        peer = self.connect(head) # lacks its last byte
        delete = lambda: self.server.request("DELETE", resource + "?expected=1", headers=chief)
        # Another request of the organization would take what the rest of the body needs.
        wait_for(lambda: self.server.metric("kedge_held_bytes") == 99989 - 65536)
        self.assert_refused(delete(), "organization_held_bytes", 100000)
        peer.sendall(b" ")
        read_until(peer, b"}")
        wait_for(lambda: self.server.request("GET", base("acme"), headers=chief)[0] == 200)
        self.assertEqual(self.server.request("GET", resource, headers=chief)[0], 200)
        self.assertEqual(delete()[0], 200)

    def test_what_organizations_hold_together_leaves_room_for_another(self):
        """Bodies of 15 MiB that lack their last byte, from three organizations, as many as each may have."""
        self.start()
        held = 0
        for organization, fit in (("evil1", 8), ("evil2", 4), ("evil3", 2)):
            head = request("POST", base(organization) + "/push", self.token(organization, "u"), b" " * (15 * MIB))[:-1]
            for _ in range(fit):
                self.connect(head)
                held += 15 * MIB - 65536 - 1  # as the metric counts a body
                wait_for(lambda: self.server.metric("kedge_held_bytes") == held)
            self.assertIn(b"organization_held_bytes", read_until(self.connect(head + b" "), b"}"))
            wait_for(lambda: self.server.metric("kedge_held_bytes") == held)
        body = json.dumps(pull_body("b")).encode().ljust(6 * MIB)
        for _ in range(5):
            status, _, answer = self.server.request("POST", base("other") + "/pull", body, self.token("other", "v"))
            self.assertEqual(status, 200, answer)

    def test_responses_that_are_read_slowly_are_an_organizations_own_affair_and_end(self):
        """Deltas of libkedge, which are not made in parts. One server waits for the readers as long as the test needs;
        the next one has the same readers, and ends them."""
        self.start("organization_held_bytes=15000000")
        mine, theirs = self.token("acme", "u"), self.token("other", "u")
        native = {**pull_body("b"), "kedge": {"client": "b", "lowest_pending": 1, "highest_id": 0}}
        bodies = {"acme": native, "other": native}
        answer = lambda organization, token: self.server.request("POST", base(organization) + "/pull",
                                                                 bodies[organization], token)
        for organization, token in (("acme", mine), ("other", theirs)):
            bodies[organization] = {**native, "cookie": answer(organization, token)[2]["cookie"]}
            items = [put(f"n{number:03}", "x" * 60000) for number in range(100)]
            self.assertEqual(self.server.request("POST", base(organization) + "/push", push_body("a", items), token)[0], 200)
        pull = request("POST", base("acme") + "/pull", mine, json.dumps(bodies["acme"]).encode())

        def read_slowly():
            for _ in range(2):
                raw = socket.socket()
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                raw.settimeout(90 * SLOWER)
                raw.connect(("127.0.0.1", self.server.port))
                raw.sendall(pull)
                self.peers.append(raw)
                self.assertTrue(raw.recv(12).startswith(b"HTTP/1.1 200"))

        read_slowly()
        self.assert_refused(answer("acme", mine), "organization_held_bytes", 15000000)
        self.assertEqual(answer("other", theirs)[0], 200)
        self.stop()
        self.start_server("organization_held_bytes=15000000", options=("--request-timeout", "2"))
        read_slowly()
        # Nothing moves on these connections any more: they are cut, and their memory is free.
        wait_for(lambda: self.server.metric("kedge_held_bytes") == 0, seconds=120)
        self.assertEqual(answer("acme", mine)[0], 200)

    def test_a_response_in_parts_holds_one_part_of_the_budget(self):
        self.start("organization_held_bytes=3000000")
        mine = self.token("acme", "u")
        for first in range(1, 5):
            items = [put(f"n{first}{number:03}", "x" * 60000) for number in range(100)]
            push = push_body("a", items, first=first * 100 - 99)
            self.assertEqual(self.server.request("POST", base("acme") + "/push", gzip.compress(json.dumps(push).encode()),
                                                 {**mine, "Content-Encoding": "gzip"})[0], 200)
        pull = request("POST", base("acme") + "/pull", mine, json.dumps(pull_body("b")).encode())
        for _ in range(4):
            self.assertTrue(read_until(self.connect(pull), b"\r\n").startswith(b"HTTP/1.1 200"))
        self.assertEqual(self.server.request("POST", base("acme") + "/pull", pull_body("b"), mine)[0], 200)

    @unittest.skipIf(SLOWER > 1, "a sanitizer needs memory of its own")
    def test_a_response_that_is_made_whole_counts_while_it_is_made(self):
        self.start("organization_held_bytes=10000000")
        mine = self.token("acme", "u")
        for first in range(1, 1600, 100): # 96 MB together
            items = [put(f"n{first + number:04}", "x" * 60000) for number in range(100)]
            push = gzip.compress(json.dumps(push_body("a", items, first)).encode())
            self.assertEqual(self.server.request("POST", base("acme") + "/push", push,
                                                 {**mine, "Content-Encoding": "gzip"})[0], 200)
        pull = json.dumps(pull_body("b")).encode()
        old = request("POST", base("acme") + "/pull", mine, pull).replace(b"HTTP/1.1", b"HTTP/1.0")
        for asked in (request("GET", base("acme") + "/versions/16?items=1", mine), old):
            pathlib.Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5") # of the highest
            before = self.server.memory()
            self.assert_refused(self.connect(asked), "organization_held_bytes", 10000000)
            self.assertLess(self.server.memory("VmHWM") - before, 50 * MIB)
            self.assertEqual(self.server.metric("kedge_held_bytes"), 0)

    def test_requests_beyond_the_rate_are_told_when_to_come_back_and_pass_then(self):
        self.start("user_requests_per_second=2")
        ask = lambda organization, user: self.server.request("GET", base(organization),
                                                             headers=self.token(organization, user))
        answers = self.ask_at_once(*[request("GET", base("acme"), self.token("acme", "u"))] * 200)
        refused = next(answer for answer in answers if answer[0] != 200)
        self.assertGreaterEqual([answer[0] for answer in answers].index(429), 4)
        retry = self.assert_refused(refused, "user_requests_per_second", 2)
        self.assertEqual(retry, 1)
        self.assertEqual(ask("acme", "v")[0], 200)
        self.assertEqual(ask("other", "u")[0], 200)
        wait_for(lambda: ask("acme", "u")[0] == 200)

    def test_bytes_beyond_the_rate_make_the_next_request_wait(self):
        self.start("organization_bytes_per_second=100000")
        body = json.dumps(pull_body("b")).encode().ljust(500000)
        pull = lambda organization, user: request("POST", base(organization) + "/pull", self.token(organization, user), body)
        first, second = self.ask_at_once(pull("acme", "u"), pull("acme", "v"))
        self.assertEqual(first[0], 200)
        retry = self.assert_refused(second, "organization_bytes_per_second", 100000)
        self.assertIn(retry, (2, 3, 4))
        self.assertEqual(self.ask_at_once(pull("other", "u"))[0][0], 200)
        wait_for(lambda: self.server.request("GET", base("acme"), headers=self.token("acme", "v"))[0] == 200)

    def test_a_body_without_a_good_token_is_answered_with_its_head(self):
        self.start()
        for token in (None, {"Authorization": "Bearer none.none.none"}):
            whole = request("POST", base("acme") + "/push", token, b" " * (8 * MIB))
            raw = self.connect(whole[:whole.index(b"\r\n\r\n") + 4])
            answer = read_until(raw, b"}")
            self.assertTrue(answer.startswith(b"HTTP/1.1 401 "), answer)
            self.assertIn(b"connection: close", answer.lower())
            # The peer does not heed that; it still gets the response and no reset.
            raw = self.connect()
            sender = threading.Thread(target=send_all, args=(raw, whole))
            sender.start()
            answer = read_until(raw, b"}")
            self.assertTrue(answer.startswith(b"HTTP/1.1 401 "), answer)
            raw.close()
            sender.join()
            chunked = self.connect(request("POST", base("acme") + "/push", token, b"", "Transfer-Encoding: chunked")
                                   .replace(b"Content-Length: 0\r\n", b"") + b"5\r\nhello\r\n")
            self.assertTrue(read_until(chunked, b"}").startswith(b"HTTP/1.1 401 "))
        self.assertEqual(self.server.metric("kedge_held_bytes"), 0)

    @unittest.skipIf(SLOWER > 1, "a sanitizer needs memory of its own")
    def test_small_bodies_without_a_good_token_take_no_memory(self):
        self.start()
        heads = {path: request(method, path, None, b" " * 65000)[:-65000]
                 for method, path in (("POST", base("acme") + "/push"), ("OPTIONS", base("acme")), ("GET", "/v1/limits"))}
        peers = [self.connect(head) for head in heads.values() for _ in range(250)]
        wait_for(lambda: self.server.metric("kedge_stranger_connections") >= len(peers))
        before = self.server.memory()
        for raw in peers:
            raw.sendall(b" " * 60000)
        for raw in peers:
            raw.sendall(b" " * 5000)
            self.assertTrue(read_until(raw, b"\r\n\r\n").startswith(b"HTTP/1.1 "))
        self.assertLess(self.server.memory("VmHWM") - before, len(peers) * 40000)  # 32 KiB of them are the connection's

    def test_an_organization_has_as_many_projects_as_its_budget(self):
        self.start("organization_projects=3")
        ann = self.token("acme", "ann")
        create = lambda project: self.server.request("PUT", f"/v1/orgs/acme/projects/{project}", headers=ann)
        self.assertEqual([create(name)[0] for name in ("q", "r")], [201, 201])
        self.assertLessEqual(self.assert_refused(create("s"), "organization_projects", 3), 60)
        self.assertEqual(create("r")[0], 200)
        self.assertEqual(self.server.request("PUT", "/v1/orgs/other/projects/q",
                                             headers=self.token("other", "ann"))[0], 201)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_bytes_that_are_stored_are_counted_beyond_a_restart_and_edits_wait(self):
        self.start("organization_stored_bytes=3000000")
        ann = self.token("acme", "ann")
        push = lambda client, text: self.server.request(
            "POST", base("acme") + "/push", push_body(client, [put("n", text)]), ann)
        count = 0
        while True:
            answer = push(f"c{count}", "".join(chr(33 + secrets.randbelow(90)) for _ in range(300000)).replace('"', "'"))
            if answer[0] != 200:
                break
            count += 1
        self.assert_refused(answer, "organization_stored_bytes", 3000000)
        self.assertTrue(3 <= count <= 8, count)
        self.assertEqual(self.server.request("POST", base("acme") + "/pull", pull_body("c0"), ann)[0], 200)
        others = self.server.request("POST", base("other") + "/push", push_body("x", [put("n", 1)]),
                                     self.token("other", "ann"))
        self.assertEqual(others[0], 200)
        # The next server knows, and a client of the organization keeps its edit until there is room.
        open_client = lambda: Client(self.root / "client", self.server.port, "p", lambda: ann["Authorization"][7:], False)
        refused = 'kedge_budget_refusals_total{budget="organization_stored_bytes"}'
        self.assertEqual(self.server.stop(), 0)
        self.start_server("organization_stored_bytes=3000000")
        client = open_client()
        client.put()
        wait_for(lambda: b"organization_stored_bytes" in client.status().last_error.message)
        self.assertNotEqual(client.sync(3000), 0)
        self.assertIn(b"organization_stored_bytes", client.error.message)
        client.close()
        self.assertEqual(self.server.metric(refused), 1)
        self.assertEqual(self.server.stop(), 0)
        self.start_server("organization_stored_bytes=30000000")
        client = open_client()
        client.check(client.sync())
        client.close()
        self.assertEqual(self.server.metric(refused), 0)

    @unittest.skipIf(SLOWER > 1, "the library has a sanitizer, which Python has not")
    def test_libkedge_waits_as_long_as_it_is_told_and_then_syncs(self):
        self.start("user_requests_per_second=1", options=("--log-level", "debug"))
        text = self.token("acme", "u")["Authorization"].removeprefix("Bearer ")
        client = Client(self.root / "client", self.server.port, "p", lambda: text, False)
        paths = base("acme") + "/push", base("acme") + "/pull"

        def responded(path):
            lines = [json.loads(line) for line in self.server.logged().splitlines()]
            return [line for line in lines if line["event"] == "responded" and line["path"] == path]

        def edit_and_sync():
            client.put()
            client.check(client.sync())
            return any(line["status"] == 429 for path in paths for line in responded(path))

        wait_for(edit_and_sync)  # a slow client is late enough at first
        client.close()
        for path in paths:
            asked = responded(path)
            for one, two in zip(asked, asked[1:]):
                if one["status"] == 429:
                    self.assertGreaterEqual(two["time"] - one["time"], 990, (one, two))


def send_all(raw, data):
    with contextlib.suppress(OSError):
        raw.sendall(data)


def read_until_or_end(raw):
    """Whether the peer got a response."""
    try:
        return bool(raw.recv(100))
    except ConnectionError:
        return False


if __name__ == "__main__":
    run_tests()
