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


class StackTest(unittest.TestCase):
    def stack(self, *options):
        folder = tempfile.TemporaryDirectory(prefix="kedge-stack-")
        self.addCleanup(folder.cleanup)
        stack = Stack(folder.name, *options)
        self.addCleanup(stack.run, "down")
        return stack

    def test_two_stacks_stand_side_by_side_and_know_nothing_of_each_other(self):
        stacks = [self.stack("--memory"), self.stack("--memory")]
        for number, stack in enumerate(stacks):
            stack.up()
            stack.put_everywhere(f"of-{number}")
        for number, stack in enumerate(stacks):
            self.assertEqual(stack.everywhere(), ([f"of-{number}"],) * 3)
        stacks[0].run("down")
        self.assertEqual(stacks[1].run("status").returncode, 0)

    def test_only_dynamodb_listens_beyond_loopback_and_the_status_says_so(self):
        stack = self.stack("--memory")
        lines = stack.up().splitlines()
        self.assertIn("listens beyond loopback: dynamodb", lines)
        for name in ENGINES:
            row = next(line for line in lines if line.startswith(name + " "))
            self.assertEqual("*" in row, name == "dynamodb", row)
            self.assertEqual("127.0.0.1:" in row, name != "dynamodb", row)

    def test_killed_engines_are_reported_and_come_back_with_their_data(self):
        stack = self.stack()
        stack.up()
        stack.put_everywhere("kept")
        before = stack.variables()
        for names in (["dynamodb"], ["s3-gateway"], ["s3-storage", "sqs"], ["s3-monitor"]):
            stack.kill(*names)
            status = stack.run("status")
            self.assertEqual(status.returncode, 1, status.stdout)
            ended = [line.split()[0] for line in status.stdout.splitlines() if " ended" in line]
            self.assertEqual(sorted(ended[:len(names)]), sorted(names))
            stack.up()
        self.assertEqual(stack.variables(), before, "the engines have moved")
        self.assertEqual(stack.everywhere(), (["kept"],) * 3)

    def test_up_twice_leaves_the_processes_alone(self):
        stack = self.stack("--memory")
        stack.up()
        before = stack.pids()
        stack.up()
        self.assertEqual(stack.pids(), before)

    def test_in_memory_a_killed_store_comes_back_empty(self):
        stack = self.stack("--memory")
        stack.up()
        stack.aws("s3api", "create-bucket", "--bucket", "things")
        stack.kill("s3-storage")
        stack.up()
        self.assertEqual(stack.aws("s3api", "list-buckets")["Buckets"], [])

    def test_down_leaves_no_process_and_no_data(self):
        stack = self.stack("--memory")
        stack.up()
        pids = stack.pids().values()
        self.assertFalse(any(is_gone(pid) for pid in pids))
        stack.run("down")
        self.assertTrue(all(is_gone(pid) for pid in pids))
        self.assertEqual(sorted(os.listdir(stack.folder)), ["lock", "logs"])
        self.assertEqual(stack.run("status").returncode, 3)
        self.assertEqual(stack.run("down").returncode, 0)

    def test_a_number_that_another_process_has_got_since_is_not_taken_for_an_engine(self):
        stack = self.stack("--memory")
        stack.up()
        stack.kill("sqs")
        stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.addCleanup(stranger.communicate)
        record = stack.folder / "run" / "sqs.pid"
        record.write_text(f"{stranger.pid} {record.read_text().split()[1]}\n")
        self.assertEqual(stack.run("status").returncode, 1)
        stack.run("down")
        self.assertIsNone(stranger.poll())


if __name__ == "__main__":
    ROOT = sys.argv.pop(1)
    if os.environ.get("KEDGE_ENGINES") != "required":
        print("needs the engines: scripts/test --label engines")
        sys.exit(77)
    unittest.main(verbosity=2)
