"""An event store on Kedge's logs, for an event-sourcing app in Python. It needs Python alone."""
import http.client
import json
import secrets
import urllib.parse


class Conflict(Exception):
    """Somebody else was faster: `next` is the next number, `missed` are the entries in between."""

    def __init__(self, problem):
        super().__init__(problem["detail"])
        self.next, self.missed = problem["next"], problem["page"]["entries"]


class Failed(Exception):
    def __init__(self, status, problem):
        super().__init__(f"{status} {problem['code']}: {problem['detail']}")
        self.status, self.code = status, problem["code"]


class EventLog:
    """One log. `url` is that of the server, such as http://127.0.0.1:8080."""

    def __init__(self, url, organization, project, log, token=None):
        address = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self.connect = lambda timeout=60: kind(address.hostname, address.port, timeout=timeout)
        self.base = f"/v1/orgs/{organization}/projects/{project}/logs/{log}"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method, path="", body=None, **query):
        query = {name: value for name, value in query.items() if value is not None}
        connection = self.connect()
        try:
            connection.request(method, f"{self.base}{path}?{urllib.parse.urlencode(query)}",
                               None if body is None else json.dumps(body), self.headers)
            response = connection.getresponse()
            content = json.loads(response.read())
        finally:
            connection.close()
        if response.status == 409 and content["code"] == "log-conflict":
            raise Conflict(content)
        if response.status >= 300:
            raise Failed(response.status, content)
        return content

    def create(self):
        """Creates the log, which may be there; gives what it is like."""
        return self.ask("PUT")

    def append(self, kind, body, version=1, expected=None, tries=5):
        """Appends an event and gives its number. With `expected` it must be the next one: raises
        Conflict otherwise. It stands in the log once, however often it had to be sent: an append
        at the end names its id and where to look for it."""
        event = {"type": kind, "version": version, "body": body, "entries": True, "id": secrets.token_hex(16)}
        event.update({"expected": expected} if expected is not None else {"since": self.ask("GET")["next"]})
        for left in range(tries - 1, -1, -1):
            try:
                return self.ask("POST", "/entries", event)["number"]
            except (OSError, http.client.HTTPException, Failed) as failure:
                if left == 0 or isinstance(failure, Failed) and failure.status != 503:
                    raise

    def read(self, start="start", to=None, down=False, after=None):
        """Every entry from `start`, which is "start", "snapshot", "end" or a number, up or down; or
        what follows the entry `after`. Entries of the log itself are left out, but for snapshots."""
        query = {"after": after} if after is not None else {"from": start, "order": "down" if down else "up"}
        while True:
            page = self.ask("GET", "/entries", to=to, **query)
            if page["reload"]:
                yield {"type": "reload"}  # too far behind: what follows starts at the last snapshot
            yield from (entry for entry in page["entries"]
                        if entry["type"] not in ("Snapshot", "End Segment") or "snapshot" in entry)
            if page["next"] is None:
                return
            query = {"from": page["next"], "order": "down" if down else "up"}

    def set_metadata(self, number, **metadata):
        """snapshot=, history= or pending= of an entry; None takes one away."""
        self.ask("POST", f"/entries/{number}/metadata", metadata)

    def truncate(self, before):
        """Removes the entries in front of a number, at most up to the last snapshot."""
        self.ask("POST", "/truncate", {"before": before})

    def subscribe(self, timeout=60):
        """The number of the last entry, now and after each append, until the stream ends."""
        connection = self.connect(timeout)
        try:
            connection.request("GET", self.base + "/events", headers=self.headers)
            event = None
            for line in connection.getresponse():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                event = value if name == "event" else event
                if name == "data" and event == "appended":
                    yield json.loads(value)["number"]
        finally:
            connection.close()
