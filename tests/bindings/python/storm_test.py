"""Databases, watches and cursors that come and go on many threads, while garbage is collected all the time: the process goes
on, and nothing is left.

usage: storm_test.py"""
import faulthandler
import gc
import logging
import random
import tempfile
import threading

import kedge
from kedge import _callbacks

ROUNDS = 12
WATCHES = 60


@kedge.mutator("storm.write")
def write(tx, args):
    tx.put("items", str(args), {"number": args})
    forget({})
    if args % 7 == 0:
        raise ValueError(args)


def forget(what):
    """What is only found as garbage, on whichever thread collects it."""
    circle = [what]
    circle.append(circle)


def edit(db, stop):
    number = 0
    try:
        while not stop.is_set():
            number += 1
            try:
                db.mutate("storm.write", number)
            except kedge.Rejected:
                pass
            list(zip(db.scan("items"), range(3)))
            forget(db.scan("items"))
    except kedge.Closed:
        pass


def watch(db):
    held = []
    for _ in range(WATCHES):
        one = db.watch(lambda changes: db.get("items", "1", None))
        forget([one, db.watch_status(lambda status: None), db.watch_query(lambda rows: gc.collect(), "SELECT id FROM items")])
        if random.random() < 0.3:
            held.append(one)
        if held and random.random() < 0.3:
            held.pop().close()


def run(path, rounds):
    for number in range(rounds):
        stop = threading.Event()
        with kedge.open(path, organization="acme", project="plan", client_mutators=[write]) as db:
            threads = [threading.Thread(target=edit, args=(db, stop)) for _ in range(2)]
            for thread in threads:
                thread.start()
            watch(db)
            if number % 2 == 0:
                db.close()  # while the threads are in it
            stop.set()
            for thread in threads:
                thread.join()


def main():
    faulthandler.enable()
    logging.getLogger("kedge").addHandler(logging.NullHandler())
    logging.getLogger("kedge").propagate = False
    gc.set_threshold(20)
    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=run, args=(f"{folder}/{number}", ROUNDS)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "kedge-close":
            thread.join()
    if _callbacks._kept:
        raise SystemExit(f"{len(_callbacks._kept)} objects are still kept for C")
    print(f"{2 * ROUNDS} databases with {3 * WATCHES} watches each")


main()
