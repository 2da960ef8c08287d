"""What ends while Kedge is in the middle of something: a wait by Ctrl-C, garbage on Kedge's own thread, a dispatcher by
SystemExit. Nothing is left open, and nothing that C still refers to is freed.

usage: ending_test.py"""
import gc
import logging
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import kedge
from kedge import _callbacks, _handles

WAIT_S = 120
NOTE = {"collection": "notes", "id": "1", "value": 1}


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


class Dispatchers(Case):
    def test_one_that_leaves_its_thread_does_not_lose_the_work(self):
        told = threading.Event()
        with self.open(dispatch=lambda work: sys.exit("no thread")) as db, db.watch(lambda changes: told.set()):
            db.mutate("kedge.put", NOTE)
            self.assertTrue(told.wait(WAIT_S))


if __name__ == "__main__":
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    logging.getLogger("kedge").propagate = False
    unittest.main()
