#!/bin/sh
# A violated invariant of the core aborts the process and is printed. The programs that a developer and an
# operator run have the assertions; a library that is released has none of them.
# usage: assertions_test.sh RELEASED VIOLATION LIBRARY... -- PROGRAM...
# RELEASED: 1 when the libraries are built without the assertions.
set -eu
released=$1
violation=$2
shift 2
fail() {
    echo "$1" >&2
    exit 1
}
text="kedge_core_step: assertion failed: core->started || event->kind == KEDGE_EVENT_START"
status=0
said=$(ulimit -c 0 && "$violation" 2>&1) || status=$?
[ "$status" -eq 134 ] || fail "the violation ended with $status, not with SIGABRT: $said"
echo "$said" | grep -q "sdk/core/core.c:[0-9]*: $text" || fail "the violation is not told: $said"
[ "$(echo "$said" | grep -c "the step went on")" -eq 0 ] || fail "the step went on: $said"
while [ "$1" != -- ]; do
    count=$(grep -ac "assertion failed" "$1" || true)
    if [ "$released" = 1 ] && [ "$count" -ne 0 ]; then fail "$1 holds assertions"; fi
    if [ "$released" = 0 ] && [ "$count" -eq 0 ]; then fail "$1 holds no assertions"; fi
    shift
done
shift
for program in "$@"; do
    grep -aq "assertion failed" "$program" || fail "$program holds no assertions"
done
