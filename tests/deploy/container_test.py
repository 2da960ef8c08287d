#!/usr/bin/env python3
"""The steps of deploy/Containerfile, carried out in clean Debian roots, and the server that comes of them.

No engine of containers runs here. mmdebstrap makes the roots in the place of debian:bookworm-slim, RUN and ENTRYPOINT are
run in them by chroot, with this machine's settings of apt, and COPY takes the repository's files. So what is tried is
that every step succeeds, that the program finds all its libraries, runs without root, passes its health check and stops
in order. What an engine adds (layers, namespaces, volumes, published ports) is not.

Usage: container_test.py ROOT. Closes with the plain line "N passed, N failed". Ends with 77 without root or mmdebstrap."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv[1])
FILE = ROOT / "deploy/Containerfile"
BASE = "debian:bookworm-slim"
PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}


def instructions():
    text = re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


class Stage:
    def __init__(self, base, folder):
        self.folder, self.user, self.entry, self.health, self.stop_signal = folder, None, None, None, None
        folder.mkdir()
        subprocess.run(["tar", "--extract", "--file", str(base), "--directory", str(folder), "--numeric-owner"], check=True)
        for name in ("etc/apt/apt.conf.d", "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d", "usr/share/keyrings",
                     "etc/ssl/certs"):
            if pathlib.Path("/", name).is_dir():
                shutil.copytree(pathlib.Path("/", name), folder / name, dirs_exist_ok=True, symlinks=False,
                                ignore_dangling_symlinks=True)
        for name in ("etc/apt/sources.list", "etc/resolv.conf", "etc/hosts"):
            if pathlib.Path("/", name).is_file():
                shutil.copyfile(pathlib.Path("/", name), folder / name)

    def command(self, words):
        user = [f"--userspec={self.user}:{self.user}"] if self.user else []
        return ["chroot", *user, str(self.folder), *words]

    def run(self, words, **options):
        environment = {**PATH, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/"}
        environment.update({name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")})
        return subprocess.run(self.command(words), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=3000, **options)


def copy(source, to, under):
    """As COPY does: a folder's contents, or a file into a folder that ends in a slash."""
    target = under / to.lstrip("/")
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        folder = target if to.endswith("/") else target.parent
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / source.name if to.endswith("/") else target)


def build(folder):
    """The last stage."""
    base, stages, stage = folder / "base.tar", {}, None
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", str(base)], check=True, timeout=3000)
    for word, rest in instructions():
        if word not in KNOWN:
            raise AssertionError(f"{word} is not known to this test")
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            if image != BASE:
                raise AssertionError(f"{image} is not {BASE}")
            stage = stages[name] = Stage(base, folder / (name or "final"))
        elif word == "RUN":
            done = stage.run(["sh", "-c", rest])
            if done.returncode:
                raise AssertionError((rest, done.stdout[-3000:]))
        elif word == "COPY":
            words = shlex.split(rest)
            named = words[0].startswith("--from=")
            root = stages[words.pop(0).partition("=")[2]].folder if named else ROOT
            for source in words[:-1]:
                copy(root / source.lstrip("/"), words[-1], stage.folder)
        elif word == "WORKDIR":
            (stage.folder / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "USER":
            stage.user = rest
        elif word == "ENTRYPOINT":
            stage.entry = json.loads(rest)
        elif word == "HEALTHCHECK":
            stage.health = json.loads(rest.partition("CMD ")[2])
        elif word == "STOPSIGNAL":
            stage.stop_signal = getattr(signal, rest)
    return stage


class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.stage = build(pathlib.Path(cls.folder.name))

    def start(self, *options):
        """The entry point, whose options may be given again."""
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = str(found.getsockname()[1])
        words = [*self.stage.entry, *options, "--listen", f"127.0.0.1:{self.port}"]
        return subprocess.Popen(self.stage.command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=PATH)

    def healthy(self):
        return self.stage.run([word.replace("7420", self.port) for word in self.stage.health]).returncode == 0

    def test_the_image_serves_without_root_passes_its_health_check_and_stops_in_order(self):
        server = self.start("--open")
        try:
            while not server.stdout.readline().startswith("kedge-server ready on "):
                self.assertIsNone(server.poll())
            status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
            self.assertIn("\nUid:\t7420\t7420\t7420\t7420\n", status)
            self.assertTrue(self.healthy())
            made = self.stage.run(["kedge-admin", "--data", "/var/lib/kedge", "--org", "acme", "--project", "p",
                                   "create-project"])
            self.assertEqual(made.returncode, 0, made.stdout)
            self.assertNotEqual(self.stage.run(["touch", "/usr/local/bin/x"]).returncode, 0)
        finally:
            server.send_signal(self.stage.stop_signal)
            server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0)
        self.assertFalse(self.healthy())

    def test_the_entry_point_asks_for_tokens_and_for_a_proxy_or_tls(self):
        done = self.stage.run([*self.stage.entry])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--behind-proxy", done.stdout)

    def test_nothing_of_the_build_is_in_the_image(self):
        for program in ("gcc", "cmake", "ninja"):
            self.assertNotEqual(self.stage.run(["sh", "-c", f"command -v {program}"]).returncode, 0, program)
        for folder in ("source", "build"):
            self.assertFalse((self.stage.folder / folder).exists())


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("this test needs root, and mmdebstrap (package mmdebstrap)")
        sys.exit(77)
    began = time.monotonic()
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Container))
    failed = len(result.failures) + len(result.errors)
    print(f"built and tried in {time.monotonic() - began:.0f} s")
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
