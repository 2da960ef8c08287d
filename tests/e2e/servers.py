"""The server as it fails: restored from a backup, killed, somebody else's, not there."""
import collections
import concurrent.futures
import contextlib
import http.server
import json
import shutil
import signal
import socket
import threading

from harness import Case, Refused

KEPT = 10000  # confirmed edits that a client keeps for a restore
LARGE = 20000  # bytes of a text that is kept as a blob, not in the version's record


class RestoredServers(Case):
    """What a client knows that the restored backend does not, it sends again, once."""

    def setUp(self):
        super().setUp()
        self.backend = self.server()
        self.a = self.copy("a", self.backend)
        self.b = self.copy("b", self.backend)
        self.c = self.copy("c", self.backend)
        self.note = self.a.add(text=self.large())
        self.a.sync()
        self.b.sync()
        self.b.add(text=self.large())
        self.b.sync()
        self.backup = self.root / "backup"
        self.backend.backup(self.backup)

    def large(self):
        return f"{len(self.a.acknowledged)} {len(self.b.acknowledged)} " + " " * LARGE

    def edit_behind_the_backup(self):
        for copy in (self.a, self.b):
            copy.add(text=self.large())
            copy.edit(self.note)
            copy.sync()
        self.a.sync()

    def check_restored(self, *parts):
        self.edit_behind_the_backup()
        self.a.add()
        self.b.add(text=self.large())
        self.backend.stop()
        for part in parts:
            self.backend.replace(part, self.backup)
        self.backend.start()
        self.c.add()
        self.check_converged(self.backend, self.b, self.a, self.c)

    def test_all_of_it(self):
        self.check_restored("records.db", "queue.db", "blobs")

    def test_the_records_alone(self):
        self.check_restored("records.db")

    def test_twice_in_a_row(self):
        self.check_restored("records.db", "queue.db", "blobs")
        self.check_restored("records.db", "queue.db", "blobs")

    def test_an_empty_backend_in_its_place(self):
        self.edit_behind_the_backup()
        self.a.add()
        self.backend.stop()
        shutil.rmtree(self.backend.folder)
        self.backend.start()
        self.check_converged(self.backend, self.a, self.b)

    def test_while_live_views_run(self):
        live_a, live_b = self.live(self.a), self.live(self.b)
        for live in (live_a, live_b):
            live.type('add "before the restore"')
        for live in (live_a, live_b):
            live.wait("version 4, 0 pending")
        self.edit_behind_the_backup()
        self.backend.stop()
        self.backend.replace("records.db", self.backup)
        self.backend.start()
        live_a.type('add "after the restore."')
        live_b.wait("after the restore.")
        self.assertEqual((live_a.end(), live_b.end()), (0, 0))
        twice = ["before the restore"] * 2
        self.check_converged(self.backend, self.a, self.b, acknowledged=self.a.acknowledged +
                             self.b.acknowledged + twice + ["after the restore."])

    def backups_beside_edits(self, to, count):
        """Backups by kedge-admin into one folder, while two clients add notes and push them. How many versions there
        were when the last one began."""
        stop = threading.Event()
        edited = lambda: [len(copy.acknowledged) for copy in (self.a, self.b)]

        def edit(copy):
            while not stop.is_set():
                copy.add(text=self.large())
                copy.sync()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            running = [pool.submit(edit, copy) for copy in (self.a, self.b)]
            try:
                for _ in range(count):
                    before, versions = edited(), len(self.backend.versions())
                    self.backend.admin("backup", str(to))
                    while not all(now > then for now, then in zip(edited(), before)):
                        self.assertFalse(any(future.done() for future in running), running)
                        threading.Event().wait(0.002)
            finally:
                stop.set()
            for future in running:
                future.result(60)
        return versions

    def test_a_backup_that_was_taken_beside_edits(self):
        backup = self.root / "beside"
        versions = self.backups_beside_edits(backup, 3)
        self.edit_behind_the_backup()
        self.a.add()
        self.b.add(text=self.large())
        self.backend.stop()
        shutil.rmtree(self.backend.folder)
        self.backend.admin("restore", str(backup))
        self.assertGreaterEqual(len(self.backend.versions()), versions)
        self.assertEqual(self.backend.admin("--org", "demo", "--project", "notes", "verify")[-1]["findings"], 0)
        self.backend.start()
        self.check_converged(self.backend, self.b, self.a, self.c)

    def test_more_edits_than_a_client_keeps(self):
        """The oldest ones are lost on the server; the folders of both clients say what they were."""
        self.backend.admin("backup", str(self.root / "daily"))
        made, _ = self.a.write(KEPT + 5, 0, "made")
        self.a.sync()
        self.b.sync()
        self.backend.stop()
        shutil.rmtree(self.backend.folder)
        self.backend.admin("restore", str(self.root / "daily"))
        self.backend.start()
        for copy in (self.a, self.b, self.a, self.b):
            copy.sync()
        for copy in (self.a, self.b):
            self.assertEqual([json.loads(line)["id"] for line in copy.look("lost")], made[:5])
        self.assertIn("unrecovered: 5", self.a.look("inspect"))
        self.check_lists_equal([self.a, self.b])
        self.assertEqual(set(made) - set(self.a.titles()), set(made[:5]))
        self.a.write(5, 0, "made")
        self.a.sync()
        self.b.sync()
        for copy in (self.a, self.b):
            self.assertEqual(copy.look("lost"), [])

    def test_a_restore_and_a_twin_and_an_older_folder_at_once(self):
        old = self.root / "old-b"
        shutil.copytree(self.b.folder, old)
        self.edit_behind_the_backup()
        twin = self.a.twin(self.root / "twin")
        self.a.add()
        twin.add()
        self.backend.stop()
        self.backend.replace("records.db", self.backup)
        self.backend.start()
        self.b.sync()
        shutil.rmtree(self.b.folder)
        shutil.copytree(old, self.b.folder)
        self.b.add()
        self.check_converged(self.backend, self.b, twin, self.a, rounds=3)

    def test_the_blobs_alone_leave_no_version_without_its_bodies_unreported(self):
        """Bodies that the restored blobs lack are gone from the backend: it says so, serves the rest,
        and loses no edit made afterwards; a copy that has the body can write it again."""
        self.edit_behind_the_backup()
        self.backend.stop()
        self.backend.replace("blobs", self.backup)
        self.backend.start()
        self.a.add()
        self.a.edit(self.note)
        self.a.sync()
        self.assertEqual(self.a.pending(), [])
        self.b.sync()
        self.check_lists_equal([self.a, self.b])
        fresh = self.copy("fresh", self.backend)
        live = self.live(fresh)
        live.wait("the server has lost items")
        self.assertEqual(live.end(), 0)
        self.check_once(self.backend, self.a.acknowledged + self.b.acknowledged)


class KilledServers(Case):
    def test_many_clients_in_parallel_and_the_server_killed_again_and_again(self):
        server = self.server()
        copies = [self.copy(f"c{number}", server) for number in range(6)]
        stop = threading.Event()

        def live(copy):
            while not stop.is_set():
                copy.add(text="w" * (LARGE if len(copy.acknowledged) % 5 == 0 else 10), offline=True)
                with contextlib.suppress(Refused):  # the server may be away
                    copy.sync()

        with concurrent.futures.ThreadPoolExecutor(len(copies)) as pool:
            running = [pool.submit(live, copy) for copy in copies]
            for round_number in range(1, 5):
                enough = round_number * 15
                while sum(len(copy.acknowledged) for copy in copies) < enough:
                    self.assertFalse(any(future.done() for future in running), running)
                    threading.Event().wait(0.002)
                server.stop(signal.SIGKILL)
                server.start()
            stop.set()
            for future in running:
                future.result(60)
        self.check_converged(server, *copies)

    def test_killed_while_a_large_backlog_is_pushed(self):
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        for _ in range(30):
            a.add(text="q" * LARGE)
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                sync = pool.submit(a.sync)
                while server.metric("kedge_request_seconds_count") < 3 and not sync.done():
                    pass
                server.stop(signal.SIGKILL)
                server.start()
                sync.result(60)
            a.add()
        self.check_converged(server, a, b)

    def test_stopped_in_the_middle_and_started_later(self):
        server = self.server()
        a = self.copy("a", server)
        live = self.live(a)
        live.wait("online")
        live.type('add "while it runs."')
        live.wait("version 1, 0 pending")
        server.stop()
        live.type('add "while it is away."')
        live.wait("while it is away.")
        live.wait("1 pending")
        message = self.refusal(a, "history")
        self.assertIn(str(server.port), message)
        server.start()
        live.wait("0 pending")
        self.assertEqual(live.end(), 0)
        self.check_converged(server, a, acknowledged=["while it runs.", "while it is away."])


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers everything with what `server.answer` says: status, headers, body."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked += 1
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class WrongServers(Case):
    def stranger(self, status, headers, body):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        server.answer, server.asked = (status, headers, body), 0
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
        return server, f"http://127.0.0.1:{server.server_port}"

    def check_nothing_lost(self, a):
        """The server found at last."""
        real = self.server("real")
        a.url = real.url
        self.check_converged(real, a)

    def check_named(self, url, *words):
        a = self.copy("a", url)
        a.add()
        live = self.live(a)
        for word in words:
            live.wait(word)
        live.type('add "typed meanwhile."')
        live.wait("2 pending")
        self.assertEqual(live.end(), 0)
        a.acknowledged.append("typed meanwhile.")
        self.assertEqual(len(a.pending()), 2)
        self.check_nothing_lost(a)

    HTML = {"Content-Type": "text/html"}, b"<html><body>Welcome to our hotel!</body></html>"

    def test_html_with_200(self):
        self.check_named(self.stranger(200, *self.HTML)[1], "not")

    def test_html_with_404(self):
        self.check_named(self.stranger(404, *self.HTML)[1], "404")

    def test_json_that_is_not_kedges(self):
        self.check_named(self.stranger(200, {"Content-Type": "application/json"}, b'{"ok":true}')[1])

    def test_an_empty_200(self):
        self.check_named(self.stranger(200, {}, b"")[1])

    def test_a_redirect_of_a_captive_portal_is_not_followed(self):
        portal, portal_url = self.stranger(200, *self.HTML)
        url = self.stranger(302, {"Location": portal_url + "/login"}, b"")[1]
        self.check_named(url, "302")
        self.assertEqual(portal.asked, 0)

    def test_another_status(self):
        self.check_named(self.stranger(418, {}, b"short and stout")[1], "418")

    def test_a_port_where_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as held:
            port = held.getsockname()[1]
        self.check_named(f"http://127.0.0.1:{port}", "Failed to connect to 127.0.0.1", str(port))

    def test_a_host_that_does_not_exist(self):
        self.check_named("http://nowhere.invalid", "nowhere.invalid")

    def test_a_server_that_takes_the_request_and_hangs_up(self):
        listener = socket.create_server(("127.0.0.1", 0))

        def hang_up():
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        try:
            self.check_named(f"http://127.0.0.1:{listener.getsockname()[1]}", "connection")
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            listener.close()

    def test_urls_that_are_none(self):
        for url in ("", "127.0.0.1:7420", "ftp://example.com", "http://", "http://exa mple.com",
                    "http://127.0.0.1:99999", "http://127.0.0.1:port"):
            with self.subTest(url):
                a = self.copy("a", url)
                self.assertIn("url", self.refusal(a, "list").lower())

    def test_a_path_that_the_server_does_not_have(self):
        server = self.server()
        a = self.copy("a", server.url + "/somewhere")
        a.add()
        self.assertIn("nothing at this path", self.refusal(a, "sync"))
        a.url = server.url
        self.check_converged(server, a)

    def test_another_server_with_the_same_project_and_other_contents(self):
        """The lineage tells: the copy starts anew there, brings what it made itself, and can go back."""
        home, other = self.server("home"), self.server("elsewhere")
        a, b = self.copy("a", home), self.copy("b", other)
        for _ in range(3):
            a.add()
            a.sync()
            b.add()
            b.sync()
        theirs = list(b.acknowledged)
        a.add()
        a.url = other.url
        a.add()
        self.check_converged(other, a, b)
        a.url = home.url
        ours = list(a.acknowledged)
        a.add()
        a.sync()
        a.sync()
        self.assertEqual(a.pending(), [])
        counts = self.applied(home)
        self.assertEqual(counts, collections.Counter(a.acknowledged))
        self.assertTrue(set(theirs).isdisjoint(a.titles()))
        self.assertTrue(set(ours) <= set(a.titles()))
