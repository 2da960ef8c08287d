"""Runs the tests of the edges beside a kedge-server, which has one project on a log.

usage: with_server.py SERVER SOURCE_DIR TESTS..."""
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

server, source, *tests = sys.argv[1:]
LOGGED = "logged"


def make_project(url):
    """Copies of a project on a log run the mutators; the server needs none."""
    request = urllib.request.Request(f"{url}/v1/orgs/acme/projects/{LOGGED}", method="PUT", data=b'{"kind":"log"}',
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        if response.status != 201:
            sys.exit(f"the project {LOGGED}: {response.status}")


with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
        [server, "--data", f"{folder}/server", "--listen", "127.0.0.1:0", "--open", "--log-level", "error"],
        stdout=subprocess.PIPE, text=True) as serving:
    try:
        url = serving.stdout.readline().split()[-1]
        make_project(url)
        environment = {**os.environ, "KEDGE_URL": url, "KEDGE_LOG_PROJECT": LOGGED, "KEDGE_SOURCE": source}
        done = subprocess.run(tests, env=environment, capture_output=True, text=True, errors="replace", timeout=600)
    finally:
        serving.terminate()
counts = [int(found) for found in re.findall(r"Executed (\d+) tests", done.stdout + done.stderr)]
if done.returncode != 0 or not counts or max(counts) == 0:
    sys.exit(f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
print(f"{max(counts)} tests passed")
