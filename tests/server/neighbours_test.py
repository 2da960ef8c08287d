"""What one organization's work leaves to the others, and when work ends.

Usage: neighbours_test.py SERVER_PROGRAM SLOW_PLUGIN. Closes with the plain line "N passed, N failed"."""
import gzip
import json
import pathlib
import select
import signal
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
from peers import MIB, PLUGIN, SLOWER, Server, push_body, put, read_until, run_tests, wait_for

EVIL = "/v1/orgs/evil/projects/"
GOOD = "/v1/orgs/good/projects/p"
LARGE = {f"member{i}": "x" * 1000 for i in range(6000)}  # an item of 6 MB
PATCHES = 1500  # each of which compares all of it, in vain, but the last


def patches(client, count=PATCHES):
    whole, member = {"op": "test", "path": "", "value": {}}, {"op": "add", "path": "/a"}
    return push_body(client, [("kedge.patch", {"collection": "notes", "id": "large",
                                               "patch": [{**member, "value": i} if i == count - 1 else whole]})
                              for i in range(count)])


class Neighbours(unittest.TestCase):
    def start(self, *options):
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--mutators", PLUGIN, *options)
        return self.server

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.peers = []

    def tearDown(self):
        for peer in self.peers:
            peer.close()
        self.server.stop(signal.SIGKILL)
        self.folder.cleanup()

    def make(self, path):
        self.assertEqual(self.server.request("PUT", path)[0], 201)

    def make_large(self, path):
        self.make(path)
        self.push(path, push_body("maker", [put("large", LARGE)]))

    def push(self, path, body):
        self.assertEqual(self.server.request("POST", path + "/push", body)[0], 200)

    def send(self, path, body, what="push"):
        data = json.dumps(body).encode()
        lines = f"POST {path}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n\r\n"
        self.peers.append(self.server.connect(lines.encode() + data))
        return self.peers[-1]

    def send_packed(self, path, body):
        lines = (f"POST {path}/push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Encoding: gzip\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n")
        self.peers.append(self.server.connect(lines.encode() + body))
        return self.peers[-1]

    def wait_until_it_decides(self, path, version):
        wait_for(lambda: self.server.request("GET", path + "/versions?limit=1")[2]["versions"][0]["version"] > version)

    def crowd(self, path, before):
        """300 peers that ask while the only worker hangs, for 5 s; `before` is how many connections there are already.
        They are connected when that begins, since a slow test needs longer for it."""
        crowd = [self.server.connect() for _ in range(300)]
        self.peers += crowd
        wait_for(lambda: self.server.metric("kedge_connections") >= before + len(crowd))
        self.send(path, push_body("c1", [("hang", None)]))
        wait_for(lambda: self.server.metric("kedge_connections") >= before + len(crowd) + 2) # itself and that push
        for peer in crowd:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return crowd, select.select(crowd, [], [], 60)[0]

    def last_id(self, path, client):
        status, _, answer = self.server.request("GET", f"{path}/clients/{client}/mutations/latest")
        self.assertIn(status, (200, 404), answer)
        return answer["id"] if status == 200 else 0

    def test_long_pushes_of_one_organization_make_room_for_another(self):
        self.start("--workers", "1", "--request-timeout", "3600")
        self.make(GOOD)
        for project in "abcd":
            self.make_large(EVIL + project)
        long = [self.send(EVIL + project, patches(client)) for project in "abcd" for client in ("c1", "c2")]
        self.wait_until_it_decides(EVIL + "a", 1)
        for i in range(5):
            self.push(GOOD, push_body(f"good{i}", [put("n1", i)]))
            self.assertEqual(self.server.request("GET", GOOD)[0], 200)
        self.assertEqual(select.select(long, [], [], 0)[0], [], "the long pushes had ended")

    def test_a_push_of_new_clients_pays_for_them_and_is_told_what_it_cost_once(self):
        clients, each = 12, 15
        self.start("--workers", "1", "--cost-header", "--request-timeout", "3600", "--new-clients-per-minute", str(clients + 1))
        self.make_large(EVIL + "a")
        self.make_large(GOOD)
        body = {**patches("c0", 0), "mutations": [{**mutation, "clientID": f"c{i}"} for i in range(clients)
                                                  for mutation in patches("c0", each)["mutations"]]}
        other = self.send(GOOD, patches("other")) # waits whenever the first one works
        several = self.send(EVIL + "a", body)
        answer = read_until(several, b"{}", seconds=300) # it computes all the time
        self.assertEqual(select.select([other], [], [], 0)[0], [], "nobody waited")
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
        versions = self.server.request("GET", EVIL + "a")[2]["version"] - 1
        self.assertGreater(versions, 1, "one time slice was enough")
        cost = json.loads(next(line for line in answer.split(b"\r\n") if line.lower().startswith(b"kedge-cost:")).split(b":", 1)[1])
        self.assertGreaterEqual(cost["write_units"], versions)

    def test_long_pushes_that_wait_for_another_turn_hold_their_bodies_unpacked(self):
        """Small on the wire, and 15 MiB each while they wait: two of them are what the organization may hold."""
        self.start("--workers", "1", "--request-timeout", "3600", "--budget", f"organization_held_bytes={40 * MIB}")
        self.make_large(EVIL + "a")
        long = []
        for i in range(6):
            body = gzip.compress(json.dumps(patches(f"c{i}")).encode().ljust(15 * MIB))
            self.assertLess(len(body), MIB)
            long.append(self.send_packed(EVIL + "a", body))
        refused = set()
        while len(refused) < 3:
            for raw in select.select([raw for raw in long if raw not in refused], [], [], 90 * SLOWER)[0]:
                self.assertIn(b"push-unfinished", read_until(raw, b"}"))
                refused.add(raw)
            self.assertTrue(refused, "all of them wait")
        wait_for(lambda: 14 * MIB < self.server.metric("kedge_held_bytes") <= 40 * MIB)

    def test_a_push_ends_with_the_time_of_its_request_and_goes_on_when_it_comes_again(self):
        self.start("--request-timeout", "1")
        path, count = EVIL + "a", 100
        self.make_large(path)
        decided, answers = 0, []
        while 200 not in answers:
            status, headers, answer = self.server.request("POST", path + "/push", patches("c1", count))
            answers.append(status)
            last = self.last_id(path, "c1")
            self.assertGreater(last, decided, answer)
            decided = last
            if status != 200:
                self.assertEqual((status, answer["code"]), (503, "push-unfinished"))
                self.assertEqual(headers["Retry-After"], "1")
                self.assertIn(f"the first {last} of {count} mutations", answer["detail"])
        self.assertEqual(decided, count)
        self.assertIn(503, answers, "the push took no second")
        item = self.server.request("GET", path + "/versions/latest/collections/notes/large")[2]
        self.assertEqual(item["value"]["a"], count - 1)

    def test_work_ends_when_its_peer_is_gone(self):
        self.start("--request-timeout", "3600")
        path = EVIL + "a"
        self.make(path)
        mutations = 200  # each loops until its limit of two seconds is over
        peer = self.send(path, push_body("c1", [put("n1", 1)] + [("loop", None)] * mutations))
        wait_for(lambda: self.server.metric("kedge_connections") >= 2)
        peer.close()
        self.peers.remove(peer)
        # The project is free again, long before the push could have ended.
        self.push(path, push_body("c2", [put("n2", 1)]))
        self.assertLess(self.last_id(path, "c1"), mutations // 2)

    def test_the_server_ends_soon_whatever_runs(self):
        self.start("--workers", "4", "--request-timeout", "3600")
        self.make_large(EVIL + "a")
        self.make(GOOD)
        busy = [self.send(EVIL + "a", patches("c1")), self.send(EVIL + "a", patches("c2")),
                self.send(GOOD, push_body("c3", [("hang", None)] * 50)), self.send(GOOD, push_body("c4", [("loop", None)] * 50))]
        self.wait_until_it_decides(EVIL + "a", 1)
        self.assertEqual(select.select(busy, [], [], 0)[0], [], "what should be busy had ended")
        self.assertEqual(self.server.stop_within(5), 0, self.server.logged())
        for peer in busy:
            read_until(peer, b"HTTP/1.1 503 ")

    def test_a_peer_that_does_not_read_its_answer_does_not_keep_the_server(self):
        self.start()
        path = EVIL + "a"
        self.make(path)
        for item in ("large0", "large1", "large2"):
            self.push(path, push_body("c-" + item, [put(item, LARGE)]))
        pull = {"pullVersion": 1, "clientGroupID": "g", "cookie": None, "profileID": "", "schemaVersion": ""}
        slow = self.send(path, pull, "pull")
        read_until(slow, b"HTTP/1.1 200 ")
        self.assertEqual(self.server.stop_within(5), 0, self.server.logged())

    def queue_slow(self, project):
        """A push of a native client, whose mutations take half a minute."""
        body = {**push_body("c-" + project, [("hang", None)] * 6), "kedge": {"client": "c-" + project}}
        self.make(EVIL + project)
        self.push(EVIL + project, body)

    def test_in_queued_mode_slow_pushes_of_one_organization_leave_a_consumer_to_another(self):
        self.start("--mode", "queued", "--consumers", "2")
        self.make(GOOD)
        for project in "abcdefghijkl":  # more than a receive gives
            self.queue_slow(project)
        body = {**push_body("good", [put("n1", 1)]), "kedge": {"client": "good"}}
        began = time.monotonic()
        for number in range(1, 4):
            body["mutations"][0]["id"] = number
            self.push(GOOD, body)
            wait_for(lambda wanted=number: self.last_id(GOOD, "good") == wanted)
        self.assertEqual(self.server.metric("kedge_consumed_messages_total"), 3, "the slow ones were decided before")
        self.assertLess(time.monotonic() - began, 25 * SLOWER)

    def test_in_queued_mode_the_server_ends_soon_whatever_runs(self):
        self.start("--mode", "queued", "--consumers", "2")
        self.queue_slow("a")
        wait_for(lambda: self.server.metric("kedge_received_messages_total") == 1)
        self.assertEqual(self.server.stop_within(5), 0, self.server.logged())

    def test_a_crowd_of_one_organization_is_told_to_come_back_and_metrics_are_answered(self):
        self.start("--workers", "1")
        self.make(EVIL + "a")
        self.make(GOOD)
        crowd, refused = self.crowd(EVIL + "a", 0)
        answer = read_until(refused[0], b"}")
        self.assertTrue(answer.startswith(b"HTTP/1.1 429"), answer)
        self.assertIn(b"Retry-After: 1", answer)
        self.assertIn(b"too-many-requests", answer)
        self.assertGreaterEqual(self.server.metric("kedge_requests_waiting"), 256)
        self.assertEqual(self.server.request("GET", GOOD)[0], 200)
        first = next(peer for peer in crowd if peer not in refused)
        read_until(first, b"HTTP/1.1 200 ")

    def test_a_response_of_which_a_part_was_sent_goes_on_in_a_crowd(self):
        self.start("--workers", "1")
        path = EVIL + "a"
        self.make(path)
        for item in ("large0", "large1", "large2"):
            self.push(path, push_body("c-" + item, [put(item, LARGE)]))
        pull = {"pullVersion": 1, "clientGroupID": "g", "cookie": None, "profileID": "", "schemaVersion": ""}
        reader = self.send(path, pull, "pull")
        seen = read_until(reader, b"HTTP/1.1 200 ")
        _, refused = self.crowd(path, 1)
        self.assertTrue(read_until(refused[0], b"}").startswith(b"HTTP/1.1 429"))
        reader.settimeout(90 * SLOWER)
        while not seen.endswith(b"\r\n0\r\n\r\n"):
            piece = reader.recv(65536)
            self.assertTrue(piece, "the response was cut")
            seen += piece


if __name__ == "__main__":
    run_tests()
