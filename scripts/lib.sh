# Shared by the scripts of this folder: source it. Bash 4 or newer.
set -euo pipefail
KEDGE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$KEDGE_ROOT"

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
now_ms() { date +%s%3N; }

# Sets `cpu_ms` to the processor time, in milliseconds, of this shell and of all processes that it has waited for.
read_cpu() {
  local stat
  read -r stat <"/proc/$BASHPID/stat"
  set -- ${stat##*) }
  cpu_ms=$(((${12} + ${13} + ${14} + ${15}) * 10)) # the kernel counts hundredths of a second
}

# What libkedge is built with, and what the project is built, tested and checked with; all from Debian.
KEDGE_SDK_PACKAGES=(
  gcc cmake ninja-build pkg-config libsqlite3-dev libcurl4-openssl-dev libcjson-dev libssl-dev zlib1g-dev
)
KEDGE_PACKAGES=(
  "${KEDGE_SDK_PACKAGES[@]}" g++ patch python3 openssl
  libmicrohttpd-dev libgnutls28-dev librhonabwy-dev libjansson-dev libexpat1-dev libcmocka-dev clang-format
)

# Installs the packages that this machine lacks. Nothing to do costs some milliseconds.
install_packages() {
  local missing=() package present
  present=$(dpkg-query -W -f ' ${Package}:${db:Status-Status} ' "$@" 2>/dev/null) || true
  for package in "$@"; do
    case $present in *" $package:installed "*) ;; *) missing+=("$package") ;; esac
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "these packages are missing, and only root can install them: ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # Waits for what installs at the same time: flock for Kedge's other scripts, the timeout of DPkg for any program.
  # "apt-get update" has no such timeout.
  (
    flock 9
    apt-get -o Acquire::Retries=3 update -qq >/dev/null
    apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  ) 9>/run/kedge-packages.lock
}

# Node and npm, for the test of the npm package; a node that is not Debian's will do as well.
install_node() {
  command -v node >/dev/null && command -v npm >/dev/null || install_packages nodejs npm
}

# What the window of examples/desktop is built with, and the screen and the tools of its test.
KEDGE_DESKTOP_PACKAGES=(
  libgtk-4-dev librsvg2-common adwaita-icon-theme fonts-cantarell
  xvfb xdotool imagemagick dbus dbus-daemon at-spi2-core python3-gi gir1.2-atspi-2.0
)
# install_desktop PRESET: a build that was configured without GTK is configured again.
install_desktop() {
  install_packages "${KEDGE_DESKTOP_PACKAGES[@]}"
  local ninja=build/$1/build.ninja
  [ ! -e "$ninja" ] || grep -q kedge-desktop "$ninja" || rm "$ninja"
}

# build_preset PRESET [TARGET…]: configures when needed and builds into build/PRESET, one script at a time.
build_preset() {
  local preset=$1 log lock
  shift
  mkdir -p "build/$preset"
  exec {lock}>"build/$preset/build.lock"
  flock "$lock"
  log="build/$preset/build.log"
  if [ ! -f "build/$preset/build.ninja" ]; then
    cmake --preset "$preset" >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "cmake failed"; }
  fi
  ninja -C "build/$preset" "$@" 2>&1 | tee "$log" | show_progress || { grep -v '^\[' "$log" | tail -n 60 >&2; die "the build failed; see $log"; }
  say "built build/$preset ($(tail -n 1 "$log" | head -c 100))"
  exec {lock}>&-
}

# Of ninja's output only how far it has come: on a terminal in one line, elsewhere at each tenth of a build that is not
# small.
show_progress() {
  local line tenth=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    if [ -t 2 ]; then
      printf '\r   %s of %s ' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    elif [ "${BASH_REMATCH[2]}" -ge 100 ] && [ $((BASH_REMATCH[1] * 10 / BASH_REMATCH[2])) -gt "$tenth" ]; then
      tenth=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
      printf '   %s of %s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# Every process that a script started ends with it, by pid, and so does its stack.
KEDGE_PIDS=()
KEDGE_TMP=
STACK_FOLDER=
cleanup() {
  local status=$? pid
  trap - EXIT
  for pid in "${KEDGE_PIDS[@]:-}"; do
    [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null || true
  done
  for pid in "${KEDGE_PIDS[@]:-}"; do
    [ -n "$pid" ] && wait "$pid" 2>/dev/null || true
  done
  if [ -n "$STACK_FOLDER" ]; then
    scripts/stack down --folder "$STACK_FOLDER" >/dev/null || status=1
    [ "$status" = 0 ] || { echo "the logs of the stack are in $STACK_FOLDER/logs" >&2; KEDGE_TMP=; }
  fi
  [ -z "$KEDGE_TMP" ] || rm -rf "$KEDGE_TMP"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# A fresh folder that goes with the script.
make_tmp() { KEDGE_TMP=$(mktemp -d "${TMPDIR:-/tmp}/kedge.XXXXXX"); }

# start_server LOG ARGUMENT…: starts kedge-server on a free loopback port and waits for its ready line.
# Sets SERVER_PID and SERVER_URL. SERVER_UNDER, when set, is the command that runs it.
SERVER_UNDER=()
start_server() {
  local log=$1
  shift
  : >"$log"
  "${SERVER_UNDER[@]}" build/release/bin/kedge-server --listen "${SERVER_LISTEN:-127.0.0.1:0}" "$@" >"$log" 2>&1 &
  SERVER_PID=$!
  KEDGE_PIDS+=("$SERVER_PID")
  local tries=0
  until SERVER_URL=$(sed -n 's/^kedge-server ready on \(http[^ ]*\).*/\1/p' "$log") && [ -n "$SERVER_URL" ]; do
    kill -0 "$SERVER_PID" 2>/dev/null || { cat "$log" >&2; die "kedge-server ended"; }
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { cat "$log" >&2; die "kedge-server is not ready after 10 s"; }
    read -rt 0.05 <> <(:) || true
  done
}

stop_process() {
  kill -TERM "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

# start_stack FOLDER OPTION…: a stack that ends with the script; what an earlier script left there ends first.
start_stack() {
  STACK_FOLDER=$1
  shift
  scripts/stack down --folder "$STACK_FOLDER" >/dev/null
  scripts/stack up --folder "$STACK_FOLDER" "$@"
}

stop_stack() {
  scripts/stack down --folder "$STACK_FOLDER" >/dev/null
  STACK_FOLDER=
}
