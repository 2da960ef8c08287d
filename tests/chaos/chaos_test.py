#!/usr/bin/env python3
"""Two kedge-servers on real engines, several copies of an app, and everything that fails: the network between servers
and engines, servers and engines that are killed and come back. In the end every acknowledged edit has arrived once,
all copies read the same, and kedge-admin finds nothing wrong.

Usage: chaos_test.py SERVER NOTES ADMIN WRITER PLUGIN E2E_FOLDER [--seconds N] [--seed S]. The environment names the
engines; engines that keep their data (KEDGE_CHAOS_STACK names their stack's folder) are killed as well."""
import collections
import contextlib
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[6])
from harness import Copy, Programs, Refused, Server  # noqa: E402
from proxy import KINDS, Proxy  # noqa: E402

COPIES = 4
ROUNDS = 3  # writes and syncs of a copy in a turn
RATE = 0.04
TURNS_MIN = 4
CATCH_UP_S = 120
TRANSACTION_WAIT_S = 10
NAME = "kedge-chaos-" + secrets.token_hex(6)
STORES = ["--table", NAME, "--bucket", NAME, "--queue", NAME + ".fifo"]
SERVICES = {"dynamodb": "AWS_ENDPOINT_URL_DYNAMODB", "s3": "AWS_ENDPOINT_URL_S3", "sqs": "AWS_ENDPOINT_URL_SQS"}


def options():
    found = {"--seconds": 40, "--seed": 1}
    for name, value in zip(sys.argv[7::2], sys.argv[8::2]):
        found[name] = int(value)
    return found["--seconds"], found["--seed"]


class Chaos:
    def __init__(self, mode, seed):
        self.mode, self.random = mode, random.Random(f"{seed} {mode}")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kedge-chaos-"))
        self.proxies = {name: Proxy(name, os.environ[variable], RATE, f"{seed} {mode}")
                        for name, variable in SERVICES.items()}
        self.killed = collections.Counter()
        self.syncs = collections.Counter()
        self.project = "notes-" + mode
        through = {variable: self.proxies[service].url for service, variable in SERVICES.items()}
        # One writes versions by transactions, which have faults of their own; nobody who reads cares.
        self.servers = [Server(self.root / f"server{i}", options=["--mode", mode, "--cadence", cadence],
                               stores=[*STORES, "--create"], environment=through)
                        for i, cadence in enumerate(["compact", "seed"])]
        self.copies = [Copy(self.root / f"copy{i}", self.servers[i % 2].url, project=self.project)
                       for i in range(COPIES)]
        self.stack = os.environ.get("KEDGE_CHAOS_STACK")

    def close(self):
        for server in self.servers:
            server.stop(signal.SIGKILL)
        for proxy in self.proxies.values():
            proxy.stop()
        shutil.rmtree(self.root)

    # ---- what is done and what fails ----

    def write_and_sync(self, copy, number, dice):
        for round_ in range(ROUNDS):
            self.write_and_sync_once(copy, f"c{copy.folder.name[-1]}t{number}r{round_}n", dice)

    def write_and_sync_once(self, copy, prefix, dice):
        """A sync may fail while things are down; the edits stay."""
        size = dice.choice([50, 50, 200, 12000, 60000])
        copy.write(dice.randint(1, 12), size, prefix)
        copy.url = dice.choice(self.servers).url
        try:
            copy.sync()
            self.syncs["done"] += 1
        except Refused:
            self.syncs["failed"] += 1
        except subprocess.TimeoutExpired:
            self.syncs["given up"] += 1

    def turn(self, number):
        threads = [threading.Thread(target=self.write_and_sync,
                                    args=(copy, number, random.Random(self.random.random())))
                   for copy in self.copies]
        for thread in threads:
            thread.start()
        if number % 2 == 1:
            self.kill_server()
        if number % 2 == 0:
            self.kill_engine()
        for thread in threads:
            thread.join()

    def kill_server(self):
        server = self.random.choice(self.servers)
        server.stop(signal.SIGKILL)
        server.start()
        self.killed["server"] += 1

    def kill_engine(self):
        """All processes of one engine at once, and up again with what they have on disk."""
        if not self.stack:
            return
        services = ["dynamodb", "s3"] if self.mode == "direct" else list(SERVICES)
        service = services[sum(self.killed[name] for name in SERVICES) % len(services)]
        status = self.stack_command("status").stdout.splitlines()
        pids = [int(line.split()[1]) for line in status if line.startswith(service)]
        assert pids, status
        if service == "dynamodb":
            self.wait_for_transaction(lambda: kill(pids))
        kill(pids)
        started = self.stack_command("up")
        assert started.returncode == 0, started.stdout + started.stderr
        self.killed[service] += 1

    def wait_for_transaction(self, then):
        """The worst moment to kill it: a version is stored, and the server is about to know. Gives up after a while."""
        done = threading.Event()

        def found():
            then()
            self.killed["after a transaction"] += 1
            done.set()

        self.proxies["dynamodb"].after_transaction = found
        done.wait(TRANSACTION_WAIT_S)
        self.proxies["dynamodb"].after_transaction = None

    def stack_command(self, command):
        return subprocess.run(["scripts/stack", command, "--folder", self.stack], capture_output=True, text=True)

    # ---- the end ----

    def catch_up(self):
        """Faults are over: everything arrives within a bound."""
        deadline = time.monotonic() + CATCH_UP_S
        quiet = 0
        while quiet < 2:
            for copy in self.copies:
                try:
                    copy.sync()
                except Refused as refused:
                    assert time.monotonic() < deadline, refused
            pending = sum(len(copy.pending()) for copy in self.copies)
            quiet = 0 if pending else quiet + 1
            assert time.monotonic() < deadline, f"{pending} edits are still pending"

    def check(self):
        expected = collections.Counter(name for copy in self.copies for name in copy.acknowledged)
        decided = self.servers[0].mutations(project=self.project)
        applied = collections.Counter(mutation["args"]["id"] for mutation in decided if mutation["outcome"] == "applied")
        wrong = (expected - applied) + (applied - expected)
        assert not wrong, f"lost or doubled: {wrong}"
        lists = [copy.list() for copy in self.copies]
        assert all(other == lists[0] for other in lists), "the copies differ"
        done = subprocess.run([Programs.admin, *STORES, "--org", "demo", "--project", self.project, "verify"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return sum(expected.values()), json.loads(done.stdout.splitlines()[-1])


def kill(pids):
    """Those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def idle(total, proxies):
    """The faults of these proxies that have not taken effect, now or in `total`."""
    return [f"{name} {kind}" for name, proxy in proxies.items() for kind in KINDS[name]
            if total[name][kind] + proxy.counts[kind] == 0]


def run(mode, seconds, seed, total):
    """Adds the faults that took effect to `total`. An assertion that fails ends the test, with the servers' logs. On a
    slow machine it goes on for longer, until each fault took effect."""
    chaos = Chaos(mode, seed)
    try:
        begin = time.monotonic()
        for proxy in chaos.proxies.values():
            proxy.on = True
        number = 0
        while number < TURNS_MIN or time.monotonic() < begin + seconds or (
                mode == "queued" and idle(total, chaos.proxies) and time.monotonic() < begin + 4 * seconds):
            chaos.turn(number)
            number += 1
        for proxy in chaos.proxies.values():
            proxy.on = False
        chaos.catch_up()
        edits, verified = chaos.check()
    except AssertionError:
        for number, server in enumerate(chaos.servers):
            print(server.log_path.read_text()[-3000:])
            if chaos.stack:
                shutil.copy(server.log_path, pathlib.Path(chaos.stack) / "logs" / f"server-{number}.log")
        raise
    finally:
        chaos.close()
    for name, proxy in chaos.proxies.items():
        total[name].update(proxy.counts)
    requests = {name: proxy.requests for name, proxy in chaos.proxies.items()}
    print(f"{mode}: {number} turns, {edits} edits acknowledged and applied once, {verified['newest']} versions verified, "
          f"{sum(requests.values())} requests to engines, syncs {dict(chaos.syncs)}, killed {dict(chaos.killed)}",
          flush=True)


def main():
    Programs.server, Programs.notes, Programs.admin, Programs.writer, Programs.plugin = sys.argv[1:6]
    missing = [variable for variable in SERVICES.values() if variable not in os.environ]
    if missing:
        print(f"skipped: {missing[0]} is not set")
        return 1 if os.environ.get("KEDGE_ENGINES") == "required" else 77
    seconds, seed = options()
    print(f"seed {seed}")
    total = {name: collections.Counter() for name in SERVICES}
    for mode in ("direct", "queued"):
        run(mode, seconds, seed, total)
    for name, kinds in KINDS.items():
        print(f"{name:9}" + ", ".join(f"{kind} {total[name][kind]}" for kind in kinds))
    without = [f"{name} {kind}" for name, kinds in KINDS.items() for kind in kinds if total[name][kind] == 0]
    if without:
        print("never took effect: " + ", ".join(without))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
