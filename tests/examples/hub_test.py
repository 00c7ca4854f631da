#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models by name: `skald pull` and -hf, with a hub on this machine that answers in every way that hubs do.

usage: hub_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from hub_server import Hub, Repository, etag_of
from skald_program import DEMO, PROGRAM, TIMEOUT, Terminal, TestCase

DEMO_FILES = {path.name: path.read_bytes() for path in DEMO.iterdir()
              if path.name in ("config.json", "model.safetensors", "tokenizer.model", "README.md", "train.py")}
WEIGHTS = "model.safetensors"
NAME = "skald/demo"
COMMIT = "c" * 40
HAS_CURL = "no libcurl" not in subprocess.run(
    [PROGRAM, "pull", "a/b"], env={"HF_ENDPOINT": "http://127.0.0.1:1", "HOME": "/nonexistent"}, capture_output=True,
    text=True, timeout=TIMEOUT).stderr


class HubCase(TestCase):
    def setUp(self):
        super().setUp()
        if not HAS_CURL:
            self.skipTest("this build has no libcurl")
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.hub.repositories[NAME] = self.repository = Repository(dict(DEMO_FILES))
        self.cache = self.folder / "a hub's cache" / "hub"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))
                    and not name.lower().endswith("_proxy")}
        self.env |= {"HF_ENDPOINT": self.hub.url, "HF_HOME": str(self.cache.parent)}

    def skald(self, *arguments, stdin="", **env):
        return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, env=self.env | env, capture_output=True,
                              text=True, timeout=TIMEOUT)

    def pulled(self, name=NAME, **env):
        """Returns the path that it printed, and stderr."""
        done = self.skald("pull", name, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.removesuffix("\n")), done.stderr

    def fails(self, pattern, *arguments, **env):
        done = self.skald(*(arguments or ("pull", NAME)), **env)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"\Askald: " + pattern)
        return done

    def repository_folder(self, name=NAME):
        return self.cache / ("models--" + name.replace("/", "--"))

    def blob(self, file=WEIGHTS, name=NAME):
        return self.repository_folder(name) / "blobs" / self.hub.repositories[name].etag(file)

    def incomplete(self, file=WEIGHTS):
        blob = self.blob(file)
        return blob.with_name(blob.name + ".incomplete")

    def assert_whole(self, name=NAME):
        repository = self.hub.repositories[name]
        snapshot = self.repository_folder(name) / "snapshots" / repository.commit
        self.assertEqual((self.repository_folder(name) / "refs" / "main").read_text(), repository.commit)
        for path in filter(pathlib.Path.is_symlink, snapshot.rglob("*")):
            file = str(path.relative_to(snapshot))
            self.assertFalse(os.path.isabs(os.readlink(path)))
            self.assertEqual(path.resolve(), self.blob(file, name).resolve())
            self.assertEqual(path.read_bytes(), repository.files[file])
        self.assertEqual(list(self.repository_folder(name).rglob("*.incomplete")), [])
        self.assertEqual(list(self.repository_folder(name).rglob("*.tmp")), [])


class Downloads(HubCase):
    def test_only_the_files_that_are_needed_in_the_layout_of_the_hub(self):
        path, _ = self.pulled()
        self.assertEqual(path, self.repository_folder() / "snapshots" / COMMIT)
        self.assertEqual(sorted(os.listdir(path)), ["config.json", WEIGHTS, "tokenizer.model"])
        self.assert_whole()
        self.assertEqual(os.readlink(path / WEIGHTS), "../../blobs/" + etag_of(DEMO_FILES[WEIGHTS], True))
        before = len(self.hub.asked_for("resolve"))
        self.assertEqual(self.pulled()[0], path)
        self.assertEqual(len(self.hub.asked_for("resolve")), before)  # nothing is received twice

    def test_chats_with_a_model_by_name(self):
        done = self.skald("chat", "-hf", NAME, "-n", 5, "--seed", 1, stdin="In the beginning\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.strip())
        told = self.skald("generate", "--hf", NAME, "--prompt", "In", "-n", 8, "--seed", 1)
        self.assertEqual(told.stdout, self.text("--prompt", "In", "-n", 8, "--seed", 1))

    def test_every_command_takes_names(self):
        packed = self.folder / "demo.packed"
        for arguments, expected in ((("inspect", "-hf", NAME), "Config: demo"), (("tokenize", "-hf", NAME, "the", "--ids"), ""),
                                    (("pack", "-hf", NAME, packed), "demo.packed: demo"),
                                    (("bench", "-hf", NAME, "-p", 8, "-n", 2, "-r", 1), "demo")):
            with self.subTest(arguments):
                done = self.skald(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(expected, done.stdout)
        self.assertTrue(packed.exists())
        self.assertIn("--hf", self.skald("serve", "--help").stdout)

    def test_shards_are_those_of_the_index(self):
        index = {"weight_map": {"a": "part one.safetensors", "b": "part two.safetensors"}}
        files = {"config.json": DEMO_FILES["config.json"], "model.safetensors.index.json": json.dumps(index).encode(),
                 "part one.safetensors": b"1" * 1000, "part two.safetensors": b"2" * 2000, "consolidated.safetensors": b"3" * 9000}
        self.hub.repositories["skald/shards"] = Repository(files)
        path, _ = self.pulled("skald/shards")
        self.assertEqual(set(os.listdir(path)), set(files) - {"consolidated.safetensors"})
        self.assert_whole("skald/shards")
        (path / "part two.safetensors").unlink()
        self.fails(r"skald/shards: the cache lacks part two.safetensors, and HF_HUB_OFFLINE", "pull", "skald/shards", HF_HUB_OFFLINE="1")

    def test_quantisations(self):
        names = ["m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf", "m-Q8_0.gguf", "m-Q4_K.gguf", "BF16/m-BF16-00001-of-00002.gguf",
                 "BF16/m-BF16-00002-of-00002.gguf", "m-Q5_0-00001-of-00002.gguf", "sub/m-F16.gguf", "mmproj-F32.gguf", "README.md"]
        self.hub.repositories["skald/quants"] = Repository({name: b"GGUF" + name.encode() for name in names})
        for asked, file in (("", "m-Q4_K_M.gguf"), (":Q4_K_M", "m-Q4_K_M.gguf"), (":q8_0", "m-Q8_0.gguf"), (":Q4_K", "m-Q4_K.gguf"),
                            (":UD-Q4_K_M", "m-UD-Q4_K_M.gguf"), (":f16", "sub/m-F16.gguf"), (":m-Q8_0.gguf", "m-Q8_0.gguf")):
            with self.subTest(asked):
                path, told = self.pulled("skald/quants" + asked)
                self.assertEqual(path, self.repository_folder("skald/quants") / "snapshots" / COMMIT / file)
                self.assertEqual(file in told, not asked)
        path, _ = self.pulled("skald/quants:BF16")  # both parts
        self.assertEqual(path.name, "m-BF16-00001-of-00002.gguf")
        self.assertTrue((path.parent / "m-BF16-00002-of-00002.gguf").exists())
        self.assert_whole("skald/quants")
        self.fails("skald/quants: 'm-Q5_0-00002-of-00002.gguf' is missing, one of the 2 parts", "pull", "skald/quants:Q5_0")
        self.fails("skald/quants: no GGUF file is 'Q3_K_S'; there are: .*m-Q8_0.gguf", "pull", "skald/quants:Q3_K_S")
        self.fails("skald/demo: no GGUF file is 'Q8_0'; there are: none", "pull", NAME + ":Q8_0")

    def test_repositories_without_a_model(self):
        for name, files, pattern in (("skald/pickled", {"config.json": b"{}", "pytorch_model.bin": b""}, ".*pickled"),
                                     ("skald/empty", {"README.md": b""}, "skald/empty: expected config.json with model.safetensors")):
            self.hub.repositories[name] = Repository(files)
            self.fails(pattern, "pull", name)


class Access(HubCase):
    TOKEN = "hf_TheToken"

    def test_the_token_goes_to_the_hub_alone(self):
        self.hub.token = self.TOKEN
        self.pulled(HF_TOKEN=" " + self.TOKEN + "\n")
        servers = {server: {headers.get("Authorization") for server_, _, _, headers, _ in self.hub.requests if server_ == server}
                   for server in ("hub", "other")}
        self.assertEqual(servers, {"hub": {"Bearer " + self.TOKEN}, "other": {None}})

    def test_the_token_may_be_in_a_file(self):
        self.hub.token = self.TOKEN
        self.cache.parent.mkdir(parents=True)
        (self.cache.parent / "token").write_text(self.TOKEN + "\n")
        self.pulled()
        elsewhere = self.folder / "my token"
        elsewhere.write_text(self.TOKEN)
        (self.cache.parent / "token").unlink()
        self.pulled(HF_TOKEN_PATH=str(elsewhere))
        self.fails("skald/demo: the hub refuses access", HF_TOKEN="other")
        self.fails("the token for the hub has characters", HF_TOKEN="a\nX-Header: b")

    def test_errors_of_the_hub_are_told(self):
        self.hub.token = self.TOKEN
        self.fails(r"skald/demo: the hub refuses access \(HTTP 401\) \(Invalid username or password.\): .*HF_TOKEN")
        self.hub.token = None
        self.fails(r"no/thing: the hub has no such thing \(Repository not found\)", "pull", "no/thing")
        del self.repository.files["config.json"]
        self.hub.more_facts = {"siblings": [{"rfilename": name} for name in DEMO_FILES]}
        self.fails("skald/demo/config.json: the hub has no such thing")
        for facts, pattern in (({"sha": "../../x"}, "has the commit"), ({"siblings": 1}, "has no commit and list of files"),
                               ({"siblings": [{"rfilename": "../evil"}]}, "has a file of the name '../evil', which is not safe"),
                               ({"siblings": [{"rfilename": "/etc/x.gguf"}]}, "is not safe"),
                               ({"siblings": [{"rfilename": "a\u001b[31m.gguf"}]}, "is not safe"),
                               ({"siblings": [{}]}, "has a file without a name")):
            self.hub.more_facts = facts
            self.fails("skald/demo: the hub's answer .*" + re.escape(pattern))
        self.hub.more_facts = {}
        for body, pattern in ((b"<html>", "is no JSON"), (b"[" * 100000, "is no JSON"), (b" " * (33 << 20), "is too long")):
            self.hub.troubles = [{"in": "/api/", "status": 200, "body": body}]
            self.fails("skald/demo: the hub's answer " + pattern)
        self.hub.troubles = [{"in": "config.json", "method": "HEAD", "status": 200, "headers": {"ETag": '"../../x"'}}]
        self.hub.more_facts = {}
        self.repository.files["config.json"] = DEMO_FILES["config.json"]
        self.fails("config.json: the hub's ETag '../../x' is neither")
        self.assertFalse((self.repository_folder() / "refs" / "main").exists())

    def test_a_busy_hub_is_asked_again(self):
        self.hub.troubles = [{"in": "/api/", "status": 429, "headers": {"Retry-After": "1"}},
                             {"in": "config.json", "method": "HEAD", "status": 503}]
        begin = time.monotonic()
        _, told = self.pulled()
        self.assertGreater(time.monotonic() - begin, 1)
        self.assertIn("the hub has no time (HTTP 429); trying again in 1 s", told)
        self.assert_whole()
        self.hub.troubles = [{"in": "/api/models/skald/busy", "status": 429, "headers": {"Retry-After": "7200"}}]
        self.fails(r"skald/busy: the hub has no time \(HTTP 429\); try again in 7200 s", "pull", "skald/busy")

    def test_redirects_that_are_not_followed(self):
        self.hub.location = "file:///etc/passwd"
        self.fails("the hub redirects to 'file:///etc/passwd', expected HTTP or HTTPS")
        self.hub.location = f"{self.hub.url}/{NAME}/resolve/{COMMIT}/{WEIGHTS}"
        self.fails("'.*model.safetensors' is redirected too often")

    def test_proxies(self):
        self.pulled(HF_ENDPOINT="http://hub.invalid", http_proxy=self.hub.url, NO_PROXY="localhost")
        self.assertEqual({netloc for server, *_, netloc in self.hub.requests if server == "hub"}, {"hub.invalid"})

    def test_names_and_places_that_cannot_be(self):
        for name in ("../x", "a/b/c", "a//b", "a/-b", "a/b:../x", "a b/c", "a/b--c"):
            done = self.skald("pull", name)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("expected the name of a model on the hub", done.stderr)
        self.fails("HF_ENDPOINT is 'ftp://x'", HF_ENDPOINT="ftp://x")
        self.assertEqual(self.skald("chat", "-hf").returncode, 2)
        self.assertIn("--model excludes --hf", self.skald("chat", "-hf", NAME, "--model", "x").stderr)


class Breaks(HubCase):
    def test_cut_connections_are_gone_on_with(self):
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "cut_after": 100_000},
                             {"in": WEIGHTS, "server": "other", "cut_after": 200_000},
                             {"in": "tokenizer.model", "method": "GET", "cut_after": 1000}]
        self.pulled()
        self.assert_whole()
        ranges = [headers.get("Range") for server, headers in self.hub.asked_for(WEIGHTS) if server == "other"]
        self.assertEqual(ranges, [None, "bytes=100000-", "bytes=300000-"])
        asked = [headers for _, headers in self.hub.asked_for("tokenizer.model")][-1]
        self.assertEqual((asked["Range"], asked["If-Range"]), ("bytes=1000-", f'"{self.repository.etag("tokenizer.model")}"'))

    def test_a_hub_that_is_gone_leaves_what_came(self):
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "cut_after": 0, "once": False}]
        self.incomplete().parent.mkdir(parents=True)
        self.incomplete().write_bytes(DEMO_FILES[WEIGHTS][:5000])
        self.fails(r"skald/demo/model.safetensors: the hub cannot be reached")
        self.assertEqual(self.incomplete().read_bytes(), DEMO_FILES[WEIGHTS][:5000])
        self.assertFalse((self.repository_folder() / "refs" / "main").exists())
        self.hub.troubles = []
        self.pulled()
        self.assert_whole()
        self.assertEqual(self.hub.asked_for("/cdn/")[-1][1]["Range"], "bytes=5000-")

    def test_servers_without_ranges_begin_again(self):
        self.incomplete().parent.mkdir(parents=True)
        self.incomplete().write_bytes(DEMO_FILES[WEIGHTS][:5000])
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "whole": True}]
        self.pulled()
        self.assert_whole()

    def test_what_is_there_may_be_damaged(self):
        self.incomplete().parent.mkdir(parents=True)
        for left in (b"x" * 5000, b"x" * len(DEMO_FILES[WEIGHTS]), DEMO_FILES[WEIGHTS], DEMO_FILES[WEIGHTS] + b"more"):
            self.incomplete().write_bytes(left)
            _, told = self.pulled()
            self.assertEqual("was damaged, so it is downloaded again" in told, left.startswith(b"x"))
            self.assert_whole()
            self.blob().unlink()

    def test_wrong_bytes_are_not_kept(self):
        for replace in (lambda body: body[:-1] + bytes([body[-1] ^ 1]), lambda body: body + b"more"):
            for file in (WEIGHTS, "tokenizer.model"):
                shutil.rmtree(self.cache, ignore_errors=True)
                self.hub.troubles = [{"in": file, "method": "GET", "server": "other" if file == WEIGHTS else "hub", "replace": replace}]
                self.fails(file + ": the hub sen(t other bytes than its checksum says; none are kept|ds more than the)")
                self.assertFalse(self.incomplete(file).exists() or self.blob(file).exists())
        self.pulled()
        self.assert_whole()

    def test_interrupted_and_gone_on_with(self):
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "slow": 0.05}]
        program = subprocess.Popen([PROGRAM, "pull", NAME], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_until(lambda: self.incomplete().exists() and self.incomplete().stat().st_size > 10_000)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=TIMEOUT)
        self.assertIn(program.returncode, (-signal.SIGINT, 130))
        there = self.incomplete().stat().st_size
        self.assertFalse((self.repository_folder() / "refs" / "main").exists())
        self.pulled()
        self.assertEqual(self.hub.asked_for("/cdn/")[-1][1]["Range"], f"bytes={there}-")
        self.assert_whole()

    def test_two_at_once_share_one_download(self):
        both_are_there = threading.Event()
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "held": 10_000, "until": both_are_there}]
        errors = [self.folder / f"errors {number}" for number in range(2)]
        programs = []
        for path in errors:
            with open(path, "w") as file:
                programs.append(subprocess.Popen([PROGRAM, "pull", NAME], env=self.env, stdout=subprocess.PIPE, stderr=file, text=True))
        def waiting():
            return sum("waiting for another program that downloads model.safetensors" in path.read_text() for path in errors)
        self.wait_until(waiting)
        both_are_there.set()
        told = [program.communicate(timeout=TIMEOUT)[0] for program in programs]
        self.assertEqual([program.returncode for program in programs], [0, 0], [path.read_text() for path in errors])
        self.assertEqual(told[0], told[1])
        self.assertEqual(len(self.hub.asked_for("/cdn/")), 1)
        self.assertEqual(waiting(), 1)
        self.assert_whole()

    def test_full_disks(self):
        self.hub.troubles = [{"in": WEIGHTS, "method": "HEAD", "status": 302, "headers": {
            "Location": "http://localhost:1/", "X-Linked-Etag": "0" * 64, "X-Linked-Size": str(1 << 60)}}]
        self.fails(r"skald/demo: \d+ MB are to be downloaded, but the disk of .*models--skald--demo has room for \d+ MB")
        self.assertEqual(self.hub.asked_for("/cdn/"), [])
        disk = self.folder / "small disk"
        disk.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("a disk that fills up needs root, to mount it")
        self.addCleanup(subprocess.run, ["umount", disk])
        self.repository.files["tokenizer.model"] = b"t" * 300_000
        self.repository.files[WEIGHTS] = b"w" * 600_000
        is_full = threading.Event()
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "held": 20_000, "until": is_full}]
        program = subprocess.Popen([PROGRAM, "pull", NAME], env=self.env | {"HF_HUB_CACHE": str(disk)}, stderr=subprocess.PIPE, text=True)
        incomplete = disk / self.incomplete().relative_to(self.cache)
        self.wait_until(lambda: incomplete.exists() and incomplete.stat().st_size > 10_000)
        (disk / "of another program").write_bytes(b"x" * 500_000)
        is_full.set()
        _, told = program.communicate(timeout=TIMEOUT)
        self.assertEqual(program.returncode, 1)
        self.assertIn("No space left on device", told)
        self.assertFalse(incomplete.exists())

    def wait_until(self, condition):
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)


class Caches(HubCase):
    def test_offline(self):
        self.fails("skald/demo is not in the cache .*, and HF_HUB_OFFLINE says not to ask the hub", HF_HUB_OFFLINE="1")
        path, _ = self.pulled()
        self.hub.requests.clear()
        self.assertEqual(self.pulled(HF_HUB_OFFLINE="True")[0], path)
        self.assertEqual(self.hub.requests, [])
        found, told = self.pulled(HF_ENDPOINT="http://127.0.0.1:1")
        self.assertEqual(found, path)
        self.assertRegex(told, r"the hub cannot be reached: .*; the copy in the cache is used")

    def test_places(self):
        self.env.pop("HF_HOME")
        home = self.folder / "home"
        self.assertEqual(self.pulled(HOME=str(home), XDG_CACHE_HOME="")[0].relative_to(home).parts[:3], (".cache", "huggingface", "hub"))
        chosen = self.folder / "chosen"
        self.assertEqual(self.pulled(HF_HUB_CACHE=str(chosen))[0].relative_to(chosen).parts[0], "models--skald--demo")
        self.fails("there is no folder for models of the hub", HOME="", XDG_CACHE_HOME="")

    def test_files_that_other_tools_put_there_are_used(self):
        blob = self.blob()
        blob.parent.mkdir(parents=True)
        blob.write_bytes(DEMO_FILES[WEIGHTS])
        self.pulled()
        self.assertEqual(self.hub.asked_for(WEIGHTS), [])
        self.assert_whole()
        # and a lock that one of them holds is waited for
        shutil.rmtree(self.repository_folder())
        lock = self.cache / ".locks" / "models--skald--demo" / (blob.name + ".lock")
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            program = subprocess.Popen([PROGRAM, "pull", NAME], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertIn("waiting for another program", program.stderr.readline())
        program.communicate(timeout=TIMEOUT)
        self.assertEqual(program.returncode, 0)

    def test_new_commits(self):
        old, _ = self.pulled()
        self.repository.commit = "d" * 40
        self.repository.files["config.json"] += b"\n"
        self.hub.find = lambda path, find=self.hub.find: find(path.replace("/resolve/" + "d" * 40, "", 1))
        new, _ = self.pulled()
        self.assertEqual(new.name, "d" * 40)
        self.assertEqual(len(self.hub.asked_for("/cdn/")), 1)  # the weights are the same
        self.assertEqual((old / "config.json").read_bytes() + b"\n", (new / "config.json").read_bytes())

    def test_models_says_where_they_are(self):
        rows = dict(line.split(None, 1) for line in self.skald("models").stdout.splitlines())
        self.assertEqual(rows["qwen3-0.6b"], "skald pull Qwen/Qwen3-0.6B")
        self.assertTrue(rows["demo"].startswith("folder: "))
        path, _ = self.pulled()
        self.hub.repositories["Qwen/Qwen3-0.6B"] = Repository(dict(DEMO_FILES))
        qwen, _ = self.pulled("Qwen/Qwen3-0.6B")
        rows = dict(line.split(None, 1) for line in self.skald("models").stdout.splitlines())
        self.assertRegex(rows[NAME], rf"hub cache: skald/demo, commit {COMMIT[:12]}, \d+ MB: {re.escape(str(path))}\Z")
        self.assertIn(str(qwen), rows["qwen3-0.6b"])
        self.assertNotIn("Qwen/Qwen3-0.6B", rows)

    def test_names_without_a_file_give_the_command(self):
        for name, repository in (("qwen3-0.6b", "Qwen/Qwen3-0.6B"), ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B")):
            self.fails(f"{name}: no such file or folder; 'skald pull {repository}' downloads", "chat", "--model", name)

    def test_known_repositories_are_those_of_the_configs(self):
        table = pathlib.Path("examples/skald/model_files/known_repositories.h").read_text()
        families = "".join(path.read_text() for path in pathlib.Path("include/skald/families").glob("*/*.h"))
        rows = re.findall(r'\{"([^"]+)", "([^"]+)"\}', table)
        self.assertGreater(len(rows), 50)
        for name, repository in rows:
            config = families[:families.index(f'kName = "{name}"')]
            self.assertEqual(re.findall(r"https://huggingface.co/([\w.-]+/[\w.-]+)", config)[-1], repository)

    def test_progress_is_drawn_on_a_terminal(self):
        self.hub.troubles = [{"in": WEIGHTS, "server": "other", "slow": 0.002}]
        terminal = Terminal(self, "pull", NAME, env=self.env)
        terminal.wait_for("downloading skald/demo [")
        terminal.wait_for("snapshots")
        self.assertEqual(terminal.exit_code(), 0)


if __name__ == "__main__":
    unittest.main()
