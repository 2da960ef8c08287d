"""Stands between a program and the engines, as IAM stands before AWS: works out of each request which actions on
which resources it is, asks a policy, and forwards it or answers that it is denied.

The rules are those of AWS's service authorization reference: a transaction needs what its writes need, a query of
an index is one of the index's ARN, HeadBucket is s3:ListBucket, a part of an upload s3:PutObject. AWS does not say
whether the condition dynamodb:LeadingKeys is checked with the key of each write of a transaction, or with the keys of
all its puts, deletes or checks together: here both must be allowed."""
import http.client
import http.server
import json
import re
import threading
import urllib.parse

ACCOUNT, REGION = "000000000000", "us-east-1"
SINGLE = {"GetItem": "Key", "DeleteItem": "Key", "PutItem": "Item"}
IN_TRANSACTION = {"Put": ("PutItem", "Item"), "Delete": ("DeleteItem", "Key"),
                  "ConditionCheck": ("ConditionCheckItem", "Key")}


def table_arn(name):
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def stream_arn(table):
    """Each table has one stream."""
    return table_arn(table) + "/stream/one"


def bucket_arn(name):
    return f"arn:aws:s3:::{name}"


def queue_arn(name):
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


# ---- what a request is: (action, resource, leading keys or None) ----


def dynamodb_actions(handler, body):
    operation, request = handler.headers["X-Amz-Target"].rpartition(".")[2], json.loads(body)

    def action(name, table, items):
        return "dynamodb:" + name, table_arn(table), [item["pk"]["S"] for item in items]
    if handler.headers["X-Amz-Target"].startswith("DynamoDBStreams"):
        (table,) = re.findall(r":table/([^/]+)/stream/", request.get("StreamArn") or request["ShardIterator"])
        yield "dynamodb:" + operation, stream_arn(table), None
    elif operation in SINGLE:
        yield action(operation, request["TableName"], [request[SINGLE[operation]]])
    elif operation == "BatchGetItem":
        for table, asked in request["RequestItems"].items():
            yield action(operation, table, asked["Keys"])
    elif operation == "BatchWriteItem":
        for table, writes in request["RequestItems"].items():
            written = [write["PutRequest"]["Item"] if "PutRequest" in write else write["DeleteRequest"]["Key"]
                       for write in writes]
            yield action(operation, table, written)
    elif operation == "TransactWriteItems":
        together = {}
        for write in request["TransactItems"]:
            ((verb, what),) = write.items()
            name, member = IN_TRANSACTION[verb]
            together.setdefault((name, what["TableName"]), []).append(what[member])
            yield action(name, what["TableName"], [what[member]])
        for (name, table), items in together.items():
            yield action(name, table, items)
    elif operation == "Query":
        name, value = re.match(r"(#\w+) = (:\w+)", request["KeyConditionExpression"]).groups()
        index = request.get("IndexName")
        assert request["ExpressionAttributeNames"][name] == (index or "pk"), request
        leading = [request["ExpressionAttributeValues"][value]["S"]]
        yield "dynamodb:Query", table_arn(request["TableName"]) + (f"/index/{index}" if index else ""), leading
    else:
        yield "dynamodb:" + operation, table_arn(request["TableName"]), None


def s3_actions(handler, body):
    path, _, query = handler.path.partition("?")
    bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
    query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    arn = bucket_arn(bucket) + ("/" + key if key else "")
    if not key and "lifecycle" in query:
        action = {"PUT": "Put", "GET": "Get"}[handler.command] + "LifecycleConfiguration"
    elif not key:
        action = {"PUT": "CreateBucket", "GET": "ListBucket", "HEAD": "ListBucket"}[handler.command]
        assert handler.command != "GET" or query.get("list-type") == "2", handler.path
    elif "tagging" in query:
        action = {"PUT": "Put", "GET": "Get", "DELETE": "Delete"}[handler.command] + "ObjectTagging"
    elif "uploadId" in query and handler.command == "DELETE":
        action = "AbortMultipartUpload"
    else:
        action = {"PUT": "PutObject", "POST": "PutObject", "GET": "GetObject", "HEAD": "GetObject",
                  "DELETE": "DeleteObject"}[handler.command]
        signed = {name for name in query if name.startswith("X-Amz-")}  # an upload that was granted to somebody
        assert not set(query) - signed - {"uploads", "uploadId", "partNumber", "x-id"}, handler.path
    yield "s3:" + action, arn, None
    if handler.headers.get("x-amz-tagging"):
        yield "s3:PutObjectTagging", arn, None


def sqs_actions(handler, body):
    operation, request = handler.headers["X-Amz-Target"].rpartition(".")[2], json.loads(body)
    name = request["QueueName"] if "QueueName" in request else request["QueueUrl"].rpartition("/")[2]
    yield "sqs:" + operation.removesuffix("Batch"), queue_arn(name), None


DENIED = {
    "dynamodb": (400, b'{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized"}'),
    "s3": (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
    "sqs": (403, b'{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized"}'),
}
ACTIONS = {"dynamodb": dynamodb_actions, "s3": s3_actions, "sqs": sqs_actions}


# ---- the gate ----


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *arguments):
        pass

    def handle_request(self):
        gate, service = self.server.gate, self.server.service
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            granted = all([gate.decide(*asked) for asked in ACTIONS[service](self, body)])
        except Exception as error:
            gate.denied.append(f"{self.command} {self.path} is not understood: {error!r}")
            granted = False
        status, headers, content = self.forward(body) if granted else (DENIED[service][0], [], DENIED[service][1])
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "keep-alive"):
                self.send_header(name, value)
        length = dict((name.lower(), value) for name, value in headers).get("content-length")
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def forward(self, body):
        """As it came: the signature covers the name of the host."""
        connection = http.client.HTTPConnection(self.server.engine, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """A program that ended has left its connections."""


class Gate:
    """Before the engines at `engines` ({service: "host:port"}); `policy` None lets everything through."""

    def __init__(self, engines, policy=None):
        self.policy, self.lock = policy, threading.Lock()
        self.requests, self.denied, self.servers = set(), [], {}  # requests: what Policy.allows takes
        for service, engine in engines.items():
            server = self.servers[service] = Server(("127.0.0.1", 0), Handler)
            server.gate, server.service, server.engine = self, service, engine
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def decide(self, action, resource, leading):
        request = action, resource, None if leading is None else tuple(leading)
        with self.lock:
            self.requests.add(request)
            granted = self.policy is None or self.policy.allows(*request)
            if not granted:
                self.denied.append(f"{action} on {resource} {leading or ''}")
            return granted

    def actions(self):
        return {action for action, _, _ in self.requests}

    def variables(self):
        return {f"AWS_ENDPOINT_URL_{service.upper()}": self.url(service) for service in self.servers}

    def url(self, service):
        return f"http://127.0.0.1:{self.servers[service].server_address[1]}"

    def stop(self):
        for server in self.servers.values():
            server.shutdown()
            server.server_close()
