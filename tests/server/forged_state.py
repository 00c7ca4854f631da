# SPDX-License-Identifier: Apache-2.0
"""Exported conversations and stored chunks, rewritten so that every checksum in them is right: forgeries by an
attacker who knows the formats (SNAPSHOT_FORMAT.md, CHUNK_FORMAT.md) and no secret."""

import ctypes
import hashlib
import json
import struct

HEADER = 72  # bytes of a chunk's


def _library(*names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


_xxhash, _zstd = _library("libxxhash.so.0", "libxxhash.so"), _library("libzstd.so.1", "libzstd.so")
can_forge = _xxhash is not None and _zstd is not None
if can_forge:
    _xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    _xxhash.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    _zstd.ZSTD_decompress.restype = ctypes.c_size_t
    _zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def _hash(data, seed=0):
    return _xxhash.XXH3_64bits_withSeed(data, len(data), seed)


def with_checksum(head, payload):
    """A chunk of the first 64 bytes of a header and a payload."""
    head = bytearray(head[:64])
    struct.pack_into("<Q", head, 24, len(payload))
    return bytes(head) + struct.pack("<Q", _hash(payload, _hash(bytes(head)))) + payload


def _content(chunk):
    """The content of a chunk of bytes."""
    size = struct.unpack_from("<Q", chunk, 16)[0]
    payload = chunk[HEADER:]
    if chunk[11] == 0:
        return payload
    stored = struct.unpack_from("<Q", payload)[0]
    part = payload[8:8 + stored]
    if stored == size:
        return part
    room = ctypes.create_string_buffer(size)
    assert _zstd.ZSTD_decompress(room, size, part, len(part)) == size
    return room.raw


class State:
    """An exported conversation: its tokens, and the note with its messages, can be exchanged; what is computed stays."""

    TOKENS_AT = 4 + 4 + 4 * 32 + 4 + 8 + 4 + 4  # behind version, element, digests, weights, layout, two flags

    def __init__(self, data):
        assert data[:8] == b"SkaldSnp"
        self._head = data[:16]
        size = struct.unpack_from("<Q", data, 48)[0]
        self._manifest_head, self._chunks = data[56:120], data[56 + size:]
        self._content = bytearray(_content(data[56:56 + size]))
        count = struct.unpack_from("<Q", self._content, self.TOKENS_AT)[0]
        self.tokens = list(struct.unpack_from(f"<{count}i", self._content, self.TOKENS_AT + 8))
        self._note_at = self._content.rfind(b'{"conversation"') - 8
        self.note = json.loads(self._content[self._note_at + 8:])

    def bytes(self, note=None):
        """The whole of it, with these bytes in place of the note if they are given."""
        content = bytearray(self._content)
        struct.pack_into(f"<{len(self.tokens)}i", content, self.TOKENS_AT + 8, *self.tokens)
        note = json.dumps(self.note).encode() if note is None else note
        content = bytes(content[:self._note_at]) + struct.pack("<Q", len(note)) + note
        key = hashlib.sha256(b"skald manifest" + content).digest()
        head = bytearray(self._manifest_head)
        head[11] = 0
        struct.pack_into("<Q", head, 16, len(content))
        head[32:64] = key
        manifest = with_checksum(head, content)
        return self._head + key + struct.pack("<Q", len(manifest)) + manifest + self._chunks


def is_of_tokens(chunk):
    """Whether a stored chunk holds what tokens added to a cache."""
    return chunk[:8] == b"SkaldChk" and chunk[10] == 1


def exchange(chunk, other):
    """The chunk with what another of its size holds."""
    assert chunk[10:24] == other[10:24]
    return with_checksum(chunk, other[HEADER:HEADER + struct.unpack_from("<Q", other, 24)[0]])
