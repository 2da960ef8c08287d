"""The two front ends, asked with the same raw requests: kedge-server over HTTP, kedge-lambda with the events that API
Gateway makes of them. Each on a folder, or on the engines that the environment names, as scripts/stack tells it."""
import os
import pathlib
import secrets
import sys

sys.dont_write_bytecode = True
from raw import Answer, Peer
from peers import Server

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lambda"))
import events
from runtime_api import Function

ENGINES = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"]


def engines_are_there():
    return all(os.environ.get(name) for name in ENGINES)


def stores(root, on_engines):
    name = "kedge-hostile-" + secrets.token_hex(6)
    return ["--table", name, "--bucket", name] if on_engines else ["--data", str(root / "data")]


class ServerDoor:
    def __init__(self, root, on_engines):
        unlimited = [part for name in ("requests_per_second", "bytes_per_second", "tickets", "event_streams")
                     for scope in ("user", "organization") for part in ("--budget", f"{scope}_{name}=0")]
        self.server = Server(stores(root, on_engines), "--jwks", str(root / "keys.json"), "--issuer", "i", "--audience",
                             "kedge", "--new-clients-per-minute", "0", *unlimited, *["--create"] * on_engines)
        self.peer = Peer(self.server.port)

    def ask(self, requests):
        return self.peer.ask(requests)

    def stop(self):
        self.peer.close()
        return self.server.stop() == 0, self.server.logged()


class LambdaDoor:
    def __init__(self, root, on_engines, program):
        options = stores(root, on_engines)
        if on_engines: # the server makes them; the function does not
            made = Server(options, "--open", "--create")
            assert made.stop() == 0, made.logged()
        names = {"--table": "KEDGE_TABLE", "--bucket": "KEDGE_BUCKET", "--data": "KEDGE_DATA"}
        if not on_engines:
            pathlib.Path(options[1]).mkdir()
        places = {names[option]: value for option, value in zip(options[::2], options[1::2])}
        self.function = Function([program], {**places, "KEDGE_JWKS": (root / "keys.json").read_text(), "KEDGE_ISSUER": "i",
                                             "KEDGE_AUDIENCE": "kedge"})

    def ask(self, requests):
        return [self.ask_one(request) for request in requests]

    def ask_one(self, request):
        head, _, body = request.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        headers.pop("Content-Length", None)
        # The path comes as it was sent, as from a function's URL.
        failed, response = self.function.invoke(events.http_event(method, path, body or None, headers, encoded_path=True))
        assert not failed, (request, response, self.function.logged())
        answer = events.Answer(response)
        return Answer(answer.status, answer.headers, answer.body)

    def stop(self):
        logged = self.function.logged()
        self.function.stop()
        return '"status":500' not in logged, logged
