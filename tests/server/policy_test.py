#!/usr/bin/env python3
"""Policies: which role may call which mutators, against a kedge-server with tokens.

Usage: policy_test.py SERVER_PROGRAM PLUGIN ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import json
import pathlib
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import BASE, PLUGIN, Server, pull_body, push_body, put, run_tests, wait_for
from tokens import make_keys, make_token

DENIED = "mutator-not-allowed"
MOVE = ("notes.move", {"id": "none", "folder": "x"})  # of the app, which rejects an absent note
POLICY = {"roles": {"editor": ["kedge.put", "notes.*"], "mover": ["notes.move"], "reader": ["*"], "admin": ["*"]},
          "default": []}


class PolicyCase(unittest.TestCase):
    """A server with POLICY."""

    mode = "direct"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        make_keys(self.root)
        self.policy = self.root / "policy.json"
        self.policy.write_text(json.dumps(POLICY))
        self.start()
        self.create("p")

    def start(self, *more):
        self.server = Server(self.root / "data", "--jwks", str(self.root / "keys.json"), "--issuer", "i", "--audience",
                             "kedge", "--mutators", PLUGIN, "--mode", self.mode, "--policy", str(self.policy), *more)

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def token(self, role):
        claims = {"iss": "i", "aud": "kedge", "sub": "u-" + role, "org": "acme", "exp": time.time() + 600,
                  **({"role": role} if role else {})}
        return {"Authorization": "Bearer " + make_token(self.root, claims)}

    def create(self, project, **body):
        status = self.server.request("PUT", f"/v1/orgs/acme/projects/{project}", body or None, self.token("admin"))[0]
        self.assertEqual(status, 201)

    def push(self, role, client, mutations, first=1, base=BASE):
        body = {**push_body(client, mutations, first), "kedge": {"client": client}}
        self.assertEqual(self.server.request("POST", base + "/push", body, self.token(role))[0], 200)

    def outcomes(self, role, client, count, first=1, base=BASE):
        """Of a client's mutations, once they are decided."""
        found = []

        def are_decided():
            found[:] = [self.server.request("GET", f"{base}/clients/{client}/mutations/{at}", headers=self.token(role))
                        for at in range(first, first + count)]
            return {status for status, _, _ in found} == {200}

        wait_for(are_decided)  # in queued mode later than the response
        return [outcome for _, _, outcome in found]

    def codes(self, role, mutations, base=BASE):
        client = f"c-{role or 'without'}-{base.rsplit('/', 1)[1]}"
        self.push(role, client, mutations, base=base)
        return [outcome.get("code", "") for outcome in self.outcomes(role, client, len(mutations), base=base)]


class Policies(PolicyCase):
    def test_each_role_calls_what_it_may_and_nothing_blocks_what_is_behind(self):
        batch = lambda *parts: ("kedge.batch", {"mutations": [{"name": name, "args": args} for name, args in parts]})
        pushed = [put("n1", 1), MOVE, batch(put("n2", 2)), batch(put("n3", 3), ("kedge.delete", {})), ("kedge.noop", None),
                  ("kedge.delete", {"collection": "notes", "id": "n1"}), put("n4", 4)]
        self.assertEqual(self.codes("editor", pushed), ["", "note-deleted", "", DENIED, "", DENIED, ""])
        self.assertEqual(self.codes("mover", pushed),
                         [DENIED, "note-deleted", DENIED, DENIED, "", DENIED, DENIED])
        for other in ("nobody", ""):
            self.assertEqual(self.codes(other, pushed), [DENIED, DENIED, DENIED, DENIED, "", DENIED, DENIED], other)
        self.assertEqual(self.codes("reader", pushed[:2]), ["not-allowed", "not-allowed"])
        pulled = self.server.request("POST", BASE + "/pull", pull_body("r"), self.token("reader"))[2]
        self.assertEqual(sorted(change["key"] for change in pulled["patch"] if change["op"] == "put"),
                         ["notes/n1", "notes/n2", "notes/n4"])

    def test_a_client_is_told_with_its_pull_what_was_refused_and_why(self):
        self.push("mover", "m", [put("n1", 1)])
        self.outcomes("mover", "m", 1)
        body = {**pull_body("m"), "kedge": {"client": "m", "lowest_pending": 1, "highest_id": 1}}
        told = self.server.request("POST", BASE + "/pull", body, self.token("mover"))[2]
        self.assertEqual(told["lastMutationIDChanges"], {"m": 1})
        outcome = told["kedge"]["outcomes"][0]
        self.assertEqual((outcome["outcome"], outcome["code"], outcome["message"]), (
            "rejected", DENIED, 'the role "mover" may not call kedge.put; it may call notes.move'))

    def test_a_log_project_decides_it_with_the_entry(self):
        self.create("sheet", kind="log")
        base = "/v1/orgs/acme/projects/sheet"
        self.assertEqual(self.codes("mover", [put("n1", 1), ("kedge.noop", None)], base), [DENIED, ""])
        self.assertEqual(self.codes("editor", [put("n2", 2)], base), [""])
        made = self.server.request("POST", base + "/snapshot", headers=self.token("admin"))[2]
        items = self.server.request("GET", f"{base}/snapshot?version={made['version']}", headers=self.token("editor"))[2]
        self.assertEqual([item["key"] for item in items["items"]], ["notes/n2"])

    def test_sighup_takes_another_policy_and_what_was_decided_stays(self):
        self.assertEqual(self.codes("mover", [put("n1", 1)]), [DENIED])
        self.policy.write_text("{}")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "policy-not-loaded" in self.server.logged())
        self.assertIn("it is missing", self.server.logged())
        self.push("mover", "m", [put("n2", 2)])
        self.assertEqual(self.outcomes("mover", "m", 1)[0]["code"], DENIED)
        self.policy.write_text(json.dumps({"roles": {}, "default": ["kedge.put"]}))
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "policy-loaded" in self.server.logged())
        self.push("mover", "m", [put("n2", 2)])  # again: it is decided
        self.push("mover", "m", [put("n3", 3), MOVE], first=2)
        self.assertEqual([outcome.get("code", "") for outcome in self.outcomes("mover", "m", 3)], [DENIED, "", DENIED])

    def test_a_server_does_not_start_with_a_policy_that_is_wrong(self):
        self.server.stop()
        for text, named in (("{", "not JSON"), ("[]", "not a JSON object"), ('{"roles":{}}', "default"),
                            ('{"roles":{"editor":["kedge.putt"]},"default":[]}', "roles.editor")):
            self.policy.write_text(text)
            with self.assertRaisesRegex(RuntimeError, "policy.json.*" + named + ".*policy-invalid", msg=text):
                self.start()
        self.policy.unlink()
        with self.assertRaisesRegex(RuntimeError, "policy.json.*file-unreadable"):
            self.start()
        self.policy.write_text(json.dumps(POLICY))
        self.start()


class QueuedPolicies(Policies):
    """The same where a consumer decides, after the response."""

    mode = "queued"


class Rebases(PolicyCase):
    """Of a fork, by an administrator, whose role the rebase has."""

    def test_a_rebase_does_not_apply_what_the_policy_has_refused(self):
        self.push("editor", "e", [put("n1", 1)])
        ask = lambda method, path, body: self.server.request(method, "/v1/orgs/acme/projects/" + path, body,
                                                             self.token("admin"))
        self.assertEqual(ask("POST", "p/fork", {"version": 1, "to": "q"})[0], 201)
        fork = "/v1/orgs/acme/projects/q"
        self.push("mover", "m", [put("n2", 2), MOVE, put("n3", 3)], base=fork)
        self.push("editor", "e2", [put("n4", 4)], base=fork)
        rebased = ask("POST", "p/rebase", {"from_project": "q", "from_version": 2, "to_version": 3, "job": "j"})
        self.assertEqual(rebased[0], 200, rebased[2])
        self.assertEqual([told.get("code", "") for told in rebased[2]["mutations"]],
                         [DENIED, "note-deleted", DENIED, ""])
        self.assertIn('the role "mover"', rebased[2]["mutations"][0]["message"])


if __name__ == "__main__":
    run_tests()
