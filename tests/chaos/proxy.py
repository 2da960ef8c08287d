"""A proxy in front of one AWS service that breaks what passes: each fault is drawn by a seeded generator, and counted
when it took effect. Requests are passed on as they came, Host header included, so that signatures still hold.

  every service  reset (before it was passed on), lost (done, and no answer), cut (half an answer), late
  dynamodb       throttled, failed (500, not done), failed after (500, but done), cancelled (a transaction, by
                 another one or by a throttle), short page
  s3             slow down (503), conflict (409 to a conditional put)
  sqs            throttled, twice (a message is sent again under another deduplication id)"""
import asyncio
import collections
import json
import random
import threading
import urllib.parse

LATE_S = 0.3
COMMON = ["reset", "lost", "cut", "late"]
KINDS = {
    "dynamodb": [*COMMON, "throttled", "failed", "failed after", "cancelled", "short page"],
    "s3": [*COMMON, "slow down", "conflict"],
    "sqs": [*COMMON, "throttled", "twice"],
}
# Reasons for which a transaction is cancelled that say nothing about what is stored.
PASSING = ["TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"]
KEY = ["pk", "sk"]  # the attributes of a record's key
JSON_ERROR = "com.amazonaws.dynamodb.v20120810#"


class Message:
    """A request or an answer: its first line, its headers as they came, its body."""

    def __init__(self, head, body=b""):
        self.head, self.body = head, body
        lines = head.decode("latin-1").split("\r\n")
        self.first = lines[0]
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.fields[name.strip().lower()] = value.strip()

    def bytes(self):
        return self.head + self.body

    def action(self):
        """What is asked of DynamoDB or SQS, such as DynamoDB_20120810.PutItem."""
        return self.fields.get("x-amz-target", "")

    def with_body(self, body):
        lines = [line for line in self.head.decode("latin-1").split("\r\n")
                 if not line.lower().startswith("content-length:")]
        lines.insert(1, f"Content-Length: {len(body)}")
        return Message("\r\n".join(lines).encode("latin-1"), body)


async def read_chunks(reader):
    body = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        piece = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
        body += line + piece
        if len(piece) == 2:
            return body


async def read_message(reader, bodiless=False):
    head = await reader.readuntil(b"\r\n\r\n")
    message = Message(head)
    if bodiless or " 204 " in message.first or " 304 " in message.first:
        return message
    if message.fields.get("transfer-encoding", "").lower() == "chunked":
        message.body = await read_chunks(reader)
    else:
        message.body = await reader.readexactly(int(message.fields.get("content-length", 0)))
    return message


def answer_of(status, content_type, body):
    body = body.encode()
    head = (f"HTTP/1.1 {status} Fault\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
            f"Connection: close\r\n\r\n")
    return Message(head.encode(), body)


class Proxy:
    def __init__(self, service, upstream, rate, seed):
        self.service, self.rate = service, rate
        self.upstream = urllib.parse.urlsplit(upstream)
        self.random = random.Random(f"{seed} {service}")
        self.on = False
        self.requests = 0
        self.counts = collections.Counter()
        self.after_transaction = None  # called once, when the next transaction is done and nobody knows it yet
        self.tasks = set()  # the event loop itself keeps only weak references to them
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        self.ready.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0, limit=1 << 24)
        self.port = server.sockets[0].getsockname()[1]
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self.stopping.wait()
        server.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()

    async def handle(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        upstream = None
        try:
            while True:
                request = await read_message(reader)
                self.requests += 1
                if upstream is None:
                    upstream = await asyncio.open_connection(self.upstream.hostname, self.upstream.port,
                                                             limit=1 << 24)
                answer = await self.pass_on(request, *upstream)
                if answer is None:
                    break
                writer.write(answer.bytes())
                await writer.drain()
                if answer.fields.get("connection", "").lower() == "close":
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # one of the two sides has gone, or all ends
        finally:
            writer.close()
            if upstream is not None:
                upstream[1].close()

    # ---- one request ----

    def draw(self, request):
        """A fault that fits the request, or None."""
        # Transactions and sends are few, and have faults of their own.
        action = request.action()
        rare = action.endswith(("TransactWriteItems", "SendMessage"))
        if not self.on or self.random.random() >= self.rate * (5 if rare else 1):
            return None
        fits = {
            "cancelled": action.endswith("TransactWriteItems"),
            "short page": action.endswith("Query"),
            "conflict": request.first.startswith("PUT") and "if-none-match" in request.fields,
            "twice": action.endswith("SendMessage"),
        }
        kinds = [kind for kind in KINDS[self.service] if fits.get(kind, True)]
        # A kind that has not been seen yet comes first: some fit few requests.
        return self.random.choice([kind for kind in kinds if not self.counts[kind]] or kinds)

    async def forward(self, request, reader, writer):
        writer.write(request.bytes())
        await writer.drain()
        answer = await read_message(reader, bodiless=request.first.startswith("HEAD "))
        if request.action().endswith("TransactWriteItems") and " 200 " in answer.first:
            await self.wait_until_stored(request, reader, writer)
            if self.after_transaction:
                call, self.after_transaction = self.after_transaction, None
                call()
        return answer

    async def wait_until_stored(self, transaction, reader, writer):
        """DynamoDB Local answers a transaction some milliseconds before it commits it, and forgets it when it is
        killed in between; AWS does not. What it answers to the next write, it has committed, and the transaction
        before it."""
        key = {name: {"S": "nobody"} for name in KEY}
        table = next(iter(json.loads(transaction.body)["TransactItems"][0].values()))["TableName"]
        head = transaction.head.replace(b"TransactWriteItems", b"DeleteItem")
        write = Message(head).with_body(json.dumps({"TableName": table, "Key": key}).encode())
        writer.write(write.bytes())
        await writer.drain()
        answer = await read_message(reader)
        assert " 200 " in answer.first, answer.bytes()

    async def pass_on(self, request, reader, writer):
        """The answer for the client; None: its connection is cut."""
        kind = self.draw(request)
        if kind is None:
            return await self.forward(request, reader, writer)
        self.counts[kind] += 1
        refused = self.refusal(kind, request)
        if kind == "reset":
            return None
        if refused is not None and kind != "failed after":
            return refused
        answer = await self.forward(self.changed(kind, request), reader, writer)
        if kind == "failed after":
            return refused
        if kind == "lost":
            return None
        if kind == "twice":
            await self.forward(self.again(request), reader, writer)
        if kind == "late":
            await asyncio.sleep(LATE_S)
        if kind == "cut":
            whole = answer.bytes()
            cut = Message(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            cut.head, cut.body = whole[:len(whole) // 2], b""
            cut.fields = {"connection": "close"}
            return cut
        return answer

    def refusal(self, kind, request):
        if kind == "throttled" and self.service == "dynamodb":
            code = JSON_ERROR + "ProvisionedThroughputExceededException"
            return answer_of(400, "application/x-amz-json-1.0", json.dumps({"__type": code, "message": "a fault"}))
        if kind == "throttled":
            return answer_of(400, "application/x-amz-json-1.0",
                             json.dumps({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "a fault"}))
        if kind in ("failed", "failed after"):
            return answer_of(500, "application/x-amz-json-1.0",
                             json.dumps({"__type": JSON_ERROR + "InternalServerError", "message": "a fault"}))
        if kind == "cancelled":
            count = len(json.loads(request.body)["TransactItems"])
            code = self.random.choice(PASSING)
            reasons = [{"Code": code, "Message": "a fault"}] + [{"Code": "None"}] * (count - 1)
            return answer_of(400, "application/x-amz-json-1.0",
                             json.dumps({"__type": JSON_ERROR + "TransactionCanceledException",
                                         "message": "a fault", "CancellationReasons": reasons}))
        if kind == "slow down":
            return answer_of(503, "application/xml",
                             "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>a fault</Message></Error>")
        if kind == "conflict":
            return answer_of(409, "application/xml", "<?xml version='1.0'?><Error><Code>ConditionalRequestConflict"
                                                     "</Code><Message>a fault</Message></Error>")
        return None

    def changed(self, kind, request):
        if kind != "short page":
            return request
        body = json.loads(request.body)
        body["Limit"] = 1
        return request.with_body(json.dumps(body).encode())

    def again(self, request):
        body = json.loads(request.body)
        body["MessageDeduplicationId"] = f"again-{self.random.getrandbits(64):x}"
        return request.with_body(json.dumps(body).encode())
