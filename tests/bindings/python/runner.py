"""Runs the scenarios of bindings/conformance in Python. See bindings/conformance/README.md.

usage: runner.py SCENARIOS URL ORGANIZATION FOLDER"""
import contextlib
import json
import pathlib
import select
import sys
import threading
import time

import kedge

WAIT_S = 120.0  # for anything that must happen by itself


@kedge.mutator("stock.take")
def take(tx, args):
    shelf = tx.get("shelves", args["id"])
    if args["count"] < 1 or args["count"] > shelf["count"]:
        tx.reject("not-enough", "there are not that many pieces")
    tx.put("shelves", args["id"], {**shelf, "count": shelf["count"] - args["count"]})


@kedge.mutator("lines.append")
def append_line(tx, args):
    last = max((id for id, _ in tx.items("lines")), default="0")
    tx.put("lines", f"{int(last) + 1:04}", args["text"])


@kedge.mutator("log.sign")
def sign_log(tx, args):
    record = tx.get_project({})
    tx.put_project({"by": f"{tx.caller.user}/{tx.caller.role}", "signed": record.get("signed", 0) + 1})
    tx.delete("log", "last")


@kedge.mutator("log.fail")
def fail_log(tx, args):
    tx.put("log", "failed", True)
    raise ZeroDivisionError("by mistake")


MUTATORS = {each.name: each for each in (take, append_line, sign_log, fail_log)}


class Failed(Exception):
    """A scenario that went another way."""


class Told:
    """What a watch has told and nobody has asked for."""

    def __init__(self):
        self.changed = threading.Condition()
        self.events, self.status = [], None

    def add(self, *events, status=None):
        with self.changed:
            self.events += events
            self.status = status or self.status
            self.changed.notify_all()

    def wait(self, wanted):
        list_name = next((name for name in ("changes", "mutations", "results") if name in wanted), None)
        count = len(wanted[list_name]) if list_name else 0
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) >= count if list_name else
                                  self.status is not None and matches(wanted, self.status), WAIT_S)
            taken, self.events = self.events[:count], self.events[count:]
            return {**({list_name: taken} if list_name else {}), **(self.status or {})}


def same(wanted, given):
    """As JSON: 1 equals 1.0, but not true."""
    return json.dumps(wanted, sort_keys=True) == json.dumps(given, sort_keys=True)


def matches(wanted, given):
    for name, value in wanted.items():
        if name not in given:
            return False
        if name in ("mutations", "changes", "results", "versions"):
            if len(value) != len(given[name]) or not all(map(matches, value, given[name])):
                return False
        elif not same(value, given[name]):
            return False
    return True


def status_object(status):
    error = status.last_error
    return {"connection": status.connection.name.lower(), "resyncing": status.resyncing, "version": status.version,
            "pending": status.pending, "rejected": status.rejected, "withheld": status.withheld,
            "unrecovered": status.unrecovered, "last_error": error.status.word if error else "ok"}


def mutation_object(mutation):
    return {"sequence": mutation.sequence, "sent": mutation.sent, "withheld": mutation.withheld, "name": mutation.name,
            "args": mutation.args, "code": mutation.code}


def change_object(change):
    return {"collection": change.collection, "id": change.id, "old": change.old, "new": change.new,
            "source": change.source.name.lower().replace("_", "-")}


def result_object(changes):
    return {"rows": [{**vars(row), "kind": row.kind.name.lower()} for row in changes.rows], "row_count": changes.row_count,
            "first": changes.first, "local": changes.local, "pulled": changes.pulled,
            "code": changes.error.code if changes.error else ""}


def edit_args(step):
    return kedge.JSON(step["args_text"]) if "args_text" in step else step["args"]


class Runner:
    """One scenario that runs. A method `do_X` does the step X and returns what it gives."""

    def __init__(self, url, organization, folder, number):
        self.url, self.organization, self.folder = url, organization, folder
        self.project = f"scenario{number}"
        self.copies, self.watches, self.told, self.groups = {}, {}, {}, {}

    def db(self, step):
        return self.copies[step["copy"]]

    def path(self, copy):
        return str(self.folder / copy)

    # Copies and edits

    def do_open(self, step):
        copy = step["copy"]
        mutators = {kind: [MUTATORS[name] for name in step.get(kind, ())] for kind in ("mutators", "client_mutators")}
        self.copies[copy] = kedge.open(
            self.path(copy), url=None if step.get("url") is False else self.url, organization=self.organization,
            project=step.get("project", self.project), user=step.get("user"), role=step.get("role"),
            schema_version=step.get("schema_version"),
            offline=step.get("offline", False), caller_driven=step.get("caller_driven", False),
            create_project=step.get("create_project", False), **mutators)

    def do_close(self, step):
        self.copies.pop(step["copy"]).close()

    def do_mutate(self, step):
        return {"sequence": self.db(step).mutate(step["name"], edit_args(step))}

    def do_text(self, step):
        return {"sequence": self.db(step).edit_text(step["collection"], step["id"], step["text"], path=step["path"],
                                                    base=step.get("base"))}

    def do_batch(self, step):
        with self.db(step).batch() as batch:
            for edit in step["edits"]:
                batch.mutate(edit["name"], edit_args(edit))
            return {"sequence": batch.commit()}

    def do_cancel(self, step):
        self.db(step).cancel(step["sequence"])

    def do_undo_begin(self, step):
        group = self.groups[step["copy"]] = self.db(step).undo_group(step.get("label", ""))
        group.__enter__()

    def do_undo_end(self, step):
        group = self.groups.pop(step["copy"], None) or self.db(step).undo_group()
        group.__exit__(None, None, None)

    def do_undo(self, step):
        return vars(self.db(step).undo())

    def do_redo(self, step):
        return vars(self.db(step).redo())

    def do_undo_state(self, step):
        return vars(self.db(step).undo_state())

    def do_repair(self, step):
        return vars(kedge.repair(self.path(step["copy"]), self.path(step["into"])))

    # Reads

    def do_get(self, step):
        return {"id": step["id"], "value": self.db(step).get(step["collection"], step["id"])}

    def do_project(self, step):
        return {"value": self.db(step).get_project()}

    def do_scan(self, step):
        options = {name: step[name] for name in ("after", "prefix", "limit", "descending") if name in step}
        return {"items": [list(item) for item in self.db(step).scan(step["collection"], **options)]}

    def do_query(self, step):
        with self.db(step).query(step["sql"], step.get("parameters", ())) as query:
            return {"columns": list(query.columns), "rows": [
                [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row] for row in query]}

    def do_index(self, step):
        self.db(step).declare_index(step["name"], step["collection"], step["paths"])

    def do_index_drop(self, step):
        self.db(step).drop_index(step["name"])

    def do_indexes(self, step):
        return {"indexes": [vars(index) for index in self.db(step).indexes()]}

    def do_order(self, step):
        return {"key": kedge.order_between(step.get("before"), step.get("after"), step.get("random", 0))}

    def do_stats(self, step):
        return vars(self.db(step).stats())

    # Sync

    def do_online(self, step):
        self.db(step).set_online(True)

    def do_offline(self, step):
        self.db(step).set_online(False)

    def do_sync(self, step):
        self.db(step).sync(step["timeout_ms"] / 1000 if "timeout_ms" in step else WAIT_S)

    def do_wait(self, step):
        timeout = step["timeout_ms"] / 1000 if "timeout_ms" in step else WAIT_S
        return {"outcome": self.db(step).wait(step["sequence"], timeout).name.lower()}

    def do_status(self, step):
        return status_object(self.db(step).status())

    def do_pending(self, step):
        return {"mutations": [mutation_object(each) for each in self.db(step).pending()]}

    def do_rejected(self, step):
        return {"mutations": [mutation_object(each) for each in self.db(step).rejected()]}

    def do_dismiss(self, step):
        self.db(step).dismiss(step["sequence"])

    def do_dismiss_through(self, step):
        return {"dismissed": self.db(step).dismiss_through(step["sequence"])}

    def do_resubmit(self, step):
        return {"sequence": self.db(step).resubmit(step["sequence"])}

    def do_history(self, step):
        return {"versions": self.db(step).history(step.get("before", 0), step.get("limit", 10), WAIT_S)}

    def do_loop(self, step):
        db, until = self.db(step), time.monotonic() + WAIT_S
        while True:
            wait = db.run_loop()
            given = status_object(db.status())
            if matches(step["until"], given):
                return given
            if time.monotonic() > until:
                raise kedge.Timeout("timeout", "the status did not come")
            select.select([db], [], [], min(wait, 1.0))

    # Watches

    def start_watch(self, step, start):
        told = self.told[step["watch"]] = Told()
        self.watches[step["watch"]] = start(told)

    def do_watch(self, step):
        self.start_watch(step, lambda told: self.db(step).watch(
            lambda changes: told.add(*map(change_object, changes)), step.get("collection")))

    def do_watch_query(self, step):
        self.start_watch(step, lambda told: self.db(step).watch_query(
            lambda changes: told.add(result_object(changes)), step["sql"], step.get("parameters", ())))

    def do_watch_status(self, step):
        self.start_watch(step, lambda told: self.db(step).watch_status(
            lambda status: told.add(status=status_object(status))))

    def do_watch_rejected(self, step):
        self.start_watch(step, lambda told: self.db(step).watch_rejected(
            lambda mutation: told.add(mutation_object(mutation))))

    def do_told(self, step):
        return self.told[step["watch"]].wait(step["gives"])

    def do_unwatch(self, step):
        self.watches.pop(step["watch"]).close()

    # The whole

    def run_step(self, step):
        """None when it went as it should; else what was wanted and what came."""
        fails = step.get("fails", {"status": "ok"})
        given, failure = {}, None
        try:
            given = getattr(self, "do_" + step["do"])(step) or {}
        except kedge.Error as raised:
            failure = raised
        status = failure.status.word if failure else "ok"
        if status != fails["status"] or (failure and fails.get("code", failure.code) != failure.code):
            return fails, failure
        if not matches(step.get("gives", {}), given):
            return step["gives"], given
        return None

    def check_end(self, end):
        copies = [self.copies[name] for name in end["copies"]]
        for _ in range(2):  # the second round brings what others pushed in the first
            for db in copies:
                db.set_online(True)
                db.sync(WAIT_S)
        states = [self.state(db) for db in copies]
        for state, items in states:
            if not same(items, end["items"]):
                raise Failed(f"the end: wanted {end['items']}, got {items}")
            if state != states[0][0]:
                raise Failed("the copies end with different bytes")
        return states[0][0] if states else b""

    @staticmethod
    def state(db):
        lines, items = [], {}
        for row in db.query("SELECT collection, id, value FROM kedge_items ORDER BY collection, id"):
            lines.append("\t".join(row) + "\n")
            items.setdefault(row[0], {})[row[1]] = json.loads(row[2])
        project = db.get_project(None, parse=str)
        return ("".join(lines) + (project + "\n" if project else "")).encode(), items

    def close(self):
        for each in [*self.watches.values(), *self.copies.values()]:
            each.close()


def run(scenario, number, url, organization, folder):
    copies = folder / str(number)
    copies.mkdir()
    with contextlib.closing(Runner(url, organization, copies, number)) as runner:
        for count, step in enumerate(scenario["steps"], 1):
            wrong = runner.run_step(step)
            if wrong:
                raise Failed(f"step {count} ({step['do']}): wanted {wrong[0]}, got {wrong[1]!r}")
        (folder / f"{number}.state").write_bytes(runner.check_end(scenario["end"]))
    print(f"ok {len(scenario['steps'])} steps: {scenario['name']}")


def main(file, url, organization, folder):
    scenarios = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    if scenarios["format"] != 1:
        sys.exit("another format than 1")
    for number, scenario in enumerate(scenarios["scenarios"], 1):
        try:
            run(scenario, number, url, organization, pathlib.Path(folder))
        except Failed as failure:
            sys.exit(f"scenario \"{scenario['name']}\", {failure}")
    print(len(scenarios["scenarios"]), "scenarios passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
