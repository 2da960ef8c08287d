"""The streams of the Python binding: watches, statuses, results of a query and rejections, in an event loop.

usage: streams_test.py SERVER"""
import asyncio
import gc
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import kedge
from kedge import _callbacks

SERVER = sys.argv.pop(1)
WAIT_S = 120
NOTE = {"collection": "notes", "id": "1", "value": {"text": "hi"}}


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def open(self, name="copy", **options):
        db = kedge.open(str(self.folder / name), organization="acme", project="plan", **options)
        self.addCleanup(db.close)
        return db

    def run_async(self, main):
        asyncio.run(asyncio.wait_for(main(), WAIT_S))

    def test_changes_statuses_and_results(self):
        async def main():
            db = self.open()
            async with db.changes("notes") as changes, db.statuses() as statuses, db.results(
                    "SELECT id, value ->> 'text' FROM notes ORDER BY 2") as results:
                self.assertEqual((await results.__anext__()), [])
                db.mutate("kedge.put", NOTE)
                [change] = await changes.__anext__()
                self.assertEqual((change.id, change.old, change.new, change.source),
                                 ("1", None, {"text": "hi"}, kedge.Source.LOCAL))
                async for status in statuses:
                    if status.pending == 1:
                        break
                self.assertEqual((await results.__anext__()), [("1", "hi")])
                for id, text in (("2", "a"), ("3", "z"), ("1", "y")):
                    db.mutate("kedge.put", {**NOTE, "id": id, "value": {"text": text}})
                async for rows in results:
                    if len(rows) == 3 and rows[1] == ("1", "y"):
                        break
                self.assertEqual(rows, [("2", "a"), ("1", "y"), ("3", "z")])
            with self.assertRaises(StopAsyncIteration):
                while True:
                    await changes.__anext__()

        self.run_async(main)

    def test_what_comes_too_fast_becomes_one(self):
        async def main():
            db, told = self.open(), threading.Semaphore(0)
            # The stream cannot take while the loop is held here. Each edit is told before the next is made: the library
            # makes one of those that its own thread has not told yet.
            async with db.changes() as changes:
                with db.watch(lambda changes: told.release()):
                    for number in range(70):
                        db.mutate("kedge.put", {**NOTE, "value": number})
                        self.assertTrue(told.acquire(timeout=WAIT_S))
                await asyncio.sleep(0)
                first = await changes.__anext__()
                self.assertEqual(first, [])

        self.run_async(main)

    def test_a_stream_ends_with_its_database(self):
        async def main():
            db = self.open()
            changes = db.changes()
            waiting = asyncio.create_task(changes.__anext__())
            await asyncio.sleep(0)
            db.close()
            with self.assertRaises(StopAsyncIteration):
                await waiting

        self.run_async(main)

    def test_results_that_cannot_be_made_end_their_stream(self):
        async def main():
            db = self.open()
            async with db.results("SELECT id FROM notes") as results:
                self.assertEqual(await results.__anext__(), [])
                with mock.patch.object(_callbacks, "result_of", side_effect=MemoryError):
                    db.mutate("kedge.put", NOTE)
                    with self.assertRaises(kedge.NoMemory) as caught:
                        await results.__anext__()
                self.assertEqual(caught.exception.code, "result-lost")
                self.assertFalse(db._children)
                with self.assertRaises(StopAsyncIteration):
                    await results.__anext__()

        self.run_async(main)

    def test_a_stream_that_nobody_holds_ends(self):
        async def main():
            db = self.open()
            db.changes()
            gc.collect()
            self.assertFalse(db._children)

        self.run_async(main)

    def test_rejections_come_from_a_server(self):
        async def main():
            with subprocess.Popen([SERVER, "--data", str(self.folder / "server"), "--listen", "127.0.0.1:0", "--open",
                                   "--log-level", "error"], stdout=subprocess.PIPE, text=True) as serving:
                try:
                    url = serving.stdout.readline().split()[-1]
                    a, b = self.open("a", url=url), self.open("b", url=url)
                    a.mutate("kedge.put", NOTE)
                    await asyncio.to_thread(a.sync)
                    await asyncio.to_thread(b.sync)
                    b.set_online(False)
                    a.mutate("kedge.delete", {"collection": "notes", "id": "1"})
                    await asyncio.to_thread(a.sync)
                    sequence = b.mutate("kedge.patch", {"collection": "notes", "id": "1", "patch": []})
                    async with b.rejections() as rejections:
                        b.set_online(True)
                        edit = await rejections.__anext__()
                    self.assertEqual((edit.sequence, edit.code), (sequence, "item-not-found"))
                    self.assertEqual(edit.args["patch"], [])
                    self.assertEqual(await asyncio.to_thread(b.wait, sequence), kedge.Outcome.REJECTED)
                    self.assertEqual(a.history(limit=1)[0]["version"], 3)
                    a.close()
                    b.close()
                finally:
                    serving.terminate()

        self.run_async(main)


if __name__ == "__main__":
    unittest.main()
