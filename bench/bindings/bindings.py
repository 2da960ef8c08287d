#!/usr/bin/env python3
"""What it costs to use libkedge from each language, beside C in the same run: scripts/bench --bindings.

Usage: bindings.py LARGE_BLOCKS_LIBRARY NAME=PROGRAM… [--json]. C is the first. Each program opens a database of its own, takes
lines "WORK CALLS" and answers each with one line of four numbers: microseconds, microseconds of processor time (0 where the
language's clock only counts hundredths of a second: the kernel is asked), bytes of JSON that it has seen, and bytes that were
allocated on a heap of the language's own (0 where that is malloc's).

  mutate     kedge.put of an item of 120 bytes, durable (1,000 items, in turn)
  get        one of them as the language's text; C looks at its size
  scan       all of them, with their ids; what is told is a row. Who can, looks at the sizes of what he is shown, and copies
             nothing: C, C++ and Swift. Python, Java and Kotlin, which show no row without making it, make the two texts
  scan-texts the same, and each program makes texts of the id and of the value, which outlive the row and are dropped at
             once. C copies both
  scan-kept  the same, and the texts are kept in a list until the scan has ended
  get-large  a document of 1 MB as the language's text: here its allocations count, each of at least half of it

Kotlin's suspend functions are called on the dispatcher, and these from elsewhere:
  block, hop             gets from another thread: 100 in a block of db.blocking, and each by itself
  hop-default            gets on Dispatchers.Default, each by itself
  hop-scan, flow         scans from another thread, by useScan and as a Flow

The programs stay up and are asked in turn, so that what else the machine does meets all of them. What is told is the median of
the rounds; the goal is one of processor time. The bytes that they have seen must be the same."""
import json
import mmap
import os
import pathlib
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# Many short rounds: what else the machine does disturbs some of them.
ROUNDS = 31
ITEMS = 1000
WORKS = {"mutate": 70, "get": 4000, "scan": 100, "scan-texts": 100, "scan-kept": 100, "get-large": 5}
FILL = {"mutate": ITEMS, "put-large": 1}
# Until the compiler of the JVM has nothing left to do: it would run in the rounds, on processor time that is counted. The
# others, which have none, are asked a tenth of it.
WARM_UP = {"get": 60000, "scan": 3000, "scan-texts": 2000, "scan-kept": 2000, "get-large": 50}
ON_THE_JVM = ("Java", "Kotlin")
# What only Kotlin is asked: its name, what it is beside, how often, and how often before.
OF_KOTLIN = {"block": ("get, 100 in a block", "get", 4000, 20000), "hop-default": ("get, from Default", "get", 1000, 20000),
             "hop": ("get, a hop each", "get", 500, 500), "hop-scan": ("scan, a hop each", "scan", 100, 2000),
             "flow": ("scan, a flow", "scan", 100, 2000)}
GOAL = 0.7
WITH_A_GOAL = ("Java", "Kotlin", "Swift")


class Program:
    def __init__(self, name, command, folder, library):
        self.name = name
        counter = folder / f"{name}.blocks"
        counter.write_bytes(bytes(8))
        self.file = open(counter, "r+b")
        self.counter = mmap.mmap(self.file.fileno(), 8)
        self.process = subprocess.Popen([*shlex.split(command), folder / name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "LD_PRELOAD": library,
                                             "KEDGE_LARGE_BLOCKS": str(counter)})

    def cpu_us(self):
        """The processor time of the process, by its clock of clock_getcpuclockid(3)."""
        return time.clock_gettime_ns(~self.process.pid << 3 | 2) // 1000

    def ask(self, work, calls):
        before = struct.unpack("Q", self.counter[:8])[0]
        cpu_before = self.cpu_us()
        self.process.stdin.write(f"{work} {calls}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 4:
            sys.exit(f"{self.name} has ended at {work}")
        wall, cpu, seen, heap = map(int, answer)
        cpu = cpu or self.cpu_us() - cpu_before
        blocks = struct.unpack("Q", self.counter[:8])[0] - before
        return {"wall": wall / calls, "cpu": cpu / calls, "seen": seen, "heap": heap / calls, "blocks": blocks / calls}

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit(f"{self.name} ended with {self.process.returncode}")


def measure(programs):
    """The answers of each program to each work, in the rounds."""
    for program in programs:
        for work, calls in FILL.items():
            program.ask(work, calls)
        for work, calls in WARM_UP.items():
            program.ask(work, calls if program.name in ON_THE_JVM else calls // 10)
        if program.name == "Kotlin":
            for work, (*_, before) in OF_KOTLIN.items():
                program.ask(work, before)
    answers = {(program.name, work): [] for program in programs for work in (*WORKS, *OF_KOTLIN)}
    for _ in range(ROUNDS):
        for work, calls in WORKS.items():
            seen = set()
            for program in programs:
                answer = program.ask(work, calls)
                answers[program.name, work].append(answer)
                seen.add(answer["seen"])
            if len(seen) != 1:
                sys.exit(f"the programs have seen other bytes in {work}: {seen}")
        for program in programs:
            if program.name == "Kotlin":
                for work, (_, _, calls, _) in OF_KOTLIN.items():
                    answers[program.name, work].append(program.ask(work, calls))
    return answers


def median(answers, key):
    return statistics.median(answer[key] for answer in answers)


def ratios(mine, theirs):
    """How fast that is beside C, by the clock and by processor time."""
    return {name: statistics.median(b[key] / max(a[key], 1e-9) for a, b in zip(mine, theirs))
            for name, key in (("ratio", "wall"), ("cpu_ratio", "cpu"))}


def row_of(program, name, mine, theirs):
    each = ITEMS if name.startswith("scan") else 1
    return {"language": program.name, "work": name, "us": median(mine, "wall") / each, "cpu_us": median(mine, "cpu") / each,
            **ratios(mine, theirs)}


def rows(programs, answers, document):
    reference = programs[0].name
    for program in programs:
        for work in ("mutate", "get", "scan", "scan-texts", "scan-kept"):
            row = row_of(program, work, answers[program.name, work], answers[reference, work])
            if program.name in WITH_A_GOAL:
                row.update(goal=GOAL, met=row["cpu_ratio"] >= GOAL)
            yield row
        for work, (name, beside, *_) in OF_KOTLIN.items():
            if answers[program.name, work]:
                yield row_of(program, name, answers[program.name, work], answers[reference, beside])
        large = answers[program.name, "get-large"]
        copies = (median(large, "blocks") + median(large, "heap")) / document
        base = median(answers[reference, "get-large"], "blocks") / document
        yield {"language": program.name, "work": "copies of 1 MB", "us": median(large, "wall"), "copies": copies,
               "beyond_c": copies - base}


def show(row):
    if "copies" in row:
        text = f"{row['copies']:.2f} of the document in all, {row['beyond_c']:.2f} beyond those of C"
    else:
        text = f"{row['ratio']:8.2f} {row['cpu_us']:10.2f} {row['cpu_ratio']:8.2f}"
        if "goal" in row:
            text += f"   {row['goal']:.1f} {'met' if row['met'] else 'missed'}"
    print(f"{row['language']:10} {row['work']:19} {row['us']:10.2f} {text}", flush=True)


def main():
    as_json = "--json" in sys.argv
    library, *named = [word for word in sys.argv[1:] if word != "--json"]
    with tempfile.TemporaryDirectory(prefix="kedge-bench.") as folder:
        programs = [Program(*each.split("=", 1), pathlib.Path(folder), library) for each in named]
        answers = measure(programs)
        document = answers[programs[0].name, "get-large"][0]["seen"] / WORKS["get-large"]
        for program in programs:
            program.end()
        if not as_json:
            print(f"{'language':10} {'work':19} {'us each':>10} {'of C':>8} {'cpu us':>10} {'of C':>8}   goal")
        for row in rows(programs, answers, document):
            print(json.dumps(row)) if as_json else show(row)


main()
