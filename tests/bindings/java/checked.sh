#!/bin/sh
# Runs java with the checks of JNI. What they find is printed on stderr, and makes the program fail.
# usage: checked.sh ARGUMENT…
set -u
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
status=0
# Short programs: a compiler that optimizes much does not pay for itself.
java -Xcheck:jni -XX:+DisplayVMOutputToStderr -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "$@" 2>"$errors" || status=$?
cat "$errors" >&2
if grep -q 'in native method\|FATAL ERROR' "$errors"; then
    echo "the checks of JNI have found something" >&2
    exit 70
fi
exit "$status"
