"""The attacks of scripts/neighbours: each runs in a process of its own until it is ended.

An attack is a function of an Attacker. It may take what it gets (refusals, cut connections); it must not end."""
import gzip
import json
import os
import select
import socket
import threading
import time

MIB = 1 << 20
LARGE = {f"member{i}": "x" * 1000 for i in range(6000)}  # an item of 6 MB
PROJECTS = 8
OPTIONS = {"native": False}  # pushes are those of native clients, which a server in queued mode queues


class Attacker:
    def __init__(self, port, token):
        self.port, self.token = port, token
        self.sent = 0

    def connect(self):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return raw

    def head(self, method, path, size=None, token=True, extra=()):
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *extra]
        if token:
            lines.append(f"Authorization: Bearer {self.token if token is True else token}")
        if size is not None:
            lines.append(f"Content-Length: {size}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def post(self, path, body, packed=False, token=True):
        """Sends a request on a connection of its own and reads what comes, or its end."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        extra = ["Content-Encoding: gzip"] if packed else []
        with self.connect() as raw:
            raw.settimeout(40)
            raw.sendall(self.head("POST", path, len(data), token, extra) + data)
            self.sent += 1
            return raw.recv(4096)

    def again(self, work, threads):
        """Runs `work(number of the thread)` in so many threads, over and over."""
        def run(number):
            while True:
                try:
                    work(number)
                except OSError:
                    time.sleep(0.01)  # refused: a peer that comes back at once would only burn this process
        for number in range(threads):
            threading.Thread(target=run, args=(number,), daemon=True).start()
        threading.Event().wait()


def project(number):
    return f"/v1/orgs/evil/projects/p{number % PROJECTS}"


def mutations(client, calls, first=1):
    push = {"pushVersion": 1, "clientGroupID": "g-" + client, "profileID": "", "schemaVersion": "", "mutations": [
        {"clientID": client, "id": first + i, "name": name, "args": args, "timestamp": 0}
        for i, (name, args) in enumerate(calls)]}
    return {**push, "kedge": {"client": client}} if OPTIONS["native"] else push


def fresh(number):
    return f"c{os.getpid()}-{number}-{time.monotonic_ns()}"


def patches_of_a_large_item(attacker):
    """One item of 6 MB in each project, and pushes of 10,000 small patches, each of which rewrites it."""
    for number in range(PROJECTS):
        attacker.post(project(number) + "/push", mutations(fresh(number), [
            ("kedge.put", {"collection": "notes", "id": "large", "value": LARGE})]))
    calls = [("kedge.patch", {"collection": "notes", "id": "large",
                              "patch": [{"op": "add", "path": "/a", "value": i}]}) for i in range(10000)]

    def work(number):
        packed = gzip.compress(json.dumps(mutations(fresh(number), calls)).encode(), 1)
        attacker.post(project(number) + "/push", packed, packed=True)
    attacker.again(work, 16)


def mutators_that_loop_or_hang(attacker):
    """17 pushes of 30 mutations that each take as long as a mutator may."""
    def work(number):
        attacker.post(project(number) + "/push",
                      mutations(fresh(number), [("loop" if number % 2 else "hang", None)] * 30))
    attacker.again(work, 17)


def keys_that_differ_late(attacker):
    """Objects with many keys out of order that need escapes: slow to sort for who compares them badly."""
    keys = ",".join(f'"{chr(92)}u00e4{"a" * 200}{(i * 7919) % 20000:05}":0' for i in range(20000))
    body = ('{"pushVersion":1,"clientGroupID":"g-k","mutations":[{"clientID":"k","id":1,"name":"kedge.put",'
            '"args":{"collection":"notes","id":"n","value":{' + keys + '}},"timestamp":0}]}')
    packed = gzip.compress(body.encode())  # it is read anew each time, although it was decided before
    attacker.again(lambda number: attacker.post(project(number) + "/push", packed, packed=True), 8)


def bodies_of_strangers_that_stall(attacker):
    """Peers without a token that announce 16 MiB, send nearly all of it, and stop."""
    def work(number):
        with attacker.connect() as raw:
            raw.sendall(attacker.head("POST", project(number) + "/push", 16 * MIB, token=False))
            for _ in range(15):
                raw.sendall(b" " * MIB)
            raw.settimeout(30)
            raw.recv(1)
            time.sleep(0.05)
    attacker.again(work, 17)


def connections_of_strangers(attacker):
    """As many connections without a token as the system gives, half of them with half a head."""
    held = []
    while True:
        try:
            raw = attacker.connect()
            if len(held) % 2:
                raw.sendall(b"GET /v1/health HTTP/1.1\r\nHost: ")
            held.append(raw)
        except OSError:
            time.sleep(0.05)
        if len(held) >= 4600:
            held.pop(0).close()
            time.sleep(0.001)


def tokens_that_are_none(attacker):
    """Requests with a wrong signature, one after the other on a connection."""
    wrong = attacker.token[:-8] + "AAAAAAAA"

    def work(number):
        with attacker.connect() as raw:
            while True:
                raw.sendall(attacker.head("GET", project(number), token=wrong))
                if not raw.recv(4096):
                    return
    attacker.again(work, 8)


def readers_that_do_not_read(attacker):
    """Answers of many megabytes of which the peer reads nothing more."""
    for number in range(4):
        for item in range(4):
            attacker.post(project(number) + "/push", mutations(fresh(number), [
                ("kedge.put", {"collection": "notes", "id": f"large{item}", "value": LARGE})]))
    pull = json.dumps({"pullVersion": 1, "clientGroupID": "g", "cookie": None}).encode()

    def work(number):
        with attacker.connect() as raw:
            raw.sendall(attacker.head("POST", project(number % 4) + "/pull", len(pull)) + pull)
            raw.settimeout(40)
            raw.recv(1000)
            select.select([], [], [], 20)
    attacker.again(work, 24)


def streams_and_tickets(attacker):
    """One token opens event streams and asks for tickets, as many as it gets."""
    held = []

    def work(number):
        if number == 0 and len(held) < 2500:
            raw = attacker.connect()
            raw.sendall(attacker.head("GET", project(number) + "/events"))
            held.append(raw)
        else:
            attacker.post(project(number) + "/events/ticket", b"")
    attacker.again(work, 4)


def small_requests(attacker):
    """Requests as fast as this process can."""
    def work(number):
        with attacker.connect() as raw:
            while True:
                raw.sendall(attacker.head("GET", project(number)) * 20)
                for _ in range(20):
                    if not raw.recv(65536):
                        return
    attacker.again(work, 8)


ATTACKS = [patches_of_a_large_item, mutators_that_loop_or_hang, keys_that_differ_late, bodies_of_strangers_that_stall,
           connections_of_strangers, tokens_that_are_none, readers_that_do_not_read, streams_and_tickets, small_requests]
