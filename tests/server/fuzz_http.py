#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends whatever comes to mind: fuzz_http.py PROGRAM SECONDS [SEED].

Valid requests with changed JSON, changed bytes and broken framing, and bytes that are no request, from several clients
at a time. The server must live, answer 500 to nothing, and say why in JSON where a status is 400 or more. Not part of
ctest, where robustness_test.py has the known cases; meant for builds with sanitizers, for as long as there is time.
"""

import copy
import http.client
import io
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time

from running_server import RunningServer, adapters, check_answer, temporary_folder, tool_model

CLIENTS = 4
KEY = "fuzz-key"
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"type": "integer"}},
          "required": ["city"], "additionalProperties": False}
MESSAGES = [{"role": "system", "content": "Speak."}, {"role": "user", "content": [{"type": "text", "text": "And it came"}]}]
CALLED = [{"role": "assistant", "content": None, "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Ur\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
FUNCTION = {"name": "get_weather", "description": "tells", "parameters": SCHEMA}
CHAT = {"model": "demo", "messages": MESSAGES, "max_tokens": 8, "temperature": 0.7, "top_p": 0.9, "seed": 1}
VALID = [
    ("POST", "/v1/chat/completions", {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "logprobs": True,
                                      "top_logprobs": 2, "logit_bias": {"5": 1.5}, "stop": ["the", "."], "n": 2}),
    ("POST", "/v1/chat/completions", {**CHAT, "messages": MESSAGES + CALLED, "tools": [{"type": "function", "function": FUNCTION}],
                                      "tool_choice": "auto", "parallel_tool_calls": False}),
    ("POST", "/v1/chat/completions", {**CHAT, "response_format": {"type": "json_schema", "json_schema": {
        "name": "weather", "schema": SCHEMA}}}),
    ("POST", "/v1/chat/completions", {**CHAT, "conversation": "CONVERSATION"}),
    ("POST", "/v1/completions", {"prompt": "In the beginning", "max_tokens": 4, "echo": True, "logprobs": 2, "stream": True}),
    ("POST", "/v1/completions", {"prompt": [1, 2, 3], "max_tokens": 4, "grammar": "root ::= [a-z ]+"}),
    ("POST", "/v1/completions", {"model": "poet", "prompt": ["In the", [1, 2, 3]], "max_tokens": 4, "n": 2, "logprobs": 1}),
    ("POST", "/v1/responses", {"input": [{"role": "user", "content": "And it came"}], "instructions": "Speak.", "stream": True,
                               "max_output_tokens": 6, "tools": [{"type": "function", **FUNCTION}], "store": True,
                               "text": {"format": {"type": "json_object"}}, "reasoning": {"effort": "low"}}),
    ("POST", "/v1/embeddings", {"input": ["In the beginning", [1, 2, 3]], "encoding_format": "base64", "dimensions": 8}),
    ("POST", "/v1/messages", {"model": "demo", "system": "Speak.", "messages": MESSAGES[1:], "max_tokens": 6, "stream": True,
                              "stop_sequences": ["the", "."], "tools": [{"name": "get_weather", "input_schema": SCHEMA}], "tool_choice": {"type": "any"}}),
    ("POST", "/v1/messages/count_tokens", {"model": "demo", "messages": MESSAGES[1:]}),
    ("POST", "/tokenize", {"content": "And it came to pass", "with_pieces": True, "add_special": True}),
    ("POST", "/detokenize", {"tokens": [5, 6, 7]}),
    ("POST", "/v1/conversations", {"title": "a", "messages": MESSAGES}),
    ("POST", "/v1/conversations/CONVERSATION", {"title": "b"}),
    ("POST", "/v1/conversations/CONVERSATION/fork", {"messages": 1}),
    ("POST", "/v1/conversations/CONVERSATION/rewind", {"messages": 1}),
    ("POST", "/v1/conversations/import", {}),
    ("GET", "/v1/conversations", None), ("GET", "/v1/conversations/CONVERSATION", None),
    ("GET", "/v1/conversations/CONVERSATION/state", None), ("DELETE", "/v1/conversations/CONVERSATION", None),
    ("GET", "/v1/models", None), ("GET", "/v1/models/demo", None), ("GET", "/metrics", None), ("GET", "/", None),
]
ODD = ["poet", None, True, False, 0, -1, 1, 2**31, -2**63, 2**64, 10**30, 0.5, -0.0, 1e308, "", "x", "\0", "\ud800", "\u00e9" * 50, "\u2028",
       "x" * 5000, [], {}, [[]], [None], {"": {}}, "demo", "conv_1", "resp_1", {"type": "object"}, {"$ref": "#"}]


def nodes(value):
    """Every place in a JSON value: (its container, its key)."""
    places = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        places += [(value, key)] + nodes(inner)
    return places


def odd(random):
    return copy.deepcopy(random.choice(ODD))


def change_json(random, body):
    body = copy.deepcopy(body)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places = nodes(body)
        if not places:
            return odd(random)
        holder, key = random.choice(places)
        how = random.randrange(6)
        if how == 0:
            del holder[key]
        elif how == 1:  # another part of the request
            other, name = random.choice(places)
            if name in other if isinstance(other, dict) else name < len(other):
                holder[key] = copy.deepcopy(other[name])
        elif how == 2 and isinstance(holder, dict):
            holder[random.choice(["type", "role", "n", "stop", "audio", "priority", "x", ""])] = odd(random)
        elif how == 3:
            for _ in range(random.choice((1, 3, 40, 150))):
                holder[key] = random.choice(([holder[key]], {"content": holder[key]}))
        elif how == 4 and isinstance(holder[key], list):
            holder[key] = holder[key] * random.choice((2, 50))
        else:
            holder[key] = odd(random)
    return body


def change_bytes(random, data):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8, 32))):
        at = random.randrange(len(data) + 1)
        how = random.randrange(5)
        if how == 0:
            data[at:at + random.randrange(1, 20)] = b""
        elif how == 1:
            data[at:at] = random.randbytes(random.randrange(1, 9))
        elif how == 2:
            data[at:at] = random.choice((b"\r\n", b"\0", b'"', b"{", b"[", b"\\u", b"1e999", b"Content-Length: 5\r\n", b"\xff\xfe",
                                         b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"%", b"//", b"HTTP/1.0"))
        elif how == 3 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        else:
            begin = random.randrange(len(data) + 1)
            data[at:at] = data[begin:begin + random.randrange(40)]
    return bytes(data)


def framed(random, method, path, body):
    """A request in bytes: whole, in chunks, or broken."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n".encode()
    how = random.randrange(12)
    if how != 2 and random.randrange(8):
        head += b"Connection: close\r\n"
    if how == 0:
        step = random.randrange(1, 50)
        chunks = [body[i:i + step] for i in range(0, len(body), step)] + [b""]
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks)
    length = random.choice((0, 1, len(body) - 1, len(body) + 1, 10**12)) if how == 1 else len(body)
    request = head + b"Content-Length: %d\r\n\r\n" % length + body
    return request * random.choice((1, 1, 3)) if how == 2 else request


def make_request(random, conversation):
    method, path, body = random.choice(VALID)
    path = path.replace("CONVERSATION", conversation)
    if random.randrange(8) == 0:
        method = random.choice(("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"))
    if random.randrange(8) == 0:
        path += random.choice(("/", "?", "?beta=true", "/..", "%00", "/x" * 500, "\u00e9", "#", "//"))
    if body is not None and random.randrange(4):
        body = change_json(random, body)
    text = b"" if body is None else json.dumps(body).replace("CONVERSATION", conversation).encode()
    if random.randrange(5) == 0:
        text = change_bytes(random, text)
    request = framed(random, method, path, text)
    how = random.randrange(10)
    return random.randbytes(random.randrange(300)) if how == 0 else change_bytes(random, request) if how < 3 else request


class Received:
    """Bytes that http.client takes for a socket."""

    def __init__(self, data):
        self.file = io.BytesIO(data)

    def makefile(self, *_):
        return self.file


def check(data):
    """Raises unless the bytes are answers of HTTP, with errors in JSON; the last one may be cut."""
    received = Received(data)
    received.file.close = lambda: None  # by http.client, behind each answer
    while received.file.tell() < len(data):
        answer = http.client.HTTPResponse(received)
        answer.begin()
        try:
            body = answer.read()
        except http.client.IncompleteRead:
            return
        check_answer(answer.status, answer.getheader("Content-Type") or "", body)


def exchange(random, port, request):
    """All that comes back. Impatient clients leave early, polite ones say when they have sent everything."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(request)
            if random.randrange(10) == 0:
                return b""
            connection.settimeout(0.5)
            while part := connection.recv(65536):
                answer += part
        except socket.timeout:
            try:
                connection.settimeout(60)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    answer += part
            except OSError:
                pass
        except (ConnectionResetError, BrokenPipeError):
            pass
    return answer


class Fuzzer:
    def __init__(self, server, seconds, seed):
        self.server, self.seed = server, seed
        self.deadline = time.monotonic() + seconds
        self.count, self.failures = 0, []
        self.statuses = {}

    def conversation(self):
        status, _, data = self.server.request("POST", "/v1/conversations", {}, {"Authorization": f"Bearer {KEY}"})
        assert status == 201, (status, data)
        return json.loads(data)["id"]

    def run(self, client):
        mine = random.Random(f"{self.seed} {client}")
        number, request, answer = 0, b"", b""
        try:
            while time.monotonic() < self.deadline and not self.failures:
                if number % 100 == 0:
                    conversation = self.conversation()
                    assert self.server.get("/health")[0] == 200
                request = make_request(mine, conversation)
                answer = exchange(mine, self.server.port, request)
                check(answer)
                status = answer[9:12].decode("latin1") or "none"
                self.statuses[status] = self.statuses.get(status, 0) + 1
                number += 1
                self.count += 1
        except Exception as error:  # whatever it is, the request that led to it is shown
            self.failures.append(f"client {client}, request {number}: {error!r}\n{request[:4000]!r}\n{answer[:4000]!r}")


def main():
    sys.setrecursionlimit(5000)  # for JSON that is nested deeper than the server takes
    program, seconds = sys.argv[1], float(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else str(random.randrange(10**9))
    print(f"seed {seed}", flush=True)
    with temporary_folder() as folder, tempfile.NamedTemporaryFile("w") as keys:
        keys.write(f"{KEY} fuzz max_tokens=24\n")
        keys.flush()
        server = RunningServer(program, "--model", tool_model(DEMO, folder), "--model-name", "demo", "--max-context", "512",
                               "--max-body", "200000", "--api-keys", keys.name, *adapters(folder, ["poet"]))
        fuzzer = Fuzzer(server, seconds, seed)
        clients = [threading.Thread(target=fuzzer.run, args=(i,)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        code = server.stop()
        if code != 0:
            fuzzer.failures.append(f"the server ended with {code}:\n" + "".join(server.log[-50:]))
        print(f"{fuzzer.count} requests; first statuses: {dict(sorted(fuzzer.statuses.items()))}")
        print("\n\n".join(fuzzer.failures))
        return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
