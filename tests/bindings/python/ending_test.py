"""What ends while Kedge is in the middle of something: a wait by Ctrl-C, garbage on Kedge's own thread, a dispatcher by
SystemExit, what a signal handler or a mutator closes in a call. Nothing is left open, nothing that C still refers to is freed,
and nobody waits for himself.

usage: ending_test.py"""
import gc
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import kedge
from kedge import _callbacks, _cursors, _database, _errors, _handles

WAIT_S = 120
NOTE = {"collection": "notes", "id": "1", "value": 1}

# A program that leaves its database open, while its callback is due.
LEFT_OPEN = """
import sys, kedge
db = kedge.open(sys.argv[1], organization="acme", project="plan")
watch = db.watch(print)
db.mutate("kedge.put", {"collection": "notes", "id": "1", "value": 1})
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name, "copy"))

    def open(self, **options):
        return kedge.open(self.path, organization="acme", project="plan", **options)

    def assert_is_closed(self):
        end = time.monotonic() + WAIT_S
        while True:
            try:
                kedge.repair(self.path, self.path + " repaired")  # which is refused as long as it is open
                return
            except kedge.Busy:
                self.assertLess(time.monotonic(), end, "it is still open")


class Interrupts(Case):
    def test_a_close_that_is_interrupted_can_be_called_again(self):
        inside, goes_on = threading.Event(), threading.Event()

        @kedge.mutator("slow")
        def slow(tx, args):
            inside.set()
            goes_on.wait(WAIT_S)

        db = self.open(client_mutators=[slow])
        thread = threading.Thread(target=db.mutate, args=("slow", 1))
        thread.start()
        self.assertTrue(inside.wait(WAIT_S))

        def interrupt():
            while db._handle.is_open:  # until close() has begun
                pass
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        self.assertRaises(KeyboardInterrupt, db.close)
        goes_on.set()
        thread.join(WAIT_S)
        self.assertEqual(db.status().pending, 1)
        db.close()
        self.assert_is_closed()

    def behind(self):
        """A Ctrl-C that Python sees behind the next calls of C."""
        function = _database.call

        def call(*arguments):
            function(*arguments)
            raise KeyboardInterrupt

        return mock.patch.object(_database, "call", call)

    def test_an_open_that_is_interrupted_leaves_nothing_open(self):
        kept = len(_callbacks._kept)
        with self.behind():
            self.assertRaises(KeyboardInterrupt, self.open, log=print)
        self.assert_is_closed()
        self.assertEqual(len(_callbacks._kept), kept)

    def test_a_cursor_or_a_watch_that_is_interrupted_leaves_nothing_open(self):
        with self.open() as db:
            kept = len(_callbacks._kept)
            with self.behind():
                for _ in range(kedge.LIMITS["READERS"]):
                    self.assertRaises(KeyboardInterrupt, db.scan, "notes")
                for begin in (db.watch, db.watch_status, lambda tell: db.watch_query(tell, "SELECT id FROM notes")):
                    self.assertRaises(KeyboardInterrupt, begin, self.fail)
            self.assertEqual(list(db.scan("notes")), [])
            self.assertEqual(len(_callbacks._kept), kept)

    def test_a_mutator_that_is_interrupted_as_it_runs_again_rejects_nothing(self):
        interrupted = []

        def count(tx, args):
            if interrupted:
                raise interrupted.pop()
            tx.put("counts", "notes", len(list(tx.items("notes"))))

        def opened(version):
            return self.open(client_mutators=[kedge.Mutator("count", version, count)])

        def state(db):
            return db.get("notes", "1", None), db.get("counts", "notes"), db.status().pending

        with opened(1) as db:
            db.mutate("kedge.put", NOTE)
            db.mutate("count", None)
            interrupted.append(KeyboardInterrupt())
            self.assertRaises(KeyboardInterrupt, db.cancel, 1)
            self.assertEqual(state(db), (None, 0, 2))
        interrupted.append(KeyboardInterrupt())
        self.assertRaises(KeyboardInterrupt, opened, 2)
        self.assert_is_closed()
        with opened(2) as db:
            self.assertEqual(state(db), (None, 0, 2))

    def test_an_edit_that_is_interrupted_while_it_waits_for_its_turn_is_not_rejected(self):
        inside, main = threading.Event(), threading.get_ident()

        def is_in_c():
            frame = sys._current_frames()[main]
            return frame.f_code is _errors.call.__code__ and frame.f_lineno == frame.f_code.co_firstlineno + 3

        @kedge.mutator("slow")
        def slow(tx, args):
            inside.set()
            while not is_in_c():
                pass
            os.kill(os.getpid(), signal.SIGINT)

        @kedge.mutator("quick")
        def quick(tx, args):
            tx.put("notes", "1", args)

        with self.open(client_mutators=[slow, quick]) as db:
            thread = threading.Thread(target=db.mutate, args=("slow", None))
            thread.start()
            self.assertTrue(inside.wait(WAIT_S))
            self.assertRaises(KeyboardInterrupt, db.mutate, "quick", 1)
            thread.join(WAIT_S)
            self.assertEqual(db.status().pending, 1)

    def test_a_callback_that_is_interrupted_ends_the_loop_that_calls_it(self):
        told, given = [], []

        def callback(changes):
            told.append(changes)
            raise KeyboardInterrupt

        def run_until_told(db):
            while not told:
                db.run_loop()
                if given:
                    given.pop()()

        for value, dispatch in enumerate((None, given.append)):
            told.clear()
            with self.open(caller_driven=True, dispatch=dispatch) as db, db.watch(callback):
                db.mutate("kedge.put", {**NOTE, "value": value})
                self.assertRaises(KeyboardInterrupt, run_until_told, db)
                db.run_loop()

    def test_a_sync_or_a_history_that_is_interrupted_ends_at_once(self):
        for wait in (kedge.Database.sync, kedge.Database.history):
            with socket.create_server(("127.0.0.1", 0)) as server:
                url = "http://127.0.0.1:%d" % server.getsockname()[1]

                def interrupt():
                    connection, _ = server.accept()
                    self.addCleanup(connection.close)  # it never answers
                    os.kill(os.getpid(), signal.SIGINT)

                def ask(db):
                    db.set_online(True)
                    wait(db, timeout=WAIT_S / 4)

                thread = threading.Thread(target=interrupt)
                thread.start()
                with self.open(url=url, offline=True) as db:
                    begun = time.monotonic()
                    self.assertRaises(KeyboardInterrupt, ask, db)
                    self.assertLess(time.monotonic() - begun, WAIT_S / 8)
                thread.join(WAIT_S)

    def test_a_close_of_a_watch_that_is_interrupted_does_not_stop_that_of_the_database(self):
        db = self.open()
        watch = db.watch(print)
        free, closed = watch._handle._free, threading.Event()

        def free_and_be_interrupted(pointer):
            free(pointer)
            raise KeyboardInterrupt

        watch._handle._free = free_and_be_interrupted
        self.assertRaises(KeyboardInterrupt, watch.close)
        threading.Thread(target=lambda: (db.close(), closed.set()), daemon=True).start()
        self.assertTrue(closed.wait(WAIT_S))
        self.assert_is_closed()


class Exit(Case):
    def test_a_database_that_a_program_leaves_open_does_not_keep_it_from_its_end(self):
        program = subprocess.run([sys.executable, "-c", LEFT_OPEN, self.path], capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual((program.returncode, program.stderr), (0, ""))
        self.assert_is_closed()


class Garbage(Case):
    def find(self, collect):
        """A database that is only found as garbage: by `collect`, on Kedge's thread, in its first call of a function."""
        gc.disable()
        self.addCleanup(gc.enable)
        forgotten, prepare, main = threading.Event(), _callbacks.text_of, threading.current_thread()

        def look(pointer):
            if threading.current_thread() is not main and forgotten.wait(WAIT_S):
                collect()
            return prepare(pointer)

        with mock.patch.object(_callbacks, "text_of", look):
            db = self.open(log=lambda *line: None, log_level=kedge.LogLevel.DEBUG)
            db.me = db
            del db
            forgotten.set()
            self.assert_is_closed()

    def test_a_database_that_is_found_as_garbage_while_a_callback_is_prepared_is_closed(self):
        self.find(gc.collect)

    def test_a_database_that_is_found_as_garbage_before_a_callback_begins_is_closed(self):
        def collect():
            deep, _handles.here.callbacks = _handles.here.callbacks, 0  # as before its first statement
            gc.collect()
            _handles.here.callbacks = deep

        self.find(collect)


class Within(Case):
    """A close by a thread that is in the middle of a call."""

    def setUp(self):
        super().setUp()

        def give_up(*arguments):
            raise TimeoutError("the thread waits for itself")

        for number in (signal.SIGALRM, signal.SIGUSR1):
            self.addCleanup(signal.signal, number, signal.signal(number, give_up))
        self.addCleanup(signal.alarm, 0)
        signal.alarm(WAIT_S)

    def interrupted(self, module, name, step):
        """Runs `step` in a signal handler, once, in the next call of this function of the binding."""
        function, left = getattr(module, name), [True]
        signal.signal(signal.SIGUSR1, lambda *arguments: step())

        def interrupt(*arguments):
            if left:
                left.clear()
                signal.raise_signal(signal.SIGUSR1)
            return function(*arguments)

        return mock.patch.object(module, name, interrupt)

    def refuse(self, *uses):
        for use in uses:
            with self.assertRaises(kedge.InvalidArgument) as caught:
                use()
            self.assertEqual(caught.exception.code, "called-back")

    def test_a_signal_handler_may_not_close_the_database_that_its_thread_reads(self):
        with self.open() as db:
            db.mutate("kedge.put", NOTE)
            with self.interrupted(_database, "call", lambda: self.refuse(db.close)):
                self.assertEqual(db.get("notes", "1"), 1)
            self.assertEqual(db.status().pending, 1)
            db.close()
        self.assert_is_closed()

    def test_a_signal_handler_may_use_the_database_that_its_thread_reads(self):
        seen = []
        with self.open() as db:
            db.mutate("kedge.put", NOTE)
            with self.interrupted(_database, "call", lambda: seen.append(db.get("notes", "1"))):
                self.assertEqual(db.get("notes", "1"), 1)
        self.assertEqual(seen, [1])

    def test_a_signal_handler_may_not_use_or_close_the_cursor_that_its_thread_reads(self):
        with self.open() as db:
            query = db.query("SELECT 'a', 'b'")
            with self.interrupted(_cursors, "sized_text",
                                  lambda: self.refuse(query.close, lambda: next(query), db.close)):
                self.assertEqual(next(query), ("a", "b"))
            query.close()
            self.assertFalse(db._children)

    def test_a_cursor_that_ends_as_garbage_in_its_own_call_is_closed_behind_it(self):
        with self.open() as db:
            query = db.query("SELECT 'a', 'b'")
            with self.interrupted(_cursors, "sized_text", query.__del__):
                self.assertEqual(next(query), ("a", "b"))
            query._handle._freed.wait(WAIT_S)
            self.assertFalse(db._children)

    def test_a_signal_handler_may_not_close_the_database_whose_watch_its_thread_closes(self):
        with self.open() as db:
            watch = db.watch(print)
            with self.interrupted(watch._handle, "_free", lambda: self.refuse(db.close)):
                watch.close()
            self.assertFalse(db._children)

    def test_a_parser_may_use_and_close_its_scan(self):
        with self.open() as db:
            for id in "123":
                db.mutate("kedge.put", {**NOTE, "id": id})
            scan = db.scan("notes", parse=lambda text: next(scan, None))
            self.assertEqual(next(scan), ("1", ("2", ("3", None))))
            scan = db.scan("notes", parse=lambda text: scan.close())
            self.assertEqual(next(scan), ("1", None))
            self.assertFalse(db._children)

    def test_a_mutator_may_not_close_its_batch_or_a_watch(self):
        goes_on, ended = threading.Event(), threading.Event()

        @kedge.mutator("closing")
        def closing(tx, args):
            goes_on.set()
            self.refuse(batch.close, watch.close)  # the watch's callback waits for the turn of this mutator
            tx.put("notes", "2", args)

        def callback(changes):
            goes_on.wait(WAIT_S)
            if not ended.is_set():
                db.mutate("kedge.put", NOTE)
                ended.set()

        with self.open(client_mutators=[closing]) as db:
            watch = db.watch(callback, "notes")
            db.mutate("kedge.put", NOTE)
            batch = db.batch()
            batch.mutate("closing", 5)
            self.assertEqual(batch.commit(), 2)
            self.assertEqual(db.get("notes", "2"), 5)
            self.assertTrue(ended.wait(WAIT_S))
            batch.close()
            watch.close()
            self.assertFalse(db._children)

    def test_a_watch_that_is_forgotten_in_a_call_does_not_wait_for_its_callback_there(self):
        inside, ended = threading.Event(), threading.Event()

        def callback(changes):
            inside.set()
            ended.wait(WAIT_S)

        with self.open() as db, db.query("SELECT 1") as query:
            watch = db.watch(callback)
            db.mutate("kedge.put", NOTE)
            self.assertTrue(inside.wait(WAIT_S))
            with query._handle:  # for which the callback may wait, too
                begun = time.monotonic()
                del watch
                self.assertLess(time.monotonic() - begun, WAIT_S / 2)
            ended.set()


class Dispatchers(Case):
    def test_one_that_leaves_its_thread_does_not_lose_the_work(self):
        told = threading.Event()
        with self.open(dispatch=lambda work: sys.exit("no thread")) as db, db.watch(lambda changes: told.set()):
            db.mutate("kedge.put", NOTE)
            self.assertTrue(told.wait(WAIT_S))

    def test_work_that_two_threads_call_at_once_runs_once(self):
        """As by a dispatcher that raises when another thread has the work already."""
        given, inside, goes_on, runs = [], threading.Event(), threading.Event(), []

        def dispatch(work):
            given.append(work)

        def stop_behind_the_first_line(frame, event, argument):
            if event == "line" and frame.f_lineno > frame.f_code.co_firstlineno + 1 and not inside.is_set():
                inside.set()
                goes_on.wait(WAIT_S)
            return stop_behind_the_first_line

        def call_slowly():
            sys.settrace(lambda frame, *event: stop_behind_the_first_line if frame.f_code is given[0].__code__ else None)
            given[0]()

        with mock.patch.object(_callbacks, "ffi") as ffi:
            ffi.from_handle.return_value.dispatch = dispatch
            dispatched = getattr(_callbacks, "kedge_python_dispatch")
            dispatched(None, runs.append, 1)
        thread = threading.Thread(target=call_slowly)
        thread.start()
        self.assertTrue(inside.wait(WAIT_S))
        given[0]()
        goes_on.set()
        thread.join(WAIT_S)
        self.assertEqual(runs, [1])


if __name__ == "__main__":
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    logging.getLogger("kedge").propagate = False
    unittest.main()
