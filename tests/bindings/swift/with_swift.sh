#!/usr/bin/env bash
# Builds bindings/swift and its tests with the toolchain that scripts/test installs, when they have changed, and runs a
# program. Skips, with the reason, where there is no toolchain.
# usage: with_swift.sh SOURCE_DIR BUILD_DIR PROGRAM [ARGUMENT…]   (SWIFT:NAME in an argument: the built program NAME)
# In the environment, each with a folder of its own: SANITIZE=thread, the XCTests alone under ThreadSanitizer;
# CONFIGURATION=release, the programs alone as apps build them.
set -euo pipefail
source=$1 build=$2
shift 2
root=${KEDGE_SWIFT:-}
[ -n "$root" ] || {
  echo "skipped: ${KEDGE_SWIFT_MISSING:-no Swift toolchain; scripts/test --label bindings fetches one}"
  exit 77
}
work=$build/swift${SANITIZE:+-$SANITIZE}${CONFIGURATION:+-$CONFIGURATION}
mkdir -p "$work"/{bin,home,pkgconfig,temporary,tests/docs}

# The toolchain's programs see its own root, and of this machine the sources, the build and the temporary files, all at the
# paths that they have outside. The libraries of libkedge are those of the toolchain's Debian.
temporary=${TMPDIR:-/tmp}
variables="HOME=$work/home PATH=/usr/libexec/swift/bin:/usr/bin LC_ALL=C.UTF-8 PKG_CONFIG_PATH=$work/pkgconfig \
LD_LIBRARY_PATH=$build/lib"
if bwrap --ro-bind / / true 2>/dev/null; then
  enter="$(command -v bwrap) --unshare-user-try --die-with-parent --ro-bind $root/usr /usr --symlink usr/bin /bin \
--symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /proc /proc --dev /dev --bind $temporary $temporary \
--ro-bind $source $source --bind $build $build"
else
  enter="$(command -v proot) -r $root -b /proc -b /dev -b $temporary -b $source -b $build"
fi
cat >"$work/enter.$$" <<SH
#!/bin/sh
# Runs a program in the root of the Swift toolchain.
export $variables
exec $enter "\$@"
SH
chmod +x "$work/enter.$$"
mv "$work/enter.$$" "$work/enter"

made=$work/scratch/${CONFIGURATION:-debug}
build_all() {
  printf 'Name: kedge\nDescription: Local-first sync\nVersion: 0\nLibs: -L%s -lkedge\nCflags: -I%s\n' \
    "$build/lib" "$source/include" >"$work/pkgconfig/kedge.pc"
  # SwiftPM wants all sources of a package in its folder.
  ln -sfn "$source/bindings/swift" "$work/kedge"
  for each in Package.swift Sources Tests; do ln -sfn "$source/tests/bindings/swift/$each" "$work/tests/$each"; done
  ln -sfn "$source/bindings/swift/Examples" "$work/tests/Examples"
  for each in $(find "$source/docs" "$source/bench/bindings" -name '*.swift'); do
    mkdir -p "$work/tests/docs/$(basename "$each" .swift)"
    ln -sfn "$each" "$work/tests/docs/$(basename "$each" .swift)/main.swift"
  done
  # SwiftPM does not know when libkedge is another one: what is gone is linked again.
  [ ! -d "$made/" ] || find "$made/" -maxdepth 1 -type f -executable -delete
  local what=--build-tests
  [ -z "${SANITIZE:-}" ] || what="--product kedge-testsPackageTests --sanitize=$SANITIZE"
  [ -z "${CONFIGURATION:-}" ] || what="--configuration $CONFIGURATION"
  # It leaves folders and locks among the temporary files.
  (cd "$work/tests" && TMPDIR=$work/temporary "$work/enter" swift-build $what -Xswiftc -warnings-as-errors \
    --scratch-path "$work/scratch") || return
  for each in "$made"/*; do
    [ -f "$each" ] && [ -x "$each" ] || continue
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$work/enter" "$each" >"$work/bin/$(basename "$each" .xctest)"
    chmod +x "$work/bin/$(basename "$each" .xctest)"
  done
}

exec 9>"$work/lock"
flock 9
of=$(cat "$build/lib/libkedge.so.0" "$source"/include/kedge/*.h \
  $(find "$source/bindings/swift" "$source/tests/bindings/swift" "$source/docs" "$source/bench/bindings" -type f -not -name '*.md') | sha256sum)
if [ "$(cat "$work/of" 2>/dev/null)" != "$of" ]; then
  build_all >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
  echo "$of" >"$work/of"
fi
flock -u 9
exec 9>&-

for word; do
  shift
  case $word in SWIFT:*) word=$work/bin/${word#SWIFT:} ;; esac
  set -- "$@" "$word"
done
exec "$@"
