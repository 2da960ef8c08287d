# The processes of a stack, each known by a name, its id and its start time, so that a number which the system
# has given to another process since is never taken for ours. Sourced after ../lib.sh; $STACK is the stack's folder:
#   run/NAME.pid    "PID START"        run/NAME.port   the port it serves on
#   logs/NAME.log   what it printed   data/NAME/      what it keeps
STACK_POLL_S=0.1

# Sets START_TIME; to nothing for a process that is gone or a zombie.
read_start_time() {
  local stat
  START_TIME=
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  set -- ${stat##*) }
  [ "$1" = Z ] || START_TIME=${20}
}

pid_of() { cut -d' ' -f1 "$STACK/run/$1.pid" 2>/dev/null || echo -; }
port_of() { cat "$STACK/run/$1.port"; }

is_alive() {
  local pid started
  { read -r pid started <"$STACK/run/$1.pid"; } 2>/dev/null || return 1
  read_start_time "$pid"
  [ -n "$started" ] && [ "$START_TIME" = "$started" ]
}

# spawn NAME COMMAND…: starts it in a session of its own; it outlives this script.
spawn() {
  local name=$1 pid
  shift
  setsid "$@" >>"$STACK/logs/$name.log" 2>&1 </dev/null {STACK_LOCK}>&- &
  pid=$!
  disown "$pid" # nobody tells of its end but status
  read_start_time "$pid"
  echo "$pid $START_TIME" >"$STACK/run/$name.pid"
}

# wait_healthy SECONDS CHECK NAME…: until the command CHECK succeeds; fails at the deadline, and at once when one
# of the named processes has ended.
wait_healthy() {
  local deadline=$((SECONDS + $1)) check=$2 name
  shift 2
  until $check; do
    for name in "$@"; do
      is_alive "$name" || { tell "$name ended"; show_log "$name"; return 1; }
    done
    [ "$SECONDS" -lt "$deadline" ] || { tell "$1 is not healthy in time"; show_log "$1"; return 1; }
    sleep "$STACK_POLL_S"
  done
}
tell() { printf '%s\n' "$*" >&2; }
show_log() { tail -n 20 "$STACK/logs/$1.log" | sed 's/^/    /' >&2; }

# stop_processes SECONDS NAME…: in that order: TERM, and KILL when that much time has not been enough.
stop_processes() {
  local seconds=$1 name pid deadline
  shift
  for name in "$@"; do
    if is_alive "$name"; then
      pid=$(pid_of "$name")
      kill -TERM "$pid" 2>/dev/null || true
      deadline=$((SECONDS + seconds))
      while is_alive "$name"; do
        [ "$SECONDS" -lt "$deadline" ] || kill -KILL "$pid" 2>/dev/null || true
        sleep "$STACK_POLL_S"
      done
    fi
    rm -f "$STACK/run/$name.pid"
  done
}

# http_answers PORT PATH STATUS: one request on loopback, past any proxy of the environment.
http_answers() {
  local status
  status=$(
    exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$1" || exit 0
    printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
    read -rt 2 -u 3 _ status _ && echo "$status"
  ) || true
  [ "$status" = "$3" ]
}

# free_ports COUNT: that many different ports that nothing listens on. Another may take one before its engine
# does; then the engine fails to start and is started again on another.
free_ports() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets), sep="\n")
PYTHON
}
