"""The example app of a binding, `notes`, with a kedge-server: two people edit offline, and one looks on.

usage: notes_test.py SERVER APP...   (APP: the words of its command)"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SERVER, *APP = sys.argv[1:]
del sys.argv[1:]


class Notes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = subprocess.Popen([SERVER, "--data", str(self.folder / "server"), "--listen", "127.0.0.1:0", "--open",
                                        "--log-level", "error"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.server.communicate)
        self.addCleanup(self.server.terminate)
        self.url = self.server.stdout.readline().split()[-1]

    def command(self, who, *words):
        return [*APP, str(self.folder / who), "--url", self.url, *words]

    def run_app(self, who, *words):
        done = subprocess.run(self.command(who, *words), capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.strip()

    def test_two_people_edit_offline(self):
        note = self.run_app("ann", "add", "one two three")
        self.assertEqual(self.run_app("ann", "pending"), f"1 kedge.put {note}")
        self.assertEqual(self.run_app("ann", "sync"), "version 1, 0 pending, 0 rejected")
        self.run_app("bob", "sync")
        self.run_app("ann", "edit", note, "zero one two three")
        self.run_app("bob", "edit", note, "one two three four")
        for who in ("ann", "bob", "ann"):
            self.run_app(who, "sync")
        for who in ("ann", "bob"):
            self.assertEqual(self.run_app(who, "list"), f"{note}  zero one two three four")
        self.run_app("ann", "delete", note)
        self.run_app("ann", "sync")
        self.run_app("bob", "edit", note, "too late")
        self.assertEqual(self.run_app("bob", "sync"), "version 5, 0 pending, 1 rejected")
        self.assertRegex(self.run_app("bob", "inbox"), r"^2 kedge\.text item-not-found: \w+")
        self.run_app("bob", "dismiss", "2")
        self.assertEqual(self.run_app("bob", "inbox"), "")
        done = subprocess.run(self.command("bob", "dismiss", "2"), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^[a-z-]+: \w+ \w+")

    def test_one_looks_on(self):
        with subprocess.Popen(self.command("bob", "live"), stdout=subprocess.PIPE, text=True) as live:
            self.assertEqual(live.stdout.readline(), "live\n")
            for text in ("hello", "bye"):
                note = self.run_app("ann", "add", text)
                self.run_app("ann", "sync")
                self.assertEqual(live.stdout.readline(), f"pulled {note} {text}\n")
            live.communicate(timeout=120)
        self.assertEqual(live.returncode, 0)


if __name__ == "__main__":
    unittest.main()
