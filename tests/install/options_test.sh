#!/bin/sh
# The SDK alone: without the backend, and then on a machine that has only what the library itself
# needs (sqlite, curl, cjson, libcrypto, zlib). A test that needs the backend would be linked with a
# library that does not exist.
# usage: options_test.sh SOURCE_DIR CMAKE CC
set -eu
source=$1
cmake=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() {
    build=$work/$1
    shift
    "$cmake" -S "$source" -B "$build" -G Ninja "-DCMAKE_C_COMPILER=$cc" -DKEDGE_SERVER=OFF "$@" \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    if grep -e '-lkedge_' "$build/build.ninja" >&2; then
        echo "a target needs a part that is not built" >&2
        exit 1
    fi
    grep -q 'libkedge\.so' "$build/build.ninja"
}

configure without-server
grep -q 'test_store_model' "$work/without-server/build.ninja"
echo "ok: without the backend"

mkdir "$work/packages"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
    for file in "$folder"/*.pc; do
        case ${file##*/} in
        cmocka.pc | libmicrohttpd.pc | gnutls.pc | librhonabwy.pc | jansson.pc | '*.pc') ;;
        *) ln -sf "$file" "$work/packages/" ;;
        esac
    done
done
export PKG_CONFIG_LIBDIR="$work/packages"
configure library -DKEDGE_TESTS=OFF
echo "ok: the library alone"
