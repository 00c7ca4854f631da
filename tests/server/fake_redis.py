# SPDX-License-Identifier: Apache-2.0
"""A Redis server in this process that is as slow, silent or miserly with bytes as a test wants."""

import socket
import threading
import time


class FakeRedis:
    """Answers the commands of a chunk store after `delay` seconds. From `silence()` on it answers nothing, from `drip()`
    on a byte a second. `commands` counts what came, `open_calls` those whose client waits for the rest of the answer."""

    def __init__(self, delay=0.0):
        self.delay, self.mode = delay, "answer"
        self.commands = self.open_calls = 0
        self._values, self._lock, self._is_over = {}, threading.Lock(), False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over = True
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def silence(self):
        self.mode = "silent"

    def drip(self):
        self.mode = "drip"

    def _accept(self):
        while not self._is_over:
            try:
                peer, _ = self._listener.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer):
        peer.settimeout(0.1)
        received = b""
        try:
            while not self._is_over:
                try:
                    part = peer.recv(1 << 16)
                except TimeoutError:
                    continue
                if not part:
                    return
                received += part
                while (parsed := self._parse(received)) is not None:
                    arguments, received = parsed
                    with self._lock:
                        self.commands += 1
                        self.open_calls += 1
                    try:
                        self._send(peer, self._answer(arguments))
                    finally:
                        with self._lock:
                            self.open_calls -= 1
        except OSError:
            pass
        finally:
            peer.close()

    def _send(self, peer, answer):
        self._wait(self.delay)
        while self.mode == "silent" and not self._is_over and self._is_there(peer):
            time.sleep(0.01)
        if self.mode != "drip":
            peer.sendall(answer)
            return
        for i in range(len(answer)):
            peer.sendall(answer[i:i + 1])
            self._wait(1.0)

    @staticmethod
    def _is_there(peer):
        try:
            return peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True

    def _wait(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._is_over:
            time.sleep(min(0.01, seconds))

    @staticmethod
    def _parse(data):
        """Returns (arguments, what follows) of one command, or None while it is not whole."""
        def line(at):
            end = data.find(b"\r\n", at)
            return (None, None) if end < 0 else (int(data[at + 1:end]), end + 2)
        count, at = line(0) if data else (None, None)
        if count is None:
            return None
        arguments = []
        for _ in range(count):
            length, at = line(at) if at < len(data) else (None, None)
            if length is None or len(data) < at + length + 2:
                return None
            arguments.append(data[at:at + length])
            at += length + 2
        return arguments, data[at:]

    def _answer(self, arguments):
        def bulk(value):
            return b"$%d\r\n" % len(value) + value + b"\r\n"
        name, rest = arguments[0].upper(), arguments[1:]
        with self._lock:
            if name == b"PING":
                return b"+PONG\r\n"
            if name == b"GET":
                return bulk(self._values[rest[0]]) if rest[0] in self._values else b"$-1\r\n"
            if name == b"EXISTS":
                return b":%d\r\n" % (rest[0] in self._values)
            if name == b"SET":
                self._values.setdefault(rest[0], rest[1])
                return b"+OK\r\n"
            if name == b"GETRANGE":
                return bulk(self._values.get(rest[0], b"")[int(rest[1]):int(rest[2]) + 1])
            if name == b"STRLEN":
                return b":%d\r\n" % len(self._values.get(rest[0], b""))
            if name == b"UNLINK":
                return b":%d\r\n" % (self._values.pop(rest[0], None) is not None)
        return b"-ERR unknown command\r\n"
