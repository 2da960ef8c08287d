# The roots that Linux of other architectures is built with: Debian's libraries of libkedge, of the release of this machine.
# Sourced after ../engines/install.sh.
source "$ENGINES_SOURCE/debian.sh"
ROOT_RELEASE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
ROOT_PACKAGES=(
  libc6-dev libsqlite3-dev libcurl4-openssl-dev libcjson-dev libssl-dev zlib1g-dev libcmocka-dev
)

# root_home ARCHITECTURE: where the root of this architecture of Debian is.
root_home() { echo "$ENGINES_CACHE/root-$1-$ROOT_RELEASE-$(sha256sum <<<"${ROOT_PACKAGES[*]}" | head -c 12)"; }

# unpack_root ARCHITECTURE FOLDER
unpack_root() {
  fetch_debian "$2/apt" "$1" "$ROOT_RELEASE" "${ROOT_PACKAGES[@]}"
  unpack_debian "$2/apt" "$2/root" './usr/share/doc' './usr/share/man' './usr/share/locale'
}

# install_root ARCHITECTURE: once, into the cache.
install_root() { install_once "$(root_home "$1")" unpack_root "$1"; }
