# Where the libraries of a target are not to be had: their headers, from a root of Debian, and what is linked with in their
# place. Sourced after linux.sh.

# pkg-config's name of each library, its version, and the end of its file's name.
STUB_LIBRARIES="sqlite3 3.40.1 sqlite3
libcurl 7.88.1 curl
libcrypto 3.0.0 crypto
zlib 1.2.13 z
libcjson 1.7.15 cjson
cmocka 1.1.5 cmocka"

# make_stubs FOLDER [HEADERS]: headers, files for pkg-config, and for the linkers of macOS a list of each library's
# symbols. With HEADERS nothing is linked with.
make_stubs() {
  local root name version file include=$1/include lib=$1/lib
  root=$(root_home arm64)/root
  mkdir -p "$include" "$lib/pkgconfig"
  cp -r "$root"/usr/include/{sqlite3.h,zlib.h,zconf.h,openssl,cjson,cmocka.h} "$include"
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
    printf 'Name: %s\nDescription: headers and a stub\nVersion: %s\nCflags: -I%s -I%s\n' \
      "$name" "$version" "$include" "$include/cjson" >"$lib/pkgconfig/$name.pc"
    [ -n "${2:-}" ] || echo "Libs: -L$lib -l$file" >>"$lib/pkgconfig/$name.pc"
  done <<<"$STUB_LIBRARIES"
}
