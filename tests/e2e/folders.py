"""A copy's folder, as users treat folders: copied, restored, damaged, shared, swapped."""
import os
import pathlib
import shutil
import sqlite3
import tempfile
import unittest

from harness import Case, Copy, Refused, Server


class CopiedFolders(Case):
    def test_twins_with_the_same_pending_edits_live_on_and_each_edit_arrives_once(self):
        server = self.server()
        a = self.copy("a", server)
        a.add()
        a.sync()
        common = [a.add() for _ in range(3)]
        b = a.twin(self.root / "b")
        for _ in range(3):
            a.edit(common[0])
            b.edit(common[1])
            b.sync()
            a.sync()
            b.add()
            a.sync()
        self.check_converged(server, a, b)

    def test_twins_that_made_different_edits_under_the_same_ids_lose_none(self):
        server = self.server()
        a = self.copy("a", server)
        note = a.add()
        a.sync()
        b, c = a.twin(self.root / "b"), a.twin(self.root / "c")
        for copy in (a, b, c):
            copy.add()
            copy.edit(note)
            copy.add()
        for _ in range(2):
            for copy in (c, a, b):
                copy.sync()
                copy.add()
        self.check_converged(server, a, b, c)

    def test_a_twin_of_a_folder_that_never_synced(self):
        server = self.server()
        a = self.copy("a", server)
        for _ in range(4):
            a.add()
        b = a.twin(self.root / "b")
        a.add()
        b.add()
        b.sync()
        a.sync()
        b.add()
        self.check_converged(server, a, b)

    def test_a_twin_copied_while_a_live_view_runs(self):
        server = self.server()
        a = self.copy("a", server)
        a.add()
        live = self.live(a)
        live.wait("online")
        b = a.twin(self.root / "b")
        a.add()
        b.add()
        self.assertEqual(live.end(), 0)
        self.check_converged(server, a, b)

    def test_the_twins_see_each_other_while_both_are_live(self):
        server = self.server()
        a = self.copy("a", server)
        a.add()
        a.sync()
        b = a.twin(self.root / "b")
        live_a, live_b = self.live(a), self.live(b)
        for turn in range(3):
            live_a.type(f'add "left {turn}."')
            live_b.type(f'add "right {turn}."')
            live_a.wait(f"right {turn}.")
            live_b.wait(f"left {turn}.")
        self.assertEqual((live_a.end(), live_b.end()), (0, 0))
        made = [f"{side} {turn}." for side in ("left", "right") for turn in range(3)]
        self.check_converged(server, a, b, acknowledged=a.acknowledged + made)


class RestoredFolders(Case):
    def restored(self, a, backup):
        shutil.rmtree(a.folder)
        shutil.copytree(backup, a.folder)

    def test_an_older_folder_put_back_goes_on_editing(self):
        server = self.server()
        a, other = self.copy("a", server), self.copy("other", server)
        note = a.add()
        a.sync()
        shutil.copytree(a.folder, self.root / "backup")
        for _ in range(3):
            a.add()
            a.edit(note)
        a.sync()
        other.sync()
        self.restored(a, self.root / "backup")
        a.add()
        a.edit(note)
        a.sync()
        other.edit(note)
        self.check_converged(server, a, other)

    def test_an_older_folder_with_pending_edits_that_were_synced_meanwhile(self):
        server = self.server()
        a = self.copy("a", server)
        for _ in range(3):
            a.add()
        shutil.copytree(a.folder, self.root / "backup")
        a.sync()
        a.add()
        a.sync()
        for _ in range(3):
            self.restored(a, self.root / "backup")
            a.add()
            a.sync()
        self.check_converged(server, a)

    def test_an_older_outbox_beside_a_newer_cache_and_the_other_way_round(self):
        for name in ("outbox.db", "cache.db"):
            with self.subTest(name):
                server = self.server("server-" + name)
                a = self.copy("a-" + name, server)
                note = a.add()
                a.sync()
                backup = self.root / f"backup-{name}"
                shutil.copytree(a.folder, backup)
                a.add()
                a.edit(note)
                a.sync()
                for path in a.folder.glob(name + "*"):
                    path.unlink()
                for path in backup.glob(name + "*"):
                    shutil.copy2(path, a.folder)
                a.add()
                a.edit(note)
                self.check_converged(server, a)


def damaged_in_the_middle(data, fill):
    return data[:len(data) // 2] + fill + data[len(data) // 2 + len(fill):]


def checkpoint(path):
    """Moves the WAL's content into the file, so that the file is what gets damaged."""
    connection = sqlite3.connect(path)
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0:
        raise AssertionError("the checkpoint met a lock")
    connection.close()


class Prepared(Case):
    """Each test starts from copies of one server's and one app's folder, made once."""

    @classmethod
    def setUpClass(cls):
        cls.model = pathlib.Path(tempfile.mkdtemp(prefix="kedge-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.model)
        server = Server(cls.model / "server")
        cls.addClassCleanup(server.stop)
        a = Copy(cls.model / "a", server.url)
        cls.prepare(server, a)
        server.stop()
        cls.made = a.acknowledged

    def setUp(self):
        super().setUp()
        shutil.copytree(self.model, self.root, dirs_exist_ok=True)
        self.backend = self.server()
        self.a = self.copy("a", self.backend)
        self.a.acknowledged = list(self.made)


class DamagedCache(Prepared):
    """cache.db holds nothing that a pull cannot bring back."""

    @classmethod
    def prepare(cls, server, a):
        for _ in range(40):  # enough for several pages
            a.add(text="x" * 1000)
        a.sync()
        checkpoint(a.folder / "cache.db")
        a.add()
        a.add()

    def check_repaired(self, pending=2):
        """Pending edits are kept while the cache is wanting, and arrive once."""
        self.assertEqual(len(self.a.pending()), pending)
        fresh = self.a.add()
        self.read_in_spite_of_damage()
        self.assertIn(fresh[:8], "\n".join(self.a.list()))
        self.a.sync()
        self.assertIn("0 pending", self.a.run("status", offline=True))
        self.assertNotIn("resyncing", self.a.run("status", offline=True))
        other = self.copy("other", self.backend)
        self.check_converged(self.backend, self.a, other)
        self.assertEqual(len(self.a.titles()), len(self.a.acknowledged))
        self.assertEqual([p.name for p in self.a.folder.glob("*damaged*")], [])

    def read_in_spite_of_damage(self):
        """The read that meets the damage may fail, and says so; the next one does not meet it."""
        try:
            self.a.list()
        except Refused as refused:
            self.assertIn("cache.db is damaged", str(refused))

    def damage(self, change, wal_too=True):
        path = self.a.folder / "cache.db"
        path.write_bytes(change(path.read_bytes()))
        if wal_too:
            for name in ("cache.db-wal", "cache.db-shm"):
                (self.a.folder / name).unlink(missing_ok=True)

    def test_deleted(self):
        for path in self.a.folder.glob("cache.db*"):
            path.unlink()
        self.check_repaired()

    def test_the_file_alone_deleted(self):
        (self.a.folder / "cache.db").unlink()
        self.check_repaired()

    def test_emptied(self):
        self.damage(lambda data: b"")
        self.check_repaired()

    def test_truncated_within_a_page(self):
        self.damage(lambda data: data[:len(data) * 2 // 3 + 100])
        self.check_repaired()

    def test_truncated_at_a_page(self):
        self.damage(lambda data: data[:4096 * 3])
        self.check_repaired()

    def test_a_page_of_zeros(self):
        for page in range((self.a.folder / "cache.db").stat().st_size // 4096):
            self.damage(lambda data: data[:page * 4096] + bytes(4096) + data[(page + 1) * 4096:])
            self.read_in_spite_of_damage()
            self.a.sync()
            checkpoint(self.a.folder / "cache.db")
        self.check_repaired(pending=0)

    def test_random_bytes(self):
        self.damage(lambda data: os.urandom(len(data)))
        self.check_repaired()

    def test_random_bytes_behind_a_good_header(self):
        self.damage(lambda data: data[:100] + os.urandom(len(data) - 100))
        self.check_repaired()

    def test_random_bytes_in_the_middle(self):
        self.damage(lambda data: damaged_in_the_middle(data, os.urandom(12000)))
        self.check_repaired()

    def test_a_text_file_in_its_place(self):
        self.damage(lambda data: b"Dear diary, this is no database.\n" * 400)
        self.check_repaired()

    def test_another_applications_database_in_its_place(self):
        for path in self.a.folder.glob("cache.db*"):
            path.unlink()
        connection = sqlite3.connect(self.a.folder / "cache.db")
        connection.execute("CREATE TABLE mine(x)")
        connection.commit()
        connection.close()
        before = (self.a.folder / "cache.db").read_bytes()
        self.assertIn("another application", self.refusal(self.a, "list"))
        self.assertEqual((self.a.folder / "cache.db").read_bytes(), before)

    def test_the_wal_truncated(self):
        path = self.a.folder / "cache.db-wal"
        whole = path.read_bytes()
        for size in (0, 20, 32, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            self.assertEqual(len(self.a.pending()), 2)
            self.assertEqual(len(self.a.titles()), 42)
            path.write_bytes(whole)
        path.write_bytes(whole[:len(whole) // 2])
        self.check_repaired()

    def test_the_wal_replaced_by_noise(self):
        path = self.a.folder / "cache.db-wal"
        path.write_bytes(os.urandom(path.stat().st_size))
        self.check_repaired()

    def test_a_directory_in_its_place(self):
        for path in self.a.folder.glob("cache.db*"):
            path.unlink()
        (self.a.folder / "cache.db").mkdir()
        self.assertIn("cache.db", self.refusal(self.a, "list"))
        (self.a.folder / "cache.db").rmdir()
        self.check_repaired()


class DamagedOutbox(Prepared):
    """outbox.db holds what exists nowhere else: an error that says so, and not a byte changed."""

    @classmethod
    def prepare(cls, server, a):
        a.add()
        a.sync()
        for _ in range(30):
            a.add(text="y" * 1000)
        checkpoint(a.folder / "outbox.db")

    def setUp(self):
        super().setUp()
        self.outbox = self.a.folder / "outbox.db"
        self.sound = self.outbox.read_bytes()

    def check_reported(self, content, *words):
        """Reported by each command, file untouched; with the sound file back all is there."""
        if content is None:
            self.outbox.unlink()
        else:
            self.outbox.write_bytes(content)
        for command in (("list",), ("add", "new"), ("sync",)):
            message = self.refusal(self.a, *command)
            for word in ("outbox.db", *words):
                self.assertIn(word, message)
        if content is not None:
            self.assertEqual(self.outbox.read_bytes(), content)
        self.outbox.write_bytes(self.sound)
        for name in ("outbox.db-wal", "outbox.db-shm"):
            (self.a.folder / name).unlink(missing_ok=True)
        self.assertEqual(len(self.a.pending()), 30)
        self.check_converged(self.backend, self.a)

    def test_deleted(self):
        self.check_reported(None, "outbox-missing")

    def test_emptied(self):
        self.check_reported(b"", "outbox-missing")

    def test_random_bytes(self):
        self.check_reported(os.urandom(len(self.sound)))

    def test_a_text_file_in_its_place(self):
        self.check_reported(b"Dear diary, this is no database.\n" * 400)

    def test_truncated(self):
        self.check_reported(self.sound[:len(self.sound) // 2], "damaged")

    def test_random_bytes_behind_the_first_page(self):
        self.check_reported(self.sound[:4096] + os.urandom(len(self.sound) - 4096), "damaged")

    def test_a_newer_layout_is_refused_and_left_alone(self):
        for name in ("outbox.db", "cache.db"):
            with self.subTest(name):
                connection = sqlite3.connect(self.a.folder / name)
                layout, = connection.execute("PRAGMA user_version").fetchone()
                connection.execute("PRAGMA user_version = 99")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.close()
                before = (self.a.folder / name).read_bytes()
                message = self.refusal(self.a, "list")
                self.assertIn(name, message)
                self.assertIn("newer", message)
                self.assertEqual((self.a.folder / name).read_bytes(), before)
                connection = sqlite3.connect(self.a.folder / name)
                connection.execute(f"PRAGMA user_version = {layout}")
                connection.close()
        self.check_converged(self.backend, self.a)


class WrongFolders(Case):
    def test_a_folder_of_another_project_or_organization(self):
        server = self.server()
        a = self.copy("a", server)
        a.add()
        for names in ({"org": "others"}, {"project": "other"}):
            message = self.refusal(Copy(a.folder, server.url, **names), "add", "x")
            self.assertIn("demo/notes", message)
            self.assertIn(next(iter(names.values())), message)
        self.check_converged(server, a)

    def test_a_file_in_place_of_the_folder(self):
        a = self.copy("a", "http://127.0.0.1:1")
        a.folder.write_text("a letter")
        self.assertIn("is a file", self.refusal(a, "list"))
        self.assertEqual(a.folder.read_text(), "a letter")

    def test_a_folder_whose_parent_is_missing(self):
        a = self.copy("none/a", "http://127.0.0.1:1")
        self.assertIn(str(a.folder), self.refusal(a, "list"))

    def test_names_that_are_none(self):
        for names in ({"org": "a/b"}, {"project": ""}, {"project": "x" * 65}):
            a = self.copy("a", "http://127.0.0.1:1", **names)
            self.assertIn(next(iter(names)), self.refusal(a, "list"))
        self.assertFalse(a.folder.exists())

    @unittest.skipUnless(os.geteuid() != 0 or shutil.which("setpriv"), "root writes everywhere")
    def test_a_folder_that_may_not_be_written(self):
        server = self.server()
        a = self.copy("a", server)
        a.add()
        drop = []
        if os.geteuid() == 0:  # without the right to pass over permissions
            drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
            a.command = lambda *words, offline=False: drop + Copy.command(a, *words, offline=offline)
        modes = {path: path.stat().st_mode for path in [a.folder, *a.folder.iterdir()]}
        for path in modes:
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            message = self.refusal(a, "add", "lost?")
            self.assertIn(str(a.folder), message)
            self.assertIn("denied", message)
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        self.check_converged(server, a)


def faketime():
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
        path = f"{folder}/faketime/libfaketime.so.1"
        if os.path.exists(path):
            return path
    return None


@unittest.skipIf(os.environ.get("KEDGE_TEST_PRESET") in ("asan", "tsan"),
                 "a sanitizer and libfaketime cannot both come first")
@unittest.skipUnless(faketime(), "libfaketime is not installed (package libfaketime)")
class WrongClocks(Case):
    def at(self, name, server, moment):
        return self.copy(name, server, environment={
            "LD_PRELOAD": faketime(), "FAKETIME": moment, "TZ": "UTC"})

    def test_copies_in_1970_in_2099_and_now_converge(self):
        server = self.server()
        copies = [self.at("past", server, "@1970-01-01 00:00:10"), self.copy("now", server),
                  self.at("future", server, "@2099-12-31 23:59:50")]
        note = copies[0].add()
        for copy in copies:
            copy.sync()
        for _ in range(2):
            for copy in copies:
                copy.add()
                copy.edit(note)
                copy.sync()
        self.check_converged(server, *copies)

    def test_a_clock_that_jumps_forth_and_back_between_runs(self):
        server = self.server()
        a = self.copy("a", server)
        for moment in ("@1970-01-01 00:00:01", "@2037-06-01 00:00:00", "@1999-01-01 00:00:00"):
            a.environment = self.at("a", server, moment).environment
            a.add()
            a.sync()
            a.add()
        self.check_converged(server, a)
