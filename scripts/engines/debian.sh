# Packages of another Debian, or of another architecture, unpacked into a folder and never installed: no script of a package
# runs, the machine's own lists and packages stay as they are, and nothing is mounted on the host. apt checks that Debian
# signed what it fetches. Sourced after install.sh.

# fetch_debian FOLDER ARCHITECTURE RELEASE PACKAGE…: the packages and what they depend on, into FOLDER/cache/archives, by a
# private root of apt.
fetch_debian() {
  local apt=$1 architecture=$2 release=$3 mirror
  shift 3
  mirror=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' | awk '$2 == "Debian" { print $1; exit }')
  [ -n "$mirror" ] || die "apt knows no mirror of Debian"
  mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial "$apt"/etc/apt.conf.d "$apt"/etc/preferences.d
  : >"$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" \
    >"$apt/etc/sources.list"
  cat >"$apt/apt.conf" <<CONF
Dir "$apt"; Dir::State "state"; Dir::State::status "$apt/status"; Dir::Cache "cache"; Dir::Etc "etc";
Dir::Etc::sourcelist "sources.list"; Dir::Etc::sourceparts "-"; APT::Sandbox::User "$(id -un)";
APT::Architecture "$architecture"; APT::Architectures { "$architecture"; };
APT::Install-Recommends "false"; Acquire::Languages "none";
CONF
  APT_CONFIG=$apt/apt.conf apt-get -qq -o Acquire::Retries=3 update || die "apt cannot read $release of $architecture"
  APT_CONFIG=$apt/apt.conf apt-get -qq -y -o Acquire::Retries=3 --download-only install "$@" >/dev/null ||
    die "apt cannot fetch $*"
}

# unpack_debian FOLDER ROOT PATTERN…: what fetch_debian brought, into ROOT, but for files that match a pattern. FOLDER goes.
unpack_debian() {
  local apt=$1 root=$2 each
  shift 2
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
  for each in bin sbin lib lib64; do ln -s "usr/$each" "$root/$each"; done
  printf '%s\n' "$@" >"$apt/left_out"
  for each in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$each" |
      tar -x -C "$root" -X "$apt/left_out" --no-same-owner --keep-directory-symlink || die "cannot unpack $each"
  done
  rm -rf "$apt"
}
