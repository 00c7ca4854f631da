# SPDX-License-Identifier: Apache-2.0
"""An answer that does not end before its client wants it to: the client does not read it."""

import json
import socket

ANSWERS = 8
# Five megabytes and a half. Less than four and a half fit between a server and a client that does not read.
LONG_CHAT = {"messages": [{"role": "user", "content": "And it came to pass"}], "max_tokens": 400, "n": ANSWERS, "logprobs": True,
             "top_logprobs": 20, "ignore_eos": True}


class UnreadStream:
    """A stream whose beginning came, and whose client reads on when it is told to. A server takes that for two minutes. Of
    HTTP 1.0, which has no chunks: what follows the head is the text."""

    def __init__(self, server, body, path="/v1/chat/completions", key="none"):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(300)
        self.socket.connect(("127.0.0.1", server.port))
        text = json.dumps({**body, "stream": True})
        self.socket.sendall((f"POST {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                             f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        self.begin = self.socket.recv(4096)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def rest(self):
        """The whole answer as it came, with its head."""
        pieces = [self.begin]
        while piece := self.socket.recv(1 << 16):
            pieces.append(piece)
        self.socket.close()
        return b"".join(pieces)
