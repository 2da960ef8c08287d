#!/bin/sh
# The tutorial's program prints what the tutorial says, twice over the same folder, and the tutorial
# quotes the program as it is.
# usage: tutorial_test.sh PROGRAM DOCS_DIR
set -eu
program=$1
docs=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" "$work/data" >"$work/first"
"$program" "$work/data" >"$work/second"
# The first and second ```text block of the tutorial.
awk -v n=1 '/^```text$/ { b++; next } /^```$/ { if (b) done[b] = 1; next } b == n && !done[b]' \
    "$docs/first-app.md" >"$work/expected_first"
awk -v n=2 '/^```text$/ { b++; next } /^```$/ { if (b) done[b] = 1; next } b == n && !done[b]' \
    "$docs/first-app.md" >"$work/expected_second"
diff -u "$work/expected_first" "$work/first"
diff -u "$work/expected_second" "$work/second"
awk '/^```c$/ { c = 1; next } /^```$/ { c = 0 } c' "$docs/first-app.md" >"$work/quoted"
diff -u "$docs/first-app.c" "$work/quoted"
