"""The Python binding at its edges: each mistake is an exception with a sentence, and the process goes on."""
import copy
import gc
import json
import logging
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import kedge
from kedge import _callbacks

WAIT_S = 120


@kedge.mutator("good.count")
def count_items(tx, args):
    """Uses all of a transaction."""
    number = sum(1 for _ in tx.items("notes", after=args.get("after")))
    tx.put("counts", "notes", {"number": number, "texts": []})
    tx.merge("counts", "notes", {"by": tx.caller.user})
    tx.patch("counts", "notes", [{"op": "add", "path": "/texts/-", "value": "ü"}])
    tx.call("kedge.increment", {"collection": "counts", "id": "notes", "add": {"number": 10}})
    tx.delete("counts", "none")


kept = []


@kedge.mutator("bad.keep")
def keep_transaction(tx, args):
    kept.append(tx)


@kedge.mutator("bad.raise")
def raise_what_is_given(tx, args):
    tx.put("notes", "left", 1)
    raise {"mistake": ZeroDivisionError, "interrupt": KeyboardInterrupt, "memory": MemoryError}[args]("by mistake")


@kedge.mutator("bad.write")
def write_what_is_no_json(tx, args):
    tx.put("notes", "left", {1, 2})


@kedge.mutator("bad.merge")
def merge_what_is_no_json(tx, args):
    tx.merge("notes", "left", kedge.JSON(args))


@kedge.mutator("bad.code")
def reject_without_a_code(tx, args):
    tx.reject("No Code!", "a message")


@kedge.mutator("bad.outside")
def use_the_database(tx, args):
    outside[0].get("notes", "1")


@kedge.mutator("bad.forget")
def forget_a_database(tx, args):
    outside.clear()
    gc.collect()


steps = []


@kedge.mutator("any.step")
def take_the_step_of_the_test(tx, args):
    steps[0](tx)


outside = []
MUTATORS = [count_items, keep_transaction, raise_what_is_given, write_what_is_no_json, merge_what_is_no_json,
            reject_without_a_code, use_the_database, forget_a_database, take_the_step_of_the_test]
NOTE = {"collection": "notes", "id": "1", "value": {"text": "hi"}}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def open(self, name="copy", **options):
        options = {"organization": "acme", "project": "plan", **options}
        db = kedge.open(str(self.folder / name), client_mutators=MUTATORS, **options)
        self.addCleanup(db.close)
        return db

    def refused(self, kind, code, function, *arguments, **named):
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code)
        self.assertRegex(caught.exception.message, r"\w+ \w+")
        self.assertIsInstance(caught.exception, kedge.Error)
        return caught.exception


class Statuses(unittest.TestCase):
    def test_every_status_of_the_headers_has_a_class(self):
        names = {status.name for status in kedge.Status}
        classes = {each.status.name for each in vars(kedge).values() if isinstance(each, type)
                   and issubclass(each, kedge.Error) and each not in (kedge.Error, kedge.Closed)}
        self.assertEqual(names - {"OK", "DONE"}, classes)
        self.assertEqual(kedge.Status.DISK_FULL.word, "disk-full")
        header = pathlib.Path(__file__).parents[3] / "include/kedge/error.h"
        declared = re.findall(r"^    KEDGE_(\w+) = (\d+)", header.read_text(), re.M)
        self.assertEqual({name: int(number) for name, number in declared},
                         {status.name: int(status) for status in kedge.Status})
        self.assertEqual(kedge.LIMITS["ITEM_ID_BYTES"], 512)
        self.assertRegex(kedge.library_version(), r"^\d+\.\d+\.\d+$")

    def test_an_error_can_go_to_another_process(self):
        for kind in [each for each in vars(kedge).values() if isinstance(each, type) and issubclass(each, kedge.Error)]:
            failure = kind("scan") if kind is kedge.Closed else kind("a-code", "a sentence")
            for other in (pickle.loads(pickle.dumps(failure)), copy.copy(failure)):
                self.assertEqual((type(other), str(other), other.code, other.message),
                                 (kind, str(failure), failure.code, failure.message))


class Closing(Case):
    def test_what_is_closed_is_refused(self):
        db = self.open()
        db.mutate("kedge.put", NOTE)
        scan, query, pending, batch = db.scan("notes"), db.query("SELECT 1"), db.pending(), db.batch()
        watch = db.watch(print)
        scan.close()
        self.refused(kedge.Closed, "closed", next, scan)
        watch.close()
        watch.close()
        db.close()
        db.close()
        for each in (query, pending):
            self.refused(kedge.Closed, "closed", next, each)
        self.refused(kedge.Closed, "closed", batch.mutate, "kedge.put", NOTE)
        self.refused(kedge.Closed, "closed", batch.commit)
        for function, *arguments in [(db.get, "notes", "1"), (db.mutate, "kedge.put", NOTE), (db.scan, "notes"), (db.sync,),
                                     (db.status,), (db.watch, print), (db.wait, 1), (db.batch,), (db.undo,), (db.fileno,)]:
            self.refused(kedge.Closed, "closed", function, *arguments)

    def test_an_iterator_that_has_ended_stays_so(self):
        with self.open() as db:
            db.mutate("kedge.put", NOTE)
            scan = db.scan("notes")
            self.assertEqual(list(scan), [("1", {"text": "hi"})])
            self.assertEqual(list(scan), [])
        self.assertEqual(list(scan), [])

    def test_an_open_database_that_nobody_holds_is_closed(self):
        db = kedge.open(str(self.folder / "copy"), organization="acme", project="plan")
        db.mutate("kedge.put", NOTE)
        scan = db.scan("notes")
        self.assertRaises(kedge.Busy, kedge.repair, str(self.folder / "copy"), str(self.folder / "other"))
        del db
        self.assertEqual(next(scan), ("1", {"text": "hi"}))  # what it gave keeps it
        del scan
        gc.collect()
        kedge.repair(str(self.folder / "copy"), str(self.folder / "other"))  # which is refused as long as it is open

    def test_a_database_that_a_callback_or_a_mutator_was_the_last_to_hold_is_closed(self):
        for forget in ("callback", "mutator"):
            db, called = self.open(f"outer {forget}"), threading.Event()
            path = str(self.folder / f"inner {forget}")
            outside[:] = [kedge.open(path, organization="acme", project="plan")]
            outside[0].mutate("kedge.put", NOTE)
            outside[0] = [outside[0], outside[0].watch(print)]
            if forget == "mutator":
                db.mutate("bad.forget", 1)
            else:
                with db.watch(lambda changes: (outside.clear(), gc.collect(), called.set())):
                    db.mutate("kedge.put", NOTE)
                    self.assertTrue(called.wait(WAIT_S))
            for thread in threading.enumerate():
                if thread.name == "kedge-close":
                    thread.join(WAIT_S)
            kedge.repair(path, path + " repaired")  # which is refused as long as it is open

    def test_a_child_of_a_fork_leaves_its_parents_database_alone(self):
        db = self.open()
        db.mutate("kedge.put", NOTE)
        scan, watch = db.scan("notes"), db.watch(print)
        child = os.fork()
        if child == 0:
            with open(self.folder / "child", "w", encoding="utf-8") as out:
                for use in (db.status, lambda: next(scan)):
                    try:
                        use()
                    except kedge.InvalidArgument as failure:
                        print(failure.code, file=out)
                scan.close()
                watch.close()
                db.close()
                other = kedge.open(str(self.folder / "other"), organization="acme", project="plan")
                print(other.mutate("kedge.put", NOTE), file=out)
                other.close()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual((self.folder / "child").read_text(), "forked\nforked\n1\n")
        self.assertEqual(next(scan), ("1", {"text": "hi"}))
        self.assertEqual(db.status().pending, 1)

    def test_close_waits_for_a_watch_that_another_thread_closes(self):
        db, inside, goes_on = self.open(), threading.Event(), threading.Event()
        watch = db.watch(print)
        free = watch._handle._free

        def free_slowly(pointer):
            inside.set()
            goes_on.wait(WAIT_S)
            free(pointer)

        watch._handle._free = free_slowly
        threads = [threading.Thread(target=watch.close), threading.Thread(target=db.close)]
        threads[0].start()
        self.assertTrue(inside.wait(WAIT_S))
        threads[1].start()
        threads[1].join(0.5)  # the time in which it would end if it did not wait
        self.assertTrue(threads[1].is_alive())
        goes_on.set()
        for thread in threads:
            thread.join(WAIT_S)
            self.assertFalse(thread.is_alive())

    def test_close_ends_what_other_threads_wait_for(self):
        for wait in (lambda db: db.wait(1, timeout=None), lambda db: db.sync(timeout=None)):
            db = self.open(f"copy{wait.__code__.co_firstlineno}{id(wait)}", url="http://127.0.0.1:9")
            db.mutate("kedge.put", NOTE)
            raised, inside = [], threading.Event()

            def run():
                inside.set()
                try:
                    wait(db)
                except kedge.Error as failure:
                    raised.append(failure)

            thread = threading.Thread(target=run)
            thread.start()
            inside.wait(WAIT_S)
            db.close()
            thread.join(WAIT_S)
            self.assertFalse(thread.is_alive())
            self.assertIsInstance(raised[0], (kedge.Cancelled, kedge.NetworkFailed, kedge.Closed))

    def test_threads_that_use_a_database_while_it_is_closed_are_refused(self):
        db = self.open()
        db.mutate("kedge.put", NOTE)
        scan, begun = db.scan("notes"), threading.Barrier(9)
        ends = []

        def run(number):
            begun.wait()
            try:
                while True:
                    db.mutate("kedge.put", {**NOTE, "id": str(number)})
                    list(db.scan("notes"))
                    next(scan, None)
            except kedge.Closed:
                ends.append(number)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        begun.wait()
        while db.status().pending < 50 and not ends:
            pass
        db.close()
        for thread in threads:
            thread.join(WAIT_S)
        self.assertEqual(sorted(ends), list(range(8)))


class Texts(Case):
    def test_texts_that_are_no_utf8_or_have_a_nul(self):
        db = self.open()
        for text in ("\ud800", "no\0tes"):
            self.refused(kedge.InvalidArgument, "text-invalid", db.get, text, "1")
            self.refused(kedge.InvalidArgument, "text-invalid", db.mutate, text, {})
            self.refused(kedge.InvalidArgument, "text-invalid", db.undo_group, text)
            self.refused(kedge.InvalidArgument, "text-invalid", db.edit_text, "notes", "1", text)
            self.refused(kedge.InvalidArgument, "text-invalid", db.declare_index, "i", "notes", [text])
            self.refused(kedge.InvalidArgument, "text-invalid", kedge.order_between, text, None)
            self.refused(kedge.InvalidArgument, "text-invalid", self.open, "other", user=text)
        self.refused(kedge.InvalidArgument, "text-invalid", db.get, "notes", "\ud800")
        self.refused(kedge.InvalidArgument, "text-invalid", db.mutate, "kedge.put", {**NOTE, "value": "\udfff"})

    def test_what_is_no_json(self):
        db = self.open()
        circle = []
        circle.append(circle)
        for value in (float("nan"), float("inf"), {1, 2}, object(), b"bytes", circle):
            self.refused(kedge.InvalidJSON, "json-invalid", db.mutate, "kedge.put", {**NOTE, "value": value})
        self.assertRaises(kedge.InvalidJSON, db.mutate, "kedge.put", kedge.JSON("{"))
        self.assertRaises(kedge.InvalidJSON, db.mutate, "kedge.put", {**NOTE, "value": "a\0b"})

    def test_json_inside_of_a_value_stands_for_what_it_holds(self):
        db = self.open()
        for value in (kedge.JSON('{"a":[1,"\u00fc"]}'), {"a": (1, kedge.JSON('"\u00fc"'))}):
            db.mutate("kedge.put", {**NOTE, "value": value})
            self.assertEqual(db.get("notes", "1"), {"a": [1, "\u00fc"]})
        for text in ("{", '{"a":1,"a":2}', "NaN", '1,"id":"2"', '"\\ud800"'):
            self.assertRaises((kedge.InvalidJSON, kedge.InvalidArgument), db.mutate, "kedge.put",
                              {**NOTE, "value": kedge.JSON(text)})

    def test_arguments_of_other_types(self):
        db = self.open()
        for function, *arguments in [(db.declare_index, "i", "notes", "due"), (db.query, "SELECT ?1", "12"),
                                     (db.watch_query, print, "SELECT ?1", b"12")]:
            self.assertRaises(TypeError, function, *arguments)
        for function, *arguments in [(db.get, 1, "1"), (db.get, "notes", None), (db.mutate, None, {}), (db.query, b"SELECT 1"),
                                     (db.wait, "1"), (db.cancel, None), (kedge.open, 5), (db.edit_text, "n", "1", 5)]:
            self.assertRaises(TypeError, function, *arguments)
        self.assertRaises(OverflowError, db.cancel, 2**64)
        self.refused(kedge.InvalidArgument, "timeout-invalid", db.sync, timeout=-1)
        self.refused(kedge.InvalidArgument, "mutator-invalid", kedge.open, str(self.folder / "x"), organization="a",
                     project="b", mutators=[print])
        self.refused(kedge.InvalidArgument, "not-caller-driven", db.fileno)
        self.refused(kedge.InvalidArgument, "invalid-name", self.open, "other", schema_version=".1")


class Mutators(Case):
    def test_what_a_mutator_sees_and_does(self):
        db = self.open(user="ann")
        for id in "123":
            db.mutate("kedge.put", {**NOTE, "id": id})
        db.mutate("good.count", {"after": "1"})
        self.assertEqual(db.get("counts", "notes"), {"number": 12, "by": "ann", "texts": ["ü"]})

    def test_one_that_raises_rejects_its_edit_with_the_cause(self):
        db = self.open()
        failure = self.refused(kedge.Rejected, "mutator-failed", db.mutate, "bad.raise", "mistake")
        self.assertIsInstance(failure.__cause__, ZeroDivisionError)
        self.assertIn("by mistake", failure.message)
        self.assertRaises(KeyboardInterrupt, db.mutate, "bad.raise", "interrupt")
        failure = self.refused(kedge.NoMemory, "out-of-memory", db.mutate, "bad.raise", "memory")
        self.assertIsInstance(failure.__cause__, MemoryError)
        self.refused(kedge.Rejected, "mutator-failed", db.mutate, "bad.write", 1)
        for text in "{nonsense", "{} nonsense", "":
            self.assertRaises(kedge.Rejected, db.mutate, "bad.merge", text)
        self.assertRaises(kedge.NotFound, db.get, "notes", "left")
        self.assertEqual(db.mutate("kedge.put", NOTE), 1)
        self.assertEqual(db.mutate("bad.merge", " {} "), 2)

    def refused_as_by_put(self, tx, tree, call):
        """What tx.put says of a tree, and then a call, which must say the same."""
        with self.assertRaises(kedge.InvalidJSON) as put:
            tx.put("notes", "1", tree)
        with self.assertRaises(kedge.InvalidJSON) as failure:
            call(tree)
        self.assertEqual(str(failure.exception), str(put.exception))
        raise failure.exception

    def test_a_string_that_put_refuses_is_refused_by_merge_patch_and_call(self):
        self.addCleanup(steps.clear)
        db = self.open()
        db.mutate("kedge.put", NOTE)
        for code, texts in {"json-nul": (json.dumps("a\0b"), json.dumps("\\\0"), r'"\"\u0000"'),
                            "json-syntax": ('"a\1b"', '"a\0b"')}.items():
            for text in texts:
                trees = ['{"text":%s}' % text, "{%s:1}" % text, '[{"op":"add","path":"/text","value":%s}]' % text,
                         '{"collection":"notes","id":"1","value":%s}' % text]
                calls = [lambda tx, tree: tx.merge("notes", "1", tree), lambda tx, tree: tx.merge("notes", "1", tree),
                         lambda tx, tree: tx.patch("notes", "1", tree), lambda tx, tree: tx.call("kedge.put", tree)]
                for tree, call in zip(trees, calls):
                    steps[:] = [lambda tx, tree=tree, call=call: self.refused_as_by_put(
                        tx, kedge.JSON(tree), lambda given: call(tx, given))]
                    self.refused(kedge.Rejected, code, db.mutate, "any.step", 1)
                    self.assertEqual(db.get("notes", "1"), {"text": "hi"})
        steps[:] = [lambda tx: tx.merge("notes", "1", {"text": "a\0b"})]
        self.refused(kedge.Rejected, "json-nul", db.mutate, "any.step", 1)
        steps[:] = [lambda tx: tx.merge("notes", "1", kedge.JSON('{\t"text":%s}' % json.dumps(r"\u0000" + '"')))]
        db.mutate("any.step", 1)  # a text about an escape
        self.assertEqual(db.get("notes", "1"), {"text": r"\u0000" + '"'})

    def test_one_that_rejects_with_what_is_no_code(self):
        self.assertRaises(kedge.Rejected, self.open().mutate, "bad.code", 1)

    def test_a_transaction_ends_with_its_mutator(self):
        self.open().mutate("bad.keep", 1)
        tx = kept.pop()
        self.refused(kedge.Closed, "closed", tx.put, "notes", "1", 1)
        self.assertRaises(kedge.Closed, lambda: tx.caller)
        self.assertRaises(kedge.Closed, list, tx.items("notes"))

    def test_a_mutator_may_not_use_the_database(self):
        outside[:] = [self.open()]
        failure = self.refused(kedge.Rejected, "mutator-failed", outside[0].mutate, "bad.outside", 1)
        self.assertEqual(failure.message, "InvalidArgument: called-back: a mutator may only use its transaction")
        outside.clear()

    def test_batches(self):
        db = self.open()
        with self.assertRaises(ZeroDivisionError), db.batch() as batch:
            batch.mutate("kedge.put", NOTE)
            1 / 0
        self.assertRaises(kedge.NotFound, db.get, "notes", "1")
        with db.batch() as batch:
            pass
        self.assertIsNone(batch.sequence)
        with db.batch() as batch:
            batch.mutate("kedge.put", NOTE)
        self.assertEqual(batch.sequence, 1)
        for mistake, kind, cause in (("mistake", kedge.Rejected, ZeroDivisionError), ("memory", kedge.NoMemory, MemoryError),
                                     ("interrupt", KeyboardInterrupt, type(None))):
            with self.assertRaises(kind) as caught, db.batch() as batch:
                batch.mutate("bad.raise", mistake)
            self.assertIsInstance(caught.exception.__cause__, cause)
            self.assertFalse(batch._handle.is_open)

    def test_an_undo_group_ends_when_an_exception_leaves_it(self):
        db = self.open()
        with self.assertRaises(ZeroDivisionError), db.undo_group("add"):
            db.mutate("kedge.put", NOTE)
            1 / 0
        self.assertEqual(db.undo_state().undo_label, "add")
        db.undo()
        self.assertIsNone(db.get("notes", "1", None))


    def test_what_leaves_an_undo_group_goes_before_what_its_end_raises(self):
        db = self.open()
        group = db.undo_group("add")
        with self.assertRaises(ZeroDivisionError), group:
            group.__exit__()
            1 / 0
        with self.assertRaises(kedge.Conflict), group:
            group.__exit__()


class Callbacks(Case):
    def wait_for(self, logger, text):
        """A line of the log with this text."""
        seen = threading.Event()

        class Handler(logging.Handler):
            def emit(self, record):
                if text in self.format(record):
                    seen.set()

        handler = Handler()
        logging.getLogger(logger).addHandler(handler)
        self.addCleanup(logging.getLogger(logger).removeHandler, handler)
        return seen

    def test_a_callback_that_raises_is_logged_and_called_again(self):
        db, logged, calls = self.open(), self.wait_for("kedge", "no callback"), threading.Semaphore(0)

        def callback(changes):
            calls.release()
            raise RuntimeError("no callback")

        db.watch_status(print).close()
        with db.watch(callback, "notes"):
            db.mutate("kedge.put", NOTE)
            self.assertTrue(calls.acquire(timeout=WAIT_S))
            self.assertTrue(logged.wait(WAIT_S))
            db.mutate("kedge.put", {**NOTE, "value": 2})
            self.assertTrue(calls.acquire(timeout=WAIT_S))

    def test_a_callback_may_not_close_the_database_but_its_watch(self):
        db, ends = self.open(), threading.Event()
        refused = []

        def callback(changes):
            try:
                db.close()
            except kedge.InvalidArgument as failure:
                refused.append((failure.code, db.get("notes", "1")))
            watch.close()
            ends.set()

        watch = db.watch(callback)
        db.mutate("kedge.put", NOTE)
        self.assertTrue(ends.wait(WAIT_S))
        self.assertEqual(refused, [("called-back", {"text": "hi"})])

    def test_a_watch_that_nobody_holds_ends(self):
        db, calls = self.open(), []
        other = threading.Event()
        db.watch(calls.append)
        gc.collect()
        with db.watch(lambda changes: other.set()):
            db.mutate("kedge.put", NOTE)
            self.assertTrue(other.wait(WAIT_S))
        self.assertEqual(calls, [])

    def test_changes_that_cannot_be_made_are_told_as_ones_to_read_again(self):
        for failure in (MemoryError, KeyboardInterrupt):
            db, told, calls = self.open(f"copy {failure.__name__}"), [], threading.Semaphore(0)
            with db.watch(lambda changes: (told.append(changes), calls.release())):
                with mock.patch.object(_callbacks, "change_of", side_effect=failure):
                    db.mutate("kedge.put", NOTE)
                    self.assertTrue(calls.acquire(timeout=WAIT_S))
                db.mutate("kedge.put", {**NOTE, "value": 2})
                self.assertTrue(calls.acquire(timeout=WAIT_S))
            self.assertEqual([[change.new for change in changes] for changes in told], [[], [2]])

    def test_a_result_that_cannot_be_made_is_told_as_lost(self):
        db, told, calls = self.open(), [], threading.Semaphore(0)
        with db.watch_query(lambda changes: (told.append(changes), calls.release()), "SELECT id FROM notes"):
            self.assertTrue(calls.acquire(timeout=WAIT_S))
            with mock.patch.object(_callbacks, "result_of", side_effect=MemoryError):
                db.mutate("kedge.put", NOTE)
                self.assertTrue(calls.acquire(timeout=WAIT_S))
        self.assertEqual([changes.is_lost for changes in told], [False, True])
        self.assertIsInstance(told[1].error, kedge.NoMemory)

    def test_functions_of_the_options_that_fail(self):
        seen = []

        def raising(*arguments):
            seen.append(arguments)
            raise RuntimeError("an option")

        tokens = {"RuntimeError: an option": raising, "gave no text": lambda: None, "16383 bytes": lambda: "x" * 20000,
                  "NUL": lambda: "a\0b", "surrogate": lambda: "\ud800"}
        for why, token in tokens.items():
            unauthorized = threading.Event()
            db = self.open(f"copy{id(token)}", url="http://127.0.0.1:9", token=token, dispatch=raising, log=raising,
                           log_level=kedge.LogLevel.DEBUG)

            def look(status, unauthorized=unauthorized, why=why):
                if isinstance(status.last_error, kedge.Unauthorized) and why in str(status.last_error):
                    unauthorized.set()

            with db.watch_status(look):  # which runs although the dispatcher fails
                self.assertTrue(unauthorized.wait(WAIT_S), why)
            with self.assertRaisesRegex(kedge.Unauthorized, why):
                db.sync()
            db.close()
        self.assertTrue(seen)


class Library(unittest.TestCase):
    def test_a_missing_library_is_an_import_error_with_a_sentence(self):
        package = pathlib.Path(kedge.__file__).parent
        for missing in ("libkedge.so.0", "_native.abi3.so"):
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(package, f"{folder}/kedge")
                pathlib.Path(folder, "kedge", missing).unlink()
                program = "import sys\nsys.path.insert(0, sys.argv[1])\ntry:\n    import kedge\n" \
                          "except ImportError as failure:\n    print(type(failure).__name__, failure)"
                done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True)
                self.assertRegex(done.stdout, r"^LibraryMissing kedge cannot load its native library\.")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_wheel_carries_the_library(self):
        package = pathlib.Path(kedge.__file__).parent
        maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
        self.assertIn(str(package / "libkedge.so.0"), maps)


if __name__ == "__main__":
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    logging.getLogger("kedge").propagate = False
    unittest.main()
