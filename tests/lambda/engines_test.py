#!/usr/bin/env python3
"""kedge-lambda on real engines: clients push through a gateway, a poller brings the batches of the queue.

Usage: engines_test.py BIN_FOLDER PLUGIN WRITER. The environment names the engines, as scripts/stack tells it. Closes
with the plain line "N passed, N failed"; without engines it ends with 77, or fails with KEDGE_ENGINES=required."""
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from events import Caller, Keys, pull_body, push_body, put
from poller import EVENT_MAX, Gateway, Poller, Queue
from runtime_api import RIE, SLOWER, WHICH, Function

PROGRAMS, PLUGIN, WRITER = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
ENGINES = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS"]
NAME = "kedge-lambda-test-" + secrets.token_hex(6)
STORES = {"KEDGE_TABLE": NAME, "KEDGE_BUCKET": NAME, "KEDGE_QUEUE": NAME + ".fifo"}
OPTIONS = ["--table", NAME, "--bucket", NAME, "--queue", NAME + ".fifo"]
DEADLINE_S = 120 * SLOWER


def wait_for(condition, what):
    step, end = threading.Event(), time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"in vain: {what()}")
        step.wait(0.05)


class Relay:
    """Stands between the function and an engine. `freeze` does to its connections what a network does to those of a
    frozen process: they are cut, or nothing comes through them any more."""

    def __init__(self, endpoint):
        host, _, port = endpoint.rpartition("/")[2].partition(":")
        self.upstream = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock, self.pairs, self.down = threading.Lock(), [], False
        self.left, self.sent = 0, None  # to be called once, when so many pieces have passed
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.down:
                near.close()
                continue
            far = socket.create_connection(self.upstream)
            pair = {"sockets": (near, far), "lost": False}
            with self.lock:
                self.pairs.append(pair)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(pair, source, sink), daemon=True).start()

    def pump(self, pair, source, sink):
        try:
            while piece := source.recv(65536):
                if pair["lost"]:
                    continue
                sink.sendall(piece)
                if source is pair["sockets"][0]:
                    self.count()
        except OSError:
            pass
        if not pair["lost"]:
            self.close(pair)

    def count(self):
        with self.lock:
            call, self.left = self.sent, self.left - 1
            if call is None or self.left > 0:
                return
            self.sent = None
        call()

    def close(self, pair):
        for end in pair["sockets"]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def freeze(self, silently):
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            if silently:
                pair["lost"] = True
            else:
                self.close(pair)
        return len(pairs)

    def stop(self):
        self.listener.close()
        self.freeze(False)


class OnEngines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.TemporaryDirectory()
        cls.keys = Keys(pathlib.Path(cls.root.name))
        cls.token = cls.keys.token(sub="ann", org="demo")

    @classmethod
    def tearDownClass(cls):
        cls.root.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.project = "p" + secrets.token_hex(4)
        self.running = []
        self.admin("create-project", create=True)
        self.queue = Queue(STORES["KEDGE_QUEUE"])
        self.dead = Queue(NAME + "-dead-letters.fifo")
        self.dead.on("PurgeQueue")

    def tearDown(self):
        for thing in reversed(self.running):
            thing.stop()
        self.folder.cleanup()

    def keep(self, thing):
        self.running.append(thing)
        return thing

    def admin(self, *words, create=False):
        place = [] if words[0] in ("dead-letters", "redrive-all") else ["--org", "demo", "--project", self.project]
        done = subprocess.run(
            [PROGRAMS / "kedge-admin", *OPTIONS, *(["--create"] if create else []), *place, *words],
            capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start(self, *, requests, **variables):
        tokens = self.keys.variables() if requests else {}
        return self.keep(Function([PROGRAMS / "kedge-lambda"],
                                  {**STORES, "KEDGE_MODE": "queued", "KEDGE_MUTATORS": PLUGIN, **tokens, **variables}))

    def caller(self, function):
        return Caller(function, self.token, f"/v1/orgs/demo/projects/{self.project}")

    def deliver_at_most(self, times):
        (arn,) = self.dead.on("GetQueueAttributes", AttributeNames=["QueueArn"])["Attributes"].values()
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": times})
        self.queue.on("SetQueueAttributes", Attributes={"RedrivePolicy": policy})

    def poll(self, function, **options):
        return self.keep(Poller(self.queue, function, **options))

    def mutations(self):
        found, before = [], []
        while True:
            page = self.admin("versions", "--limit", "100", *before)
            found += page["versions"]
            if not page["next"]:
                return [mutation for version in reversed(found) for mutation in version["mutations"]]
            before = ["--before", str(page["next"])]

    def notes(self, copy, url, *words):
        done = subprocess.run(
            [PROGRAMS / "kedge-notes", "--data", copy, "--url", url, "--org", "demo", "--project", self.project, *words],
            capture_output=True, text=True, timeout=DEADLINE_S, env={**os.environ, "KEDGE_TOKEN": self.token[7:]})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_mutations(self, counts):
        """Each client's edits once, and in order."""
        by_client = {}
        for mutation in self.mutations():
            by_client.setdefault(mutation["client"], []).append(mutation["id"])
        self.assertEqual(sorted(map(len, by_client.values())), sorted(counts))
        for ids in by_client.values():
            self.assertEqual(ids, list(range(1, len(ids) + 1)))

    def sync_copies(self, url, edits):
        """Two copies of the notes app make edits and sync, beside each other."""
        folders = [f"{self.folder.name}/{name}" for name in ("ann", "bob")]
        outcomes = []

        def work(folder):
            try:
                for number in range(edits):
                    self.notes(folder, url, "--offline", "add", f"{folder[-3:]} {number}")
                    if number % 5 == 4:
                        self.notes(folder, url, "sync")
                outcomes.append(self.notes(folder, url, "sync"))
            except BaseException as error:
                outcomes.append(error)

        threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        wait_for(lambda: self.queue.count() == 0, self.queue.count)
        views = []
        for folder in folders:
            self.notes(folder, url, "sync")
            views.append(sorted(self.notes(folder, url, "--offline", "list").splitlines()))
        self.assertEqual(views[0], views[1])
        self.assertEqual(len(views[0]), 2 * edits)

    # ---- the tests ----

    def test_edits_of_two_clients_arrive_once_and_in_order(self):
        gateway = self.keep(Gateway(self.start(requests=True)))
        poller = self.poll(self.start(requests=False))
        self.sync_copies(gateway.url, 15)
        self.check_mutations([15, 15])
        self.assertGreater(poller.batches, 0)
        self.assertEqual((poller.failed, poller.named), (0, []))

    def test_a_function_that_is_killed_in_the_middle_of_batches_loses_nothing(self):
        gateway = self.keep(Gateway(self.start(requests=True)))
        relay = self.keep(Relay(os.environ[ENGINES[0]]))
        consumer = self.start(requests=False, AWS_ENDPOINT_URL_DYNAMODB=relay.url)
        consumer.invoke({})  # it runs
        # Behind the first request of a batch, the second, the third: each was sent, and its response is lost.
        kills = [3, 2, 1]

        def kill(batch, messages):
            if kills and not relay.sent:
                relay.left, relay.sent = kills.pop(), lambda: consumer.signal(signal.SIGKILL)

        poller = self.poll(consumer, before=kill)
        self.sync_copies(gateway.url, 10)
        self.check_mutations([10, 10])
        self.assertEqual(poller.failed, 3, kills)
        self.assertEqual(self.dead.count(), 0)

    def test_large_pushes_go_through_the_bucket_and_leave_it(self):
        server = self.start(requests=True, KEDGE_CLAIM_BYTES="1000")
        ann = self.caller(server)
        for number in range(1, 4):
            pushed = ann.ask("POST", "/push", push_body("a", [put("big", str(number) * 5000)], number))
            self.assertEqual(pushed.status, 200, pushed.body)
        actions = pathlib.Path(self.folder.name) / "actions"
        self.poll(self.start(requests=False, KEDGE_AWS_ACTIONS=str(actions)))
        wait_for(lambda: self.queue.count() == 0, self.queue.count)
        self.assertLess({"s3:GetObject", "sqs:DeleteMessage", "s3:DeleteObject"}, set(actions.read_text().split()))
        if os.environ.get("KEDGE_AWS_ACTIONS"):  # what all tests together used
            with open(os.environ["KEDGE_AWS_ACTIONS"], "a") as record:
                record.write(actions.read_text())
        self.assertIn({"op": "put", "key": "notes/big", "value": "3" * 5000},
                      ann.ask("POST", "/pull", pull_body("b")).json["patch"])
        self.assertEqual(self.dead.count(), 0)

    def test_a_note_that_is_larger_than_an_event_arrives_through_the_bucket(self):
        actions = pathlib.Path(self.folder.name) / "actions"
        for mode in ("direct", "queued"):
            gateway = self.keep(Gateway(self.start(requests=True, KEDGE_MODE=mode, KEDGE_AWS_ACTIONS=str(actions))))
            copy = f"{self.folder.name}/{mode}"
            subprocess.run([WRITER, copy, self.project, "1", str(7 << 20), mode], check=True, timeout=DEADLINE_S,
                           stdout=subprocess.DEVNULL)
            self.poll(self.start(requests=False))
            self.notes(copy, gateway.url, "sync")
            pushes = [(path.rpartition("/projects/")[2].partition("/")[2], size > EVENT_MAX)
                      for method, path, size in gateway.requests if "/push" in path]
            steps = [("push", True), ("push/upload", False), ("push", False)]
            if mode == "direct":
                self.assertEqual(pushes, steps)
            self.assertGreaterEqual(len(pushes), len(steps))
            # What the queue has not decided in time is pushed again, in the same steps.
            self.assertEqual(pushes, (steps * len(pushes))[:len(pushes)])
            other = f"{self.folder.name}/{mode}-other"
            self.notes(other, gateway.url, "sync")
            shown = self.notes(other, gateway.url, "--offline", "show", f"{mode}0").partition(" ")[2]
            self.assertEqual(len(json.loads(shown)["text"]), 7 << 20)
        # No upload is left. The function that decided a push removes it after the decision.
        wait_for(lambda: self.admin("gc")["unreferenced"] == 0, lambda: self.admin("gc"))
        self.assertIn("s3:DeleteObject", actions.read_text().split())
        if os.environ.get("KEDGE_AWS_ACTIONS"):
            with open(os.environ["KEDGE_AWS_ACTIONS"], "a") as record:
                record.write(actions.read_text())

    def test_a_poison_message_ends_in_the_dead_letters_and_lets_its_group_go_on(self):
        ann = self.caller(self.start(requests=True))
        self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n", 1)])).status, 200)
        received = self.queue.on("ReceiveMessage", AttributeNames=["All"], VisibilityTimeout=0)["Messages"][0]
        group = received["Attributes"]["MessageGroupId"]
        self.deliver_at_most(10)  # fifty times take a minute
        self.addCleanup(self.deliver_at_most, 50)
        self.queue.send(group, "poison")
        self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n", 2)], 2)).status, 200)
        poller = self.poll(self.start(requests=False), visibility_s=30)
        wait_for(lambda: self.queue.count() == 0 and self.dead.count() == 1, lambda: (self.queue.count(), self.dead.count()))
        self.check_mutations([2])
        self.assertEqual(poller.failed, 0)
        letters = self.admin("dead-letters")["dead_letters"]
        self.assertEqual([letter["code"] for letter in letters], ["message-unreadable"], letters)

    def test_dead_letters_that_another_look_has_in_hand_are_told(self):
        self.addCleanup(self.queue.on, "PurgeQueue")
        self.dead.send("g", "poison")
        (held,) = self.dead.on("ReceiveMessage", VisibilityTimeout=60)["Messages"]
        self.assertEqual(self.admin("dead-letters"), {"dead_letters": [], "snapshots": [], "more": True})
        self.assertEqual(self.admin("redrive-all"), {"redriven": 0, "more": True})
        self.dead.on("ChangeMessageVisibility", ReceiptHandle=held["ReceiptHandle"], VisibilityTimeout=0)
        found = self.admin("dead-letters")
        self.assertEqual((len(found["dead_letters"]), found["more"]), (1, False))
        self.assertEqual(self.admin("redrive-all"), {"redriven": 1, "more": False})

    def test_while_the_store_is_away_a_group_waits_and_keeps_its_order(self):
        ann = self.caller(self.start(requests=True))
        relay = self.keep(Relay(os.environ[ENGINES[0]]))
        consumer = self.start(requests=False, AWS_ENDPOINT_URL_DYNAMODB=relay.url)
        consumer.invoke({})  # it runs
        relay.down = True
        relay.freeze(False)
        for number in range(1, 6):
            self.assertEqual(ann.ask("POST", "/push", push_body("a", [put("n", number)], number)).status, 200)
        poller = self.poll(consumer, visibility_s=30)
        wait_for(lambda: poller.named or poller.failed, lambda: poller.batches)
        relay.down = False
        wait_for(lambda: self.queue.count() == 0, self.queue.count)
        self.assertEqual(poller.failed, 0, "it should have named its messages")
        self.check_mutations([5])
        self.assertIn({"op": "put", "key": "notes/n", "value": 5}, ann.ask("POST", "/pull", pull_body("b")).json["patch"])

    @unittest.skipIf(RIE, "the emulator keeps the process to itself")
    def test_connections_that_died_in_a_freeze_are_replaced(self):
        for silently in (False, True):
            relays = {name: self.keep(Relay(os.environ[name])) for name in ENGINES}
            function = self.start(requests=True, KEDGE_MODE="direct", **{name: relay.url for name, relay in relays.items()})
            ann = self.caller(function)
            client = f"c{silently:d}"
            self.assertEqual(ann.ask("POST", "/push", push_body(client, [put("n", 1)])).status, 200)
            function.signal(signal.SIGSTOP)
            self.assertGreater(sum(relay.freeze(silently) for relay in relays.values()), 0)
            function.signal(signal.SIGCONT)
            after = ann.ask("POST", "/push", push_body(client, [put("n", "x" * 20000)], 2))
            self.assertEqual(after.status, 200, (silently, after.body, function.logged()))


if __name__ == "__main__":
    absent = [name for name in ENGINES if not os.environ.get(name)]
    if absent:
        required = os.environ.get("KEDGE_ENGINES") == "required"
        print(f"{'failed' if required else 'skipped'}: {absent[0]} is not set")
        sys.exit(1 if required else 77)
    print(f"on {WHICH}")
    result = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
