#!/usr/bin/env python3
"""100,000 tries of one tenant to see or change what is another's, on every route that there is.

Each try is made twice: for something that exists and is not the tenant's, and for something of the same length that does
not exist. The two responses are the same but for the name, and are refusals; in the end nothing of the other tenants has
changed. Usage: tenants_test.py SERVER_PROGRAM PLUGIN KEDGE_ADMIN [KEDGE_LAMBDA] [aws]. With KEDGE_LAMBDA the tries are events
of a function, and fewer. With "aws" on real engines, likewise; without them it ends with 77, or fails with
KEDGE_ENGINES=required. Closes with the plain line "N passed, N failed"."""
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from raw import request
from peers import pull_body, push_body, put, run_tests
from doors import LambdaDoor, ServerDoor, engines_are_there
from tokens import make_keys, make_token

ON_ENGINES = "aws" in sys.argv[4:]
LAMBDA = [word for word in sys.argv[4:] if word != "aws"]
PAIRS = 3000 if LAMBDA else 5000 if ON_ENGINES else 50000
BATCH = 64
ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = "x" * 40000 # its body is a blob of its own
HASH = hashlib.sha256(json.dumps(LARGE).encode()).hexdigest()
UID = "0123456789abcdef" * 2
ACCESS = {"users": {"ann": "editor"}}
VICTIM, ABSENT = ("acme", "p", "secret"), ("acmf", "q", "nosuch")


def routes():
    """Method and pattern of each route, as the router has them, and those of the event streams."""
    text = (ROOT / "backend/api/router.c").read_text()
    macros = {"ORGANIZATION": "/v1/orgs/{o}", "PROJECT": "/v1/orgs/{o}/projects/{p}",
              "KEDGE_WIRE_PATH_LOG": "/v1/orgs/{o}/projects/{p}/logs/{g}"}
    found = []
    for method, pattern in re.findall(r'^    \{"([A-Z]+)",\s+((?:[A-Z_]+|"[^"]*"|\s)+),', text, re.M):
        parts = re.findall(r'[A-Z_]+|"[^"]*"', pattern)
        found.append((method, "".join(macros.get(part, part.strip('"')) for part in parts)))
    for path in (macros["PROJECT"], macros["KEDGE_WIRE_PATH_LOG"]):
        found += [("GET", path + "/events"), ("POST", path + "/events/ticket")]
    assert len(found) >= 45 and all(path.startswith("/v1/") for _, path in found), found
    return [(method, path) for method, path in found if path != "/v1/limits"]


BODIES = [None, b"", b"{}", b"[]", b"{", b"null"] + [json.dumps(body).encode() for body in (
    push_body("evil", [put("n1", "evil")]), push_body("a", [put("n1", "evil")], first=2), pull_body("a"), pull_body("evil"),
    {**push_body("a", [put("n1", "evil")]), "kedge": {"client": "a"}},
    {"clientGroupID": "g-a", "uid": UID}, {"expected": 0, "value": {"evil": True}}, {"expected": 1, "value": {"evil": True}},
    {"expected": 1, "to": 1}, {"users": {"mallory": "admin"}}, {"expected": 1, "value": {"users": {"mallory": "admin"}}},
    {"from": {"organization": "acme", "project": "p", "version": 1}}, {"organization": "acme", "project": "p", "version": 1},
    {"source": {"organization": "acme", "project": "p"}, "version": 1}, {"job": "j", "from_version": 1, "to_version": 1,
    "from": {"organization": "acme", "project": "p"}}, {"type": "evil", "version": 1, "id": UID, "body": 1}, {"to": 1},
    {"before": 1}, {"description": "evil"}, {"metadata": {"evil": 1}, "expected": 0})]
QUERIES = [b"", b"", b"", b"?limit=1", b"?version=1", b"?version=latest", b"?expected=1", b"?expected=0", b"?from=0&to=9",
           b"?before=9", b"?after=", b"?limit=0", b"?ticket=" + b"0" * 32, b"?ticket=", b"?x=/../acme", b"?organization=acme"]
HEADERS = [b"", b"", b"", b"Kedge-User: ann\r\n", b"Accept-Encoding: gzip\r\n", b"Range: bytes=0-9\r\n",
           b"X-Forwarded-User: ann\r\n", b"X-Original-URL: /v1/orgs/acme/projects/p\r\n", b"X-HTTP-Method-Override: GET\r\n",
           b"Content-Encoding: gzip\r\n", b"Origin: https://evil.example\r\n"]


class Tenants(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        make_keys(self.root)
        self.door = LambdaDoor(self.root, ON_ENGINES, *LAMBDA) if LAMBDA else ServerDoor(self.root, ON_ENGINES)
        self.addCleanup(self.stop)
        self.admin = self.token(org="*", role="admin", sub="root")
        self.fill()
        # Who tries, and what is not theirs: another organization's, or a project of their own one.
        self.others = [self.token(org="other", role="editor"), self.token(org="other", role="admin"),
                       self.token(org="other", role="metrics"), self.token(org="acm", role="admin"),
                       self.token(org="acmee", role="admin"), self.token(org="ACME", role="admin"),
                       self.token(org="other", role="admin", projects=["p", "secret"])]
        self.insiders = [self.token(org="acme", role="editor", projects=["mine"]),
                         self.token(org="acme", role="editor", projects=["p"]),
                         self.token(org="acme", role="editor", projects=[])]
        # Members of the organization whom an access list keeps out of one project.
        self.unlisted = [self.token(org="acme", role="editor", sub="mallory"), self.token(org="acme", role="editor", sub="ANN")]

    def stop(self):
        fine, logged = self.door.stop()
        self.assertTrue(fine, logged)

    def token(self, **claims):
        return b"Bearer " + make_token(self.root, {"sub": "u", "exp": time.time() + 7200, **claims}).encode()

    def ask(self, method, path, body=None):
        text = json.dumps(body).encode() if body is not None else b"" if method != "GET" else None
        answer, = self.door.ask([request(method.encode(), path.encode(), self.admin, text)])
        kind = answer.headers.get("content-type", "")
        return answer.status, answer.headers, answer.problem if "json" in kind else answer.body

    def fill(self):
        for organization in ("acme", "other"):
            for project in ("p", "secret", "mine"):
                base = f"/v1/orgs/{organization}/projects/{project}"
                self.made(self.ask("PUT", base))
                self.made(self.ask("POST", base + "/push", push_body("a", [put("n1", "mine"), put("n2", LARGE)])))
                self.made(self.ask("PUT", base + "/logs/events", {"description": "mine"}))
                entry = {"type": "x", "version": 1, "id": UID, "body": "mine"}
                self.made(self.ask("POST", base + "/logs/events/entries", entry))
                self.made(self.ask("PUT", base + "/settings", {"expected": 0, "value": {"of": "mine"}}))
            self.made(self.ask("PUT", f"/v1/orgs/{organization}/settings", {"expected": 0, "value": {"of": "mine"}}))
            self.made(self.ask("PUT", f"/v1/orgs/{organization}/resources/theme/r1", {"expected": 0, "value": "mine"}))
        self.made(self.ask("PUT", "/v1/orgs/acme/projects/secret/access", {"expected": 0, "value": ACCESS}))
        kinds = [self.ask("GET", f"/v1/orgs/acme/projects/p/collections/notes/bodies/{HASH}")[0]]
        self.assertEqual(kinds, [200], "the body is no blob of its own")

    def made(self, answer):
        self.assertIn(answer[0], (200, 201), answer)

    def state(self):
        """All of the organization acme, as its routes tell it, and that there is no other one but those that were made."""
        told = {}
        for organization in VICTIM[:1] + ABSENT[:1]:
            for path in ("projects", "settings", "resources/theme", "resources/theme/r1", "resources/theme/r1/versions",
                         "resources/access", "resources/settings"):
                told[organization, path] = self.ask("GET", f"/v1/orgs/{organization}/{path}")[::2]
            for project in VICTIM[1:] + ABSENT[1:] + ("mine",):
                base = f"/v1/orgs/{organization}/projects/{project}"
                for path in ("", "/versions", "/settings", "/access", "/logs", "/logs/events", "/logs/events/entries",
                             "/logs/events/segments", "/clients/a/mutations?from=1&to=9", "/clients/evil/mutations?from=1&to=9"):
                    told[organization, project, path] = self.ask("GET", base + path)[::2]
                told[organization, project, "pull"] = self.ask("POST", base + "/pull", pull_body("reader"))[::2]
        return told

    def fit(self, names, draw):
        """The values of the pattern's variables; `names` are organization, project and hidden project."""
        values = {"o": names[0], "p": names[1], "c": "notes", "l": "a", "i": "n1", "v": "1", "h": HASH, "n": "1", "k": "theme",
                  "r": "r1", "g": "events", "e": "0"}
        values["n"] = draw.choice(("1", "latest", "2", "0"))
        values["v"] = draw.choice(("1", "latest", "9"))
        values["k"] = draw.choice(("theme", "access", "settings"))
        values["r"] = draw.choice(("r1", "project:p", "organization"))
        return values

    def encode(self, text, how):
        """The same name in other words."""
        if how == 0 or not text:
            return text.encode()
        at = how % len(text)
        return (text[:at] + f"%{ord(text[at]):02{'xX'[how % 2]}}" + text[at + 1:]).encode()

    def attempt(self, draw, all_routes):
        """Two requests, which differ in names alone."""
        inside = draw.random() < 0.3
        candidates = [route for route in all_routes if not inside or "{p}" in route[1] and "{o}" in route[1]]
        method, pattern = draw.choice(candidates)
        if draw.random() < 0.2:
            method = draw.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "HEADX"))
        token = draw.choice(self.insiders + self.unlisted if inside else self.others)
        hidden = draw.random() < 0.5
        if inside: # what an access list or the token's own list keeps from them
            exist, absent = ("acme", "secret", ""), ("acme", "nosuch", "")
        else:
            exist = (VICTIM[0], VICTIM[2 if hidden else 1], "")
            absent = (ABSENT[0], exist[1], "")
        if not inside and pattern == "/v1/projects/{p}":
            exist, absent = ("acme", "mono", ""), ("acme", "none", "")
        seed, how = draw.random(), draw.choice((0, 0, 0, 1, 2, 3, 4, 5, 6))
        body = draw.choice(BODIES) if method in ("POST", "PUT", "DELETE", "PATCH") else None
        query, headers = draw.choice(QUERIES), draw.choice(HEADERS)
        pair = []
        for names in (exist, absent):
            values = self.fit(names, random.Random(seed))
            path = b"/".join(self.encode(values[part[1]], how) if part.startswith("{") else part.encode()
                             for part in pattern.split("/"))
            pair.append(request(method.encode(), path + query, token, body, headers))
        return pair, exist, absent

    def told(self, answer, names, others):
        """What is told, without the names that the request had."""
        body = answer.body.decode()
        for name, other in zip(names, others):
            if name != other:
                body = body.replace(name, "NAME")
        headers = {name: value for name, value in answer.headers.items() if name not in ("date",)}
        return answer.status, headers, body

    def test_what_is_anothers_cannot_be_told_from_what_is_not_there_and_does_not_change(self):
        # A project whose name no other organization has, for the route that asks by the name alone.
        self.made(self.ask("PUT", "/v1/orgs/acme/projects/mono"))
        before = self.state()
        all_routes = routes()
        draw = random.Random(20261127)
        statuses, tried = collections.Counter(), collections.Counter()
        for _ in range(0, PAIRS, BATCH // 2):
            attempts = [self.attempt(draw, all_routes) for _ in range(BATCH // 2)]
            answers = self.door.ask([one for pair, _, _ in attempts for one in pair])
            for (pair, exist, absent), there, nowhere in zip(attempts, answers[::2], answers[1::2]):
                refusals = (400, 403, 404, 405, 409, 413, 415, 501) + ((401,) if b"?ticket=" in pair[0] else ())
                self.assertIn(there.status, refusals, (pair[0], there))
                self.assertEqual(there.headers["content-type"], "application/problem+json", pair[0])
                self.assertEqual(self.told(there, exist, absent), self.told(nowhere, absent, exist), pair)
                statuses[there.status] += 1
                tried[pair[0].split(b" ", 1)[0]] += 1
        self.assertEqual(self.state(), before)
        print(f"{2 * sum(statuses.values())} tries: {dict(statuses)}, {dict(tried)}")
        self.assertGreaterEqual(2 * sum(statuses.values()), 2 * PAIRS)
        self.assertGreater(statuses[404], PAIRS // 2)

    def test_a_member_finds_only_its_projects_in_the_list_and_creates_only_what_its_token_names(self):
        ask = lambda token, method, path: self.door.ask([request(method, b"/v1/orgs/acme/projects" + path, token,
                                                                 b"" if method == b"PUT" else None)])[0]
        listed = self.token(org="acme", role="editor", sub="ann")
        for token, names in ((listed, ["mine", "p", "secret"]), (self.unlisted[0], ["mine", "p"]),
                             (self.insiders[1], ["p"]), (self.admin, ["mine", "p", "secret"])):
            self.assertEqual([one["project"] for one in ask(token, b"GET", b"").problem["projects"]], names)
        for member, name, status in ((listed, b"secret", 200), (listed, b"free", 403), (self.unlisted[0], b"secret", 403),
                                     (self.unlisted[0], b"free", 403), (self.unlisted[0], b"mine", 200)):
            self.assertEqual(ask(member, b"PUT", b"/" + name).status, status, (name, status))
        named = self.token(org="acme", role="editor", sub="mallory", projects=["free"])
        self.assertEqual([ask(named, b"PUT", b"/" + name).status for name in (b"other", b"free", b"free")], [404, 201, 200])
        other = self.token(org="other", role="editor", sub="mallory")
        self.assertEqual(self.door.ask([request(b"PUT", b"/v1/orgs/other/projects/free", other, b"")])[0].status, 201)

    def test_no_token_lists_the_organizations(self):
        paths = (b"/v1/orgs", b"/v1/orgs/", b"/v1/organizations", b"/v1/orgs/*", b"/v1/orgs/*/projects", b"/v1/projects",
                 b"/v1/orgs/Organizations/projects", b"/v1/orgs/Organizations%2300/projects", b"/v1/projects/Organizations%2300",
                 b"/v1/orgs/other/resources/Organizations%2300")
        tokens = [self.admin, *self.others]
        answers = self.door.ask([request(method, path, token, b"" if method == b"POST" else None)
                                 for token in tokens for path in paths for method in (b"GET", b"POST")])
        self.assertEqual(len(answers), 2 * len(tokens) * len(paths))
        for answer in answers:
            self.assertFalse(answer.status == 200 and b"acme" in answer.body, answer)
            self.assertIn(answer.status, (200, 400, 403, 404, 405), answer)

    @unittest.skipIf(LAMBDA, "a function has no event streams")
    def test_a_ticket_opens_no_stream_of_another_project(self):
        for number in range(500):
            ticket = self.door.ask([request(b"POST", b"/v1/orgs/other/projects/p/events/ticket", self.others[0], b"")])[0]
            text = ticket.problem["ticket"].encode()
            path = (b"/v1/orgs/acme/projects/p/events", b"/v1/orgs/other/projects/secret/events",
                    b"/v1/orgs/other/projects/p/logs/events/events", b"/v1/orgs/acme/projects/none/events")[number % 4]
            answer = self.door.ask([request(b"GET", path + b"?ticket=" + text)])[0]
            self.assertEqual((answer.status, answer.problem["code"]), (401, "token-invalid"))


if __name__ == "__main__":
    if ON_ENGINES and not engines_are_there():
        print("the engines are not there: see scripts/stack")
        sys.exit(1 if os.environ.get("KEDGE_ENGINES") == "required" else 77)
    run_tests()
