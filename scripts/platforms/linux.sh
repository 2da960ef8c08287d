# Linux of other architectures, for scripts/cross: Debian's compilers and its libraries, of the release of this machine, in a
# root of the cache. Sourced after ../engines/install.sh.
source "$ENGINES_SOURCE/debian.sh"
ROOT_RELEASE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
ROOT_PACKAGES=(
  libc6-dev libsqlite3-dev libcurl4-openssl-dev libcjson-dev libssl-dev zlib1g-dev libcmocka-dev
)
# Tests that start other programs, by a script or by themselves: the kernel would run these without the emulator.
STARTS_PROGRAMS='one_thread_test|core_assertions_test|kedge_processes_test|kedge_command_test'
# Under an emulator also: one reads what an abort prints, where qemu prints a line of its own; the others go through all
# faults, columns or seeds in turn, which takes an emulator minutes each.
NOT_EMULATED='test_common_assert|core_property_test|test_mutate_(text_merge|batch|order|large_item)|test_wire_push'
NOT_EMULATED+='|test_store_(faults|full|cache_columns|model|outbox_damage|outbox_heal|rebase.*)'
NOT_EMULATED+='|test_store_(layouts|older_outbox|index|repair|read)'

# root_home ARCHITECTURE: where the root of this architecture of Debian is.
root_home() { echo "$ENGINES_CACHE/root-$1-$ROOT_RELEASE-$(sha256sum <<<"${ROOT_PACKAGES[*]}" | head -c 12)"; }

# unpack_root ARCHITECTURE FOLDER
unpack_root() {
  local link
  fetch_debian "$2/apt" "$1" "$ROOT_RELEASE" "${ROOT_PACKAGES[@]}"
  unpack_debian "$2/apt" "$2/root" './usr/share/doc' './usr/share/man' './usr/share/locale'
  # A link from / would lead out of the root.
  find "$2/root" -lname '/*' | while IFS= read -r link; do ln -sfnr "$2/root$(readlink "$link")" "$link"; done
}

# cross_linux TARGET
cross_linux() {
  local build=build/cross/$1 architecture compiler emulator=() left_out=$STARTS_PROGRAMS root log tests
  case $1 in
    aarch64-*) architecture=arm64 compiler=gcc-aarch64-linux-gnu emulator=(qemu-aarch64) ;;
    i386-*) architecture=i386 compiler=gcc-i686-linux-gnu ;;
    s390x-*) architecture=s390x compiler=gcc-s390x-linux-gnu emulator=(qemu-s390x) ;;
  esac
  install_packages "${KEDGE_PACKAGES[@]}" "$compiler" ${emulator[*]:+qemu-user}
  install_once "$(root_home $architecture)" unpack_root $architecture
  root=$(root_home $architecture)/root
  if [ ${#emulator[@]} -gt 0 ]; then
    emulator+=(-L "$root")
    left_out+="|$NOT_EMULATED"
  else
    emulator=("$root/lib/ld-linux.so.2" --library-path "$root/lib/$1")
  fi

  say "$1: libkedge and its unit tests"
  log=$build.log
  mkdir -p "$build"
  [ -e "$build/build.ninja" ] ||
    cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$1.cmake" -DKEDGE_SYSROOT="$root" \
      -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEDGE_WERROR=ON -DKEDGE_SERVER=OFF >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; return 1; }
  cross_ninja "$build" kedge-installed kedge-unit-tests kedge_portable_folder || return 1
  COMPILED=yes LINKED=yes

  say "$1: the tests"
  tests=$build/ctest.log
  ctest --test-dir "$build" -L unit -E "^($left_out)\$" -j "$(nproc)" --output-on-failure >"$tests" 2>&1 || {
    grep -E '\*\*\*|tests passed' "$tests" >&2
    RUN="no: see $tests"
    return 1
  }
  RUN="$(sed -n 's/^100% tests passed, 0 tests failed out of //p' "$tests") tests"
  same_folder "$build" "${emulator[@]}" || return 1
  RUN+=", same files"
}

# cross_ninja BUILD TARGET…: sets COMPILED and LINKED by what did not fail.
cross_ninja() {
  local build=$1 log=$1/build.log
  shift
  ninja -k 0 -C "$build" "$@" 2>&1 | tee "$log" | show_progress && return 0
  grep -E 'error:|undefined reference' "$log" | sort -u | head -n 20 >&2
  grep -q 'FAILED: .*[.]o' "$log" && COMPILED="no: see $log" || { COMPILED=yes LINKED="no: see $log"; }
  return 1
}

# same_folder BUILD EMULATOR…: the files of a client are those that a build for this machine writes.
same_folder() {
  local build=$1 name
  shift
  build_preset release kedge_portable_folder
  for name in here there; do mkdir -p "$KEDGE_TMP/$name"; done
  build/release/tests/kedge_portable_folder "$KEDGE_TMP/here" >"$KEDGE_TMP/log" 2>&1 &&
    "$@" "$build/tests/kedge_portable_folder" "$KEDGE_TMP/there" >>"$KEDGE_TMP/log" 2>&1 || {
    cat "$KEDGE_TMP/log" >&2
    RUN+=", but the program that writes a client's files failed"
    return 1
  }
  for name in outbox.db cache.db; do
    cmp "$KEDGE_TMP/here/$name" "$KEDGE_TMP/there/$name" >&2 || { RUN+=", but $name has other bytes"; return 1; }
  done
}
