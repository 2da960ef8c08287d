"""Two honest organizations work on a kedge-server while a third one, and strangers without a token, attack it.

Usage: neighbours.py SERVER ADMIN PLUGIN [--seconds N] [--attack NAME] [--queued]. Prints what the honest ones wait,
alone and under each attack; with --queued, of a server in queued mode, until their pushes are decided. They work alone
before and after each attack, since a machine and its disk are quicker in one minute than in the next: an attack is
compared with what is beside it. Their slowest hundredth may wait three times as long as alone. An attack that misses
this is tried once more, in windows four times as long, since the slowest hundredth of 600 waits is six of them; what
counts is the second try. Ends 1 when that misses too, when the slowest hundredth waits longer than a second, when
health takes longer than 100 ms, when memory goes beyond what docs/reference/server.md promises, or when the server
does not end within 5 seconds."""
import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from attacks import ATTACKS, OPTIONS, PROJECTS, Attacker, mutations

MEMORY_MAX = 1400 << 20   # what the server says that it may hold, and its cache
ALONE_FACTOR, SLOWEST_S, HEALTH_S, STOP_S = 3, 1.0, 0.1, 5.0
LONGER = 4                 # times as long are the windows of a second try
STOP_AFTER_S = 3.0         # SIGTERM comes when an attack has gone on for so long: slow readers upload first
IDLE_S, IDLE_SHARE, SETTLE_S = 0.2, 0.05, 30  # the server is at rest when it computes for less than this share
DECIDED_S = 30             # by when a push that was queued is decided, or the request has failed


class Peer:
    """An app that edits, pulls and waits a little, over one connection as HTTP clients keep it."""

    def __init__(self, port, organization, token):
        self.port, self.path, self.token = port, f"/v1/orgs/{organization}/projects/p", token
        self.client, self.next = f"honest-{organization}-{time.monotonic_ns()}", 1
        self.connection, self.cookie = None, None
        self.waits, self.failures = [], []

    def send(self, method, path, body=None):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": "Bearer " + self.token} if self.token else {}
        try:
            self.connection.request(method, path, json.dumps(body).encode() if body else None, headers)
            response = self.connection.getresponse()
            text = response.read()
            status = response.status
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            text, status = repr(error).encode(), 0
        if status != 200:
            self.failures.append(f"{method} {path}: {status} {text[:120]!r}")
        return status, text

    def request(self, method, path, body=None, wait=lambda: None):
        started = time.monotonic()
        answer = self.send(method, path, body)
        if answer[0] == 200:
            wait()
        self.waits.append(time.monotonic() - started)
        return answer

    def decided(self):
        """Until the last mutation that was queued is decided, as a client that asks again and again sees it."""
        pull = {"pullVersion": 1, "clientGroupID": "g-" + self.client, "cookie": self.cookie}
        end = time.monotonic() + DECIDED_S
        while OPTIONS["native"] and not self.failures:
            status, text = self.send("POST", self.path + "/pull", pull)
            if status == 200 and json.loads(text)["lastMutationIDChanges"].get(self.client, 0) >= self.next:
                return
            if time.monotonic() > end:
                self.failures.append(f"mutation {self.next} of {self.client} is not decided after {DECIDED_S} s")
            time.sleep(0.005)

    def work(self, end):
        while time.monotonic() < end:
            value = {"text": "x" * 100, "at": self.next}
            status, _ = self.request("POST", self.path + "/push", mutations(self.client, [
                ("kedge.put", {"collection": "notes", "id": f"n{self.next % 50}", "value": value})], self.next),
                self.decided)
            self.next += status == 200
            pull = {"pullVersion": 1, "clientGroupID": "g-" + self.client, "cookie": self.cookie}
            status, text = self.request("POST", self.path + "/pull", pull)
            if status == 200:
                self.cookie = json.loads(text)["cookie"]
            time.sleep(0.02)

    def look(self, end):
        while time.monotonic() < end:
            self.request("GET", "/v1/health")
            self.connection.close()  # as who asks for the health of a service does
            self.connection = None
            time.sleep(0.05)


def at(sorted_waits, share):
    return sorted_waits[min(len(sorted_waits) - 1, int(len(sorted_waits) * share))]


def honest(port, tokens, seconds, queued, out):
    """What two organizations and who asks for the health wait; in a process of its own."""
    OPTIONS["native"] = queued
    peers = [Peer(port, name, token) for name, token in tokens.items()]
    health = Peer(port, "none", None)
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=peer.work, args=(end,)) for peer in peers]
    threads.append(threading.Thread(target=health.look, args=(end,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits = sorted(wait for peer in peers for wait in peer.waits)
    out.send({"waits": waits, "health": max(health.waits),
              "failures": [f for peer in [*peers, health] for f in peer.failures]})


def attack(number, port, token, queued):
    OPTIONS["native"] = queued
    os.setpgrp()
    os.nice(19)  # an attacker has machines of its own; here it shares this one
    try:
        ATTACKS[number](Attacker(port, token))
    except OSError as error:
        sys.exit(f"the attack has ended: {error}")  # as it does with its server


def memory_of(pid, name="VmRSS"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(name))


class Run:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.wrong, self.attacking = [], None

    def admin(self, *arguments):
        return subprocess.run([self.options.admin, *map(str, arguments)], check=True, capture_output=True,
                              text=True).stdout.strip()

    def start(self):
        private, public = self.folder / "private.json", self.folder / "keys.json"
        self.admin("make-keys", private, public)
        self.log = open(self.folder / "log", "w")
        self.serve()
        self.tokens = {name: self.admin("token", private, "--issuer", "i", "--audience", "a", "--org", name, "--user",
                                        name, "--role", "admin", "--minutes", "600") for name in ("good", "fine", "evil")}
        for name, count in (("good", 1), ("fine", 1), ("evil", PROJECTS)):
            for number in range(count):
                peer = Peer(self.port, name, self.tokens[name])
                path = f"/v1/orgs/{name}/projects/p{number if name == 'evil' else ''}"
                if peer.request("PUT", path)[0] != 201:
                    sys.exit(f"cannot make {path}: {peer.failures}")

    def serve(self):
        self.server = subprocess.Popen(
            [self.options.server, "--data", self.folder / "data", "--listen", "127.0.0.1:0", "--jwks",
             self.folder / "keys.json", "--issuer", "i", "--audience", "a", "--mutators", self.options.plugin, "--mode",
             "queued" if self.options.queued else "direct"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.server.stdout.readline().rsplit(":", 1)[1])

    def measure(self, seconds):
        mine, theirs = multiprocessing.Pipe()
        tokens = {name: self.tokens[name] for name in ("good", "fine")}
        process = multiprocessing.Process(target=honest, args=(self.port, tokens, seconds, self.options.queued, theirs))
        process.start()
        theirs.close()  # so that the end of the process is the end of what is received
        result = mine.recv()
        process.join()
        result["memory"] = memory_of(self.server.pid)
        return result

    def show(self, name, result, beside=""):
        waits = result["waits"]
        print(f"{name:34} {len(waits):6} {at(waits, 0.5) * 1000:8.1f} {at(waits, 0.99) * 1000:8.1f} "
              f"{waits[-1] * 1000:8.1f} {result['health'] * 1000:8.1f} {result['memory'] >> 20:7} {beside:>9}", flush=True)

    def check(self, name, result):
        checks = [
            (at(result["waits"], 0.99) <= SLOWEST_S, "p99 is over a second"),
            (result["health"] <= HEALTH_S, "health took over 100 ms"),
            (result["memory"] <= MEMORY_MAX, f"the server has over {MEMORY_MAX >> 20} MiB"),
            (not result["failures"], f"{len(result['failures'])} honest requests failed: {result['failures'][:2]}"),
        ]
        self.wrong += [f"{name}: {what}" for good, what in checks if not good]

    def processor_s(self):
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alone(self, seconds):
        """When the server is done with what the last attack left."""
        end = time.monotonic() + SETTLE_S
        before = -1.0
        while (now := self.processor_s()) - before > IDLE_S * IDLE_SHARE:
            before = now
            time.sleep(IDLE_S)
            if time.monotonic() > end:
                sys.exit(f"the server still computes {SETTLE_S} s after an attack has ended")
        result = self.measure(seconds)
        self.show("alone", result)
        self.check("alone", result)
        return result

    def begin_attack(self, number, under_way_s):
        self.attacking = multiprocessing.Process(
            target=attack, args=(number, self.port, self.tokens["evil"], self.options.queued))
        self.attacking.start()
        time.sleep(under_way_s)  # no peer of the server can tell when it is: what is looked at is its middle

    def end_attack(self):
        os.killpg(self.attacking.pid, signal.SIGKILL)
        self.attacking.join()
        self.attacking = None

    def try_attack(self, number, before, seconds):
        """Returns what the honest ones waited alone after it, and whether they had their three times."""
        name = ATTACKS[number].__name__
        self.begin_attack(number, min(1.0, seconds / 3))
        result = self.measure(seconds)
        if not self.attacking.is_alive():
            self.wrong.append(f"{name}: the attack ended by itself")
        self.end_attack()
        after = self.alone(seconds)
        alone = at(sorted(before["waits"] + after["waits"]), 0.99)
        factor = at(result["waits"], 0.99) / alone
        self.show(name, result, f"{factor:.1f}")
        self.check(name, result)
        return after, factor <= ALONE_FACTOR

    def stop_under(self, number):
        """SIGTERM while the attack goes on."""
        self.begin_attack(number, STOP_AFTER_S)
        started = time.monotonic()
        self.server.send_signal(signal.SIGTERM)
        try:
            status = self.server.wait(60)
        except subprocess.TimeoutExpired:
            self.server.kill()
            status = -9
        took = time.monotonic() - started
        self.end_attack()
        print(f"SIGTERM under {ATTACKS[number].__name__}: ended with {status} after {took:.2f} s")
        if status != 0 or took > STOP_S:
            self.wrong.append(f"the server ended with {status} after {took:.1f} s")

    def run(self):
        chosen = [i for i, each in enumerate(ATTACKS) if self.options.attack in (None, each.__name__)]
        if not chosen:
            sys.exit("no such attack; there are " + ", ".join(each.__name__ for each in ATTACKS))
        seconds = max(2.0, self.options.seconds / (2 * len(chosen) + 1))
        self.start()
        print(f"{'':34} {'count':>6} {'p50 ms':>8} {'p99 ms':>8} {'longest':>8} {'health':>8} {'RSS MiB':>7} {'of alone':>9}")
        missed = []
        before = self.alone(seconds)
        for number in chosen:
            before, held = self.try_attack(number, before, seconds)
            missed += [] if held else [number]
        for number in missed:
            before = self.alone(seconds * LONGER)
            if not self.try_attack(number, before, seconds * LONGER)[1]:
                self.wrong.append(f"{ATTACKS[number].__name__}: p99 is over {ALONE_FACTOR} times of alone, twice")
        for position, number in enumerate(chosen):
            if position > 0:
                self.serve()
            self.stop_under(number)
        for each in self.wrong:
            print("WRONG:", each)
        return 1 if self.wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("admin")
    parser.add_argument("plugin")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--attack")
    parser.add_argument("--queued", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, pathlib.Path(folder))
        try:
            return run.run()
        finally:
            if run.attacking:
                run.end_attack()
            if getattr(run, "server", None) and run.server.poll() is None:
                run.server.kill()
                run.server.wait()


if __name__ == "__main__":
    sys.exit(main())
