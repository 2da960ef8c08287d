#!/bin/sh
# Runs a program with the Python that has the wheel of bindings/python, which is built when its sources or the library have
# changed. Skips without the tools that scripts/test installs.
# usage: with_wheel.sh SOURCE_DIR BUILD_DIR PROGRAM [ARGUMENT…]   (PYTHON in an argument: that Python)
set -eu
source=$1 build=$2
shift 2
tools=${KEDGE_BINDING_TOOLS:-}
[ -n "$tools" ] || { echo "no tools; scripts/test --label bindings installs them"; exit 77; }
export KEDGE_INCLUDE="$source/include" KEDGE_LIBRARY="$build/lib/libkedge.so.0"
work=$build/python
mkdir -p "$work"
exec 9>"$work/lock"
flock 9
of=$(cat "$KEDGE_LIBRARY" "$source"/include/kedge/*.h "$source"/bindings/python/*.* "$source"/bindings/python/kedge/* |
    sha256sum)
if [ "$(cat "$work/of" 2>/dev/null)" != "$of" ]; then
    rm -rf "$work/source" "$work/wheel" "$work/site" "$work/of"
    cp -r "$source/bindings/python" "$work/source" # where pip may leave what it makes
    "$tools/bin/pip" --quiet --disable-pip-version-check wheel --no-build-isolation --no-deps --no-index \
        --wheel-dir "$work/wheel" "$work/source"
    "$tools/bin/pip" --quiet --disable-pip-version-check install --no-deps --no-index --target "$work/site" \
        "$work"/wheel/*.whl
    echo "$of" >"$work/of"
fi
flock -u 9
exec 9>&-
export PYTHONPATH="$work/site" PYTHONDONTWRITEBYTECODE=1
unset KEDGE_LIBRARY KEDGE_INCLUDE
program=$1
shift
for word; do
    shift
    [ "$word" != PYTHON ] || word=$tools/bin/python
    set -- "$@" "$word"
done
[ "$program" != PYTHON ] || program=$tools/bin/python
exec "$program" "$@"
