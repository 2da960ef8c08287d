#!/usr/bin/env python3
"""kedge-lambda from outside, over a folder: requests as API Gateway brings them.

Usage: server_test.py LAMBDA_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import contextlib
import gzip
import json
import pathlib
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from events import AUDIENCE, Answer, Caller, Keys, http_event, pull_body, push_body, put
from runtime_api import RIE, SLOWER, WHICH, Function

PROGRAM, PLUGIN = sys.argv[1:3]


def lines_of(function, event):
    """The lines of that kind in a function's log."""
    lines = [json.loads(line) for line in function.logged().splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


class LambdaCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.TemporaryDirectory()
        cls.keys = Keys(pathlib.Path(cls.root.name))
        cls.token = cls.keys.token()
        cls.admin_token = cls.keys.token(sub="root", org="*", role="admin")

    @classmethod
    def tearDownClass(cls):
        cls.root.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.functions = []

    def tearDown(self):
        for function in self.functions:
            function.stop()
        self.folder.cleanup()

    def start(self, timeout_s=30, **variables):
        function = Function([PROGRAM], {"KEDGE_DATA": self.folder.name + "/data", **self.keys.variables(), **variables},
                            timeout_s)
        self.functions.append(function)
        return function

    def project(self, function, base="/v1/orgs/acme/projects/p"):
        """A caller on a new project."""
        made = Caller(function, self.admin_token, base).ask("PUT", "")
        self.assertIn(made.status, (200, 201), made.body)
        return Caller(function, self.token, base)


class Sync(LambdaCase):
    def test_a_small_sync_goes_through_every_route(self):
        ann = self.project(self.start())
        large = "".join(random.Random(1).choices("abcdefgh", k=100000))
        pushed = ann.ask("POST", "/push", push_body("a", [put("n1", 1), put("big", large), ("none", {})]))
        self.assertEqual((pushed.status, pushed.json["kedge"]["version"]), (200, 1))
        pulled = ann.ask("POST", "/pull", pull_body("a", native=True)).json
        self.assertEqual((pulled["kedge"]["version"], pulled["lastMutationIDChanges"]), (1, {"a": 3}))
        page = ann.ask("GET", "/snapshot?version=1").json
        self.assertEqual([item["key"] for item in page["items"]], ["notes/big", "notes/n1"])
        reference = page["items"][0]
        body = ann.ask("GET", f"/collections/notes/bodies/{reference['hash']}", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(body.headers["content-encoding"], "gzip")
        self.assertTrue(body.response["isBase64Encoded"])
        self.assertEqual(body.json, large)
        part = ann.ask("GET", f"/collections/notes/bodies/{reference['hash']}",
                       headers={"Accept-Encoding": "gzip", "Range": "bytes=0-9"})
        self.assertEqual((part.status, len(part.body)), (206, 10))
        version = ann.ask("GET", "/versions/latest").json
        self.assertEqual(version["version"], 1)
        self.assertEqual(ann.ask("GET", "/versions/1/collections/notes/n1").json["value"], 1)
        self.assertEqual(ann.ask("GET", "/clients/a/mutations/3").json["outcome"], "rejected")
        self.assertEqual(ann.ask("GET", "/versions/9").code, "version-not-found")
        self.assertEqual(ann.ask("GET", "/nothing").code, "route-not-found")

    def test_what_was_pushed_is_there_for_the_next_process(self):
        function = self.start()
        ann = self.project(function)
        self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n1", 1)])).status, 200)
        first = function.pid
        function.signal(signal.SIGKILL)
        function.host.process.wait()
        self.assertIn({"op": "put", "key": "notes/n1", "value": 1},
                      ann.ask("POST", "/pull", pull_body("b")).json["patch"])
        self.assertNotEqual(function.pid, first)

    def test_checkpoints_are_there_before_the_push_is_answered(self):
        function = self.start()
        ann = self.project(function)
        for version in range(1, 67):
            self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n1", version)], version)).status, 200)
        function.signal(signal.SIGKILL)
        function.host.process.wait()
        with contextlib.closing(sqlite3.connect(self.folder.name + "/data/records.db")) as records:
            kept = records.execute("SELECT count(*) FROM record WHERE instr(sort, '#cv_')").fetchone()
        self.assertGreater(kept[0], 0, "no checkpoint after 66 changes of one item")

    def test_the_apps_mutators_run(self):
        function = self.start(KEDGE_MUTATORS=PLUGIN)
        ann = self.project(function)
        ann.ask("POST", "/push", push_body("a", [("notes.move", {"id": "x", "folder": "v"})]))
        self.assertNotEqual(ann.ask("GET", "/clients/a/mutations/1").json.get("code"), "mutator-unknown")

    def test_the_log_tells_the_mutators_and_those_that_clients_wait_for(self):
        function = self.start(KEDGE_MUTATORS=PLUGIN)
        ann = self.project(function)
        waits = push_body("w", [("notes.move", {})])
        waits["mutations"][0].update(version=1000, wait=True)
        self.assertEqual(ann.ask("POST", "/push", waits).code, "server-too-old")
        [started], [missing] = lines_of(function, "started"), lines_of(function, "mutator-missing")
        versions = {mutator["name"]: mutator["version"] for mutator in started["mutators"]}
        self.assertEqual((missing["level"], missing["organization"], missing["project"]), ("warning", "acme", "p"))
        self.assertEqual((missing["mutator"], missing["wanted"], missing["here"]),
                         ("notes.move", 1000, versions["notes.move"]))


class Version(unittest.TestCase):
    def test_it_prints_its_version(self):
        said = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^kedge-lambda \d+\.\d+\.\d+\n$")


class Requests(LambdaCase):
    def test_limits_are_those_of_lambda(self):
        limits = Caller(self.start()).ask("GET", "/v1/limits").json
        self.assertEqual((limits["push_bytes"], limits["response_bytes"]), (3000000, 4700000))
        self.assertEqual(limits["mode"], "direct")
        self.assertEqual(limits["budgets"], {"organization_projects": 0, "organization_stored_bytes": 0})

    def test_the_budgets_of_an_organization_are_those_of_the_store(self):
        bounds = {"KEDGE_ORGANIZATION_PROJECTS": "2", "KEDGE_ORGANIZATION_STORED_BYTES": "2000000"}
        function = self.start(**bounds)
        self.assertEqual(Caller(function).ask("GET", "/v1/limits").json["budgets"],
                         {"organization_projects": 2, "organization_stored_bytes": 2000000})
        ann = self.project(function)
        root = Caller(function, self.admin_token)
        self.assertEqual([root.ask("PUT", f"/v1/orgs/acme/projects/p{i}").status for i in range(3)][1:], [429, 429])
        push = lambda caller, i: caller.ask("POST", "/push", push_body("a", [put(f"n{i}", secrets.token_hex(400000))], i))
        count = 0
        while (answer := push(ann, count + 1)).status == 200:
            count += 1
        self.assertEqual((answer.status, answer.code), (429, "budget-exceeded"))
        self.assertEqual(answer.headers["retry-after"], "60")
        self.assertTrue(1 <= count <= 4, count)
        told = [(line["level"], line["budget"], line["path"]) for line in lines_of(function, "budget-exceeded")]
        self.assertEqual(told, [("warning", "organization_projects", f"/v1/orgs/acme/projects/p{i}") for i in (1, 2)]
                         + [("warning", "organization_stored_bytes", "/v1/orgs/acme/projects/p/push")])

    def test_a_token_is_needed_and_the_claims_of_the_gateway_are_not_trusted(self):
        function = self.start()
        self.project(function)
        nobody = Caller(function).ask("POST", "/pull", pull_body("a"))
        self.assertEqual((nobody.status, nobody.code), (401, "token-missing"))
        self.assertEqual(nobody.headers["www-authenticate"], "Bearer")
        for token, code in [(self.token[:-4] + "AAAA", "token-invalid"), ("Bearer x", "token-invalid"),
                            (self.keys.token(exp=1), "token-expired"), (self.keys.token(aud="other"), "token-invalid")]:
            self.assertEqual(Caller(function, token).ask("POST", "/pull", pull_body("a")).code, code)
        other = Caller(function, self.keys.token(org="other")).ask("POST", "/pull", pull_body("a"))
        self.assertEqual((other.status, other.code), (404, "project-not-found"))

    def test_a_function_without_a_key_set_answers_no_requests(self):
        function = self.start(KEDGE_JWKS="", KEDGE_ISSUER="", KEDGE_AUDIENCE="")
        refused = Caller(function, self.token).ask("POST", "/pull", pull_body("a"))
        self.assertEqual((refused.status, refused.code), (503, "identity-not-configured"))

    def test_event_streams_are_refused_by_name(self):
        """Each client asks for one every ten minutes. API Gateway counts every 5xx, and the template has an alarm on
        that count: what a client in order asks for must not be in it."""
        ann = self.project(self.start(KEDGE_LOG_LEVEL="debug"))
        for method, path in [("GET", "/events"), ("GET", "/events?ticket=x"), ("POST", "/events/ticket")]:
            refused = ann.ask(method, path)
            self.assertEqual((refused.status, refused.code), (404, "events-not-served"))
            self.assertEqual(refused.headers["retry-after"], "600")
        refused = ann.ask("GET", "/v1/metrics")
        self.assertEqual((refused.status, refused.code), (404, "metrics-not-served"))
        for line in lines_of(self.functions[0], "responded"):
            self.assertNotIn(line["level"], ("warning", "error"), line)
        self.assertEqual(ann.ask("GET", "/v1/health").json, {"status": "ok"})
        refused = ann.ask("POST", "/v1/health")
        self.assertEqual((refused.status, refused.code), (405, "method-not-allowed"))
        self.assertEqual(refused.headers["allow"], "GET, HEAD, OPTIONS")

    def test_a_project_may_be_called_events(self):
        ann = self.project(self.start(), "/v1/orgs/acme/projects/events")
        self.assertEqual(ann.ask("GET", "").status, 200)

    def test_bodies_come_packed_both_ways(self):
        ann = self.project(self.start())
        packed = gzip.compress(json.dumps(push_body("a", [put("n1", "x" * 5000)])).encode())
        sent = {"Content-Encoding": "gzip", "Content-Type": "application/octet-stream"}
        pushed = ann.ask("POST", "/push", packed, sent)
        self.assertEqual(pushed.status, 200, pushed.body)
        damaged = ann.ask("POST", "/push", packed, {**sent, "Content-Type": "application/json"})
        self.assertEqual((damaged.status, damaged.code), (400, "event-invalid"))
        pulled = ann.ask("POST", "/pull", pull_body("b"), {"Accept-Encoding": "gzip"})
        self.assertEqual(pulled.headers["content-encoding"], "gzip")
        self.assertIn({"op": "put", "key": "notes/n1", "value": "x" * 5000}, pulled.json["patch"])
        self.assertEqual(ann.ask("POST", "/push", b"no gzip", {"Content-Encoding": "gzip"}).code, "body-invalid")
        self.assertEqual(ann.ask("POST", "/push", b"x", {"Content-Encoding": "br"}).status, 415)

    def test_paths_are_read_as_each_service_gives_them(self):
        ann = self.project(self.start())
        odd = "50% ä+é"
        ann.ask("POST", "/push", push_body("a", [put(odd, 1), put("a/b?c", 2)]))
        path = "/versions/1/collections/notes/50%25%20%C3%A4%2B%C3%A9"
        for how in ({}, {"stage": "prod"}, {"encoded_path": True}, {"stage": "prod", "encoded_path": True}):
            self.assertEqual(ann.ask("GET", path, **how).json["value"], 1, how)
        slash = "/versions/1/collections/notes/a%2Fb%3Fc"
        self.assertEqual(ann.ask("GET", slash, encoded_path=True).json["value"], 2)

    def test_pages_of_known_origins_may_read_responses(self):
        function = self.start(KEDGE_ORIGINS="https://app.example.com,https://two.example.com")
        caller = Caller(function, base="/v1/orgs/acme/projects/p")
        for origin in ("https://app.example.com", "https://two.example.com"):
            asked = caller.ask("OPTIONS", "/pull", headers={"Origin": origin})
            self.assertEqual(asked.status, 204)
            self.assertEqual(asked.headers["access-control-allow-origin"], origin)
            self.assertIn("Authorization", asked.headers["access-control-allow-headers"])
        refused = caller.ask("POST", "/pull", pull_body("a"), {"Origin": "https://app.example.com"})
        self.assertEqual(refused.status, 401)
        self.assertEqual(refused.headers["access-control-allow-origin"], "https://app.example.com")
        stranger = caller.ask("OPTIONS", "/pull", headers={"Origin": "https://evil.example.com"})
        self.assertNotIn("access-control-allow-origin", stranger.headers)

    def test_what_a_response_cost_stands_in_the_log_and_on_demand_in_a_header(self):
        function = self.start()
        ann = self.project(function)
        self.assertNotIn("kedge-cost", ann.ask("POST", "/push", push_body("a", [put("n1", 1)])).headers)
        ann.ask("GET", "/v1/health")
        lines = lines_of(function, "responded")
        self.assertEqual([line["path"].rpartition("/")[2] for line in lines], ["p", "push"])
        push = lines[1]
        self.assertEqual((push["level"], push["cost"]["write_units"]), ("info", 1))
        self.assertGreater(push["cost"]["dollars"], 0)
        told = self.start(KEDGE_COST_HEADER="yes", KEDGE_DATA=self.folder.name + "/other")
        pushed = self.project(told).ask("POST", "/push", push_body("a", [put("n1", 1)]))
        self.assertEqual(json.loads(pushed.headers["kedge-cost"]), lines_of(told, "responded")[1]["cost"])

    def test_the_head_of_a_response_has_no_body(self):
        ann = self.project(self.start())
        for path in ("/v1/limits", "/v1/health", "/v1/metrics"):
            self.assertEqual(ann.ask("HEAD", path).body, b"", path)
        self.assertEqual(ann.ask("GET", "/v1/health").json, {"status": "ok"})


class Edges(LambdaCase):
    def test_a_push_of_three_megabytes_arrives_whatever_it_holds(self):
        ann = self.project(self.start())
        body = push_body("a", [put(f"n{i}", '"' * 480000) for i in range(3)])
        self.assertGreater(len(json.dumps(body)), 2880000)
        event = ann.event("POST", "/push", body)
        self.assertLess(len(json.dumps(event)), 6 << 20)
        self.assertEqual(ann.ask("POST", "/push", body).status, 200)

    def test_an_event_of_six_megabytes_is_taken(self):
        ann = self.project(self.start())
        body = push_body("a", [put("n", "a" * 6200000)])
        self.assertGreater(len(json.dumps(ann.event("POST", "/push", body))), 6200000)
        self.assertEqual(ann.ask("POST", "/push", body).status, 200)
        patch = ann.ask("POST", "/pull", pull_body("b", native=True)).json["patch"]
        self.assertEqual([change.get("size") for change in patch if change["op"] == "put"], [6200002])

    def test_a_response_just_under_the_limit_is_carried(self):
        ann = self.project(self.start())
        for i in range(2):
            body = push_body("a", [put(f"n{i}", '"' * 1170000)], 1 + i)
            self.assertEqual(ann.ask("POST", "/push", gzip.compress(json.dumps(body).encode()),
                                     {"Content-Encoding": "gzip"}).status, 200)
        answer = ann.ask("POST", "/pull", pull_body("b"))
        self.assertEqual((answer.status, len(answer.json["patch"])), (200, 3))
        self.assertTrue(4600000 < len(answer.body) < 4700000, len(answer.body))
        self.assertLess(len(json.dumps(answer.response)), 6 << 20)

    def test_a_response_that_lambda_cannot_carry_is_a_problem(self):
        ann = self.project(self.start())
        noise = random.Random(2)
        for i in range(5):
            text = noise.randbytes(600000).hex()
            self.assertEqual(ann.ask("POST", "/push", push_body("a", [put(f"n{i}", text)], 1 + i)).status, 200)
        refused = ann.ask("POST", "/pull", pull_body("b"))
        self.assertEqual((refused.status, refused.code), (500, "response-too-large"))
        # Packed it fits, and so does what a native client gets: large values by their hashes.
        packed = ann.ask("POST", "/pull", pull_body("b"), {"Accept-Encoding": "gzip"})
        self.assertEqual((packed.status, len(packed.json["patch"])), (200, 6))
        self.assertEqual(ann.ask("POST", "/pull", pull_body("b", native=True)).status, 200)

    def test_garbage_is_an_error_of_its_invocation_alone(self):
        function = self.start()
        ann = self.project(function)
        first = function.pid
        good = ann.event("POST", "/pull", pull_body("a"))
        garbage = [b"", b"null", b"[]", b"{", b'{"a":1,"a":2}', b"\xff", b'{"version":"2.0"}', b'{"Records":[]}',
                   b'{"Records":[{"eventSource":"aws:s3"}]}', b'{"httpMethod":"GET","path":"/","version":"1.0"}',
                   b"[" * 100000, b'{"Records":[{"eventSource":"aws:sqs"}]}']
        for event in garbage:
            failed, error = function.invoke(event)
            self.assertTrue(failed, event[:40])
            self.assertIn("errorType", error)
        for change in ({"rawPath": None}, {"rawPath": 7}, {"rawQueryString": {}}, {"body": 7}, {"isBase64Encoded": "yes"},
                       {"isBase64Encoded": True, "body": "%%%"}):
            failed, response = function.invoke({**good, **change})
            self.assertFalse(failed, change)
            self.assertEqual(Answer(response).code, "event-invalid", change)
        for change in ({"rawPath": "/v1/\0"}, {"queryStringParameters": {"a": "\0"}}, {"body": "{\"a\":\"\0\"}"}):
            failed, response = function.invoke({**good, **change})
            self.assertFalse(failed, change)
            self.assertEqual((Answer(response).status, Answer(response).code), (400, "event-invalid"), change)
        failed, error = function.invoke({"Records": [{"eventSource": "aws:sqs", "body": "\0"}]})
        self.assertTrue(failed)
        self.assertTrue(error["errorType"].endswith("json-nul"), error)
        noise = random.Random(3)
        text = json.dumps(good).encode()
        for _ in range(60):
            broken = bytearray(text)
            broken[noise.randrange(len(broken))] = noise.randrange(256)
            function.invoke(bytes(broken))
        self.assertEqual(ann.ask("POST", "/pull", pull_body("a")).status, 200)
        if not RIE:
            self.assertEqual(function.pid, first)

    def test_a_setting_that_is_wrong_ends_the_start_by_name(self):
        for variables, named in [({"KEDGE_MODE": "later"}, "KEDGE_MODE"), ({"KEDGE_DATA": ""}, "KEDGE_TABLE"),
                                 ({"KEDGE_ISSUER": ""}, "KEDGE_ISSUER"), ({"KEDGE_JWKS": "none.json"}, "none.json"),
                                 ({"KEDGE_JWKS": "{}"}, "JWKS"), ({"KEDGE_CADENCE": "x"}, "KEDGE_CADENCE"),
                                 ({"KEDGE_LOG_LEVEL": "x"}, "KEDGE_LOG_LEVEL"), ({"KEDGE_CLAIM_BYTES": "0"}, "KEDGE_CLAIM_BYTES"),
                                 ({"KEDGE_ORGANIZATION_PROJECTS": "x"}, "KEDGE_ORGANIZATION_PROJECTS"),
                                 ({"KEDGE_ORGANIZATION_STORED_BYTES": "-1"}, "KEDGE_ORGANIZATION_STORED_BYTES"),
                                 ({"KEDGE_TABLE": "t"}, "KEDGE_TABLE"), ({"KEDGE_MUTATORS": "none.so"}, "none.so"),
                                 ({"KEDGE_POLICY": "none.json"}, "none.json"), ({"KEDGE_POLICY": "{}"}, "KEDGE_POLICY")]:
            failed, error = self.start(**variables).invoke(http_event("GET", "/v1/health"))
            self.assertTrue(failed, variables)
            if not RIE:
                self.assertTrue(error["errorType"].startswith("Init."), error)
                self.assertIn(named, error["errorMessage"], variables)

    def test_the_policy_is_a_text_or_a_file_of_the_package(self):
        policy = json.dumps({"roles": {"editor": ["kedge.put"]}, "default": []})
        (pathlib.Path(self.root.name) / "policy.json").write_text(policy)
        for given in (policy, "policy.json"):
            function = self.start(KEDGE_POLICY=given, LAMBDA_TASK_ROOT=self.root.name)
            self.project(function)
            codes = {}
            for role in ("editor", "viewer"):
                caller = Caller(function, self.keys.token(sub=role, role=role))
                client = role + given[:1].replace("{", "t")
                self.assertEqual(caller.ask("POST", "/push", push_body(client, [put("n1", 1)])).status, 200)
                codes[role] = caller.ask("GET", f"/clients/{client}/mutations/1").json.get("code", "")
            self.assertEqual(codes, {"editor": "", "viewer": "mutator-not-allowed"})
            function.stop()

    @unittest.skipIf(RIE, "the emulator freezes by itself")
    def test_a_frozen_process_goes_on(self):
        function = self.start()
        ann = self.project(function)
        for version in range(1, 4):
            function.signal(signal.SIGSTOP)
            function.signal(signal.SIGCONT)
            self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n1", version)], version)).status, 200)

    def test_the_key_set_may_be_a_file_of_the_package(self):
        (pathlib.Path(self.root.name) / "keys.json").write_text(self.keys.jwks)
        function = self.start(KEDGE_JWKS="keys.json", LAMBDA_TASK_ROOT=self.root.name)
        self.assertEqual(self.project(function).ask("POST", "/pull", pull_body("a")).status, 200)


class Batches(LambdaCase):
    """SQS batches over a folder; real queues are in engines_test.py."""

    def message(self, number, body, group="acme/p", count=1):
        return {"messageId": f"m{number}", "receiptHandle": f"r{number}", "body": body, "eventSource": "aws:sqs",
                "attributes": {"MessageGroupId": group, "ApproximateReceiveCount": str(count), "SentTimestamp": "1"}}

    def push(self, first, mutations, project="p"):
        return json.dumps({"format": 1, "id": f"{first:032x}", "organization": "acme", "project": project, "user": "ann",
                           "role": "", "push": push_body("a", mutations, first)})

    def failures(self, function, *messages):
        failed, answer = function.invoke({"Records": list(messages)})
        self.assertFalse(failed, answer)
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def test_a_batch_is_decided_in_order(self):
        function = self.start(KEDGE_MODE="queued")
        ann = self.project(function)
        self.assertEqual(self.failures(function, *[self.message(i, self.push(i, [put("n1", i)])) for i in range(1, 11)]), [])
        pulled = ann.ask("POST", "/pull", pull_body("b")).json
        self.assertIn({"op": "put", "key": "notes/n1", "value": 10}, pulled["patch"])

    def test_what_cannot_be_decided_is_given_back_alone(self):
        function = self.start(KEDGE_MODE="queued")
        one = self.project(function)
        other = self.project(function, "/v1/orgs/acme/projects/q")
        named = self.failures(
            function, self.message(1, self.push(1, [put("n1", 1)])), self.message(2, self.push(1, [put("n1", 1)], "q"), "acme/q"),
            self.message(3, "poison"), self.message(4, self.push(2, [put("n1", 2)])),
            self.message(5, self.push(2, [put("n1", 2)], "q"), "acme/q"))
        self.assertEqual(named, ["m3"])
        for project in (one, other):
            self.assertIn({"op": "put", "key": "notes/n1", "value": 2},
                          project.ask("POST", "/pull", pull_body("b")).json["patch"])

    def test_what_a_batch_cost_stands_in_the_log(self):
        function = self.start(KEDGE_MODE="queued")
        self.project(function)
        self.assertEqual(self.failures(function, self.message(1, self.push(1, [put("n1", 1)]))), [])
        self.assertEqual(self.failures(function, self.message(2, self.push(2, [put("n1", "x" * 5000)])),
                                       self.message(3, "poison")), ["m3"])
        first, second = lines_of(function, "consumed")
        self.assertEqual((first["level"], first["messages"], first["failed"]), ("info", 1, 0))
        self.assertEqual((second["level"], second["messages"], second["failed"]), ("warning", 2, 1))
        self.assertEqual(first["cost"]["write_units"], 1)
        self.assertGreater(second["cost"]["write_units"], 1)

    def test_more_messages_than_a_batch_has_are_refused(self):
        failed, error = self.start(KEDGE_MODE="queued").invoke({"Records": [self.message(i, "x") for i in range(11)]})
        self.assertTrue(failed)
        self.assertIn("at most 10", error["errorMessage"])


class Effects(LambdaCase):
    """What follows the writes of logs, over a folder: records of the stream and messages as Lambda's pollers bring
    them. Real ones are in tests/deploy."""

    def log(self, function):
        self.project(function)
        everybody = Caller(function, self.admin_token)
        self.assertEqual(everybody.ask("PUT", "/logs/l").status, 201)
        for number, value in ((1, "x"), (2, "y")):
            body = {"collection": "notes", "id": "a", "value": value}
            appended = everybody.ask("POST", "/logs/l/entries", {"type": "kedge.put", "version": 1, "body": body})
            self.assertEqual(appended.json["number"], number)
        self.assertEqual(everybody.ask("POST", "/logs/l/entries", {"type": "Snapshot", "version": 1}).status, 200)
        return everybody

    def select(self, file, query):
        database = sqlite3.connect(f"{self.folder.name}/data/{file}")
        with contextlib.closing(database):
            return database.execute(query).fetchall()

    def change(self, sequence, num, kind="Snapshot", names="acme/p/l"):
        """The entry of this place in the newest log."""
        keys = self.select("records.db", "SELECT partition, sort FROM record WHERE substr(partition, 1, 2) = x'4523'"
                                         " ORDER BY partition, sort")[num]  # E#
        image = {**{name: {"S": bytes(key).decode()} for name, key in zip(("pk", "sk"), keys, strict=True)},
                 "N": {"S": names}, "T": {"S": kind}, "C": {"N": "1"}, "B": {"B": "AAEC"}}
        return {"eventID": str(sequence), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
                "awsRegion": "us-east-1", "eventSourceARN": "arn:aws:dynamodb:us-east-1:0:table/t/stream/s",
                "dynamodb": {"Keys": {name: image[name] for name in ("pk", "sk")}, "NewImage": image,
                             "SequenceNumber": f"{sequence:021d}", "ApproximateCreationDateTime": 1700000000,
                             "SizeBytes": 100, "StreamViewType": "NEW_IMAGE"}}

    def invoke(self, function, *records):
        failed, answer = function.invoke({"Records": list(records)})
        self.assertFalse(failed, (answer, function.logged()))
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def messages(self):
        return [bytes(body).decode() for (body,) in self.select("snapshots.db", "SELECT body FROM message ORDER BY id")]

    def message(self, number, body, queue="snapshots.fifo"):
        return {"messageId": f"m{number}", "receiptHandle": f"r{number}", "body": body, "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:0:{queue}",
                "attributes": {"MessageGroupId": "snapshots-0", "ApproximateReceiveCount": "1", "SentTimestamp": "1"}}

    def entry(self, everybody, number=3):
        return everybody.ask("GET", f"/logs/l/entries?from={number}&limit=1").json["entries"][0]

    def test_a_record_of_the_stream_requests_the_snapshot_and_a_message_makes_it(self):
        function = self.start(KEDGE_STREAM="followed")
        everybody = self.log(function)
        self.assertEqual(self.invoke(function, self.change(1, 1, "kedge.put"), self.change(2, 3)), [])
        self.assertEqual(self.messages(), ['{"log":"l","organization":"acme","project":"p"}'])
        self.assertNotIn("snapshot", self.entry(everybody))
        self.assertEqual(self.invoke(function, self.message(1, self.messages()[0])), [])
        made = everybody.ask("GET", "/logs/l/snapshots/" + self.entry(everybody)["snapshot"])
        self.assertEqual(made.json, {"chunks": [], "collections": {"notes": {"a": "y"}}, "log": "l", "number": 3})
        # Both may come again.
        self.assertEqual(self.invoke(function, self.change(2, 3)), [])
        self.assertEqual(self.invoke(function, self.message(2, self.messages()[-1])), [])
        self.assertEqual(everybody.ask("GET", "/logs/l").json["last_snapshot"], 3)

    def test_the_first_record_that_fails_is_named(self):
        function = self.start(timeout_s=1 if SLOWER == 1 else 1 / SLOWER)  # less than the handlers keep in reserve
        self.log(function)
        self.assertEqual(self.invoke(function, self.change(7, 3), self.change(8, 3)), [f"{7:021d}"])
        self.assertEqual(self.messages(), [])
        self.assertEqual(self.invoke(function, self.message(1, "x")), [])  # none that could ever be worked off
        self.assertEqual(self.invoke(function, self.message(2, '{"log":"l","organization":"acme","project":"p"}')), ["m2"])

    def test_a_foreign_record_holds_up_nobody(self):
        function = self.start()
        self.log(function)
        deep = {"S": "x"}
        for _ in range(32):
            deep = {"L": [deep]}
        odd = [self.change(number, 3) for number in (2, 3, 4)]
        for record, value in zip(odd, ({"BOOL": True}, {"S": "a\0b"}, deep), strict=True):
            record["dynamodb"]["NewImage"]["T"] = value
        self.assertEqual(self.invoke(function, self.change(1, 3, names="acme/p/other"), *odd, self.change(5, 3)), [])
        self.assertEqual(len(lines_of(function, "log-change-passed")), 4)
        self.assertEqual(len(self.messages()), 1)
        failed, error = function.invoke({"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {}}]})
        self.assertTrue(failed)
        self.assertIn("SequenceNumber", error["errorMessage"])


if __name__ == "__main__":
    print(f"on {WHICH}")
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
