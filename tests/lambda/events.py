"""Events as AWS makes them, the answers undone, bearer tokens, and bodies of the wire."""
import base64
import gzip
import json
import subprocess
import time
import urllib.parse

ISSUER, AUDIENCE = "https://issuer.example.com/", "kedge"


def http_event(method, path, body=None, headers=None, stage="$default", encoded_path=False):
    """What API Gateway makes of a request: text types stay text, all else is base64. As AWS documents it, it goes
    by the Content-Type alone: gzip that calls itself JSON is taken for text, and is damaged."""
    path, _, query = path.partition("?")
    headers = {name.lower(): value for name, value in (headers or {}).items()}
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        headers.setdefault("content-type", "application/json")
    kind = headers.get("content-type", "").partition(";")[0]
    text = kind.startswith("text/") or kind in ("application/json", "application/xml", "application/javascript")
    domain = "x.lambda-url.eu-central-1.on.aws" if encoded_path else "x.execute-api.eu-central-1.amazonaws.com"
    event = {
        "version": "2.0", "routeKey": "$default", "cookies": ["unused=1"], "headers": headers,
        "rawPath": ("" if stage == "$default" else "/" + stage) + (path if encoded_path else urllib.parse.unquote(path)),
        "rawQueryString": query, "isBase64Encoded": False,
        "requestContext": {"accountId": "0", "stage": stage, "domainName": domain, "requestId": "r",
                           "authorizer": {"jwt": {"claims": {"sub": "mallory", "org": "*", "role": "admin"}}},
                           "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"}}}
    if body is not None:
        event["isBase64Encoded"] = not text
        event["body"] = body.decode(errors="replace") if text else base64.b64encode(body).decode()
    return event


class Answer:
    """The response of an HTTP event, as a client of API Gateway sees it."""

    def __init__(self, response):
        self.response = response
        self.status = response["statusCode"]
        self.headers = {name.lower(): value for name, value in response["headers"].items()}
        self.body = response["body"].encode()
        if response["isBase64Encoded"]:
            self.body = base64.b64decode(response["body"])
        self.packed = self.body
        if self.headers.get("content-encoding") == "gzip" and self.status != 206:
            self.body = gzip.decompress(self.body)

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["code"]


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Keys:
    """A key pair, its key set, and tokens signed with it (RS256, by the openssl program)."""

    def __init__(self, folder):
        self.key = str(folder / "key.pem")
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True,
                                 capture_output=True, text=True).stdout.strip().partition("=")[2]
        self.jwks = json.dumps({"keys": [{"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig", "e": "AQAB",
                                          "n": base64url(bytes.fromhex(modulus))}]})

    def token(self, **claims):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "org": "acme", "exp": time.time() + 3600, **claims}
        head = base64url(json.dumps({"alg": "RS256", "kid": "k1"}).encode())
        signed = f"{head}.{base64url(json.dumps(claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], check=True,
                                   input=signed.encode(), capture_output=True).stdout
        return f"Bearer {signed}.{base64url(signature)}"

    def variables(self):
        return {"KEDGE_JWKS": self.jwks, "KEDGE_ISSUER": ISSUER, "KEDGE_AUDIENCE": AUDIENCE}


class Caller:
    """Sends requests to a function as one user."""

    def __init__(self, function, token=None, base="/v1/orgs/acme/projects/p"):
        self.function, self.base = function, base
        self.headers = {"authorization": token} if token else {}

    def event(self, method, path, body=None, headers=None, **how):
        path = path if path.startswith("/v1") else self.base + path
        return http_event(method, path, body, {**self.headers, **(headers or {})}, **how)

    def ask(self, method, path, body=None, headers=None, **how):
        failed, response = self.function.invoke(self.event(method, path, body, headers, **how))
        if failed:
            raise AssertionError((response, self.function.logged()))
        return Answer(response)


def push_body(client, mutations, first=1):
    return {"pushVersion": 1, "clientGroupID": "g-" + client, "profileID": "", "schemaVersion": "",
            "kedge": {"client": client},
            "mutations": [{"clientID": client, "id": first + i, "name": name, "args": args,
                           "timestamp": 0} for i, (name, args) in enumerate(mutations)]}


def pull_body(client, cookie=None, native=False):
    body = {"pullVersion": 1, "clientGroupID": "g-" + client, "cookie": cookie, "profileID": "", "schemaVersion": ""}
    if native:
        body["kedge"] = {"client": client, "lowest_pending": 1, "highest_id": 0}
    return body


def put(item, value):
    return ("kedge.put", {"collection": "notes", "id": item, "value": value})
