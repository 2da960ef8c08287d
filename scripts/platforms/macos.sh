# macOS, for scripts/cross: the compiler of zig, from PyPI, which has the headers of the system. Of the libraries that a Mac
# has or that an app brings, there are only the headers (Debian's) and stubs to link with. Sourced after linux.sh.
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

# What the five libraries export, by their shared libraries in a root of Debian: pkg-config's name, its version, the file.
MAC_LIBRARIES="sqlite3 3.40.1 sqlite3
libcurl 7.88.1 curl
libcrypto 3.0.0 crypto
zlib 1.2.13 z
libcjson 1.7.15 cjson"

# make_mac_stubs FOLDER: headers, and a file of each library's symbols in place of the library.
make_mac_stubs() {
  local root name version file include=$1/include lib=$1/lib
  root=$(root_home arm64)/root
  mkdir -p "$include" "$lib/pkgconfig"
  cp -r "$root"/usr/include/{sqlite3.h,zlib.h,zconf.h,openssl,cjson} "$include"
  cp -r "$root"/usr/include/aarch64-linux-gnu/curl "$include"
  cp "$root"/usr/include/aarch64-linux-gnu/openssl/* "$include/openssl"
  while read -r name version file; do
    {
      echo '--- !tapi-tbd'
      echo 'tbd-version: 4'
      echo 'targets: [ arm64-macos, x86_64-macos ]'
      echo "install-name: '@rpath/lib$file.dylib'"
      echo 'exports:'
      echo '  - targets: [ arm64-macos, x86_64-macos ]'
      nm -D --defined-only "$root/usr/lib/aarch64-linux-gnu/lib$file.so" |
        awk '$2 ~ /[TDBR]/ { sub(/@.*/, "", $3); all = all (all ? ", " : "") "_" $3 } END { print "    symbols: [ " all " ]" }'
      echo '...'
    } >"$lib/lib$file.tbd"
    printf 'Name: %s\nDescription: headers and a stub\nVersion: %s\nCflags: -I%s -I%s\nLibs: -L%s -l%s\n' \
      "$name" "$version" "$include" "$include/cjson" "$lib" "$file" >"$lib/pkgconfig/$name.pc"
  done <<<"$MAC_LIBRARIES"
}

# cross_mac TARGET
cross_mac() {
  local build=build/cross/$1 log=build/cross/$1.log stubs=build/cross/macos-stubs
  install_packages "${KEDGE_PACKAGES[@]}" $(venv_package)
  install_once "$(root_home arm64)" unpack_root arm64
  install_once "$ZIG_HOME" unpack_zig
  say "$1: libkedge and the command kedge"
  mkdir -p "$build"
  [ -e "$stubs/lib/libcjson.tbd" ] || make_mac_stubs "$KEDGE_ROOT/$stubs"
  [ -e "$build/build.ninja" ] ||
    cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$1.cmake" -DKEDGE_ZIG="$ZIG_HOME/ziglang/zig" \
      -DKEDGE_SYSROOT="$KEDGE_ROOT/$stubs" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEDGE_WERROR=ON -DKEDGE_SERVER=OFF \
      -DKEDGE_TESTS=OFF >"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
  cross_ninja "$build" kedge-installed || return 1
  COMPILED=yes LINKED="with stubs" RUN=no
}
