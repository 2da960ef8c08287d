"""What stands around a function on AWS: the gateway in front of it, and the poller that takes batches out of
the queue for it."""
import http.client
import http.server
import json
import os
import threading
import urllib.parse

from events import Answer, http_event

EVENT_MAX = 6 * 1024 * 1024


class Gateway:
    """An HTTP API on loopback: every request becomes an event. One that is larger than an event may be is refused."""

    def __init__(self, function):
        gateway, self.requests = self, []  # (method, path, bytes of its event)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16

            def log_message(self, *arguments):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                event = json.dumps(http_event(self.command, self.path, body or None, dict(self.headers))).encode()
                gateway.requests.append((self.command, self.path, len(event)))
                if len(event) > EVENT_MAX:
                    content = b'{"message":"Request Entity Too Large"}'
                    self.send_response(413)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    return self.wfile.write(content)
                failed, response = function.invoke(event)
                if failed:
                    self.send_response(502)
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                answer = Answer(response)
                self.send_response(answer.status)
                content = answer.packed
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_OPTIONS = answer

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                """A client that went away."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Queue:
    """One SQS queue by the JSON protocol; ElasticMQ takes requests without a signature."""

    def __init__(self, name, endpoint=None):
        self.endpoint = urllib.parse.urlparse(endpoint or os.environ["AWS_ENDPOINT_URL_SQS"])
        self.name = name
        self.url = self.call("GetQueueUrl", QueueName=name)["QueueUrl"]

    def call(self, action, **parameters):
        connection = http.client.HTTPConnection(self.endpoint.hostname, self.endpoint.port, timeout=60)
        try:
            connection.request("POST", "/", json.dumps(parameters), {
                "X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0"})
            answer = connection.getresponse()
            content = json.loads(answer.read() or b"{}")
            if answer.status != 200:
                raise AssertionError((action, answer.status, content))
            return content
        finally:
            connection.close()

    def on(self, action, **parameters):
        return self.call(action, QueueUrl=self.url, **parameters)

    def send(self, group, body):
        self.on("SendMessage", MessageGroupId=group, MessageBody=body, MessageDeduplicationId=os.urandom(16).hex())

    def count(self):
        """Messages that wait, and those in flight."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.on("GetQueueAttributes", AttributeNames=names)["Attributes"]
        return sum(int(told[name]) for name in names)


def event_of(messages, queue):
    return {"Records": [{
        "messageId": message["MessageId"], "receiptHandle": message["ReceiptHandle"], "body": message["Body"],
        "attributes": message["Attributes"], "messageAttributes": {}, "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:" + queue, "awsRegion": "us-east-1",
    } for message in messages]}


class Poller:
    """Receives, invokes, deletes what was not named as failed; what an invocation loses, the visibility brings back.
    Lambda's poller changes no visibility and knows nothing of what the function did with the queue."""

    def __init__(self, queue, function, visibility_s=2, before=None):
        self.queue, self.function, self.visibility_s, self.before = queue, function, visibility_s, before
        self.batches, self.failed, self.named = 0, 0, []
        self.error = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                self.round()
        except Exception as error:  # shown by stop()
            self.error = error

    def round(self):
        messages = self.queue.on("ReceiveMessage", MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["All"],
                                 VisibilityTimeout=self.visibility_s).get("Messages", [])
        if not messages:
            return
        if self.before:
            self.before(self.batches, messages)
        self.batches += 1
        failed, answer = self.function.invoke(event_of(messages, self.queue.name))
        if failed:
            self.failed += 1
            return
        named = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        self.named += named
        entries = [{"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                   for number, message in enumerate(messages) if message["MessageId"] not in named]
        if entries:
            # One that the function has deleted itself is an error to ElasticMQ, and none to AWS.
            self.queue.on("DeleteMessageBatch", Entries=entries)

    def stop(self):
        self.stopping.set()
        self.thread.join(60)
        if self.error:
            raise self.error
