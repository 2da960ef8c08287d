#!/usr/bin/env python3
"""Event logs over HTTP: the adapter of docs/how-to, and an event-sourced app on it, against a kedge-server.

Usage: log_test.py SERVER_PROGRAM PLUGIN ADAPTER. Closes with the plain line "N passed, N failed"."""
import importlib.util
import pathlib
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
from peers import BASE, Server, run_tests

specification = importlib.util.spec_from_file_location("event_log", sys.argv[3])
event_log = importlib.util.module_from_spec(specification)
specification.loader.exec_module(event_log)


class Account:
    """An event-sourced account: its state is what a replay of the events gives. It knows nothing of Kedge."""

    def __init__(self, store):
        self.store, self.balance, self.last = store, 0, 0
        for entry in store.read("snapshot"):
            self.apply(entry)

    def apply(self, entry):
        if entry["type"] == "deposited":
            self.balance += entry["body"]["amount"]
        elif entry["type"] == "withdrawn":
            self.balance -= entry["body"]["amount"]
        if "snapshot" in entry:
            self.balance = int(entry["snapshot"])
        self.last = entry["number"]

    def catch_up(self):
        for entry in self.store.read(after=self.last):
            if entry["type"] == "reload":
                self.balance = 0
            else:
                self.apply(entry)

    def change(self, kind, amount):
        while True:
            if kind == "withdrawn" and amount > self.balance:
                raise ValueError("overdrawn")
            try:
                number = self.store.append(kind, {"amount": amount}, expected=self.last + 1)
            except event_log.Conflict as conflict:
                for entry in conflict.missed:
                    self.apply(entry)
                continue
            self.apply({"number": number, "type": kind, "body": {"amount": amount}})
            return number


class Logs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(pathlib.Path(self.folder.name) / "data", "--open", "--ping", "1")
        self.log = self.open()
        self.assertEqual(self.log.create()["next"], 1)

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0, self.server.logged())
        self.folder.cleanup()

    def open(self):
        return event_log.EventLog(f"http://127.0.0.1:{self.server.port}", "acme", "p", "account")

    def test_an_app_is_what_its_events_say(self):
        account = Account(self.log)
        account.change("deposited", 100)
        account.change("withdrawn", 30)
        self.assertEqual(Account(self.open()).balance, 70)
        with self.assertRaises(ValueError):
            account.change("withdrawn", 71)

    def test_of_two_that_withdraw_at_once_neither_overdraws(self):
        Account(self.log).change("deposited", 100)
        accounts = [Account(self.open()) for _ in range(8)]
        refused = []

        def withdraw(account):
            try:
                account.change("withdrawn", 30)
            except ValueError:
                refused.append(account)

        threads = [threading.Thread(target=withdraw, args=(account,)) for account in accounts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(refused), 5)
        self.assertEqual(Account(self.open()).balance, 10)
        numbers = [entry["number"] for entry in self.log.read()]
        self.assertEqual(numbers, list(range(1, 5)))

    def test_a_conflict_gives_the_next_number_and_what_was_missed(self):
        self.log.append("a", 1, expected=1)
        with self.assertRaises(event_log.Conflict) as caught:
            self.log.append("b", 2, expected=1)
        self.assertEqual(caught.exception.next, 2)
        self.assertEqual([entry["body"] for entry in caught.exception.missed], [1])

    def test_a_snapshot_shortens_a_load_and_a_new_segment_is_not_noticed(self):
        account = Account(self.log)
        old = Account(self.open())
        for _ in range(5):
            last = account.change("deposited", 10)
        self.log.set_metadata(last, snapshot="50", pending=None)
        for round in range(3):
            self.log.ask("POST", "/segments")
            account.catch_up()
            last = account.change("deposited", 1)
            self.log.set_metadata(last, snapshot=str(account.balance))
        self.assertEqual(Account(self.open()).balance, 53)
        self.assertEqual(len(list(self.log.read("snapshot"))), 1)
        old.catch_up()  # too far behind: it reloads
        self.assertEqual(old.balance, 53)
        self.assertEqual(self.log.create()["snapshot"], "53")

    def test_a_query_goes_both_ways_in_pages(self):
        for number in range(1, 26):
            self.log.append("n", number)
        page = self.log.ask("GET", "/entries", limit=10)
        self.assertEqual((len(page["entries"]), page["next"]), (10, 10))
        up = [entry["body"] for entry in self.log.read(5, to=20)]
        self.assertEqual(up, list(range(5, 21)))
        down = [entry["body"] for entry in self.log.read("end", down=True, to=3)]
        self.assertEqual(down, list(range(25, 2, -1)))

    def test_a_large_event_is_an_event(self):
        text = "x" * 500000
        self.log.append("large", text)
        self.log.append("small", 1)
        self.assertEqual([entry["body"] for entry in self.log.read()], [text, 1])

    def test_a_subscriber_is_told_of_each_append(self):
        numbers = self.log.subscribe(20)
        self.assertEqual(next(numbers), 0)
        self.log.append("a", 1)
        self.assertEqual(next(numbers), 1)
        self.open().append("a", 2)
        self.assertEqual(next(numbers), 2)
        numbers.close()

    def test_a_ticket_opens_the_stream_of_its_log_alone(self):
        _, _, answer = self.server.request("POST", BASE + "/logs/account/events/ticket")
        path = f"/events?ticket={answer['ticket']}"
        self.assertEqual(self.server.request("GET", BASE + path)[0], 401)

    def test_what_is_not_there_is_told(self):
        other = event_log.EventLog(f"http://127.0.0.1:{self.server.port}", "acme", "p", "none")
        for ask in (lambda: other.append("a", 1), lambda: list(other.read()), lambda: next(other.subscribe(5), None)):
            try:
                self.assertIsNone(ask())
            except event_log.Failed as failure:
                self.assertEqual((failure.status, failure.code), (404, "log-not-found"))
        self.assertEqual(self.server.request("GET", BASE + "/logs/none/events")[0], 404)

    def test_metrics_and_cost_cover_the_calls(self):
        appended = self.server.metric("kedge_appends_total")
        self.log.append("a", 1, expected=1)
        self.assertEqual(self.server.metric("kedge_appends_total"), appended + 1)

    def test_events_survive_a_restart(self):
        self.log.append("a", 1)
        folder = pathlib.Path(self.folder.name) / "data"
        self.assertEqual(self.server.stop(), 0)
        self.server = Server(folder, "--open")
        self.log = self.open()
        self.assertEqual([entry["body"] for entry in self.log.read()], [1])


if __name__ == "__main__":
    run_tests()
