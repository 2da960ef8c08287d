#!/usr/bin/env python3
"""scripts/stack on real engines: several stacks side by side, engines that are killed, and what stays behind.

Usage: stack_test.py ROOT. Skipped (77) unless KEDGE_ENGINES=required, which scripts/test --label engines sets."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = None
ENGINES = ("dynamodb", "s3-gateway", "s3-storage", "s3-monitor", "sqs")
DEADLINE_S = 20


class Stack:
    def __init__(self, folder, *options):
        self.folder = pathlib.Path(folder)
        self.options = options

    def run(self, command, *options):
        return subprocess.run([f"{ROOT}/scripts/stack", command, "--folder", self.folder, *options],
                              capture_output=True, text=True)

    def up(self):
        done = self.run("up", "--engines", *self.options)
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

    def aws(self, *arguments):
        """The endpoint is named because awscli 1 leads SQS to AWS whatever the variable says."""
        variables = self.variables()
        endpoint = variables[f"AWS_ENDPOINT_URL_{arguments[0].removesuffix('api').upper()}"]
        done = subprocess.run([f"{variables['KEDGE_PYTHON_TOOLS']}/aws", "--endpoint-url", endpoint,
                               *arguments],
                              env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else None

    def put_everywhere(self, value):
        self.aws("dynamodb", "create-table", "--table-name", "things", "--billing-mode",
                 "PAY_PER_REQUEST", "--attribute-definitions", "AttributeName=k,AttributeType=S",
                 "--key-schema", "AttributeName=k,KeyType=HASH")
        self.aws("dynamodb", "put-item", "--table-name", "things", "--item",
                 json.dumps({"k": {"S": value}}))
        self.aws("s3api", "create-bucket", "--bucket", "things")
        self.aws("s3api", "put-object", "--bucket", "things", "--key", value)
        url = self.aws("sqs", "create-queue", "--queue-name", "things.fifo", "--attributes",
                       "FifoQueue=true")["QueueUrl"]
        self.aws("sqs", "send-message", "--queue-url", url, "--message-body", value,
                 "--message-group-id", "g", "--message-deduplication-id", "1")

    def everywhere(self):
        """What put_everywhere has left in the table, the bucket and the queue."""
        items = self.aws("dynamodb", "scan", "--table-name", "things")["Items"]
        objects = self.aws("s3api", "list-objects-v2", "--bucket", "things")["Contents"]
        url = self.aws("sqs", "get-queue-url", "--queue-name", "things.fifo")["QueueUrl"]
        messages = self.aws("sqs", "receive-message", "--queue-url", url)["Messages"]
        return ([item["k"]["S"] for item in items], [thing["Key"] for thing in objects],
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


def fresh_stack(cleanup, *options):
    folder = tempfile.TemporaryDirectory(prefix="kedge-stack-")
    cleanup(folder.cleanup)
    stack = Stack(folder.name, *options)
    cleanup(stack.run, "down")
    return stack


class TwoStacksInMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.one, cls.other = (fresh_stack(cls.addClassCleanup, "--memory") for _ in range(2))
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
        self.one.aws("s3api", "create-bucket", "--bucket", "forgotten")
        self.one.kill("s3-storage")
        self.assertEqual(self.one.run("status").returncode, 1)
        self.one.up()
        self.assertEqual(self.one.aws("s3api", "list-buckets")["Buckets"], [])
        self.assertEqual(self.other.run("status").returncode, 0)


class OneStack(unittest.TestCase):
    def test_killed_engines_are_reported_and_come_back_with_their_data(self):
        stack = fresh_stack(self.addCleanup)
        stack.up()
        stack.put_everywhere("kept")
        before = stack.variables()
        for names in (["dynamodb"], ["s3-gateway"], ["s3-storage", "sqs"], ["s3-monitor"]):
            stack.kill(*names)
            status = stack.run("status")
            self.assertEqual(status.returncode, 1, status.stdout)
            ended = {line.split()[0] for line in status.stdout.splitlines() if " ended" in line}
            self.assertLessEqual(set(names), ended)
            stack.up()
        self.assertEqual(stack.variables(), before, "the engines have moved")
        self.assertEqual(stack.everywhere(), (["kept"],) * 3)

    def test_down_leaves_no_process_and_no_data_and_other_processes_alone(self):
        """A number that another process has got since an engine ended is not taken for the engine."""
        stack = fresh_stack(self.addCleanup, "--memory")
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
    ROOT = sys.argv.pop(1)
    if os.environ.get("KEDGE_ENGINES") != "required":
        print("needs the engines: scripts/test --label engines")
        sys.exit(77)
    unittest.main(verbosity=2)
