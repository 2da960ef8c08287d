#!/usr/bin/env python3
"""Keys and tokens of your own, for trying out a kedge-server with tokens. It needs Python and openssl.

    make_token.py keys FOLDER           makes FOLDER/key.pem, which signs, and FOLDER/keys.json for --jwks
    make_token.py token FOLDER CLAIMS   prints a token with these claims, JSON, that is good for an hour
"""
import base64
import json
import pathlib
import subprocess
import sys
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, given=b""):
    return subprocess.run(["openssl", *arguments], input=given, check=True, capture_output=True).stdout


def make_keys(folder):
    key = folder / "key.pem"
    openssl("genrsa", "-out", str(key), "2048")
    modulus = openssl("rsa", "-in", str(key), "-noout", "-modulus").decode().strip().split("=")[1]
    public = {"kty": "RSA", "kid": "mine", "alg": "RS256", "use": "sig", "n": base64url(bytes.fromhex(modulus)),
              "e": "AQAB"}
    (folder / "keys.json").write_text(json.dumps({"keys": [public]}))


def make_token(folder, claims):
    parts = {"alg": "RS256", "kid": "mine"}, {"exp": int(time.time()) + 3600, **claims}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in parts)
    signature = openssl("dgst", "-sha256", "-sign", str(folder / "key.pem"), given=signed.encode())
    return f"{signed}.{base64url(signature)}"


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "keys":
        make_keys(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) == 4 and sys.argv[1] == "token":
        print(make_token(pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])))
    else:
        sys.exit(__doc__)
