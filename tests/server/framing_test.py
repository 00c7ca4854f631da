#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a request ends is beyond doubt, or it is refused and its connection closed: framing_test.py PROGRAM."""

import re
import socket
import sys
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]
NEXT = b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"


def setUpModule():
    global server
    server = RunningServer(PROGRAM, "--max-context", "512")


def tearDownModule():
    assert server.stop() == 0


def post(headers, version=b"HTTP/1.1", host=b"Host: localhost\r\n"):
    return b"POST /tokenize " + version + b"\r\n" + host + b"".join(one + b"\r\n" for one in headers) + b"\r\n"


def statuses(data):
    """Sends bytes as they are; returns the status of every answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        connection.sendall(data)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return [int(one) for one in re.findall(rb"HTTP/1\.[01] (\d+) ", answer)]


class Framing(unittest.TestCase):
    def test_an_unknown_coding_is_no_request_within_a_request(self):
        for coding in [b"xchunked", b"chunked, identity", b"gzip, chunked", b"identity", b"chunked;a=b", b"\"chunked\""]:
            for length in [[], [b"Content-Length: 5"]]:
                data = post(length + [b"Transfer-Encoding: " + coding]) + NEXT
                self.assertIn(statuses(data), [[501], [400]], (coding, length))

    def test_doubtful_lengths(self):
        for headers in [[b"Content-Length: 5", b"Transfer-Encoding: chunked"],
                        [b"Transfer-Encoding: chunked", b"Content-Length: 5"],
                        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
                        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: xchunked"],
                        [b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunked"],
                        [b"Content-Length: 5", b"Content-Length: 6"], [b"Content-Length: 5", b"Content-Length: 5"],
                        [b"Content-Length: 5, 5"], [b"Content-Length: +5"], [b"Content-Length : 5"], [b"Content-Length: 0x5"]]:
            self.assertIn(statuses(post(headers) + CHUNKS + NEXT), [[400], [501]], headers)
        self.assertEqual(statuses(post([b"Transfer-Encoding: chunked"], b"HTTP/1.0") + CHUNKS + NEXT), [400])

    def test_hosts(self):
        for host in [b"", b"Host: localhost\r\nHost: localhost\r\n", b"Host: localhost\r\nHost: evil.example\r\n",
                     b"Host: \r\n", b"Host: a b\r\n", b"Host: localhost:port\r\n"]:
            self.assertEqual(statuses(b"GET /live HTTP/1.1\r\n" + host + b"\r\n" + NEXT)[0], 400, host)
        self.assertEqual(statuses(b"GET http://evil.example/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), [421])
        self.assertEqual(statuses(b"GET http://localhost/live HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"), [200])
        self.assertEqual(statuses(b"GET live HTTP/1.1\r\nHost: localhost\r\n\r\n"), [400])

    def test_coded_bodies(self):
        status, headers, data = server.request("POST", "/tokenize", b"\x1f\x8b" + bytes(20), {"Content-Encoding": "gzip"})
        self.assertEqual((status, headers["Accept-Encoding"]), (415, "identity"))
        self.assertIn(b"gzip", data)
        self.assertEqual(server.request("POST", "/tokenize", {"content": "a"}, {"Content-Encoding": "identity"})[0], 200)

    def test_good_requests_follow_each_other(self):
        body = b"{\"content\": \"a\"}"
        chunked = b"".join(b"%x;x=y\r\n" % len(part) + part + b"\r\n" for part in (body[:3], body[3:])) + b"0\r\nTrailer: a\r\n\r\n"
        data = post([b"Transfer-Encoding: chunked"]) + chunked + post([b"Content-Length: %d" % len(body)]) + body + NEXT
        self.assertEqual(statuses(data), [200, 200, 200])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
