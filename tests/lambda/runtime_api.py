"""Where tests run kedge-lambda: a stand-in for Lambda, or AWS's own emulator when RIE_BIN names it.

The stand-in has Lambda's two interfaces on loopback: the Runtime API for the program (next, response,
error, init error), and the endpoint that invokes it. One invocation at a time; one that takes too
long, or whose program ends, fails, and the next one starts the program anew."""
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid

RIE = os.environ.get("RIE_BIN")
WHICH = f"AWS's runtime interface emulator, {RIE}" if RIE else "our stand-in of the Runtime API"
INVOKE = "/2015-03-31/functions/function/invocations"
RUNTIME = "/2018-06-01/runtime/"
PRESET = os.environ.get("KEDGE_TEST_PRESET", "")
SLOWER = {"asan": 3, "tsan": 6}.get(PRESET, 1)
PAYLOAD_MAX = 6 * 1024 * 1024 + 100  # what Lambda takes as an event and as an answer


class Invocation:
    def __init__(self, event, deadline):
        self.event, self.deadline = event, deadline
        self.id = str(uuid.uuid4())
        self.answer = self.error = None
        self.taken = False


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body leave together

    def log_message(self, *arguments):
        pass

    def reply(self, status, body=b"", headers=()):
        try:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the program ended meanwhile
            self.close_connection = True

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        invocation = self.server.owner.next() if self.path == RUNTIME + "invocation/next" else None
        if invocation is None:
            self.close_connection = True
            return self.reply(404)
        self.reply(200, invocation.event, [
            ("Content-Type", "application/json"), ("Lambda-Runtime-Aws-Request-Id", invocation.id),
            ("Lambda-Runtime-Deadline-Ms", str(int(invocation.deadline * 1000))),
            ("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:function")])

    def do_POST(self):
        owner, body = self.server.owner, self.body()
        if self.path == INVOKE:
            failed, payload = owner.run(body)
            return self.reply(200, payload, [("X-Amz-Function-Error", "Unhandled")] if failed else [])
        self.reply(owner.take(self.path, self.headers, body), b'{"status":"OK"}')


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """A program that was killed has reset its connection."""


class StandIn:
    def __init__(self, command, environment, timeout_s, log):
        self.command, self.environment, self.timeout_s, self.log = command, environment, timeout_s, log
        self.turn = threading.Lock()
        self.changed = threading.Condition()
        self.current = self.process = self.init_error = None
        self.stopping = False
        self.started = 0
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.owner = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    # ---- the program's side ----

    def next(self):
        with self.changed:
            started = self.started
            while not (self.current and not self.current.taken):
                # What an earlier program asked for is nobody's.
                if self.stopping or started != self.started:
                    return None
                self.changed.wait(1)
            if started != self.started:
                return None
            self.current.taken = True
            return self.current

    def take(self, path, headers, body):
        with self.changed:
            if path == RUNTIME + "init/error":
                self.init_error = body
                self.changed.notify_all()
                return 202
            match = re.fullmatch(RUNTIME + "invocation/([^/]+)/(response|error)", path)
            current = self.current
            if not match or not current or current.id != match[1] or current.answer or current.error:
                return 400
            if match[2] == "response" and len(body) > PAYLOAD_MAX:
                return 413
            if match[2] == "error" and not headers.get("Lambda-Runtime-Function-Error-Type"):
                return 400
            setattr(current, "answer" if match[2] == "response" else "error", body)
            self.changed.notify_all()
            return 202

    # ---- the caller's side ----

    def start(self):
        self.init_error = None
        self.started += 1
        self.process = subprocess.Popen(
            self.command, stdout=self.log, stderr=self.log,
            env={**self.environment, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.port}"})

    def failure(self, kind, message):
        return True, json.dumps({"errorType": kind, "errorMessage": message}).encode()

    def run(self, event):
        if len(event) > PAYLOAD_MAX:
            return self.failure("RequestEntityTooLarge", "the event is too large")
        with self.turn:
            invocation = Invocation(event, time.time() + self.timeout_s)
            with self.changed:
                self.current = invocation
                if self.process is None or self.process.poll() is not None:
                    self.start()
                self.changed.notify_all()
                while True:
                    if invocation.answer is not None:
                        return False, invocation.answer
                    if invocation.error is not None:
                        return True, invocation.error
                    if self.process.poll() is not None:
                        return True, self.init_error or self.failure("Runtime.ExitError", "it ended")[1]
                    if time.time() > invocation.deadline:
                        self.end()
                        return self.failure("Sandbox.Timedout", "it took too long")
                    self.changed.wait(0.05)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self):
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        self.end()
        self.server.shutdown()
        self.server.server_close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Emulator:
    """AWS's emulator: it starts the program by itself."""

    def __init__(self, command, environment, timeout_s, log):
        self.port, runtime = free_port(), free_port()
        self.process = subprocess.Popen(
            [RIE, "--runtime-interface-emulator-address", f"127.0.0.1:{self.port}",
             "--runtime-api-address", f"127.0.0.1:{runtime}", *command],
            stdout=log, stderr=log, env={**environment, "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout_s)})
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Function:
    """A running function; `command` is its program, `variables` what it is configured with."""

    def __init__(self, command, variables, timeout_s=30):
        self.log_file = tempfile.NamedTemporaryFile()
        inherited = {name: value for name, value in os.environ.items()
                     if (not name.startswith("KEDGE_") or name == "KEDGE_AWS_ACTIONS") and name != "SSL_CERT_FILE"}
        kind = Emulator if RIE else StandIn
        self.host = kind([str(word) for word in command], {**inherited, **variables},
                         timeout_s * SLOWER, self.log_file)

    def invoke(self, event, timeout_s=120):
        """(whether it failed, what it answered)."""
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.host.port, timeout=timeout_s * SLOWER)
        try:
            connection.request("POST", INVOKE, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            failed = answer.status != 200 or answer.headers.get("X-Amz-Function-Error") is not None
            try:
                content = json.loads(content)
            except ValueError:
                pass
            return failed or (isinstance(content, dict) and "errorType" in content), content
        finally:
            connection.close()

    @property
    def pid(self):
        return self.host.process.pid

    def signal(self, number):
        os.kill(self.pid, number)

    def logged(self):
        return pathlib.Path(self.log_file.name).read_text(errors="replace")

    def stop(self):
        self.host.stop()
        self.log_file.close()
