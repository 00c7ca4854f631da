#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGHUP reads keys and certificate again, and opens the file of traces anew: reload_test.py PROGRAM."""

import http.client
import os
import pty
import shutil
import signal
import ssl
import subprocess
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder
from unread_stream import ANSWERS, LONG_CHAT, UnreadStream

PROGRAM = sys.argv[1]


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.02)


def reload(server, target, outcome="done"):
    """Returns once the server has told of it."""
    line = f" audit reload {outcome} {target} - - -"
    before = sum(line in told for told in server.log)
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: sum(line in told for told in server.log) > before, "".join(server.log))


class Keys(unittest.TestCase):
    def test_keys_come_and_go(self):
        with temporary_folder() as folder:
            keys = os.path.join(folder, "keys")
            write(keys, f"key-one alice max_requests={ANSWERS}\nkey-old carol\n")
            with RunningServer(PROGRAM, "--max-context", "512", "--api-keys", keys) as server:
                def ask(key, path="/v1/completions", body={"prompt": "And", "max_tokens": 1}):
                    return server.request("POST" if body else "GET", path, body, {"Authorization": f"Bearer {key}"})[0]
                kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                kept.request("GET", "/live")
                kept.getresponse().read()
                answer = UnreadStream(server, LONG_CHAT, key="key-one")
                self.assertIn(b" 200 ", answer.begin)
                self.assertEqual([ask(key) for key in ("key-one", "key-old", "key-new")], [429, 200, 401])
                write(keys, f"key-new bob\nkey-one alice max_requests={ANSWERS}\n")
                reload(server, "keys")
                # The answers of a tenant that stays still count.
                self.assertEqual([ask(key) for key in ("key-one", "key-old", "key-new")], [429, 401, 200])
                write(keys, "key-new bob\n")
                reload(server, "keys")
                self.assertEqual([ask(key) for key in ("key-one", "key-new")], [401, 200])
                for text in ("", "key-new\n", "key-new bob many\n"):
                    write(keys, text)
                    reload(server, "keys", "failed")
                    self.assertEqual([ask(key) for key in ("key-one", "key-new")], [401, 200])
                os.remove(keys)
                reload(server, "keys", "failed")
                self.assertEqual(ask("key-new"), 200)
                self.assertEqual(sum("the keys of before is kept" in line for line in server.log), 4)
                told = answer.rest()
                self.assertEqual(told.count(b'"finish_reason":"length"'), ANSWERS)
                self.assertIn(b"data: [DONE]", told)
                kept.request("GET", "/v1/models", headers={"Authorization": "Bearer key-new"})
                self.assertEqual(kept.getresponse().status, 200)
                kept.close()

    def test_the_key_of_metrics(self):
        with temporary_folder() as folder:
            key = os.path.join(folder, "key")
            write(key, "first\n")
            with RunningServer(PROGRAM, "--max-context", "512", "--metrics-key", key) as server:
                write(key, "second\n")
                reload(server, "keys")
                for name, status in (("first", 401), ("second", 200)):
                    self.assertEqual(server.request("GET", "/metrics", None, {"Authorization": f"Bearer {name}"})[0], status)


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
class Certificates(unittest.TestCase):
    def test_a_new_certificate(self):
        with temporary_folder() as folder:
            made = {}
            for name in ("one", "two"):
                made[name] = key, certificate = [os.path.join(folder, name + end) for end in (".key", ".pem")]
                subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                                "-days", "2", "-subj", f"/CN={name}"], check=True, stderr=subprocess.DEVNULL)
            key, certificate = [os.path.join(folder, name) for name in ("key", "certificate")]

            def use(of_key, of_certificate):
                shutil.copy(made[of_key][0], key)
                shutil.copy(made[of_certificate][1], certificate)

            def is_served(name):
                with open(made[name][1]) as file:
                    return ssl.get_server_certificate(("127.0.0.1", server.port)).strip() == file.read().strip()

            use("one", "one")
            with RunningServer(PROGRAM, "--max-context", "512", "--certificate", certificate, "--private-key", key) as server:
                self.assertTrue(is_served("one"))
                context = ssl.create_default_context(cafile=made["one"][1])
                context.check_hostname = False
                before = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
                before.request("GET", "/live")
                before.getresponse().read()
                use("two", "two")
                reload(server, "certificate")
                self.assertTrue(is_served("two"))
                before.request("GET", "/live")  # on the connection of before
                self.assertEqual(before.getresponse().status, 200)
                before.close()
                use("one", "two")  # do not belong together
                reload(server, "certificate", "failed")
                write(certificate, "no certificate\n")
                reload(server, "certificate", "failed")
                self.assertTrue(is_served("two"))
                self.assertTrue(any("expected a certificate chain" in line and "is kept" in line for line in server.log))


class Hangups(unittest.TestCase):
    def test_a_server_that_loads(self):
        with RunningServer(PROGRAM, "--max-context", "512", wait=False) as server:
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: any("serving" in line for line in server.log), "the server does not go on")

    def test_a_server_with_nothing_to_read_ends_with_its_terminal(self):
        ours, terminal = pty.openpty()
        process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--no-packed-cache", "--max-context", "512"], stdin=terminal,
                                   stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                if "serving" in line:
                    break
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.wait(60), 0)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
            for descriptor in (ours, terminal):
                os.close(descriptor)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
