# SPDX-License-Identifier: Apache-2.0
"""Attacks of one client on others: each attack goes on until it is told to stop. Used by neighbours_test.py."""

import http.client
import json
import random
import socket
import threading
import time


class Attacker:
    """Sends requests to a server with a key of its own. `stop` is an event."""

    def __init__(self, port, key, stop):
        self.port, self.key, self.stop = port, key, stop

    def head(self, path, length, more=""):
        return (f"POST {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\nAuthorization: Bearer {self.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n").encode()

    def post(self, path, body, seconds=60):
        """Sends a request and ignores the answer, or its absence."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection = http.client.HTTPConnection("localhost", self.port, timeout=seconds)
            connection.request("POST", path, data, {"Authorization": f"Bearer {self.key}"})
            connection.getresponse().read()
            connection.close()
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)

    def again(self, path, make):
        while not self.stop.is_set():
            self.post(path, make())

    def in_threads(self, count, run):
        threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not self.stop.is_set():
                thread.join(0.1)


def deep(attacker):
    """JSON within strings, nested 100,000 deep."""
    brackets = '{"a":' * 100_000
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": brackets}}
    body = json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                                    {"role": "tool", "tool_call_id": "c", "content": "b"}], "max_tokens": 1}).encode()
    attacker.again("/v1/chat/completions", lambda: body)


def many_keys(attacker):
    """An object of 60,000 keys, from four connections."""
    body = ("{" + ",".join('"k%d":0' % (1_000_000 + i) for i in range(60_000)) + "}").encode()
    attacker.in_threads(4, lambda: attacker.again("/tokenize", lambda: body))


def many_messages(attacker):
    """4,000 answers of an assistant, to be counted."""
    messages = [{"role": "assistant", "content": "a"} for _ in range(4000)] + [{"role": "user", "content": "x"}]
    body = json.dumps({"messages": messages}).encode()
    attacker.in_threads(2, lambda: attacker.again("/v1/messages/count_tokens", lambda: body))


def long_text(attacker):
    """A prompt of two megabytes, which no context holds."""
    body = json.dumps({"prompt": "In the beginning " * 120_000, "max_tokens": 1}).encode()
    attacker.in_threads(4, lambda: attacker.again("/v1/completions", lambda: body))


def many_prompts(attacker):
    """2,048 prompts with 128 answers each."""
    body = json.dumps({"prompt": [[1, 5 + i % 250, 5 + i // 250] for i in range(2048)], "n": 128, "max_tokens": 200}).encode()
    attacker.in_threads(2, lambda: attacker.again("/v1/completions", lambda: body))


def all_it_may(attacker):
    """As many answers at a time as are allowed, without end."""
    body = json.dumps({"prompt": "In the beginning", "max_tokens": 200, "n": 8}).encode()
    attacker.in_threads(16, lambda: attacker.again("/v1/completions", lambda: body))


def stop_strings(attacker):
    """Two megabytes of a stop string, for 128 answers to each of four prompts."""
    body = json.dumps({"prompt": [[1]] * 4, "n": 128, "stop": ["z" * 2_000_000], "max_tokens": 100}).encode()
    attacker.again("/v1/completions", lambda: body)


def unfinished_bodies(attacker):
    """Bodies of 31 MB whose last byte does not come, without a key that is known."""
    stranger = Attacker(attacker.port, "nobody", attacker.stop)
    piece = b"a" * 1_000_000
    held = []
    while not stranger.stop.is_set():
        try:
            connection = socket.create_connection(("localhost", stranger.port), timeout=5)
            connection.sendall(stranger.head("/v1/completions", 31_500_000))
            for _ in range(31):
                connection.sendall(piece)
            held.append(connection)
        except OSError:
            time.sleep(0.05)
        if len(held) > 40:
            held.pop(0).close()


def silent_connections(attacker):
    """Connections that say nothing."""
    held = []
    while not attacker.stop.is_set():
        try:
            held.append(socket.create_connection(("localhost", attacker.port), timeout=1))
        except OSError:
            time.sleep(0.05)
        if len(held) >= 2000:
            for connection in held[:200]:
                connection.close()
            del held[:200]


def conversations(attacker):
    """Conversations of five megabytes, one after the other."""
    body = json.dumps({"title": "a", "messages": [{"role": "user", "content": "b" * 5_000_000}]}).encode()
    attacker.again("/v1/conversations", lambda: body)


def ambiguous(rules, letters, times, seed):
    """A grammar each of whose rules needs some letters of its own set before it ends, and takes all others meanwhile: a
    text is read in a way for each number of them that every rule may have had, and no two of these ways become one."""
    draw, alphabet = random.Random(seed), "etaoinshrdlucmfwypvbgkqjxz"
    lines = ["root ::= ( " + " | ".join(f"r{i}" for i in range(rules)) + " )*"]
    for i in range(rules):
        own = "".join(draw.sample(alphabet, letters))
        other = "".join(c for c in alphabet if c not in own) + " "
        part = f"( [{other}]* [{own}] ){{{times}}}"
        lines += [f"r{i} ::= {part} {part} r{i}x?", f"r{i}x ::= [A-Z] r{i}x*"]
    return "\n".join(lines) + "\n"


def ambiguous_grammar(attacker):
    """Twelve kilobytes of a grammar that has a hundred ways to read everything."""
    body = json.dumps({"prompt": "hello", "n": 16, "grammar": ambiguous(100, 8, 2, seed=2), "max_tokens": 60,
                       "temperature": 2.0}).encode()
    attacker.again("/v1/completions", lambda: body)


def slow_reader(attacker):
    """Streams that are read a little at a time."""
    body = json.dumps({"prompt": "In the beginning", "max_tokens": 400, "stream": True, "logprobs": 20, "n": 4}).encode()

    def read():
        while not attacker.stop.is_set():
            try:
                with socket.create_connection(("localhost", attacker.port), timeout=5) as connection:
                    connection.sendall(attacker.head("/v1/completions", len(body)) + body)
                    while not attacker.stop.is_set() and connection.recv(64):
                        time.sleep(0.05)
            except OSError:
                time.sleep(0.05)
    attacker.in_threads(8, read)


# By the kind of cost; a slow store is none of a client's, and has a server of its own.
ATTACKS = [deep, many_keys, many_messages, long_text, many_prompts, all_it_may, stop_strings, unfinished_bodies,
           silent_connections, conversations, ambiguous_grammar, slow_reader]
