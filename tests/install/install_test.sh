#!/bin/sh
# Installs into a fresh prefix, moves it, and builds and runs the quickstart against it: found by
# pkg-config (shared and static) and by find_package.
# usage: install_test.sh SOURCE_DIR BUILD_DIR CC CFLAGS
set -eu
source=$1
build=$2
cc=$3
cflags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected='{"text":"hi"}'

check() {
    output=$("$@")
    [ "$output" = "$expected" ] || { echo "$1 printed: $output" >&2; exit 1; }
    echo "ok: $1"
}

for component in runtime development; do
    cmake --install "$build" --prefix "$work/first" --component $component >/dev/null
done
mv "$work/first" "$work/prefix"
for path in include/kedge/kedge.h include/kedge/kedge.hpp lib/libkedge.so lib/libkedge.a; do
    [ -e "$work/prefix/$path" ] || { echo "not installed: $path" >&2; exit 1; }
done
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
export LD_LIBRARY_PATH="$work/prefix/lib"

"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror $cflags "$source/tests/install/quickstart.c" \
    $(pkg-config --cflags --libs kedge) -o "$work/by_pkg_config"
check "$work/by_pkg_config" "$work/data1"
[ "$(pkg-config --modversion kedge)" = "$(sed -n 's/^#define KEDGE_VERSION_STRING "\(.*\)"/\1/p' \
    "$work/prefix/include/kedge/base.h")" ]

# Statically, with the system's shared libraries.
"$cc" -std=c11 $cflags "$source/tests/install/quickstart.c" $(pkg-config --cflags kedge) \
    "$work/prefix/lib/libkedge.a" $(pkg-config --libs --static kedge | sed 's/-lkedge//') \
    -o "$work/by_static"
check "$work/by_static" "$work/data2"

consumer() {
    cmake -S "$source/tests/install/consumer" -B "$work/$1" -DCMAKE_C_FLAGS="$cflags" -G Ninja \
        -DCMAKE_PREFIX_PATH="$work/prefix" -DQUICKSTART="$source/tests/install/quickstart.c" "$2" >/dev/null
    cmake --build "$work/$1" >/dev/null
}
consumer consumer -DSTATIC=ON
check "$work/consumer/with_shared" "$work/data3"
check "$work/consumer/with_static" "$work/data4"

# Who links the shared library needs nothing of the libraries that it is made of: here pkg-config knows none of them.
mkdir "$work/bare"
export PKG_CONFIG_LIBDIR="$work/bare"
"$cc" -std=c11 $cflags "$source/tests/install/quickstart.c" $(pkg-config --cflags --libs kedge) -o "$work/by_bare"
check "$work/by_bare" "$work/data5"
consumer bare-consumer -DSTATIC=OFF
check "$work/bare-consumer/with_shared" "$work/data6"
if "$cc" -M "$source/tests/install/quickstart.c" $(pkg-config --cflags kedge) | grep -E 'sqlite|curl|openssl|zlib'; then
    echo "a public header includes one of a library's" >&2
    exit 1
fi
