#!/usr/bin/env python3
"""The systemd unit of deploy/: systemd finds no fault in it, its service is confined, and the server runs as it says. The
commands of docs/how-to/host-a-server.md that need no root and no systemd are run.

Usage: service_test.py ROOT SERVER_PROGRAM ADMIN_PROGRAM. Closes with the plain line "N passed, N failed"."""
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT, SERVER, ADMIN = pathlib.Path(sys.argv[1]), *sys.argv[2:4]
UNIT = ROOT / "deploy/kedge-server.service"
SECURITY_MAX = 15  # tenths; the unit has 1.4
DEADLINE_S = 120


def setting(name):
    """The value of a setting that the unit has once."""
    [value] = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    return value


class Service(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "var/lib").mkdir(parents=True)
        (self.root / "var/backups").mkdir()
        (self.root / "var/log/kedge").mkdir(parents=True)
        (self.root / "etc").mkdir()

    def here(self, text):
        """With this test's folder in the place of the machine's."""
        text = re.sub(r"(?<![\w.])/(var|etc)/", rf"{self.root}/\1/", text)
        return text.replace("/usr/local/bin/kedge-server", SERVER).replace("127.0.0.1:7420", "127.0.0.1:0")

    def run_page(self, *words):
        """Runs the page's lines that have all these words; there are some."""
        page = (ROOT / "docs/how-to/host-a-server.md").read_text()
        shell = "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
        lines = [line for line in shell.splitlines() if all(word in line for word in words)]
        self.assertTrue(lines, words)
        for line in lines:
            command = shlex.split(self.here(line).replace("runuser -u kedge -- kedge-admin", ADMIN))
            done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)

    def start(self):
        """The server by the unit's ExecStart with deploy/server.env, under the unit's umask."""
        [options] = re.findall(r"^KEDGE_OPTIONS=(.*)$", (ROOT / "deploy/server.env").read_text(), re.MULTILINE)
        etc = self.root / "etc/kedge"
        etc.mkdir(exist_ok=True)
        key = {"kty": "EC", "crv": "P-256", "kid": "k", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
               "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}  # of RFC 7515, appendix A.3
        (etc / "keys.json").write_text(json.dumps({"keys": [key]}))
        [audit] = re.findall(r"`(--audit [^`]+)`", (ROOT / "docs/how-to/host-a-server.md").read_text())
        self.assertIn(f" /var/log/{setting('LogsDirectory')}/", audit)
        command = self.here(setting("ExecStart").replace("$KEDGE_OPTIONS", f"{options} {audit}")).split()
        mask = int(setting("UMask"), 8)
        with open(self.root / "log", "w") as log:
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                      preexec_fn=lambda: os.umask(mask))
        line = server.stdout.readline()
        if not line.startswith("kedge-server ready on "):
            server.communicate(timeout=DEADLINE_S)
            self.fail(self.logged())
        return server, int(line.rsplit(":", 1)[1])

    def logged(self):
        return (self.root / "log").read_text()

    def wait_for_log(self, text):
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.logged():
            self.assertLess(time.monotonic(), deadline, self.logged())
            time.sleep(0.01)

    def get(self, port, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, server):
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=DEADLINE_S)
        self.assertEqual(server.returncode, 0, self.logged())

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_systemd_finds_no_fault_and_the_service_is_confined(self):
        unit = self.root / UNIT.name
        unit.write_text(UNIT.read_text().replace("/usr/local/bin/kedge-server", SERVER))
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                               f"--threshold={SECURITY_MAX}", str(unit)], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_server_runs_as_the_unit_says_and_is_backed_up_and_restored_as_the_page_says(self):
        server, port = self.start()
        try:
            self.assertEqual(self.get(port, "/v1/health"), 200)
            self.assertEqual(self.get(port, "/v1/orgs/acme/projects"), 401)
            reload = setting("ExecReload").replace("$MAINPID", str(server.pid))
            subprocess.run(reload.split(), check=True, timeout=DEADLINE_S)
            self.wait_for_log("keys-loaded")
            self.assertIn('"what":"reload"', (self.root / "var/log/kedge/audit.log").read_text())
            self.run_page("kedge-admin", "create-project")
            self.run_page("kedge-admin", " backup ")
        finally:
            self.stop(server)
        self.run_page("mv /var/lib/kedge")
        self.run_page("kedge-admin", " restore ")
        server, port = self.start()
        try:
            self.assertEqual(self.get(port, "/v1/health"), 200)
        finally:
            self.stop(server)
        told = subprocess.run([ADMIN, "--data", str(self.root / "var/lib/kedge"), "projects", "acme"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertIn('"todo"', told.stdout, told.stderr)


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Service))
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
