#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON of any depth, in a request or in a text inside of one, is an error or a text, never the end of the server:
depth_test.py PROGRAM."""

import ctypes
import ctypes.util
import hashlib
import json
import struct
import sys
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]
# A function that called itself for each of these would need more than every stack has.
DEPTH = 100_000
DEEP = {"arrays": '{"a":' + "[" * DEPTH + "]" * DEPTH + "}", "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH,
        "cut short": '{"a":' + "[" * DEPTH}


def setUpModule():
    global server
    server = RunningServer(PROGRAM, "--max-context", "4096")


def tearDownModule():
    status, _, _ = server.request("GET", "/health")
    assert status == 200, status
    assert server.stop() == 0


def call_of(arguments):
    return {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}


def messages(arguments):
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call_of(arguments)]},
            {"role": "user", "content": "go"}]


class Depth(unittest.TestCase):
    def lives(self):
        self.assertIsNone(server.process.poll(), "the server has ended")
        self.assertEqual(server.request("GET", "/live")[0], 200)

    def test_bodies(self):
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/conversations", "/tokenize"]:
            for name, text in DEEP.items():
                with self.subTest(path=path, text=name):
                    status, answer = server.post(path, text)
                    self.assertEqual(status, 400)
                    self.assertIn("nested deeper than 64 levels", answer["error"]["message"])
                    self.lives()

    def test_arguments_of_calls(self):
        for name, text in DEEP.items():
            with self.subTest(text=name):
                # A text that is no object of JSON is written as it is: the answer may be one, or an error.
                for path, body in [("/v1/chat/completions", {"messages": messages(text), "max_tokens": 1}),
                                   ("/v1/responses", {"input": [{"type": "function_call", "name": "f", "call_id": "x",
                                                                 "arguments": text},
                                                                {"role": "user", "content": "x"}],
                                                      "max_output_tokens": 1}),
                                   ("/v1/conversations", {"messages": messages(text)})]:
                    self.assertIn(server.request("POST", path, body)[0], [200, 201, 400])
                    self.lives()

    def test_arguments_that_are_as_deep_as_a_request_may_be(self):
        text = '{"a":' + "[" * 63 + "]" * 63 + "}"
        status, made = server.post("/v1/conversations", {"messages": messages(text)})
        self.assertEqual(status, 201)
        call = made["messages"][1]["tool_calls"][0]["function"]
        self.assertEqual(call["arguments"], json.loads(text))
        status, _, state = server.request("GET", f"/v1/conversations/{made['id']}/state")
        self.assertEqual(status, 200)
        status, again = server.post("/v1/conversations/import", state)
        self.assertEqual((status, again.get("messages")), (201, made["messages"]), again)

    def test_note_of_an_import(self):
        _, made = server.post("/v1/conversations", {"title": "t", "messages": messages("{}")})
        status, _, state = server.request("GET", f"/v1/conversations/{made['id']}/state")
        self.assertEqual(status, 200)
        for name, text in DEEP.items():
            with self.subTest(text=name):
                forged = with_note(state, text.encode())
                self.assertEqual(server.request("POST", "/v1/conversations/import", forged)[0], 400)
                self.lives()


def library(name):
    found = ctypes.util.find_library(name)
    if found is None:
        raise unittest.SkipTest(f"lib{name}, which an export is forged with, is not there")
    return ctypes.CDLL(found)


def checksum(data, seed=0):
    xxhash = library("xxhash")
    xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    xxhash.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return xxhash.XXH3_64bits_withSeed(data, len(data), seed)


def decompressed(data, size):
    zstd = library("zstd")
    content = ctypes.create_string_buffer(size)
    zstd.ZSTD_decompress(content, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return content.raw


def with_note(state, note):
    """An export with another note: the last thing in the content of its manifest, whose form snapshots and chunks have
    from store/snapshots/SNAPSHOT_FORMAT.md."""
    size, = struct.unpack_from("<Q", state, 48)
    manifest, rest = state[56:56 + size], state[56 + size:]
    content_bytes, = struct.unpack_from("<Q", manifest, 16)
    content = manifest[72:]
    if manifest[11] == 1:
        length, = struct.unpack_from("<Q", content, 0)
        content = content[8:8 + length]
        if length != content_bytes:
            content = decompressed(content, content_bytes)
    old = content.rfind(b'{"conversation"')
    content = content[:old - 8] + struct.pack("<Q", len(note)) + note
    key = hashlib.sha256(b"skald manifest" + content).digest()
    head = bytearray(manifest[:64])
    head[11] = 0
    struct.pack_into("<QQ", head, 16, len(content), len(content))
    head[32:64] = key
    forged = bytes(head) + struct.pack("<Q", checksum(content, checksum(bytes(head)))) + content
    return state[:16] + key + struct.pack("<Q", len(forged)) + forged + rest


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
