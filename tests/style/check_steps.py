#!/usr/bin/env python3
"""The tables in docs/explanation that map each step of an article to its function and its test: whatever they name is
there. A function in backquotes is one of backend; a test is the name of a function in tests, as a sentence.

Usage: check_steps.py ROOT. Prints what is wrong, and how many steps the tables have."""
import pathlib
import re
import sys

PAGES = {"docs/explanation/log.md": 20, "docs/explanation/effects.md": 15, "docs/explanation/resource.md": 12}
NO_TEST = re.compile(r"the same( as above)?|all of the above.*")


def rows(text):
    """The cells of each row of a table of steps."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and "step" in cells[0] and cells[1:2] == ["function"]:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not cells[0].startswith("---"):
            yield number, cells


def check(number, cells, names, tests):
    if len(cells) != 3 or not all(cells):
        yield number, "a step without a function or a test"
        return
    for name in re.findall(r"`([a-z_0-9]+)`", cells[1]):
        if name not in names:
            yield number, f"backend has no function {name}"
    for sentence in re.sub(r"`[^`]*`:?", "", cells[2]).split(";"):
        sentence = sentence.strip()
        if sentence and not NO_TEST.fullmatch(sentence):
            name = "test_" + re.sub(r"[^a-z0-9]+", "_", sentence.lower()).strip("_")
            if name not in tests:
                yield number, f"there is no test {name}"


def words_of(files):
    return {word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}


def self_test():
    table = "| step | function | test |\n| --- | --- | --- |\n| 1 | %s | %s |\n"
    for function, test, wanted in [("`f` in `a.c`", "`t.c`: it works; the same", 0), ("`g`", "it works", 1),
                                   ("`f`", "it fails", 1), ("`f`", "", 1)]:
        found = [what for row in rows(table % (function, test)) for what in check(*row, {"f"}, {"test_it_works"})]
        if len(found) != wanted:
            sys.exit(f"self-test: {function}, {test}: {found}")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    self_test()
    names = words_of([*(root / "backend").rglob("*.c"), *(root / "backend").rglob("*.h")])
    tests = {word for word in words_of((root / "tests").rglob("*.c")) if word.startswith("test_")}
    failed = 0
    for page, least in PAGES.items():
        steps = list(rows((root / page).read_text(encoding="utf-8")))
        found = [what for row in steps for what in check(*row, names, tests)]
        if len(steps) < least:
            found.append((0, f"{len(steps)} steps; the article has at least {least}"))
        failed += len(found)
        print(f"{page}: {len(steps)} steps")
        for number, what in found:
            print(f"{page}:{number}: {what}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
