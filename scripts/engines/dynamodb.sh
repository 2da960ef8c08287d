# DynamoDB Local as an engine of a stack. It listens on every interface and has no option against it.
DYNAMODB_PROCESSES=(dynamodb) DYNAMODB_PORTS=(dynamodb)

dynamodb_start() {
  local home=$DYNAMODB_HOME/engine keep=(-inMemory)
  if [ "$STACK_STORE" = disk ]; then
    mkdir -p "$STACK/data/dynamodb"
    keep=(-dbPath "$STACK/data/dynamodb")
  fi
  mkdir -p "$STACK/data/java" # where it unpacks SQLite, which it leaves there when it is killed
  spawn dynamodb java -Xmx768m -XX:+UseSerialGC "-Djava.io.tmpdir=$STACK/data/java" \
    "-Djava.library.path=$home/DynamoDBLocal_lib" -jar "$home/DynamoDBLocal.jar" \
    -disableTelemetry -sharedDb "${keep[@]}" -port "$(port_of dynamodb)"
  wait_healthy 60 dynamodb_answers dynamodb
}
dynamodb_answers() { http_answers "$(port_of dynamodb)" / 400; }
