#!/usr/bin/env python3
"""How much memory kedge-server keeps for a project that nobody uses any more.

Usage: idle_memory.py SERVER [--json]. A server over a fresh folder gets one push of one small item to
each of 1,000 projects, so that its threads, pools and page caches have grown, then to 10,000 more; each
project is used once. The figure is the growth of the resident set over these 10,000, by project: what the
server's cache, of its usual 64 MiB, has not forgotten meanwhile."""
import http.client
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

WARM_UP, PROJECTS, THREADS, TARGET = 1000, 10000, 8, 4096


def push(connection, number):
    mutation = {"clientID": f"c{number}", "id": 1, "name": "kedge.put", "timestamp": 0,
                "args": {"collection": "notes", "id": "n1", "value": {"text": "milk and bread", "done": False}}}
    body = {"pushVersion": 1, "clientGroupID": f"g{number}", "mutations": [mutation]}
    connection.request("POST", f"/v1/orgs/bench/projects/p{number}/push", json.dumps(body))
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status


def serve(port, first, count):
    def work(offset):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(first + offset, first + count, THREADS):
            push(connection, number)
        connection.close()
        finished[offset] = True
    finished = [False] * THREADS
    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(finished), "a push failed"


def resident(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([sys.argv[1], "--data", folder + "/data", "--listen", "127.0.0.1:0", "--open"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            port = int(process.stdout.readline().rsplit(":", 1)[1])
            serve(port, 0, WARM_UP)
            before = resident(process)
            serve(port, WARM_UP, PROJECTS)
            value = max(0, resident(process) - before) / PROJECTS
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    met = value <= TARGET
    if "--json" in sys.argv:
        print(json.dumps({"name": "memory of an idle project in kedge-server", "value": round(value),
                          "unit": "bytes", "floor": 0, "ratio": 0, "target": TARGET, "met": met}))
    else:
        print(f"{'memory of an idle project in kedge-server':<52} {value:>10.0f} {'bytes':<8} {0:>10} {0:>7.2f}  "
              f"{'<= ' + str(TARGET):<12} {'met' if met else 'MISSED'}")
    return 0 if met else 1


sys.exit(main())
