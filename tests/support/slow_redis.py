# SPDX-License-Identifier: Apache-2.0
"""A Redis server that is not well: slow (every answer takes 20 ms), silent after its first answers, or dripping (a byte
every second and a half). It keeps what it is given."""

import socket
import threading
import time


class SlowRedis:
    """Listens on `port` of 127.0.0.1 until its `with` block ends."""

    def __init__(self, mode, seconds=0.02):
        self.mode, self.seconds = mode, seconds
        self.values, self.commands = {}, 0
        self._is_over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._listener.close()

    def _accept(self):
        while not self._is_over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as file:
                while line := file.readline():
                    words = []
                    for _ in range(int(line[1:])):
                        words.append(file.read(int(file.readline()[1:])))
                        file.read(2)
                    self.commands += 1
                    self._answer(connection, self._result(words))
        except (OSError, ValueError):
            pass

    def _answer(self, connection, answer):
        if self.mode == "silent" and self.commands > 1:
            self._is_over.wait()
        elif self.mode == "dripping":
            for byte in answer:
                connection.sendall(bytes([byte]))
                if self._is_over.wait(1.5):
                    return
        else:
            time.sleep(self.seconds)
            connection.sendall(answer)

    def _result(self, words):
        name, key = words[0].upper(), words[1] if len(words) > 1 else b""
        value = self.values.get(key)
        if name == b"PING":
            return b"+PONG\r\n"
        if name == b"GET":
            return b"$-1\r\n" if value is None else self._bulk(value)
        if name == b"GETRANGE":
            return self._bulk((value or b"")[int(words[2]):int(words[3]) + 1])
        if name == b"SET":
            self.values.setdefault(key, words[2])
            return b"+OK\r\n"
        counts = {b"EXISTS": value is not None, b"STRLEN": len(value or b"")}
        if name == b"UNLINK":
            counts[name] = self.values.pop(key, None) is not None
        return b":%d\r\n" % counts[name] if name in counts else b"-ERR unknown command\r\n"

    @staticmethod
    def _bulk(value):
        return b"$%d\r\n%s\r\n" % (len(value), value)
