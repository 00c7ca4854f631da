#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unusual inputs and outputs of the skald program: full disks, closed pipes, folders, devices, and
bytes that would drive a terminal.

usage: streams_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import os
import struct
import subprocess
import sys
import unittest

from skald_program import DEMO, PROGRAM, TIMEOUT, Terminal, TestCase, skald

sys.path.insert(0, "tests/support")
import gguf_writer

HOSTILE = "\x1b]0;owned\x07\r\n\x9b31m"  # an escape, a line of its own, and an escape of one byte (C1)
CONTROLS = [bytes([byte]) for byte in (*range(9), *range(11, 32), 127)] + [b"\xc2" + bytes([c1]) for c1 in range(128, 160)]


class Output(TestCase):
    def commands(self):
        (self.folder / "store").mkdir()
        return (["--help"], ["--version"], ["chat", "--help"], ["models"], ["inspect", DEMO], ["store", self.folder / "store"],
                ["generate", "-n", 5], ["chat", "-n", 5], ["pack", DEMO, self.folder / "demo.packed"],
                ["pack", "--verify", self.folder / "demo.packed"], ["bench", "-p", 1, "-n", 0, "-t", 1, "-r", 1])

    def failed(self, reason, command, **streams):
        with self.subTest(command):
            if command[0] == "store" and "built without" in skald(*command).stderr:
                return
            done = subprocess.run([PROGRAM, *map(str, command)], input=b"And\nthe\n", stderr=subprocess.PIPE,
                                  timeout=TIMEOUT, **streams)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr.decode(), rf"skald: standard output: {reason}\n\Z")

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            for command in self.commands():
                self.failed("No space left on device", command, stdout=full)

    def test_a_closed_pipe_is_told(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        for command in self.commands():
            self.failed("Broken pipe", command, stdout=writer)

    def test_streams_that_were_closed_are_no_files(self):
        packed = self.folder / "demo.packed"
        self.failed("Bad file descriptor", ["pack", DEMO, packed], preexec_fn=lambda: os.close(1))
        self.run_skald("pack", "--verify", packed)  # the message did not go into it
        for descriptors in ((0,), (2,), (0, 2)):
            done = subprocess.run([PROGRAM, "generate", "-n", "5", "--frobnicate"], capture_output=True, timeout=TIMEOUT,
                                  preexec_fn=lambda: [os.close(descriptor) for descriptor in descriptors])
            self.assertEqual(done.returncode, 2)
        done = subprocess.run([PROGRAM, "chat"], capture_output=True, timeout=TIMEOUT, preexec_fn=lambda: os.close(0))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"skald: standard input: Bad file descriptor\n", done.stderr)

    def test_a_text_ends_when_nobody_reads_it(self):
        endless = ["generate", "--prompt", "In the beginning", "-n", "1000000", "--max-context", "1000000", "--logit-bias", "1=-inf"]
        with subprocess.Popen([PROGRAM, *endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            self.addCleanup(program.kill)
            program.stdout.read(40)
            program.stdout.close()
            self.assertEqual(program.wait(TIMEOUT), 1)
            self.assertIn(b"stopped because it cannot be written]", program.stderr.read())


class Input(TestCase):
    def sparse(self, path):
        with open(path, "wb") as file:
            file.truncate(20 << 30)
        return path

    def test_prompts_of_every_kind(self):
        os.mkfifo(self.folder / "pipe")
        for path, pattern in ((self.folder, "this is a folder, expected a file"),
                              ("/dev/zero", "expected a regular file; - is standard input"),
                              (self.folder / "pipe", "expected a regular file; - is standard input"),
                              (self.sparse(self.folder / "sparse"), "the file has 21474836480 bytes, expected at most")):
            self.refused(1, f"{path}: {pattern}", "generate", "--prompt-file", path)
        for command in (["generate", "--prompt-file", "-"], ["chat"]):
            for stream, pattern in (("/dev/zero", b"standard input: expected .*at most 67108864 bytes"),
                                    ("/", b"standard input: Is a directory")):
                with self.subTest(command + [stream]):
                    file = os.open(stream, os.O_RDONLY)
                    self.addCleanup(os.close, file)
                    done = subprocess.run([PROGRAM, *command], stdin=file, capture_output=True, timeout=TIMEOUT)
                    self.assertEqual((done.returncode, done.stdout), (1, b""))
                    self.assertRegex(done.stderr.splitlines()[-1], b"\\Askald: " + pattern)

    def test_tokenizers_that_are_no_files(self):
        os.mkfifo(self.folder / "pipe")
        for path in (self.folder, self.folder / "pipe", "/proc/self/mem"):
            self.refused(1, ".+", "generate", "--tokenizer", path)

    def test_files_of_a_model_that_are_none(self):
        model = self.copy_of_demo()
        for name in ("config.json", "tokenizer.model"):
            whole = (model / name).read_bytes()
            for make, pattern in ((os.mkdir, "this is a folder, expected a file"), (os.mkfifo, "expected a regular file"),
                                  (self.sparse, "the file has 21474836480 bytes, expected at most")):
                (model / name).unlink()
                make(model / name)
                self.refused(1, f".*{name}: {pattern}", "generate", "--model", model)
                os.rmdir(model / name) if make is os.mkdir else None
                (model / name).exists() or (model / name).touch()
            (model / name).write_bytes(whole)


class Controls(TestCase):
    def assert_harmless(self, output):
        self.assertEqual([], [control for control in CONTROLS if control in output], output)
        output.decode()

    def run_bytes(self, *arguments, stdin=b""):
        done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=TIMEOUT)
        self.assert_harmless(done.stdout + done.stderr)
        return done

    def test_in_metadata_of_gguf(self):
        values, tensors = gguf_writer.from_gemma3(DEMO)
        path = self.folder / f"{HOSTILE}.gguf"
        for changed, renamed in (({"general.name": HOSTILE, HOSTILE: HOSTILE, "list": [HOSTILE]}, {}),
                                 ({"general.architecture": HOSTILE}, {}), ({"tokenizer.ggml.model": HOSTILE}, {}),
                                 ({}, {HOSTILE: next(iter(tensors.values()))})):
            path.write_bytes(gguf_writer.gguf(values | changed, tensors | renamed))
            self.assertEqual(self.run_bytes("inspect", path).returncode, 0)
            self.run_bytes("generate", "--model", path, "--prompt", "x", "-n", "1")

    def test_in_a_safetensors_header(self):
        for header in ({HOSTILE: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
                       {"a": {"dtype": HOSTILE, "shape": [1], "data_offsets": [0, 4]}},
                       {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], HOSTILE: 1}},
                       {"__metadata__": {HOSTILE: HOSTILE}}):
            text = json.dumps(header, ensure_ascii=False).encode()
            path = self.folder / f"{HOSTILE}.safetensors"
            path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
            self.run_bytes("inspect", path)

    def test_in_settings_and_names(self):
        model = self.copy_of_demo()
        config = json.loads((model / "config.json").read_text())
        for changed in ({"model_type": HOSTILE}, {"hidden_size": HOSTILE}, {HOSTILE: HOSTILE}):
            (model / "config.json").write_text(json.dumps(config | changed))
            self.run_bytes("generate", "--model", model, "-n", "1", "--prompt", "x")
        for arguments in (["generate", "--model", HOSTILE], ["inspect", HOSTILE], ["store", HOSTILE], [HOSTILE],
                          ["generate", "--prompt-file", HOSTILE], ["generate", f"--{HOSTILE}"],
                          ["pack", "--verify", HOSTILE], ["generate", "--max-tokens", b"\xff" + HOSTILE.encode()]):
            self.assertNotEqual(self.run_bytes(*arguments).returncode, 0)
        (self.folder / f"{HOSTILE}.skald").touch()
        self.run_bytes("chat", "--model", DEMO, stdin=f"/load {self.folder}/{HOSTILE}.skald\n/load {self.folder}/x.skald\n"
                       f"/{HOSTILE}\n/save {self.folder}/none/{HOSTILE}\n".encode())
        (self.folder / "x.skald").mkdir()
        self.run_bytes("chat", "--model", DEMO, stdin=f"/fork {self.folder}/y.skald\n/sessions\n".encode())

    def test_in_a_text_on_a_terminal(self):
        prompt = "And\x1b[31m\x07 he\tsaid\n\x9bunto"
        shown = Terminal(self, "generate", "--prompt", prompt, "-n", 3)
        shown.wait_for("\r\x1b[K")  # with which the bar of loading vanishes
        text = shown.wait_for("[demo:")
        self.assertIn("And?[31m? he", text)
        self.assertIn("said\r\n?unto", text)
        self.assertNotIn("\x1b", text)
        # Through a pipe every byte comes as it is.
        done = subprocess.run([PROGRAM, "generate", "--prompt", prompt, "-n", "3"], capture_output=True, timeout=TIMEOUT)
        self.assertTrue(done.stdout.startswith(prompt.encode()))


if __name__ == "__main__":
    unittest.main()
