"""Runs bindings/conformance/scenarios.json with the runner of a language, beside the one in C, on one kedge-server:
both end with the same bytes. Then a scenario with a wrong expectation must fail.

usage: conformance_test.py SERVER PLUGIN SCENARIOS C_RUNNER [RUNNER...]   (RUNNER: the words of its command)"""
import json
import pathlib
import subprocess
import sys
import tempfile

server, plugin, scenarios, c_runner, *runner = sys.argv[1:]
TIMEOUT_S = 240


def run(command, file, url, organization, folder):
    folder.mkdir()
    return subprocess.run([*command, str(file), url, organization, str(folder)], capture_output=True, text=True,
                          timeout=TIMEOUT_S)


def states(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.state")}


def planted():
    """Files of one scenario each, the first of the file, with a wrong value, a wrong end, a wrong failure, a failure that
    must not be, and one that does not come."""
    first = json.loads(pathlib.Path(scenarios).read_text(encoding="utf-8"))["scenarios"][0]
    value = {"do": "get", "copy": "a", "collection": "planted", "id": "1"}
    put = {"do": "mutate", "copy": "a", "name": "kedge.put",
           "args": {"collection": "planted", "id": "1", "value": {"is": True, "n": 1}}}
    large = {**put, "args": {**put["args"], "id": "3", "value": 9007199254740991}}
    gone = {"do": "mutate", "copy": "a", "name": "kedge.delete", "args": {"collection": "planted", "id": "1"}}
    gone_large = {**gone, "args": {"collection": "planted", "id": "3"}}
    for name, step in [
            ("another value", {**value, "gives": {"value": {"is": False, "n": 1}}}),
            ("a number in the place of true", {**value, "gives": {"value": {"is": 1, "n": 1}}}),
            ("another last digit", {**value, "id": "3", "gives": {"value": 9007199254740990}}),
            ("a member less", {**value, "gives": {"value": {"is": True}}}),
            ("a member that is not given", {**value, "gives": {"nothing": None}}),
            ("a failure that does not come", {**value, "fails": {"status": "not-found"}}),
            ("another failure", {**value, "id": "2", "fails": {"status": "rejected"}}),
            ("another code", {**put, "name": "kedge.patch", "fails": {"status": "rejected", "code": "other"}}),
            ("a failure that is not expected", {**value, "id": "2"})]:
        yield name, {**first, "steps": [*first["steps"], put, large, step, gone, gone_large]}
    yield "another end", {**first, "end": {**first["end"], "items": {}}}


def check_planted(command, url, organization, folder):
    """The sound scenario passes, so that a failure is that of what was planted."""
    count = 0
    for name, scenario in planted():
        count += 1
        file = folder / f"planted{count}.json"
        file.write_text(json.dumps({"format": 1, "scenarios": [scenario]}), encoding="utf-8")
        done = run(command, file, url, f"{organization}.planted{count}", folder / f"planted{count}")
        if done.returncode != 1 or scenario["name"] not in done.stderr:
            sys.exit(f"planted: {name}: the runner ended with {done.returncode}: {done.stdout}{done.stderr}")
    return count


def check(command, url, organization, folder):
    done = run(command, scenarios, url, organization, folder / organization)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")
    print(done.stdout.splitlines()[-1], "with", command[-1])
    return states(folder / organization)


with tempfile.TemporaryDirectory() as temporary, subprocess.Popen(
        [server, "--data", f"{temporary}/server", "--listen", "127.0.0.1:0", "--open", "--log-level", "error",
         "--mutators", plugin], stdout=subprocess.PIPE, text=True) as serving:
    try:
        work = pathlib.Path(temporary)
        address = serving.stdout.readline().split()[-1]
        expected = check([c_runner], address, "c", work)
        if runner:
            found = check(runner, address, "other", work)
            others = {name: (found.get(name), expected.get(name)) for name in {*found, *expected}
                      if found.get(name) != expected.get(name)}
            if others or not expected:
                sys.exit(f"other bytes than in C: {others}")
            print(f"{len(found)} states have the same bytes as in C")
        print(f"{check_planted(runner or [c_runner], address, 'other', work)} planted expectations fail")
    finally:
        serving.terminate()
