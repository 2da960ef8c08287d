# Windows, for scripts/cross: Debian's MinGW, and wine. Debian has none of the libraries but zlib for it, so libkedge is not
# linked. Sourced after linux.sh and stubs.sh.

# The rooms that compile. docs/reference/platforms.md says what the others need.
WINDOWS_ROOMS=(kedge_common kedge_wire kedge_mutate kedge_http kedge_sdk_core kedge_sdk_net kedge_sdk_driver)

# cross_windows TARGET
cross_windows() {
  local build=build/cross/$1 log=build/cross/$1.log stubs=build/cross/windows-stubs cases=tests/common/canonical.txt
  install_packages "${KEDGE_PACKAGES[@]}" gcc-mingw-w64-x86-64-posix wine64
  install_once "$(root_home arm64)" unpack_root arm64
  say "$1: the rooms without files, locks and threads"
  mkdir -p "$build"
  [ -e "$stubs/lib/pkgconfig/cmocka.pc" ] || make_stubs "$KEDGE_ROOT/$stubs" headers
  [ -e "$build/build.ninja" ] ||
    cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$1.cmake" -DKEDGE_SYSROOT="$KEDGE_ROOT/$stubs" \
      -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEDGE_WERROR=ON -DKEDGE_SERVER=OFF >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; return 1; }
  cross_ninja "$build" "${WINDOWS_ROOMS[@]}" kedge_portable_lines || return 1
  COMPILED="7 of 9 rooms" LINKED="a program of 2 rooms"
  build_preset release kedge_portable_lines
  build/release/tests/kedge_portable_lines "$cases" "$KEDGE_TMP/here.txt" || return 1
  run_wine "$build/tests/kedge_portable_lines.exe" "$cases" "$KEDGE_TMP/there.txt" &&
    cmp "$KEDGE_TMP/here.txt" "$KEDGE_TMP/there.txt" >&2 || { RUN="no: other lines"; return 1; }
  RUN="that program, same lines"
}

# run_wine PROGRAM ARGUMENT…: with a folder of its own, whose processes end before this returns.
run_wine() {
  local status=0
  WINEPREFIX=$KEDGE_TMP/wine WINEDEBUG=-all timeout 300 /usr/lib/wine/wine64 "$@" >"$KEDGE_TMP/wine.log" 2>&1 || status=$?
  WINEPREFIX=$KEDGE_TMP/wine /usr/lib/wine/wineserver64 -k || true
  [ "$status" = 0 ] || cat "$KEDGE_TMP/wine.log" >&2
  return "$status"
}
