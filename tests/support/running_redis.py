# SPDX-License-Identifier: Apache-2.0
"""A redis-server of a test's own, and commands to it with nothing but the standard library."""

import shutil
import socket
import ssl
import subprocess
import time


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class RunningRedis:
    """Started on a port of the loopback interface, a free one unless it is given; ends with the `with` block. Keeps nothing
    on disk. With `tls`, an ssl.SSLContext of a client, the port speaks TLS alone."""

    is_installed = shutil.which("redis-server") is not None

    def __init__(self, *arguments, tls=None, port=None):
        self.tls = tls
        deadline = time.monotonic() + 60
        while not self._starts(port or free_port(), arguments):  # another program has taken the port meanwhile
            if time.monotonic() > deadline:
                raise RuntimeError("redis-server did not start")

    def _starts(self, port, arguments):
        self.port = port
        ports = ["--port", "0", "--tls-port", str(port)] if self.tls else ["--port", str(port)]
        self.process = subprocess.Popen(["redis-server", *ports, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *arguments],
                                        stdout=subprocess.PIPE)
        if any(b"eady to accept connections" in line for line in self.process.stdout):
            return True
        self.stop()
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def do(self, *commands):
        """Sends commands, lists of words, over one connection; returns their answers."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as plain:
            if not self.tls:
                return self._talk(plain, commands)
            with self.tls.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                return self._talk(connection, commands)

    def _talk(self, connection, commands):
        answers = []
        with connection.makefile("rb") as file:
            for words in commands:
                data = b"*%d\r\n" % len(words)
                for word in words:
                    data += b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode())
                connection.sendall(data)
                answers.append(self._answer(file))
        return answers

    def _answer(self, file):
        line = file.readline().strip()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._answer(file) for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()
