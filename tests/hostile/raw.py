"""Requests as bytes: several at once on one connection, and what comes back."""
import contextlib
import json
import pathlib
import re
import socket
import sys

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "server"))

HOST = b"Host: 127.0.0.1\r\n"
END = b"\r\n\r\n"
TIMEOUT_S = 30 # shorter than the server waits for another request (KEDGE_SERVER_IDLE_TIMEOUT_S)


class Answer:
    """One response."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def problem(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"


def cut_answer(text, bodiless=False):
    """The first response of `text` and the rest, or None when it is not complete."""
    end = text.find(END)
    if end < 0:
        return None
    lines = text[:end].decode("latin-1").split("\r\n")
    status = int(re.fullmatch(r"HTTP/1\.1 ([0-9]{3}) .*", lines[0]).group(1))
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    if status < 200:
        return cut_answer(text[end + 4:], bodiless)
    size = 0 if bodiless or status == 204 else int(headers["content-length"])
    if len(text) < end + 4 + size:
        return None
    return Answer(status, headers, text[end + 4:end + 4 + size]), text[end + 4 + size:]


def request(method, path, token=None, body=None, headers=b""):
    """`path` and `body` are bytes; `headers` are whole lines."""
    size = b"" if body is None else b"Content-Length: %d\r\n" % len(body)
    known = b"" if token is None else b"Authorization: " + token + b"\r\n"
    return method + b" " + path + b" HTTP/1.1\r\n" + HOST + known + headers + size + b"\r\n" + (body or b"")


class Peer:
    """A connection on which many requests are sent at once."""

    def __init__(self, port):
        self.port = port
        self.raw = socket.create_connection(("127.0.0.1", port), timeout=180)
        self.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, requests):
        """The responses to the requests, in their order. When the server closes the connection with a response, the
        rest is sent on another one."""
        if requests:
            self.raw.sendall(b"".join(requests))
        answers, seen = [], b""
        while len(answers) < len(requests):
            cut = cut_answer(seen)
            if cut:
                answers.append(cut[0])
                seen = cut[1]
                if cut[0].headers.get("connection", "").lower() == "close":
                    self.close()
                    self.__init__(self.port)
                    return answers + self.ask(requests[len(answers):])
                continue
            piece = self.raw.recv(1 << 20)
            if not piece:
                raise AssertionError(f"closed after {len(answers)} of {len(requests)} responses; {seen[:300]!r}")
            seen += piece
        return answers

    def close(self):
        self.raw.close()


def the_answer(port, data):
    """The response to `data`, which is one whole request. Fails when there is another one."""
    seen, cut = b"", None
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as raw:
        raw.sendall(data)
        while not cut:
            piece = raw.recv(1 << 20)
            assert piece, f"closed after {seen[:300]!r}"
            seen += piece
            cut = cut_answer(seen)
        answer, rest = cut
        with contextlib.suppress(OSError): # it has closed the connection already
            raw.shutdown(socket.SHUT_WR)
            while piece := raw.recv(1 << 20):
                rest += piece
    assert rest == b"", rest[:300]
    return answer


def everything(port, data, then_end):
    """All that comes on a connection of its own after `data`, until the server ends it. With `then_end` for data after
    which the server may wait for more: the sending side is closed. The server takes a peer that does so for gone, and
    may end what it still does for it with 503."""
    seen = b""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as raw:
        try:
            raw.sendall(data)
            if then_end:
                raw.shutdown(socket.SHUT_WR)
            while piece := raw.recv(1 << 20):
                seen += piece
        except (ConnectionResetError, BrokenPipeError):
            pass # it ended before it had read all
        except OSError as error:
            if error.errno != 107: # not connected any more
                raise
    return seen


def answers_of(text, bodiless=False):
    """All responses in `text`; fails when it is anything else."""
    answers = []
    while text:
        cut = cut_answer(text, bodiless)
        if not cut:
            raise AssertionError(f"not a response: {text[:300]!r}")
        answers.append(cut[0])
        text = cut[1]
    return answers
