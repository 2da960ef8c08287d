#!/usr/bin/env python3
"""Resources of kedge-server over HTTP, in open mode and without further options, and what their calls cost.

Usage: resource_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from peers import Server, run_tests, wait_for

PLAN = "/v1/orgs/acme/resources/plan/p%2F1"


class Resources(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(["--data", str(pathlib.Path(self.folder.name) / "data")], "--open", "--cost-header")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def ask(self, method, path, body=None, status=200):
        answer = self.server.request(method, path, body)
        self.assertEqual(answer[0], status, answer)
        cost = json.loads(answer[1]["kedge-cost"])
        return answer[2], cost["read_units"], cost["write_units"]

    def test_a_resource_lives_through_all_its_requests(self):
        self.ask("PUT", PLAN, {"expected": 0, "value": {"n": 1}}, 201)
        self.ask("PUT", PLAN, {"expected": 1, "value": {"n": 2}})
        self.assertEqual(self.ask("GET", PLAN)[0]["value"], {"n": 2})
        self.assertEqual(self.ask("GET", PLAN + "?version=1")[0]["value"], {"n": 1})
        self.assertEqual(self.ask("DELETE", PLAN + "?expected=1", status=409)[0]["code"], "resource-conflict")
        self.assertEqual(self.ask("DELETE", PLAN + "?expected=2")[0]["deleted"], 2)
        self.assertEqual(self.ask("GET", PLAN, status=404)[0]["code"], "resource-not-found")
        self.assertEqual(self.ask("POST", PLAN + "/rollback", {"expected": 0, "to": 1}, 201)[0]["version"], 3)
        versions = self.ask("GET", PLAN + "/versions")[0]
        self.assertEqual([entry["version"] for entry in versions["versions"]], [3, 2, 1])
        self.assertEqual(self.ask("GET", "/v1/orgs/acme/resources/plan")[0]["resources"][0]["id"], "p/1")
        self.server.stop()
        self.server = Server(["--data", str(pathlib.Path(self.folder.name) / "data")], "--open", "--cost-header")
        self.assertEqual(self.ask("GET", PLAN)[0]["value"], {"n": 1})

    def test_each_call_is_counted(self):
        """A record in a transaction takes two units, and a consistent read of up to 4 KB takes one."""
        # The reader that follows the logs writes a checkpoint in its first round.
        wait_for(lambda: self.server.metric("kedge_store_write_units_total") == 1)
        before = {name: self.server.metric(f"kedge_store_{name}_units_total") for name in ("read", "write")}
        _, created_read, created = self.ask("PUT", PLAN, {"expected": 0, "value": 1}, 201)
        _, updated_read, updated = self.ask("PUT", PLAN, {"expected": 1, "value": 2})
        _, read, nothing = self.ask("GET", PLAN)
        _, deleted_read, deleted = self.ask("DELETE", PLAN + "?expected=2")
        self.assertEqual((created, updated, nothing, deleted), (4, 4, 0, 1))
        self.assertEqual((created_read, updated_read, read, deleted_read), (2, 1, 1, 1))
        self.assertEqual(self.server.metric("kedge_store_write_units_total"), before["write"] + 9)
        self.assertEqual(self.server.metric("kedge_store_read_units_total"), before["read"] + 5)

    def test_a_page_of_another_origin_may_delete(self):
        headers = self.server.request("OPTIONS", PLAN, headers={"Origin": "http://localhost:1234"})[1]
        self.assertIn("DELETE", headers["Access-Control-Allow-Methods"])


if __name__ == "__main__":
    run_tests()
