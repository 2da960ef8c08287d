#!/bin/sh
# Compiles a C++17 program that uses every initialiser of the headers, with all warnings as errors, and runs it.
# usage: cpp_test.sh SOURCE_DIR BUILD_DIR CXX CFLAGS
set -eu
source=$1
build=$2
cxx=$3
cflags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat "$source"/include/kedge/*.h | grep -o 'define KEDGE_[A-Z_]*_INIT' | sed 's/define //' | while read -r macro; do
    grep -q "$macro" "$source/tests/install/initialisers.cc" || {
        echo "tests/install/initialisers.cc does not use $macro" >&2
        exit 1
    }
done
for standard in c++17 c++20; do
    "$cxx" -std=$standard -Wall -Wextra -pedantic -Werror $cflags -I"$source/include" \
        "$source/tests/install/initialisers.cc" -L"$build/lib" -lkedge -lcjson -Wl,-rpath,"$build/lib" \
        -o "$work/program"
    rm -rf "$work/data"
    output=$("$work/program" "$work/data")
    [ "$output" = '{"id":"a","text":"hi"}' ] || { echo "printed: $output" >&2; exit 1; }
done
