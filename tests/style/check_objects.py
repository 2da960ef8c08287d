#!/usr/bin/env python3
"""Holds the built objects to the order of the rooms: an undefined symbol of one object that another
one defines is an arrow between their files. Unlike an include, such an arrow is a call or a use that
is really there.

Usage: check_objects.py ROOT BUILD. Prints the rooms, the arrows, the arrows up and the circles, and
exits 1 on any arrow that ARROWS of check_style.py does not allow and on any circle of files that
call each other. When there is no nm, it exits 77."""
import pathlib
import re
import shutil
import subprocess
import sys

import check_style

ROOMS = check_style.ARROWS
# The same sources compiled again with other flags or with a planted bug.
COPIES = re.compile(r"_unasserted\.dir|/planted|_copy\.dir|/tests/|/bench/|/examples/")
DEFINED, UNDEFINED = "TDBRVWGSC", "U"


def sources_of(root, build):
    """Source below the root -> its object file, one a source. A build keeps the objects of sources
    that were moved or removed since; those do not count."""
    found = {}
    for path in sorted(build.rglob("*.c.o")):
        name = str(path.relative_to(build))
        if COPIES.search("/" + name):
            continue
        folder, _, rest = name.partition("CMakeFiles/")
        source = folder + rest.split("/", 1)[1][: -len(".o")]
        if check_style.folder_of(pathlib.Path(source)) in ROOMS and (root / source).is_file():
            found.setdefault(source, path)
    return found


# Functions of other libraries that a source puts itself in front of: who calls them means the library.
IN_FRONT = {"recv", "gnutls_record_recv"}


def symbols_of(objects):
    """Source -> (the symbols that it defines, those that it uses of others)."""
    table = {source: (set(), set()) for source in objects}
    sources = {str(path): source for source, path in objects.items()}
    out = subprocess.run(["nm", "-A", "-g", *sources], capture_output=True, text=True, check=True)
    for line in out.stdout.splitlines():
        path, _, rest = line.partition(".o:")
        kind, symbol = rest.split()[-2:]
        defined, used = table[sources[path + ".o"]]
        if symbol in IN_FRONT:
            continue
        if kind in DEFINED:
            defined.add(symbol)
        elif kind in UNDEFINED:
            used.add(symbol)
    return table


def arrows_of(table):
    """(from, to) -> the symbols. A symbol that two sources define (each program's main) is none."""
    owners = {}
    for source, (defined, _) in table.items():
        for symbol in defined:
            owners.setdefault(symbol, []).append(source)
    arrows = {}
    for source, (_, used) in table.items():
        for symbol in used:
            owner = owners.get(symbol, [])
            if len(owner) == 1 and owner[0] != source:
                arrows.setdefault((source, owner[0]), set()).add(symbol)
    return arrows


def circles_of(arrows):
    """The sets of nodes that can reach each other, by Tarjan's algorithm, without recursion."""
    after = {}
    for a, b in arrows:
        after.setdefault(a, []).append(b)
        after.setdefault(b, [])
    index, low, stack, on_stack, circles = {}, {}, [], set(), []
    for root in sorted(after):
        if root in index:
            continue
        work = [(root, iter(sorted(after[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(after[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = set()
                    while not circle or node not in circle:
                        circle.add(stack.pop())
                    on_stack -= circle
                    if len(circle) > 1:
                        circles.append(sorted(circle))
    return circles


def room(source):
    return check_style.folder_of(pathlib.Path(source))


def self_test():
    """A circle of files, and an arrow up, are seen."""
    table = {"mutate/a.c": ({"a"}, {"b"}), "mutate/b.c": ({"b"}, {"a", "c"}),
             "sdk/store/c.c": ({"c"}, set())}
    arrows = arrows_of(table)
    if circles_of(arrows) != [["mutate/a.c", "mutate/b.c"]]:
        sys.exit("self-test: the circle of a.c and b.c was not found")
    if [pair for pair in arrows if not allowed(*pair)] != [("mutate/b.c", "sdk/store/c.c")]:
        sys.exit("self-test: the arrow up from b.c was not found")


def allowed(source, target):
    return room(source) == room(target) or room(target) in ROOMS[room(source)]


def main():
    if shutil.which("nm") is None:
        print("skipped: there is no nm (Debian: binutils)")
        sys.exit(77)
    self_test()
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    objects = sources_of(root, build)
    if not objects:
        sys.exit(f"nothing is built in {build}")
    arrows = arrows_of(symbols_of(objects))
    rooms = {room(node) for pair in arrows for node in pair}
    between = {(room(a), room(b)) for a, b in arrows if room(a) != room(b)}
    up = sorted(pair for pair in arrows if not allowed(*pair))
    circles = circles_of(arrows)
    around = circles_of({pair: None for pair in between})
    for source, target in up:
        print(f"up: {source} uses {', '.join(sorted(arrows[source, target]))} of {target}")
    for circle in circles + around:
        print("circle: " + ", ".join(circle))
        inside = sorted(pair for pair in arrows if pair[0] in circle and pair[1] in circle)
        for source, target in inside:
            print(f"  {source} uses {', '.join(sorted(arrows[source, target]))} of {target}")
    print(f"{len(rooms)} rooms, {len(arrows)} arrows between files, {len(between)} between rooms, "
          f"{len(up)} arrows up, {len(circles) + len(around)} circles")
    if len(rooms) < len(ROOMS) - 2:
        print(f"only {len(rooms)} of {len(ROOMS)} rooms are built in {sys.argv[2]}")
        sys.exit(1)
    sys.exit(1 if up or circles or around else 0)


if __name__ == "__main__":
    main()
