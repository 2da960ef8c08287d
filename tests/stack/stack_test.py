#!/usr/bin/env python3
"""scripts/stack on real engines: several stacks side by side, engines that are killed, and what stays behind.

Usage: stack_test.py ROOT. Skipped (77) unless KEDGE_ENGINES=required, which scripts/test --label engines sets."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

try:
    import boto3
except ImportError:
    boto3 = None  # main starts again in the environment that has it

ROOT = None
SERVER = os.environ.get("KEDGE_TEST_PRESET") == "release"  # stacks run the release build
ENGINES = ("dynamodb", "s3-gateway", "s3-storage", "s3-monitor", "sqs")
DEADLINE_S = 120


class Stack:
    def __init__(self, folder, *options):
        self.folder = pathlib.Path(folder)
        self.options = options

    def run(self, command, *options):
        return subprocess.run([f"{ROOT}/scripts/stack", command, "--folder", self.folder, *options],
                              capture_output=True, text=True)

    def up(self):
        done = self.run("up", *self.options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pid(self, name):
        return int((self.folder / "run" / f"{name}.pid").read_text().split()[0])

    def pids(self):
        return {name: self.pid(name) for name in ENGINES}

    def kill(self, *names):
        for name in names:
            pid = self.pid(name)
            os.kill(pid, signal.SIGKILL)
            wait_until_gone(pid)

    def variables(self):
        script = f'eval "$("{ROOT}/scripts/stack" environment --folder "{self.folder}")"; env -0'
        listed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return dict(line.split("=", 1) for line in listed.stdout.split("\0") if line)

    def client(self, service):
        variables = self.variables()
        return boto3.client(service, endpoint_url=variables[f"AWS_ENDPOINT_URL_{service.upper()}"],
                            region_name=variables["AWS_REGION"],
                            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
                            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"])

    def put_everywhere(self, value):
        tables, objects, queues = (self.client(name) for name in ("dynamodb", "s3", "sqs"))
        tables.create_table(TableName="things", BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
                            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}])
        tables.put_item(TableName="things", Item={"k": {"S": value}})
        objects.create_bucket(Bucket="things")
        objects.put_object(Bucket="things", Key=value, Body=b"")
        url = queues.create_queue(QueueName="things.fifo", Attributes={"FifoQueue": "true"})
        queues.send_message(QueueUrl=url["QueueUrl"], MessageBody=value, MessageGroupId="g",
                            MessageDeduplicationId="1")

    def everywhere(self):
        """What put_everywhere has left in the table, the bucket and the queue."""
        tables, objects, queues = (self.client(name) for name in ("dynamodb", "s3", "sqs"))
        items = tables.scan(TableName="things")["Items"]
        listed = objects.list_objects_v2(Bucket="things")["Contents"]
        url = queues.get_queue_url(QueueName="things.fifo")["QueueUrl"]
        messages = queues.receive_message(QueueUrl=url)["Messages"]
        return ([item["k"]["S"] for item in items], [thing["Key"] for thing in listed],
                [message["Body"] for message in messages])


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until_gone(pid):
    deadline = time.monotonic() + DEADLINE_S
    while not is_gone(pid):
        assert time.monotonic() < deadline, f"process {pid} does not end"
        time.sleep(0.01)


def ended_in(status):
    return {line.split()[0] for line in status.stdout.splitlines() if " ended" in line}


def request(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=DEADLINE_S) as answer:
        return json.load(answer)


def push(project, client, mutation_id):
    args = {"collection": "things", "id": str(mutation_id), "value": mutation_id}
    mutation = {"clientID": client, "id": mutation_id, "name": "kedge.put", "args": args,
                "timestamp": 0}
    answer = request(f"{project}/push", {"pushVersion": 1, "clientGroupID": "group",
                                         "profileID": "", "schemaVersion": "",
                                         "mutations": [mutation]})
    assert answer == {}, answer


MADE = []


def fresh_stack(cleanup, *options):
    folder = tempfile.TemporaryDirectory(prefix="kedge-stack-")
    cleanup(folder.cleanup)
    stack = Stack(folder.name, *options)
    MADE.append(stack)
    cleanup(stack.run, "down")
    return stack


def end_by_signal(number, _):
    """The engines are in sessions of their own, so a signal to these tests does not end them."""
    for stack in MADE:
        stack.run("down")
        shutil.rmtree(stack.folder, ignore_errors=True)
    os._exit(128 + number)


class TwoStacksInMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.one, cls.other = (fresh_stack(cls.addClassCleanup, "--engines", "--memory") for _ in range(2))
        cls.printed = cls.one.up()
        cls.other.up()

    def test_they_know_nothing_of_each_other(self):
        self.one.put_everywhere("one")
        self.other.put_everywhere("other")
        self.assertEqual(self.one.everywhere(), (["one"],) * 3)
        self.assertEqual(self.other.everywhere(), (["other"],) * 3)

    def test_only_dynamodb_listens_beyond_loopback_and_up_says_so(self):
        lines = self.printed.splitlines()
        self.assertIn("listens beyond loopback: dynamodb", lines)
        for name in ENGINES:
            row = next(line for line in lines if line.startswith(name + " "))
            self.assertEqual("*" in row, name == "dynamodb", row)
            self.assertEqual("127.0.0.1:" in row, name != "dynamodb", row)

    def test_up_twice_leaves_the_processes_alone(self):
        before = self.one.pids()
        self.one.up()
        self.assertEqual(self.one.pids(), before)

    def test_without_a_disk_a_killed_store_comes_back_empty(self):
        self.one.client("s3").create_bucket(Bucket="forgotten")
        self.one.kill("s3-storage")
        self.assertEqual(self.one.run("status").returncode, 1)
        self.one.up()
        self.assertEqual(self.one.client("s3").list_buckets()["Buckets"], [])
        self.assertEqual(self.other.run("status").returncode, 0)


class OneStack(unittest.TestCase):
    def test_killed_processes_are_reported_and_come_back_with_their_data(self):
        stack = fresh_stack(self.addCleanup, *(["--port", "0"] if SERVER else ["--engines"]))
        stack.up()
        stack.put_everywhere("kept")
        before = stack.variables()
        project = before.get("KEDGE_URL", "") + "/v1/orgs/o/projects/p"
        kills = [["dynamodb"], ["s3-gateway"], ["s3-storage", "sqs"], ["s3-monitor"]]
        for pushed, names in enumerate(kills + [["server"]] * SERVER, 1):
            if SERVER:
                push(project, "client", pushed)
            stack.kill(*names)
            status = stack.run("status")
            self.assertEqual(status.returncode, 1, status.stdout)
            self.assertLessEqual(set(names), ended_in(status))
            stack.up()
        self.assertEqual(stack.variables(), before, "something has moved")
        self.assertEqual(stack.everywhere(), (["kept"],) * 3)
        if SERVER:
            self.assertEqual(request(f"{project}/versions/latest")["version"], pushed)

    def test_down_leaves_no_process_and_no_data_and_other_processes_alone(self):
        """A number that another process has got since an engine ended is not taken for the engine."""
        stack = fresh_stack(self.addCleanup, "--engines", "--memory")
        stack.up()
        pids = stack.pids().values()
        self.assertFalse(any(is_gone(pid) for pid in pids))
        stack.kill("sqs")
        stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.addCleanup(stranger.communicate)
        record = stack.folder / "run" / "sqs.pid"
        record.write_text(f"{stranger.pid} {record.read_text().split()[1]}\n")
        self.assertEqual(stack.run("status").returncode, 1)
        self.assertEqual(stack.run("down").returncode, 0)
        self.assertTrue(all(is_gone(pid) for pid in pids))
        self.assertIsNone(stranger.poll())
        self.assertEqual(sorted(os.listdir(stack.folder)), ["lock", "logs"])
        self.assertEqual(stack.run("status").returncode, 3)
        self.assertEqual(stack.run("down").returncode, 0)


if __name__ == "__main__":
    if os.environ.get("KEDGE_ENGINES") != "required":
        print("needs the engines: scripts/test --label engines")
        sys.exit(77)
    if boto3 is None:
        python = os.environ["KEDGE_PYTHON_TOOLS"] + "/python"
        os.execv(python, [python, "-B", *sys.argv])
    ROOT = sys.argv.pop(1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_by_signal)
    unittest.main(verbosity=2)
