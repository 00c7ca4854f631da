#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Redis with passwords, users, databases and TLS, and that no word of the server shows a password:
redis_access_test.py PROGRAM. Skips what the machine has no program for."""

import os
import shutil
import ssl
import subprocess
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder
from running_redis import RunningRedis

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "512", "-t", "1"]
TEXT = "And it came to pass in the days of the king that a man went out of the city and said behold " * 4


@unittest.skipUnless(RunningRedis.is_installed, "there is no redis-server")
class Redis(unittest.TestCase):
    def setUp(self):
        holder = temporary_folder()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    # Whether a server with these options reaches its Redis, and its log, once that is as `wanted`. No word shows a secret.
    def reaches(self, wanted, *options):
        with RunningServer(PROGRAM, *ARGUMENTS, *options) as server:
            deadline, asked = time.monotonic() + 60, 0
            while True:  # stores are asked beside the answers, and a lost one now and then
                body = {"messages": [{"role": "user", "content": f"{asked} {TEXT}"}], "max_tokens": 2}
                self.assertEqual(server.post("/v1/chat/completions", body)[0], 200)
                metrics, log = server.request("GET", "/metrics")[2].decode(), "".join(server.log)
                is_up = "skald_redis_up 1" in metrics
                if (is_up if wanted else "without it" in log) or time.monotonic() > deadline:
                    break
                asked += 1
        self.assertNotIn("sesame", log + metrics)
        self.assertIn("skald_redis_up", metrics)
        return is_up, log

    def assert_reaches(self, *options):
        is_up, log = self.reaches(True, *options)
        self.assertTrue(is_up, log)

    def assert_refused(self, words, *options):
        is_up, log = self.reaches(False, *options)
        self.assertFalse(is_up)
        self.assertIn(words, log)

    def test_password(self):
        with RunningRedis("--requirepass", "sesame@/:") as redis:
            place = f"127.0.0.1:{redis.port}"
            password = self.file("password", "sesame@/:\n")
            self.assert_reaches("--redis", f"redis://:sesame%40%2f%3a@{place}")
            self.assert_reaches("--redis", f"redis://default:sesame%40%2f%3a@{place}/0")
            self.assert_reaches("--redis", place, "--redis-password-file", password)
            self.assertGreater(redis.do(["AUTH", "sesame@/:"], ["DBSIZE"])[1], 0)
            self.assert_refused("NOAUTH", "--redis", place)
            self.assert_refused("WRONGPASS", "--redis", f"redis://:sesame-not@{place}")

    def test_user_and_database(self):
        with RunningRedis("--user", "anna", "on", ">sesame", "~skald:*", "+@all", "--user", "default", "off") as redis:
            place = f"127.0.0.1:{redis.port}"
            self.assert_reaches("--redis", f"redis://anna:sesame@{place}/3")
            login = ["AUTH", "anna", "sesame"]
            self.assertEqual(redis.do(login, ["DBSIZE"])[1], 0)
            self.assertGreater(redis.do(login, ["SELECT", "3"], ["DBSIZE"])[2], 0)
            self.assert_reaches("--redis", f"redis://anna@{place}", "--redis-password-file", self.file("p", "sesame"))
            self.assert_refused("WRONGPASS", "--redis", f"redis://otto:sesame@{place}/3")
            self.assert_refused("DB index", "--redis", f"redis://anna:sesame@{place}/99")

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
    def test_tls(self):
        self.certificates()
        for auth in ["no", "yes"]:
            options = ["--tls-cert-file", self.path("server.pem"), "--tls-key-file", self.path("server.key"),
                       "--tls-ca-cert-file", self.path("ca.pem"), "--tls-auth-clients", auth, "--requirepass", "sesame"]
            client = ssl.create_default_context(cafile=self.path("ca.pem"))
            client.load_cert_chain(self.path("server.pem"), self.path("server.key"))
            with RunningRedis(*options, tls=client) as redis:
                place = f":sesame@127.0.0.1:{redis.port}/1"
                ours = ["--redis-certificate", self.path("server.pem"), "--redis-private-key", self.path("server.key")]
                trust = ["--redis-ca", self.path("ca.pem"), *(ours if auth == "yes" else [])]
                self.assert_reaches("--redis", f"rediss://{place}", *trust)
                self.assertGreater(redis.do(["AUTH", "sesame"], ["SELECT", "1"], ["DBSIZE"])[2], 0)
                # A server with an untrusted certificate, one with another name, one that speaks another protocol.
                self.assert_refused("certificate is not accepted", "--redis", f"rediss://{place}")
                other = place.replace("127.0.0.1", "localhost")
                self.assert_refused("certificate is not accepted", "--redis", f"rediss://{other}", *trust)
                self.assert_refused("going on without it", "--redis", f"redis://{place}")
                if auth == "yes":
                    self.assert_refused("going on without it", "--redis", f"rediss://{place}", "--redis-ca", self.path("ca.pem"))
        with RunningRedis() as plain:
            self.assert_refused("TLS", "--redis", f"rediss://127.0.0.1:{plain.port}", "--redis-ca", self.path("ca.pem"))

    def path(self, name):
        return os.path.join(self.folder, name)

    # An authority, and a certificate of 127.0.0.1 that it signed.
    def certificates(self):
        def run(*words):
            subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=self.folder)
        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # newer versions of Python want it
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=redis")
        self.file("names", "subjectAltName=IP:127.0.0.1\n")
        run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem",
            "-days", "2", "-extfile", "names")


class Refused(unittest.TestCase):
    def test_addresses_and_files(self):
        with temporary_folder() as folder:
            empty = os.path.join(folder, "empty")
            open(empty, "w").close()
            short = os.path.join(folder, "short")
            with open(short, "w") as file:
                file.write("sesame\n")
            for words, options in [("redis://", ["--redis", "http://anna:sesame@host"]),
                                   ("redis://", ["--redis", "anna:sesame@host:1"]),
                                   ("port", ["--redis", "redis://anna:sesame@host:port"]),
                                   ("database", ["--redis", "redis://anna:sesame@host/many"]),
                                   ("has no password", ["--redis", "redis://anna@host"]),
                                   ("is empty", ["--redis", "host", "--redis-password-file", empty]),
                                   (folder, ["--redis", "host", "--redis-password-file", folder]),
                                   ("rediss://", ["--redis", "redis://:sesame@host", "--redis-ca", empty]),
                                   ("at least 16", ["--state", os.path.join(folder, "s"), "--store-key-file", short]),
                                   ("is empty", ["--store-key-file", empty])]:
                done = subprocess.run([PROGRAM, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, 1, (options, done.stderr))
                self.assertIn(words, done.stderr)
                self.assertNotIn("sesame", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
