#!/usr/bin/env python3
"""The permissions of deploy/template.yaml are what the functions and kedge-admin need, and no more.

The functions and kedge-admin run on real engines behind gates (gate.py), which decide as IAM would with the
template's policies, over a workload that touches all they do. Nothing may be denied; and each action of each
statement must have been needed: without it a request of the workload would have been denied.

Usage: permissions_test.py TEMPLATE LAMBDA_PROGRAM ADMIN_PROGRAM. The environment names the engines and, in
KEDGE_PYTHON_TOOLS, the folder of a Python that has boto3 and PyYAML. Ends with 77 when they are not there, or fails
with KEDGE_ENGINES=required."""
import glob
import gzip
import hashlib
import json
import os
import pathlib
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "lambda")]
from tools import missing, use_python_with  # noqa: E402

ENGINES = {}
for service in ("dynamodb", "s3", "sqs"):
    url = os.environ.get(f"AWS_ENDPOINT_URL_{service.upper()}")
    if not url:
        missing(f"AWS_ENDPOINT_URL_{service.upper()} is not set")
    ENGINES[service] = urllib.parse.urlsplit(url).netloc
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
if not FAKETIME:
    missing("libfaketime is not installed (package libfaketime)")
use_python_with("boto3", "yaml")
import boto3  # noqa: E402

from events import AUDIENCE, ISSUER, Caller, Keys, pull_body, push_body, put  # noqa: E402
from gate import ACCOUNT, REGION, Gate  # noqa: E402
from policies import MAKING, PLATFORM, ROLES, described  # noqa: E402
from poller import Poller, Queue  # noqa: E402
from runtime_api import Function  # noqa: E402
from stream import Stream  # noqa: E402

TEMPLATE, LAMBDA, ADMIN = sys.argv[1:4]
NAME = "kedge-deploy-test-" + secrets.token_hex(6)
QUEUE, DEAD_LETTERS = NAME + ".fifo", NAME + "-dead-letters.fifo"
SNAPSHOTS, SNAPSHOT_LETTERS = NAME + "-snapshots.fifo", NAME + "-snapshots-dead-letters.fifo"


def template(keys, **parameters):
    return described(pathlib.Path(TEMPLATE), NAME, queue_url, Issuer=ISSUER, Audience=AUDIENCE, Jwks=keys.jwks,
                     **parameters)


class Role:
    """A policy, and the gate that the programs under it go through."""

    def __init__(self, policy, file):
        self.policy, self.gate, self.file = policy, Gate(ENGINES, policy), file

    def environment(self):
        return {**self.gate.variables(), "KEDGE_AWS_ACTIONS": str(self.file)}


def sqs_client(endpoint):
    return boto3.client("sqs", region_name=REGION, endpoint_url=endpoint)


def queue_url(name):
    return f"{os.environ['AWS_ENDPOINT_URL_SQS']}/{ACCOUNT}/{name}"


class Permissions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.keys = Keys(pathlib.Path(cls.folder.name))
        cls.token = cls.keys.token()
        cls.admin_token = cls.keys.token(sub="root", org="*", role="admin")
        cls.sqs = sqs_client(os.environ["AWS_ENDPOINT_URL_SQS"])
        make_stores(template(cls.keys))

    @classmethod
    def tearDownClass(cls):
        remove_stores()
        cls.folder.cleanup()

    @staticmethod
    def admin(variables, *arguments, name=NAME):
        stores = ["--table", name, "--bucket", name, "--queue", name + ".fifo", "--snapshots", name + "-snapshots.fifo"]
        done = subprocess.run([ADMIN, *stores, *arguments], capture_output=True, text=True, timeout=180,
                              env={**os.environ, **variables})
        if done.returncode:
            raise AssertionError((arguments, done.stdout, done.stderr))
        return done.stdout

    def setUp(self):
        for name in (QUEUE, DEAD_LETTERS, SNAPSHOTS, SNAPSHOT_LETTERS):
            self.sqs.purge_queue(QueueUrl=queue_url(name))

    def role(self, resource, **parameters):
        policy = template(self.keys, **parameters).policy(resource)
        role = Role(policy, pathlib.Path(self.folder.name) / secrets.token_hex(4))
        self.addCleanup(role.gate.stop)
        return role

    def function(self, role, name, **parameters):
        variables = template(self.keys, **parameters).variables(name)
        function = Function([LAMBDA], {**variables, **role.environment()})
        self.addCleanup(function.stop)
        return function

    def check(self, role, *others):
        """Nothing was denied, all was needed, and the program's own record tells the same actions."""
        requests = set(role.gate.requests)
        for gate in (role.gate, *others):
            self.assertEqual(gate.denied, [])
            requests |= gate.requests
        self.assertEqual(set(role.file.read_text().split()), role.gate.actions())
        needless = {place for place in role.policy.allowed() - PLATFORM
                    if all(role.policy.without(*place).allows(*request) for request in requests)}
        self.assertEqual(needless, set())

    def poll(self, role, function, name=QUEUE):
        """Lambda's poller goes by the role of the function."""
        gate, queue = Gate({"sqs": ENGINES["sqs"]}, role.policy), Queue(name)
        queue.endpoint = urllib.parse.urlsplit(gate.url("sqs"))
        poller = Poller(queue, function, visibility_s=360)
        self.addCleanup(gate.stop)
        self.addCleanup(poller.stopping.set)
        return poller, gate

    def wait(self, poller, condition):
        end = time.monotonic() + 60
        while not condition():
            if poller.stopping.wait(0.05) or poller.error or time.monotonic() > end:
                raise AssertionError(("the queue was not worked on in time", poller.error, poller.function.logged()))

    # ---- a workload ----

    def project(self, function, project):
        base = f"/v1/orgs/acme/projects/{project}"
        everybody = Caller(function, self.admin_token, base)
        made = everybody.ask("PUT", "")
        self.assertIn(made.status, (200, 201), made.body)
        return Caller(function, self.token, base), everybody

    def text(self, size):
        return "".join(random.Random(size).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))

    def push(self, caller, client, first, *mutations):
        answer = caller.ask("POST", "/push", push_body(client, mutations, first))
        self.assertEqual(answer.status, 200, answer.body)

    def upload(self, caller, client, first, *mutations):
        """A push as of a client whose push was too large for the gateway."""
        body = gzip.compress(json.dumps(push_body(client, mutations, first)).encode())
        digest = hashlib.sha256(body).hexdigest()
        grant = caller.ask("POST", "/push/upload", {"sha256": digest, "bytes": len(body)})
        self.assertEqual(grant.status, 200, grant.body)
        request = urllib.request.Request(grant.json["url"], body, grant.json["headers"], method="PUT")
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.assertEqual(answer.status, 200)
        pushed = caller.ask("POST", "/push", {"pushVersion": 1, "upload": digest})
        self.assertEqual(pushed.status, 200, pushed.body)

    def fill(self, caller, pushes):
        """Versions enough for index rows and checkpoints; an item that stands in the bucket."""
        self.push(caller, "a", 1, put("large", self.text(30000)))
        for n in range(pushes):
            self.push(caller, "a", n * 9 + 2, *[put(f"n{i}", self.text(500 + n)) for i in range(9)])

    def mark(self, project, text):
        """A blob that garbage collection has marked, and that an item with this text needs again. Returns what tells
        whether the mark is gone."""
        digest = hashlib.sha256(f'"{text}"'.encode()).hexdigest()
        boto3.client("s3").put_object(Bucket=NAME, Key=f"acme/projects/{project}/notes/{digest}.json.gz",
                                      Body=gzip.compress(f'"{text}"'.encode()))
        key = {"TableName": NAME, "Key": {"pk": {"S": f"Project#acme/{project}"},
                                          "sk": {"S": f"Garbage#notes/{digest}"}}}
        dynamodb = boto3.client("dynamodb")
        dynamodb.put_item(TableName=NAME, Item={**key["Key"], "since": {"N": "1"}, "state": {"S": "found-0"}})
        return lambda: "Item" not in dynamodb.get_item(**key)

    def read(self, caller, everybody):
        self.assertEqual(caller.ask("POST", "/pull", pull_body("reader", native=True)).status, 200)
        for path in ("/versions", "/versions/latest?items=1", "/versions/latest/collections/notes",
                     "/versions/latest/collections/notes/large", "/clients/a/mutations/2",
                     "/clients/a/mutations/latest"):
            self.assertEqual(caller.ask("GET", path).status, 200, path)
        name = caller.base.rpartition("/")[2]
        for path in ("/v1/orgs/acme/projects", "/v1/projects/" + name):
            self.assertEqual(everybody.ask("GET", path).status, 200, path)

    def tend_resource(self, everybody):
        """A resource comes, changes, goes and comes back."""
        path = "/v1/orgs/acme/resources/plan/" + secrets.token_hex(4)
        for method, tail, body, status in (
                ("PUT", "", {"expected": 0, "value": 1}, 201), ("PUT", "", {"expected": 1, "value": 2}, 200),
                ("GET", "?version=1", None, 200), ("GET", "/versions", None, 200), ("DELETE", "?expected=2", None, 200),
                ("POST", "/rollback", {"expected": 0, "to": 1}, 201)):
            answer = everybody.ask(method, path + tail, body) if body else everybody.ask(method, path + tail)
            self.assertEqual(answer.status, status, (method, tail, answer.body))
        self.assertEqual(everybody.ask("GET", "/v1/orgs/acme/resources/plan").status, 200)

    def tend_log(self, everybody):
        """A log with a large body, one that is refused, a lost tag, an archived segment and a truncated one."""
        path = "/logs/" + secrets.token_hex(4)

        def ask(method, tail, body=None, status=200):
            answer = everybody.ask(method, path + tail, body) if body is not None else everybody.ask(method, path + tail)
            self.assertEqual(answer.status, status, (method, tail, answer.body))
            return answer.json
        ask("PUT", "", status=201)
        entry, large = {"type": "set", "version": 1}, {"type": "set", "version": 1, "body": self.text(60000)}
        for segment in range(3):
            number = ask("POST", "/entries", large)["number"]
            ask("POST", "/entries", {**large, "expected": number}, 409)
            ask("POST", "/entries", {**entry, "expected": number + 1})
            ask("POST", f"/entries/{number}/metadata", {"snapshot": "s"})
            self.assertEqual(ask("GET", f"/entries?from={number}&limit=1&consistent=true")["next"], number + 1)
            ask("POST", "/segments", {})
        ask("GET", "/segments")
        ask("POST", "/segments/1/archive", {"remove": True})
        ask("POST", "/truncate", {"before": number})
        ask("GET", "/entries")
        logs = everybody.ask("GET", "/logs")
        self.assertEqual((logs.status, len(logs.json["logs"])), (200, 1), logs.body)

    def tend_log_project(self, function):
        """A log project with a large mutation, its snapshot and a retired client."""
        base = f"/v1/orgs/acme/projects/{secrets.token_hex(4)}"
        everybody, caller = (Caller(function, token, base) for token in (self.admin_token, self.token))
        made = everybody.ask("PUT", "", {"kind": "log"})
        self.assertEqual(made.status, 201, made.body)
        self.push(caller, "a", 1, put("n1", 1), put("large", self.text(30000)))
        retire = {"clientGroupID": "g-a", "lowest_pending": 1, "earlier": []}
        for who, method, path, body in (
                (everybody, "POST", "/snapshot", None), (caller, "GET", "/snapshot", None),
                (caller, "POST", "/pull", pull_body("reader", native=True)),
                (caller, "POST", "/clients/a/retire", retire)):
            answer = who.ask(method, path, body)
            self.assertEqual(answer.status, 200, (path, answer.body))

    # ---- the roles ----

    def test_the_api_may_do_what_it_does_in_direct_mode(self):
        role = self.role("ApiRole")
        caller, everybody = self.project(self.function(role, "ApiFunction"), "direct")
        self.fill(caller, 80)
        wanted_again = self.mark("direct", self.text(20000))
        self.push(caller, "b", 1, put("again", self.text(20000)))
        self.assertTrue(wanted_again())
        self.upload(caller, "u", 1, put("uploaded", 1))
        self.read(caller, everybody)
        forked = everybody.ask("POST", "/fork", {"version": 80, "to": "forked"})
        self.assertEqual(forked.status, 201, forked.body)
        self.tend_resource(everybody)
        self.tend_log(everybody)
        self.tend_log_project(everybody.function)
        self.check(role)

    def test_the_api_and_the_worker_may_do_what_they_do_in_queued_mode(self):
        api, worker = self.role("ApiRole", Mode="queued"), self.role("WorkerRole", Mode="queued")
        caller, everybody = self.project(self.function(api, "ApiFunction", Mode="queued"), "queued")
        consumer = self.function(worker, "WorkerFunction", Mode="queued")
        self.push(caller, "a", 1, put("large", self.text(30000)))
        self.push(caller, "a", 2, put("claimed", self.text(600000)))
        self.upload(caller, "u", 1, put("uploaded", 1))
        # Messages that came so often already that the function looks whether they ended one.
        for _ in range(5):
            self.sqs.receive_message(QueueUrl=queue_url(QUEUE), MaxNumberOfMessages=10, VisibilityTimeout=0)
        poller, polled = self.poll(worker, consumer)
        self.wait(poller, lambda: caller.ask("GET", "/clients/a/mutations/2").status == 200)
        wanted_again = self.mark("queued", self.text(20000))
        self.push(caller, "a", 3, put("again", self.text(20000)))
        for n in range(4, 101):
            self.push(caller, "a", n, put(f"n{n % 9}", self.text(3000 + n)))
        self.wait(poller, lambda: caller.ask("GET", "/clients/a/mutations/100").status == 200)
        self.assertTrue(wanted_again())
        # Some requests decide at once in this mode, too.
        wanted_again = self.mark("replayed-at-once", self.text(30000))
        _, target = self.project(caller.function, "replayed-at-once")
        for n in range(20):
            replayed = target.ask("POST", "/rebase", {"from_project": "queued", "from_version": 1, "to_version": 1,
                                                      "job": f"j{n}", "next": None})
            self.assertEqual(replayed.status, 200, replayed.body)
        self.assertTrue(wanted_again())
        forked = everybody.ask("POST", "/fork", {"version": 1, "to": "forked-at-once"})
        self.assertEqual(forked.status, 201, forked.body)
        self.read(caller, everybody)
        self.tend_resource(everybody)
        self.tend_log(everybody)
        self.tend_log_project(everybody.function)
        self.send_undecidable()
        self.wait(poller, lambda: "message-undecidable" in consumer.logged())
        poller.stop()
        self.assertEqual(poller.failed, 0, consumer.logged())
        self.check(api)
        self.check(worker, polled)

    def test_what_follows_the_writes_of_logs_is_allowed(self):
        follower, maker = self.role("StreamRole"), self.role("SnapshotRole")
        writer = Role(None, pathlib.Path(self.folder.name) / "wrote")
        polled_stream = Gate({"dynamodb": ENGINES["dynamodb"]}, follower.policy)
        for gate in (writer.gate, polled_stream):
            self.addCleanup(gate.stop)
        api = self.function(writer, "ApiFunction")
        log, project = self.write_log(api), self.write_log_project(api)
        self.lose_tag("followed")
        function = self.function(follower, "StreamFunction")
        records = Stream(NAME, polled_stream).read()
        self.assertGreater(len(records), 3)
        for at in range(0, len(records), 100):
            failed, answer = function.invoke({"Records": records[at:at + 100]})
            self.assertEqual((failed, answer), (False, {"batchItemFailures": []}), function.logged())
        self.lose_tag("followed")
        consumer = self.function(maker, "SnapshotFunction")
        poller, polled = self.poll(maker, consumer, SNAPSHOTS)
        self.wait(poller, lambda: log.ask("GET", "/logs/l").json["last_snapshot"] == 8)
        self.wait(poller, lambda: project.ask("GET", "/logs/mutations").json["last_snapshot"] == 4)
        (key,) = {record["dynamodb"]["Keys"]["pk"]["S"] for record in records
                  if record["dynamodb"]["NewImage"]["N"]["S"] == "acme/followed/l"}
        self.give_back(poller, key[2:24])
        poller.stop()
        self.assertEqual(poller.failed, 0, consumer.logged())
        self.check(follower, polled_stream)
        self.check(maker, polled)

    def write_log(self, api):
        """A log of mutations with bodies so large that its snapshot is made in two pieces, and the entry that asks for it."""
        _, everybody = self.project(api, "followed")
        self.assertEqual(everybody.ask("PUT", "/logs/l").status, 201)
        for number in range(1, 8):
            body = {"collection": "notes", "id": f"n{number}", "value": self.text(2700000)}
            appended = everybody.ask("POST", "/logs/l/entries", {"type": "kedge.put", "version": 1, "body": body})
            self.assertEqual(appended.status, 200, appended.body)
        self.assertEqual(everybody.ask("POST", "/logs/l/entries", {"type": "Snapshot", "version": 1}).json["number"], 8)
        return everybody

    def write_log_project(self, api):
        """A snapshot, and a segment that asks for the next one, which begins with the first."""
        base = "/v1/orgs/acme/projects/replayed-log"
        everybody, caller = (Caller(api, token, base) for token in (self.admin_token, self.token))
        self.assertEqual(everybody.ask("PUT", "", {"kind": "log"}).status, 201)
        self.push(caller, "a", 1, put("n1", 1), put("large", self.text(30000)))
        self.assertEqual(everybody.ask("POST", "/snapshot").status, 200)
        self.push(caller, "a", 3, put("n1", 2), put("other", self.text(40000)))
        self.assertEqual(everybody.ask("POST", "/logs/mutations/segments", {}).status, 200)
        return everybody

    def lose_tag(self, project):
        """As if the writer of a body had ended, and its change had not come yet."""
        s3 = boto3.client("s3")
        for blob in s3.list_objects_v2(Bucket=NAME, Prefix=f"acme/logs/{project}/")["Contents"]:
            s3.put_object_tagging(Bucket=NAME, Key=blob["Key"],
                                  Tagging={"TagSet": [{"Key": "kedge-discard", "Value": "yes"}]})

    def give_back(self, poller, log):
        """A message of a log at which another worker is."""
        dynamodb = boto3.client("dynamodb")
        key = {"pk": {"S": "P#" + log}, "sk": {"S": "1-1-"}}
        dynamodb.put_item(TableName=NAME, Item={**key, "number": {"N": "0"}, "revision": {"N": "1"},
                                                "owner": {"S": "another"}, "since": {"N": str(int(time.time() * 1000))}})
        self.sqs.send_message(QueueUrl=queue_url(SNAPSHOTS), MessageGroupId="snapshots-l",
                              MessageBody='{"log":"l","organization":"acme","project":"followed"}',
                              MessageDeduplicationId=secrets.token_hex(8))
        self.wait(poller, lambda: poller.named)
        dynamodb.delete_item(TableName=NAME, Key=key)

    def letters(self, queue=DEAD_LETTERS):
        wanted = ["ApproximateNumberOfMessages"]
        found = self.sqs.get_queue_attributes(QueueUrl=queue_url(queue), AttributeNames=wanted)
        return int(found["Attributes"][wanted[0]])

    def send_snapshot_letter(self):
        """A request of a snapshot that failed again and again."""
        self.sqs.send_message(QueueUrl=queue_url(SNAPSHOT_LETTERS), MessageGroupId="snapshots-l",
                              MessageBody='{"log":"l","organization":"acme","project":"nowhere"}',
                              MessageDeduplicationId=secrets.token_hex(8))

    def send_undecidable(self):
        push = push_body("x", [put("n1", 1)])
        message = {"format": 1, "id": "0" * 32, "organization": "acme", "project": "nowhere", "user": "ann",
                   "role": "", "push": push}
        self.sqs.send_message(QueueUrl=queue_url(QUEUE), MessageBody=json.dumps(message), MessageGroupId="nowhere",
                              MessageDeduplicationId=secrets.token_hex(8))

    def test_kedge_admin_may_do_what_it_does(self):
        role, done = self.role("OperatorPolicy"), set()
        makers = Role(None, pathlib.Path(self.folder.name) / "made")
        self.addCleanup(makers.gate.stop)
        # In this cadence each version writes a checkpoint: retention finds some to delete.
        caller, everybody = self.project(self.function(makers, "ApiFunction", Cadence="seed"), "tended")
        self.fill(caller, 20)
        self.send_undecidable()
        while not self.letters():
            self.sqs.receive_message(QueueUrl=queue_url(QUEUE), VisibilityTimeout=0)

        def tend(project, command, *arguments, **variables):
            done.add(command)
            of_all = command in ("projects", "organizations", "organizations-all", "usage", "recount-usage", "dead-letters", "redrive", "redrive-all")
            place = [] if of_all else ["--org", "acme"]
            place += [] if of_all or "resource" in command else ["--project", project]
            return self.admin({**role.environment(), **variables}, *place, command, *arguments)

        for line in ("create-project", "projects acme", "organizations tended", "organizations-all", "usage acme", "recount-usage acme", "versions", "version 20",
                     "items notes", "item notes large", "mutation a 1", "latest-mutation a", "index", "checkpoint",
                     "fork twin", "verify", "dead-letters", *self.resource_commands()):
            tend("tended", *line.split())
        tend("replayed", "create-project")
        tend("replayed", "rebase", "tended", "job", "--from", "1")
        tend("replayed", "index")
        tend("logged", "create-log-project")
        logged = Caller(everybody.function, self.token, "/v1/orgs/acme/projects/logged")
        self.push(logged, "a", 1, put("n1", 1), put("large", self.text(30000)))
        self.assertIn('"made":true', tend("logged", "make-snapshot"))
        self.carry(tend)
        self.tend_log_by_hand(tend, everybody)
        tend("tended", "retention", "--keep-versions", "2", "--remove")
        for days in (3, 6):
            collected = tend("tended", "gc", "--remove", LD_PRELOAD=FAKETIME[0], FAKETIME=f"+{days}d")
        self.assertIn('"collected":"tended"', collected)
        self.assertNotIn('"removed":0', collected)
        self.send_snapshot_letter()
        pushes, snapshots = tend("tended", "dead-letters").split('"snapshots":')
        self.assertIn('"log":"l"', snapshots)
        (letter,) = re.findall(r'"id":"([0-9a-f]{64})"', pushes)
        tend("tended", "redrive", letter)
        tend("tended", "redrive-all")
        self.assertEqual((self.letters(), self.letters(SNAPSHOT_LETTERS)), (0, 0))
        access = pathlib.Path(self.folder.name) / "access"
        access.write_text('{"users":{"ann":"editor"}}')
        tend("tended", "put-resource", "access", "project:tended", str(access))
        for project in ("logged", "tended"):
            tend(project, "delete-project", "--yes")
        self.lose_last_project(role)
        self.assertEqual(self.left_of("logged", "tended"), [])
        self.check(role)
        told = subprocess.run([ADMIN, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        of_a_folder = {"backup", "restore"}
        for command in of_a_folder:
            with self.assertRaisesRegex(AssertionError, f"{command} is for a data folder"):
                self.admin(role.environment(), command, str(pathlib.Path(self.folder.name) / "copy"))
        of_no_data = {"make-keys", "token"}
        self.assertEqual(set(re.findall(r"^  ([a-z][a-z-]*) ", told, re.MULTILINE)), done | of_a_folder | of_no_data)

    def lose_last_project(self, role):
        """An organization comes and goes with its only project."""
        of_its_own = ("--org", "passing", "--project", "only")
        for command in (["create-project"], ["delete-project", "--yes"]):
            self.admin(role.environment(), *of_its_own, *command)
        self.assertNotIn("passing", self.admin(role.environment(), "organizations-all"))

    def left_of(self, *projects):
        """What the table and the bucket have of projects that were deleted; the record that tells of it stays."""
        found = []
        for page in boto3.client("dynamodb").get_paginator("scan").paginate(TableName=NAME):
            keys = [(item["pk"]["S"], item["sk"]["S"]) for item in page["Items"]]
            found += [key for key in keys if key[1] != "Discarded" and any(
                key[0] == f"Project#acme/{name}" or key[0] == f"L#acme/{name}" or key[1] == f"Project#{name}"
                for name in projects)]
        for page in boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=NAME):
            found += [blob["Key"] for blob in page.get("Contents", []) if blob["Key"].split("/")[2] in projects]
        return found

    def resource_commands(self):
        value = pathlib.Path(self.folder.name) / "value"
        value.write_text("[]")
        return (f"put-resource plan p {value}", f"put-resource plan p {value} --expected 1", "resource plan p",
                "resource plan p --version 1", "resource-versions plan p", "resources plan",
                "delete-resource plan p --expected 2", "rollback-resource plan p --to 1")

    def tend_log_by_hand(self, tend, everybody):
        """Snapshots are made by whoever replays the log, so not by kedge-admin."""
        body = pathlib.Path(self.folder.name) / "body"
        body.write_text(json.dumps(self.text(60000)))
        tend("tended", "create-log", "l")
        for _ in range(3):
            (number,) = re.findall(r'"number":([0-9]+)', tend("tended", "append-log", "l", "set", str(body)))
            with self.assertRaises(AssertionError):
                tend("tended", "append-log", "l", "set", str(body), "--expected", number)
            noted = everybody.ask("POST", f"/logs/l/entries/{number}/metadata", {"snapshot": "s"})
            self.assertEqual(noted.status, 200, noted.body)
            tend("tended", "end-segment", "l")
        tend("tended", "archive-segment", "l", "1", "--remove")
        tend("tended", "truncate-log", "l", number)
        for command in ("logs", "log l", "read-log l", f"read-log l --from {number}", "log-segments l",
                        "reprocess-logs --since 2026-01-01"):
            tend("tended", *command.split())

    def carry(self, tend):
        """A project goes into a file and comes back, and once only half of it."""
        whole, half = (pathlib.Path(self.folder.name) / name for name in ("whole", "half"))
        tend("tended", "export", str(whole))
        tend("moved", "import", str(whole))
        half.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
        with self.assertRaises(AssertionError):
            tend("broken", "import", str(half))
        tend("broken", "discard-import")

    # ---- the borders ----

    def test_what_makes_the_stores_is_allowed_to_nobody(self):
        makers = Gate(ENGINES)
        self.addCleanup(makers.stop)
        self.admin(makers.variables(), "projects", "acme", "--create", name=NAME + "-made")
        everybody = {action for resource in ROLES for _, action in self.queued(resource).allowed()}
        # A stream is turned on by who follows it: kedge-server.
        self.assertEqual(makers.actions() - everybody, MAKING - {"dynamodb:UpdateTable"})

    def queued(self, resource):
        return template(self.keys, Mode="queued").policy(resource)


# ---- the stores ----


def make_stores(described):
    """As the template describes them, so far as the engines know what it says. In a bucket with versions the S3
    gateway would ignore If-None-Match, which AWS does not."""
    table = described.properties("Table")
    known = {"BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes"}
    boto3.client("dynamodb").create_table(TableName=NAME, **{k: v for k, v in table.items() if k in known},
                                          StreamSpecification={"StreamEnabled": True, **table["StreamSpecification"]})
    boto3.client("s3").create_bucket(Bucket=NAME)
    for resource in ("DeadLetters", "Queue", "SnapshotDeadLetters", "SnapshotQueue"):
        make_queue(described.properties(resource))


def make_queue(described):
    known = {"FifoQueue", "ContentBasedDeduplication", "MaximumMessageSize", "MessageRetentionPeriod",
             "VisibilityTimeout"}
    attributes = {k: str(v).lower() for k, v in described.items() if k in known}
    if "RedrivePolicy" in described:
        sqs = sqs_client(os.environ["AWS_ENDPOINT_URL_SQS"])
        letters = described["QueueName"].replace(".fifo", "-dead-letters.fifo")
        found = sqs.get_queue_attributes(QueueUrl=queue_url(letters), AttributeNames=["QueueArn"])
        policy = {**described["RedrivePolicy"], "deadLetterTargetArn": found["Attributes"]["QueueArn"]}
        attributes["RedrivePolicy"] = json.dumps(policy)
    sqs_client(os.environ["AWS_ENDPOINT_URL_SQS"]).create_queue(QueueName=described["QueueName"],
                                                               Attributes=attributes)


def remove_stores():
    """However far the test came."""
    dynamodb, s3, sqs = boto3.client("dynamodb"), boto3.resource("s3"), sqs_client(os.environ["AWS_ENDPOINT_URL_SQS"])
    for table in dynamodb.list_tables(ExclusiveStartTableName=NAME[:-1], Limit=5)["TableNames"]:
        if table.startswith(NAME):
            dynamodb.delete_table(TableName=table)
    for bucket in s3.buckets.all():
        if bucket.name.startswith(NAME):
            bucket.objects.delete()
            bucket.delete()
    for url in sqs.list_queues(QueueNamePrefix=NAME).get("QueueUrls", []):
        sqs.delete_queue(QueueUrl=url)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
