"""What every end-to-end test uses: a server, a copy of the notes app, its live view, and the ledger
that counts at the end where each acknowledged edit went.

Every edit of a test carries a text that no other edit has, so that the server's versions tell how
often it arrived."""
import codecs
import collections
import http.client
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

DEADLINE_S = 120  # of anything that is waited for


class Programs:
    """Where the programs are; set by e2e_test.py."""
    server = notes = admin = command = function = writer = plugin = None


class Server:
    """A kedge-server on a folder, or on other stores. It can be stopped and started again on the same port."""

    def __init__(self, folder, port=0, wrapper=(), log=None, options=(), stores=None, environment=None):
        self.options = list(options)
        self.stores = list(stores or ["--data", str(folder)])
        self.environment = {**os.environ, **(environment or {})}
        self.folder = pathlib.Path(folder)
        self.wrapper = list(wrapper)
        self.log_path = pathlib.Path(log or f"{folder}.log")
        self.port = port
        self.process = None
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [*self.wrapper, Programs.server, *self.stores, "--listen", f"127.0.0.1:{self.port}",
             "--open", "--log-level", "debug", "--mutators", Programs.plugin, *self.options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment)
        line = self.process.stdout.readline()
        if not line.startswith("kedge-server ready on "):
            self.stop()
            raise AssertionError(self.log_path.read_text())
        self.port = int(line.rsplit(":", 1)[1])

    def stop(self, how=signal.SIGTERM):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        finally:
            self.process = None
            self.log.close()

    def replace(self, name, backup):
        """With the server stopped: puts what a backup folder holds in the place of one part."""
        for old in self.folder.glob(name + "*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for new in pathlib.Path(backup).glob(name + "*"):
            if new.is_dir():
                shutil.copytree(new, self.folder / new.name)
            else:
                shutil.copy2(new, self.folder / new.name)

    def backup(self, to):
        """The server stopped, its folder copied, the server started again."""
        self.stop()
        shutil.copytree(self.folder, to)
        self.start()

    def admin(self, *words):
        """The lines that kedge-admin prints; the server may run."""
        done = subprocess.run([*self.wrapper, Programs.admin, *self.stores, *words], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def versions(self, org="demo", project="notes"):
        """Every version of the project, newest first, read from the folder by kedge-admin."""
        found, before = [], []
        while True:
            page = self.admin("--org", org, "--project", project, "versions", "--limit", "100", *before)[0]
            found += page["versions"]
            if not page["next"]:
                return found
            before = ["--before", str(page["next"])]

    def mutations(self, **names):
        return [m for version in reversed(self.versions(**names)) for m in version["mutations"]]

    def requests(self):
        """What the log tells of the requests that were answered."""
        lines = map(json.loads, self.log_path.read_text().splitlines())
        return [line for line in lines if line["event"] == "responded"]

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        connection.request("GET", "/v1/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")


class Refused(AssertionError):
    """A command of the app that ended with an error; the text is what it printed on stderr."""


class Copy:
    """A folder of the notes app, driven by its program, one process a command."""

    numbers = itertools.count(1)

    def __init__(self, folder, url, org="demo", project="notes", environment=None,
                 wrapper=()):
        self.folder = pathlib.Path(folder)
        self.wrapper = list(wrapper)
        self.url = url
        self.names = ["--org", org, "--project", project]
        self.environment = {**os.environ, **(environment or {})}
        self.acknowledged = []

    def command(self, *words, offline=False):
        return [*self.wrapper, Programs.notes, "--data", str(self.folder), "--url", self.url, *self.names,
                *(["--offline"] if offline else []), *words]

    def run(self, *words, offline=False):
        done = subprocess.run(self.command(*words, offline=offline), capture_output=True, text=True,
                              env=self.environment, timeout=DEADLINE_S)
        if done.returncode < 0:
            raise AssertionError(f"{words}: ended by signal {-done.returncode}: {done.stderr}")
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return done.stdout

    def add(self, title=None, text="", offline=True):
        """Adds a note; what is returned was acknowledged. Returns the note's id."""
        title = title or f"note {next(Copy.numbers)}."
        out = self.run("add", title, text, offline=offline)
        self.acknowledged.append(title)
        return out.split()[-1]

    def edit(self, note, text=None, offline=True):
        text = text or f"text {next(Copy.numbers)}."
        self.run("edit", note, "text", text, offline=offline)
        self.acknowledged.append(text)
        return text

    def write(self, count, size, prefix):
        """Many notes, or large ones, made by one process: "PREFIX0" and so on. What was acknowledged,
        and the error of the first that was not."""
        done = subprocess.run([*self.wrapper, Programs.writer, str(self.folder), self.names[-1], str(count),
                               str(size), prefix], capture_output=True, text=True, timeout=DEADLINE_S)
        if done.returncode not in (0, 1):
            raise AssertionError(f"{done.returncode}: {done.stderr}")
        self.acknowledged += done.stdout.split()
        return done.stdout.split(), done.stderr

    def sync(self):
        return self.run("sync")

    def list(self):
        return self.run("list", offline=True).splitlines()

    def titles(self):
        return sorted(line[25:].split(": ")[0] for line in self.list() if "(no notes)" not in line)

    def pending(self):
        return [line for line in self.run("pending", offline=True).splitlines() if " edit " in line]

    def look(self, verb):
        """What the command `kedge` tells of the folder."""
        done = subprocess.run([Programs.command, verb, str(self.folder)], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout.splitlines()

    def twin(self, folder):
        """The folder as a user copies it."""
        shutil.copytree(self.folder, folder, symlinks=True)
        other = Copy(folder, self.url)
        other.names, other.environment = self.names, self.environment
        return other


class Live:
    """A running live view on pipes: what it drew so far, and lines typed into it. A thread empties the
    pipe, so that a view that nobody looks at is not held up."""

    def __init__(self, copy):
        self.process = subprocess.Popen(copy.command("live"), stdin=subprocess.PIPE, env=copy.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.seen, self.ended = "", False
        self.more = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            piece = self.process.stdout.read(65536)
            with self.more:
                self.seen += decoder.decode(piece)
                self.ended = not piece
                self.more.notify_all()
            if not piece:
                return

    def wait(self, text, seconds=DEADLINE_S):
        """Until `text` is drawn; returns what was drawn up to then and forgets it."""
        with self.more:
            if not self.more.wait_for(lambda: text in self.seen or self.ended, seconds) \
                    or text not in self.seen:
                raise AssertionError(f"{text!r} was not drawn; since then: {self.seen[-2000:]!r}")
            before, self.seen = self.seen.split(text, 1)
        return before + text

    def type(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def end(self, how=None):
        """By `quit`, or by a signal."""
        if how is None and self.process.poll() is None:
            self.type("quit")
        elif self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdin.close()
            self.process.stdout.close()
        return self.process.returncode


class Case(unittest.TestCase):
    server_options = ()

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kedge-e2e-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def server(self, name="server", port=0):
        server = Server(self.root / name, port, options=self.server_options)
        self.addCleanup(server.stop, signal.SIGKILL)
        return server

    def copy(self, name, server, **names):
        return Copy(self.root / name, getattr(server, "url", server), **names)

    def live(self, copy):
        live = Live(copy)
        self.addCleanup(live.end, signal.SIGKILL)
        return live

    def refusal(self, copy, *words, offline=False):
        with self.assertRaises(Refused) as caught:
            copy.run(*words, offline=offline)
        return str(caught.exception)

    def check_lists_equal(self, copies):
        first = copies[0].list()
        for other in copies[1:]:
            self.assertEqual(first, other.list())

    def check_converged(self, server, *copies, acknowledged=None, rounds=2):
        """Syncs all; then: nothing is pending, all read the same, and every acknowledged edit stands
        in the server's history exactly once, applied, with no other beside them."""
        for _ in range(rounds):
            for copy in copies:
                copy.sync()
        for copy in copies:
            self.assertEqual(copy.pending(), [], copy.folder)
            self.assertNotIn("rejected edit", copy.run("conflicts", offline=True), copy.folder)
        self.check_lists_equal(copies)
        if acknowledged is None:
            acknowledged = [text for copy in copies for text in copy.acknowledged]
        self.check_once(server, acknowledged)

    def check_once(self, server, acknowledged):
        self.assertEqual(self.applied(server), collections.Counter(acknowledged))

    def applied(self, server):
        """How often each edit was applied, by its own text."""
        counts = collections.Counter()
        for mutation in server.mutations():
            text = {"notes.add": "title", "kedge.text": "text", "kedge.put": "id"}.get(mutation["name"])
            if mutation["outcome"] == "applied" and text:
                counts[mutation["args"][text]] += 1
        return counts
