#!/usr/bin/env python3
"""The event streams of kedge-server, and their tickets, in open mode.

Usage: server_streams_test.py SERVER_PROGRAM PLUGIN. Closes with the plain line "N passed, N failed"."""
import socket
import sys

sys.dont_write_bytecode = True
from peers import BASE, OpenServer, break_off, ends, push_body, put, read_until, run_tests, wait_for


class Streams(OpenServer):
    def test_a_stream_tells_the_version_at_once_and_after_each_commit(self):
        self.push("a", put("n1", 1))
        raw = self.server.events()
        head = read_until(raw, b'{"version":1}')
        self.assertIn(b"text/event-stream", head)
        self.push("a", put("n1", 2), first=2)
        read_until(raw, b'{"version":2}')
        self.push("a", ("no.such", {}), first=3)
        read_until(raw, b'{"version":3}')
        raw.close()

    def test_a_dead_peer_is_found_by_the_ping(self):
        raw = self.server.events()
        read_until(raw, b"event: poke")
        self.assertEqual(self.metric("kedge_event_streams"), 1)
        read_until(raw, b"event: ping")
        break_off(raw)
        wait_for(lambda: self.metric("kedge_event_streams") == 0)

    def test_a_peer_that_takes_nothing_any_more_is_found_by_the_ping(self):
        """Its connection is never closed: to the server it is one whose network is gone."""
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        raw.connect(("127.0.0.1", self.server.port))
        raw.sendall(f"GET {BASE}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        wait_for(lambda: self.metric("kedge_event_streams") == 1)
        for number in range(1, 201):  # pokes that fill what the system takes for it
            self.push("a", put("n1", number), first=number)
        wait_for(lambda: self.metric("kedge_event_streams") == 0)
        raw.close()

    def test_two_hundred_streams_are_told_of_a_commit(self):
        streams = [self.server.events() for _ in range(200)]
        for raw in streams:
            read_until(raw, b'{"version":0}')
        self.assertEqual(self.metric("kedge_event_streams"), 200)
        self.push("a", put("n1", 1))
        for raw in streams:
            read_until(raw, b'{"version":1}')
        for number, raw in enumerate(streams):
            break_off(raw) if number % 2 else raw.close()
        wait_for(lambda: self.metric("kedge_event_streams") == 0)
        self.assertGreaterEqual(self.metric("kedge_pokes_total"), 400)

    def test_a_stream_tells_nothing_of_a_project_of_the_same_name(self):
        other = "/v1/orgs/other/projects/p"
        raw = self.server.events()
        read_until(raw, b'{"version":0}')
        for number in range(1, 4):
            body = push_body("a", [put("n1", number)], first=number)
            self.assertEqual(self.server.request("POST", other + "/push", body)[0], 200)
        self.push("b", put("n1", 1))
        self.assertNotIn(b'{"version":3}', read_until(raw, b'{"version":1}'))
        raw.close()

    def test_names_in_the_path_of_a_stream_may_be_encoded(self):
        raw = self.server.events(path="/v1/orgs/%61cme/projects/%70/events")
        read_until(raw, b'{"version":0}')
        self.push("a", put("n1", 1))
        read_until(raw, b'{"version":1}')
        raw.close()
        for path in ("/v1/orgs/a%2Fb/projects/p/events", "/v1/orgs/a%/projects/p/events",
                     "/v1/orgs/a/projects/%00/events", "/v1/orgs/a/projects//events"):
            status, _, response = self.server.request("GET", path)
            self.assertEqual((status, response["code"]), (400, "name-invalid"), path)

    def test_a_ticket_opens_a_stream_once(self):
        self.push("a", put("n1", 1))
        ticket = self.server.request("POST", BASE + "/events/ticket")[2]["ticket"]
        raw = self.server.events(path=f"{BASE}/events?x=1&ticket={ticket}&y")
        read_until(raw, b"event: poke")
        raw.close()
        for query, status in ((f"ticket={ticket}", 401), ("ticket=", 401), ("ticket", 401), ("ticket=a&ticket=b", 400)):
            self.assertEqual(self.server.request("GET", f"{BASE}/events?{query}")[0], status, query)

    def test_a_stop_ends_streams_and_waits_for_no_idle_connection(self):
        raw = self.server.events()
        read_until(raw, b"event: poke")
        idle = self.server.connect()
        self.assertEqual(self.server.stop_within(4), 0)
        self.assertTrue(ends(raw))
        idle.close()
        raw.close()


if __name__ == "__main__":
    run_tests()
