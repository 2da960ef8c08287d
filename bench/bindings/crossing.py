"""What reads and edits cost in Python, for bindings.py: crossing.py FOLDER. See there for what it is asked."""
import sys
import time

import kedge

ITEMS = 1000
TEXT = "x" * 1000000
NOTE = TEXT[:100]


def put(db, id, n, text):
    args = '{"collection":"notes","id":"%s","value":{"n":%d,"text":"%s"}}' % (id, n, text)
    db.mutate("kedge.put", kedge.JSON(args))
    return len(args)


def work(db, name, number):
    if name == "mutate":
        return put(db, f"i{number % ITEMS:03}", number, NOTE)
    if name == "get":
        return len(db.get("notes", f"i{number % ITEMS:03}", parse=str))
    if name in ("scan", "scan-texts"):
        return sum(len(id) + len(value) for id, value in db.scan("notes", prefix="i", parse=str))
    if name == "scan-kept":
        return sum(len(id) + len(value) for id, value in list(db.scan("notes", prefix="i", parse=str)))
    if name == "put-large":
        return put(db, "large", number, TEXT)
    if name == "get-large":
        return len(db.get("notes", "large", parse=str))
    raise ValueError(name)


def main(folder):
    with kedge.open(folder, organization="demo", project="bench") as db:
        for line in sys.stdin:
            name, calls = line.split()
            started, cpu = time.perf_counter_ns(), time.process_time_ns()
            total = sum(work(db, name, number) for number in range(int(calls)))
            cpu, took = time.process_time_ns() - cpu, time.perf_counter_ns() - started
            print(took // 1000, cpu // 1000, total, 0, flush=True)


main(sys.argv[1])
