"""Key pairs and tokens, made by kedge-admin, whose path is one of the test's arguments."""
import json
import subprocess
import sys

ADMIN = next(word for word in sys.argv[1:] if word.endswith("kedge-admin"))


def admin(*arguments):
    """What kedge-admin prints; it must succeed."""
    done = subprocess.run([ADMIN, *map(str, arguments)], capture_output=True, text=True, timeout=180)
    if done.returncode:
        raise AssertionError((arguments, done.stdout, done.stderr))
    return done.stdout.strip()


def make_keys(folder, algorithm="ES256"):
    """`folder` gets key.json, which signs, and keys.json for --jwks."""
    return json.loads(admin("make-keys", folder / "key.json", folder / "keys.json", "--algorithm", algorithm))["kid"]


def make_token(folder, claims):
    """A token with these claims, signed with the folder's key; `exp` is in an hour unless they have one."""
    return admin("token", folder / "key.json", "--issuer", "i", "--audience", "kedge", "--user", "u", "--org", "acme",
                 "--claims", json.dumps(claims))
