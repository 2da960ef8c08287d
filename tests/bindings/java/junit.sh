#!/bin/sh
# Runs the tests of JUnit. What the checks of JNI find does not fail Maven's build; it is only in Surefire's dumps.
# usage: junit.sh MAVEN REPORTS
set -eu
rm -rf "$2"
"$1" surefire:test
[ -e "$2/io.kedge.StormTest.txt" ] || { echo "the tests have not run"; exit 1; }
if find "$2" -name '*.dump*' -exec cat {} + | grep 'in native method\|FATAL ERROR'; then
    echo "the checks of JNI have found something: see $2"
    exit 1
fi
