# kedge-server on the engines of a stack, with the mutators of the notes example.
SERVER_PROCESSES=(server) SERVER_PORTS=()
KEDGE_TABLE=kedge KEDGE_BUCKET=kedge KEDGE_QUEUE=kedge.fifo

server_start() {
  local port=$STACK_PORT
  [ "$port" != 0 ] || port=$(free_ports 1)
  [ -e "$STACK/run/server.port" ] || echo "$port" >"$STACK/run/server.port"
  eval "$(environment)"
  spawn server build/release/bin/kedge-server --table "$KEDGE_TABLE" --bucket "$KEDGE_BUCKET" \
    --queue "$KEDGE_QUEUE" --create --open --listen "127.0.0.1:$(port_of server)" \
    --mutators build/release/lib/libnotes.so
  wait_healthy 30 server_answers server
}
server_answers() { http_answers "$(port_of server)" /v1/health 200; }

server_variables() {
  echo "export KEDGE_URL=http://127.0.0.1:$(port_of server)"
  echo "export KEDGE_TABLE=$KEDGE_TABLE KEDGE_BUCKET=$KEDGE_BUCKET KEDGE_QUEUE=$KEDGE_QUEUE"
}
