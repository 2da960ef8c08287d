"""Full disks, long backlogs and large notes.

A small disk is a tmpfs in a mount namespace of its own, which ends with the process that holds it, so
that nothing stays mounted."""
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from harness import DEADLINE_S, Case, Copy, Refused, Server

MIB = 1 << 20
SMALLEST = 640 << 10


class SmallDisk:
    """A disk of its own. Programs reach it under `path` when they run in `wrapper`."""

    def __init__(self, path, size):
        path.mkdir()
        namespace = ["-m"] if os.geteuid() == 0 else ["-r", "-m"]
        self.path = path
        self.holder = subprocess.Popen(
            ["unshare", *namespace, "sh", "-c",
             'mount -t tmpfs -o size="$1" kedge "$2" && echo mounted && exec cat', "sh", str(size), str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "mounted\n":
            raise unittest.SkipTest("a small disk cannot be mounted: " + self.holder.communicate()[1].strip())
        enter = ["-m"] if os.geteuid() == 0 else ["-U", "-m", "--preserve-credentials"]
        self.wrapper = ["nsenter", "-t", str(self.holder.pid), *enter]
        self.inside = pathlib.Path(f"/proc/{self.holder.pid}/root{path}")

    def fill(self, leave):
        """Takes what is free but for `leave` bytes."""
        with open(self.inside / "filler", "ab", buffering=0) as filler:
            facts = os.statvfs(self.inside)
            take = facts.f_bavail * facts.f_frsize - leave
            if take > 0:
                os.posix_fallocate(filler.fileno(), filler.seek(0, os.SEEK_END), take)

    def free(self):
        (self.inside / "filler").unlink()

    def end(self):
        self.holder.communicate(timeout=DEADLINE_S)


class FullDisks(Case):
    def disk(self, size, name="disk"):
        disk = SmallDisk(self.root / name, size)
        self.addCleanup(disk.end)
        return disk

    def fill_with_edits(self, a, size):
        """Edits until one is refused; what that one says. How many fit depends on the pages that earlier
        edits left free in the files, so after some from processes of their own one process makes the rest."""
        for _ in range(20):
            try:
                a.add(text="d" * size)
            except Refused as refused:
                return str(refused)
        written, error = a.write(20000, size, f"fill{size}x")
        self.assertLess(len(written), 20000, "the disk did not get full")
        return error

    def test_a_client_edits_until_its_disk_is_full(self):
        server, disk = self.server(), self.disk(16 * MIB)
        a = Copy(disk.path / "a", server.url, wrapper=disk.wrapper)
        b = self.copy("b", server)
        note = a.add()
        a.sync()
        for leave, size in ((400000, 20000), (100000, 10), (60000, 3000)):
            disk.fill(leave)
            self.assertIn("disk is full", self.fill_with_edits(a, size))
            disk.fill(0)
            try:  # what was reserved may still take an edit
                a.edit(note)
            except Refused as refused:
                self.assertIn("disk is full", str(refused))
            self.assertEqual(len(a.pending()), len(a.acknowledged) - self.decided(server))
            a.list()
            disk.free()
            a.edit(note)
            self.check_converged(server, a, b)

    def decided(self, server):
        return len(server.mutations())

    def test_whatever_the_size_of_the_disk_what_was_acknowledged_is_read(self):
        server = self.server()
        for kib in (160, 192, 224, 256, 288, 320, 384, 448, 512, 768, 1024, 2048):
            with self.subTest(kib=kib):
                disk = self.disk(kib << 10, f"disk{kib}")
                a = Copy(disk.path / "a", server.url, project=f"p{kib}", wrapper=disk.wrapper)
                written, error = a.write(2000, 400, "n")
                if len(written) < 2000:
                    self.assertIn("disk is full", error)
                if written:
                    self.assertEqual(set(written) - set(a.titles()), set())
                    self.assertGreaterEqual(len(a.pending()), len(written))

    def test_the_smallest_disk_takes_edits_is_opened_again_and_syncs(self):
        """What docs/explanation/client-store.md promises."""
        server, disk = self.server(), self.disk(SMALLEST)
        a, b = Copy(disk.path / "a", server.url, wrapper=disk.wrapper), self.copy("b", server)
        written, error = a.write(500, 100, "n")
        self.assertEqual((len(written), error), (500, ""))
        self.assertEqual(set(written) - set(a.titles()), set())
        self.check_converged(server, a, b)
        a.add()
        self.check_converged(server, a, b)

    def test_a_pull_that_does_not_fit(self):
        server, disk = self.server(), self.disk(8 * MIB)
        a = Copy(disk.path / "a", server.url, wrapper=disk.wrapper)
        b = self.copy("b", server)
        a.add()
        a.sync()
        b.write(100, 10000, "b")
        b.sync()
        a.add()
        disk.fill(200000)
        live = self.live(a)
        live.wait("disk is full")
        self.assertEqual(len(a.titles()), 2)
        disk.free()
        live.wait("b99")
        self.assertEqual(live.end(), 0)
        self.check_converged(server, a, b)

    def test_a_disk_too_full_for_a_new_folder(self):
        server, disk = self.server(), self.disk(2 * MIB)
        for leave in (0, 4096, 16384, 65536, 131072):
            disk.fill(leave)
            a = Copy(disk.path / f"a{leave}", server.url, wrapper=disk.wrapper)
            try:
                a.add()
            except Refused as refused:
                self.assertIn("disk is full", str(refused))
            disk.free()
            a.add()
            a.sync()
            self.assertEqual(a.pending(), [])
            shutil.rmtree(disk.inside / a.folder.name)  # the disk is for one of them

    def test_a_server_whose_disk_is_full_refuses_and_recovers(self):
        disk = self.disk(24 * MIB)
        server = Server(disk.path / "server", wrapper=disk.wrapper, log=self.root / "server.log")
        self.addCleanup(server.stop, signal.SIGKILL)
        a, b = self.copy("a", server), self.copy("b", server)
        a.add()
        a.sync()
        b.sync()
        for leave in (0, 50000, 300000):
            with self.subTest(leave):
                disk.fill(leave)
                before = len(server.requests())
                for copy in (a, b):
                    copy.write(30, 20000, f"{copy.folder.name}{leave}x")
                live_a, live_b = self.live(a), self.live(b)
                for live in (live_a, live_b):
                    live.wait(" rejected; ")
                pushes = [line for line in server.requests()[before:] if line["path"].endswith("/push")]
                self.assertIn(503, {line["status"] for line in pushes})
                self.assertLessEqual({line["status"] for line in pushes}, {200, 503})
                self.assertGreater(len(a.pending()) + len(b.pending()), 0)
                disk.free()
                live_a.wait(" 0 pending")
                live_b.wait(" 0 pending")
                self.assertEqual((live_a.end(), live_b.end()), (0, 0))
                self.check_converged(server, a, b)


class LargeAmounts(Case):
    def test_five_thousand_pending_edits_go_in_bounded_requests(self):
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        written, error = a.write(5000, 1000, "n")
        self.assertEqual((len(written), error), (5000, ""))
        self.check_converged(server, a, b, rounds=1)
        pushes = [line for line in server.requests() if line["path"].endswith("/push")]
        self.assertEqual({line["status"] for line in pushes}, {200})
        self.assertGreater(len(pushes), 1)
        self.assertLess(max(line["received_bytes"] for line in pushes), 16 * MIB)
        self.assertLess(max(len(v["mutations"]) for v in server.versions()), 5000)

    def test_a_note_over_the_limit_is_refused_and_the_rest_goes_on(self):
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        a.add()
        _, error = a.write(1, 9 * MIB, "large")
        self.assertIn("8388608", error)
        a.add()
        _, error = a.write(2, 8 * MIB - 1000, "fits")
        self.assertEqual(error, "")
        a.add()
        self.check_converged(server, a, b)

    def test_a_text_over_the_apps_own_limit_is_refused_with_its_reason(self):
        server = self.server()
        a = self.copy("a", server)
        a.add(text="t" * 65536)
        message = self.refusal(a, "add", "title", "t" * 65537)
        self.assertIn("at most 65536 bytes", message)
        self.check_converged(server, a)
