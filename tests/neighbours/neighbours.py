"""Two honest organizations work on a kedge-server while a third one, and strangers without a token, attack it.

Usage: neighbours.py SERVER ADMIN PLUGIN [--seconds N] [--attack NAME] [--queued]. Prints what the honest ones wait,
alone and under each attack; with --queued, of a server in queued mode, until their pushes are decided. Ends 1 when the slowest
hundredth waits longer than three times of what it waits alone (and 50 ms, which a loaded machine takes to switch),
longer than a second, when health takes longer than 100 ms, when memory goes beyond what docs/reference/server.md promises, or
when the server does not end within 5 seconds."""
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
SWITCH_S = 0.05            # what a machine whose processors are all busy may take to run a process that waits
ALONE_FACTOR, SLOWEST_S, HEALTH_S, STOP_S = 3, 1.0, 0.1, 5.0
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
    out.send({"count": len(waits), "p50": at(waits, 0.5), "p99": at(waits, 0.99), "longest": waits[-1],
              "health": max(health.waits), "failures": [f for peer in [*peers, health] for f in peer.failures]})


def attack(number, port, token, queued):
    OPTIONS["native"] = queued
    os.setpgrp()
    os.nice(19)  # an attacker has machines of its own; here it shares this one
    ATTACKS[number](Attacker(port, token))


def memory_of(pid, name="VmRSS"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(name))


class Run:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.wrong = []

    def admin(self, *arguments):
        return subprocess.run([self.options.admin, *map(str, arguments)], check=True, capture_output=True,
                              text=True).stdout.strip()

    def start(self):
        private, public = self.folder / "private.json", self.folder / "keys.json"
        self.admin("make-keys", private, public)
        data = self.folder / "data"
        self.log = open(self.folder / "log", "w")
        self.server = subprocess.Popen(
            [self.options.server, "--data", data, "--listen", "127.0.0.1:0", "--jwks", public, "--issuer", "i",
             "--audience", "a", "--mutators", self.options.plugin, "--mode",
             "queued" if self.options.queued else "direct"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.server.stdout.readline().rsplit(":", 1)[1])
        self.tokens = {name: self.admin("token", private, "--issuer", "i", "--audience", "a", "--org", name, "--user",
                                        name, "--role", "admin", "--minutes", "600") for name in ("good", "fine", "evil")}
        for name, count in (("good", 1), ("fine", 1), ("evil", PROJECTS)):
            for number in range(count):
                peer = Peer(self.port, name, self.tokens[name])
                path = f"/v1/orgs/{name}/projects/p{number if name == 'evil' else ''}"
                if peer.request("PUT", path)[0] != 201:
                    sys.exit(f"cannot make {path}: {peer.failures}")

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

    def show(self, name, result):
        print(f"{name:34} {result['count']:6} {result['p50'] * 1000:8.1f} {result['p99'] * 1000:8.1f} "
              f"{result['longest'] * 1000:8.1f} {result['health'] * 1000:8.1f} {result['memory'] >> 20:7}", flush=True)

    def check(self, name, result, alone):
        bound = ALONE_FACTOR * alone["p99"] + SWITCH_S
        checks = [
            (result["p99"] <= bound, f"p99 is over {bound * 1000:.0f} ms"),
            (result["p99"] <= SLOWEST_S, "p99 is over a second"),
            (result["health"] <= HEALTH_S, "health took over 100 ms"),
            (result["memory"] <= MEMORY_MAX, f"the server has over {MEMORY_MAX >> 20} MiB"),
            (not result["failures"], f"{len(result['failures'])} honest requests failed: {result['failures'][:2]}"),
        ]
        self.wrong += [f"{name}: {what}" for good, what in checks if not good]

    def attack(self, number, seconds):
        process = multiprocessing.Process(target=attack, args=(number, self.port, self.tokens["evil"], self.options.queued))
        process.start()
        time.sleep(min(1.0, seconds / 4))  # until it is under way: what is measured is its middle
        result = self.measure(seconds)
        return process, result

    def end_attack(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.join()

    def run(self):
        chosen = [i for i, each in enumerate(ATTACKS) if self.options.attack in (None, each.__name__)]
        if not chosen:
            sys.exit("no such attack; there are " + ", ".join(each.__name__ for each in ATTACKS))
        seconds = max(2.0, self.options.seconds / (len(chosen) + 1))
        self.start()
        print(f"{'':34} {'count':>6} {'p50 ms':>8} {'p99 ms':>8} {'longest':>8} {'health':>8} {'RSS MiB':>7}")
        alone = self.measure(seconds)
        self.show("alone", alone)
        self.check("alone", alone, alone)
        for position, number in enumerate(chosen):
            process, result = self.attack(number, seconds)
            name = ATTACKS[number].__name__
            self.show(name, result)
            self.check(name, result, alone)
            if position < len(chosen) - 1:
                self.end_attack(process)
        started = time.monotonic()
        self.server.send_signal(signal.SIGTERM)
        try:
            status = self.server.wait(60)
        except subprocess.TimeoutExpired:
            self.server.kill()
            status = -9
        took = time.monotonic() - started
        self.end_attack(process)
        print(f"SIGTERM under the last attack: ended with {status} after {took:.2f} s")
        if status != 0 or took > STOP_S:
            self.wrong.append(f"the server ended with {status} after {took:.1f} s")
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
            if getattr(run, "server", None) and run.server.poll() is None:
                run.server.kill()
                run.server.wait()


if __name__ == "__main__":
    sys.exit(main())
