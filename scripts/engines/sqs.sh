# ElasticMQ, which speaks SQS, as an engine of a stack.
SQS_PROCESSES=(sqs) SQS_PORTS=(sqs)

sqs_start() {
  local port data=$STACK/data/sqs keep=false
  port=$(port_of sqs)
  [ "$STACK_STORE" = memory ] || keep=true
  mkdir -p "$data"
  cat >"$data/elasticmq.conf" <<CONFIGURATION
include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = $port, context-path = "" }
rest-sqs { enabled = true, bind-hostname = "127.0.0.1", bind-port = $port, sqs-limits = strict }
rest-stats { enabled = false }
queues-storage { enabled = $keep, path = "$data/queues.conf" }
messages-storage { enabled = $keep, uri = "jdbc:h2:$data/messages" }
queues { }
CONFIGURATION
  spawn sqs java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    "-Dconfig.file=$data/elasticmq.conf" -cp "$ELASTICMQ_HOME/lib/*" org.elasticmq.server.Main
  wait_healthy 60 sqs_answers sqs
}
sqs_answers() { http_answers "$(port_of sqs)" /health 200; }
