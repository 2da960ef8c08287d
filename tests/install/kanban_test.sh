#!/bin/sh
# The boards of docs/tutorial/kanban.md: the C one as built, the C++17 one compiled here with all warnings as errors, the
# Python one as it is (not under a sanitizer, which must be the first library of a process).
# usage: kanban_test.sh SOURCE_DIR BUILD_DIR SERVER PROGRAM CXX CFLAGS
set -eu
source=$1 build=$2 server=$3 program=$4 cxx=$5 cflags=$6
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cxx" -std=c++17 -Wall -Wextra -pedantic -Werror $cflags -I"$source/include" "$source/docs/tutorial/kanban.cc" \
    -L"$build/lib" -lkedge -lcjson -o "$work/kanban"
python=$source/docs/tutorial/kanban.py
[ -z "$cflags" ] || python=
python3 "$source/tests/install/transcript_test.py" "$server" "$build/lib" "$source/docs/tutorial/kanban.md" \
    "$program" "$work/kanban" $python
