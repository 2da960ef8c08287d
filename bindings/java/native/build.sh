#!/bin/sh
# Builds the native library of the jar: the JNI layer with libkedge inside. It exports JNI_OnLoad alone.
# usage: build.sh FILE   (KEDGE_INCLUDE: the folder that has kedge/kedge.h; KEDGE_ARCHIVE: the file libkedge.a. Without
# the two variables pkg-config is asked for an installed Kedge. CC, CFLAGS and LDFLAGS are used, too.)
set -eu
out=$1
here=$(cd "$(dirname "$0")" && pwd)
include=${KEDGE_INCLUDE:-$(pkg-config --variable=includedir kedge)}
archive=${KEDGE_ARCHIVE:-$(pkg-config --variable=libdir kedge)/libkedge.a}
java=${JAVA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")}
libraries=$(pkg-config --libs sqlite3 libcurl libcjson libcrypto zlib)
# Devices with Android may have pages of 16 KB. On x86-64 all of Linux has this alignment, so that tests see it.
case $(${CC:-cc} -dumpmachine) in
    x86_64-*linux* | *-android*) pages=-Wl,-z,max-page-size=16384,-z,noseparate-code ;;
    *) pages= ;;
esac
mkdir -p "$(dirname "$out")"
# The library is never unloaded, since a thread that ends calls it.
# shellcheck disable=SC2086
exec ${CC:-cc} -std=gnu11 -O2 -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
    ${CFLAGS:-} -I"$include" -I"$java/include" -I"$java/include/linux" "$here"/*.c -shared -o "$out" \
    "$archive" $libraries -lm -Wl,--version-script="$here/exports.map" -Wl,-z,defs -Wl,-z,nodelete -Wl,--gc-sections \
    -Wl,--strip-all $pages ${LDFLAGS:-}
