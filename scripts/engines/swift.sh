# A Swift toolchain for the tests of bindings/swift: the packages of a newer Debian, unpacked into a folder of the cache and
# never installed (see debian.sh). Sourced after install.sh.
source "$ENGINES_SOURCE/debian.sh"
SWIFT_DEBIAN=trixie
SWIFT_VERSION=6.0.3-2
SWIFT_HOME=$ENGINES_CACHE/swift-$SWIFT_VERSION
# What apt takes from the mirror is signed by Debian; these two are also checked against a sum of our own.
SWIFT_SHA256="be005017c07f0932564c48761f7f69d2f4e942d514e106932913ca8cf594c4a1  swiftlang_${SWIFT_VERSION}_amd64.deb
8279334aaf16e6b62b8d124d6d5d94cb2a92666986cec491bf4ad03a0a9ae3e4  libswiftlang_${SWIFT_VERSION}_amd64.deb"
# With the compiler come what a Swift program is linked with, and the libraries of libkedge.
SWIFT_PACKAGES=("swiftlang=$SWIFT_VERSION" "libswiftlang=$SWIFT_VERSION" libc6-dev libstdc++-14-dev
  libsqlite3-0 libcurl4t64 libcjson-dev libssl3t64 zlib1g)
# Parts that neither builds nor tests need: they are more than half of it.
SWIFT_LEFT_OUT=(
  '*/swift/embedded' '*/swift_static' '*/FrameworkABIBaseline' '*/liblldb*' '*/libLTO*' '*/libsourcekitdInProc.so'
  '*/swift/bin/lldb*' '*/swift/bin/clangd' '*/swift/bin/sourcekit-lsp' '*/swift/bin/docc' '*/swift/bin/swift-format'
  '*/swift/bin/repl_swift' '*/swift/bin/*lld*' '*/swift/bin/wasm-ld' '*/swift/bin/swift-api-*'
  '*/gcc/x86_64-linux-gnu/14/cc1' '*/gcc/x86_64-linux-gnu/14/lto1' '*/x86_64-linux-gnu-lto-dump-14'
  './usr/share/doc' './usr/share/man' './usr/share/locale' './usr/lib/python3.13'
)

unpack_swift() {
  fetch_debian "$1/apt" amd64 "$SWIFT_DEBIAN" "${SWIFT_PACKAGES[@]}"
  (cd "$1/apt/cache/archives" && sha256sum --check --quiet <<<"$SWIFT_SHA256") || die "Swift is not the pinned one"
  unpack_debian "$1/apt" "$1/root" "${SWIFT_LEFT_OUT[@]}"
}

# Sets SWIFT_ROOT to where the toolchain is, or SWIFT_MISSING to the reason why there is none.
SWIFT_ROOT= SWIFT_MISSING=
install_swift() {
  if [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ]; then
    SWIFT_MISSING="Swift is fetched for Debian on amd64 alone"
  elif ! (install_once "$SWIFT_HOME" unpack_swift); then
    SWIFT_MISSING="Swift $SWIFT_VERSION cannot be fetched"
  else
    command -v bwrap >/dev/null || (install_packages bubblewrap) || true
    bwrap --ro-bind / / true 2>/dev/null || command -v proot >/dev/null || (install_packages proot) || true
    bwrap --ro-bind / / true 2>/dev/null || command -v proot >/dev/null ||
      SWIFT_MISSING="Swift needs bwrap with the right to make a namespace, or proot"
  fi
  if [ -n "$SWIFT_MISSING" ]; then say "without Swift: $SWIFT_MISSING"; else SWIFT_ROOT=$SWIFT_HOME/root; fi
}
