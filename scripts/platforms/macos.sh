# macOS, for scripts/cross: the compiler of zig, from PyPI, which has the headers of the system. Of the
# libraries that a Mac has or that an app brings, there are only stubs. Sourced after linux.sh and stubs.sh.
ZIG_VERSION=0.17.1
ZIG_SHA256=ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54
ZIG_HOME=$ENGINES_CACHE/zig-$ZIG_VERSION
export ZIG_GLOBAL_CACHE_DIR=$ZIG_HOME/cache ZIG_LOCAL_CACHE_DIR=$ZIG_HOME/cache

# The wheel is only unpacked: nothing of it is installed.
unpack_zig() {
  "$1/pip/bin/python3" --version >/dev/null 2>&1 || python3 -m venv "$1/pip"
  "$1/pip/bin/pip" --quiet --disable-pip-version-check download --no-deps --only-binary :all: --require-hashes -d "$1" \
    -r <(echo "ziglang==$ZIG_VERSION --hash=sha256:$ZIG_SHA256") || die "pip cannot fetch zig $ZIG_VERSION"
  python3 -m zipfile -e "$1"/ziglang-*.whl "$1"
  chmod +x "$1/ziglang/zig"
  rm -rf "$1"/ziglang-*.whl "$1/pip"
}

# cross_mac TARGET
cross_mac() {
  local build=build/cross/$1 log=build/cross/$1.log stubs=build/cross/macos-stubs
  install_packages "${KEDGE_PACKAGES[@]}" $(venv_package)
  install_once "$(root_home arm64)" unpack_root arm64
  install_once "$ZIG_HOME" unpack_zig
  say "$1: libkedge and the command kedge"
  mkdir -p "$build"
  [ -e "$stubs/lib/libcjson.tbd" ] || make_stubs "$KEDGE_ROOT/$stubs"
  [ -e "$build/build.ninja" ] ||
    cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$1.cmake" -DKEDGE_ZIG="$ZIG_HOME/ziglang/zig" \
      -DKEDGE_SYSROOT="$KEDGE_ROOT/$stubs" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEDGE_WERROR=ON -DKEDGE_SERVER=OFF \
      -DKEDGE_TESTS=OFF >"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
  cross_ninja "$build" kedge-installed || return 1
  COMPILED=yes LINKED="with stubs" RUN=no
}
