# SPDX-License-Identifier: Apache-2.0
"""A `skald serve` of a test's own, and requests to it with nothing but the standard library."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import demo_adapter  # noqa: E402


class RunningServer:
    """Started on a free port; ends with the `with` block. `log` has what it said. A `launcher` is a command that starts
    the server, as mpirun does, in its environment `env`."""

    def __init__(self, program, *arguments, wait=True, launcher=(), env=None):
        self.log = []
        self._has_launcher = bool(launcher)
        self.process = subprocess.Popen([*launcher, program, "serve", "--port", "0", "--no-packed-cache", *arguments],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
        self.port = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        deadline = time.monotonic() + 120
        while self.port is None or (wait and not any("serving" in line for line in self.log)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start: " + "".join(self.log))
            time.sleep(0.01)

    def _read(self):
        for line in self.process.stderr:
            found = re.search(r"https?://[^ ]*:(\d+)", line)
            if found and self.port is None:
                self.port = int(found.group(1))
            self.log.append(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1 if self._has_launcher else signal.SIGTERM)
            self.process.wait(60)
        self._reader.join()
        self.process.stderr.close()
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()

    # Returns (status, headers, body as bytes).
    def request(self, method, path, body=None, headers=None, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), data

    # Stores are written and read beside the answers: what they are up to shows a little later.
    def wait_for_metric(self, line):
        deadline = time.monotonic() + 60
        while line + "\n" not in self.request("GET", "/metrics")[2].decode():
            if time.monotonic() > deadline:
                raise AssertionError("the metrics do not come to say: " + line)
            time.sleep(0.02)

    def post(self, path, body, headers=None, timeout=120):
        status, _, data = self.request("POST", path, body, headers, timeout)
        return status, json.loads(data)

    def get(self, path, headers=None):
        status, _, data = self.request("GET", path, None, headers)
        return status, json.loads(data)

    # Returns the events of a stream, as JSON but for "[DONE]".
    def stream(self, path, body, headers=None):
        status, _, data = self.request("POST", path, {**body, "stream": True}, headers)
        assert status == 200, (status, data)
        lines = data.decode().split("\n")
        return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def check_answer(status, kind, body):
    """Raises unless this is what an API gives: no status 500, errors that say why, objects or events of JSON."""
    assert status != 500, body
    if status >= 400:
        error = json.loads(body)["error"]
        assert isinstance(error, str) or (error["message"] and error["type"]), body
    elif kind.startswith("text/event-stream"):
        for line in body.decode().split("\n"):
            assert not line.startswith("data: ") or line == "data: [DONE]" or isinstance(json.loads(line[6:]), dict), line
    elif kind.startswith("application/x-ndjson"):
        assert all(isinstance(json.loads(line), dict) for line in body.decode().splitlines()), body
    elif kind.startswith("application/json"):
        assert isinstance(json.loads(body), (dict, list)), body


def write_tool_template(folder):
    with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
        file.write("{%- if tools %}Tools: {{ tools | tojson }}\n<tool_call> has a name and arguments.\n{% endif %}"
                   "{%- for m in messages %}{{ m.role }}: {{ m.content }}"
                   "{%- for c in m.tool_calls or [] %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>{% endfor %}\n"
                   "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}")


def tool_model(demo_folder, folder):
    """The demo model with a chat template that knows tools, in the form of Hermes."""
    for name in os.listdir(demo_folder):
        if name.endswith((".json", ".safetensors", ".model")):
            os.symlink(os.path.abspath(os.path.join(demo_folder, name)), os.path.join(folder, name))
    write_tool_template(folder)
    return folder


INFILL_MARKS = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"]


def infill_model(demo_folder, folder):
    """The demo model with another tokenizer: one token for each byte, and the marks of models that fill in. It knows
    tools too."""
    for name in ("config.json", "model.safetensors"):
        os.symlink(os.path.abspath(os.path.join(demo_folder, name)), os.path.join(folder, name))
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printed] + [chr(256 + i) for i in range(256 - len(printed))]
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    for i in range(256, 2048 - len(INFILL_MARKS)):
        vocabulary[f"unused {i}"] = i
    added = [{"id": 2048 - len(INFILL_MARKS) + i, "content": mark, "special": True, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False} for i, mark in enumerate(INFILL_MARKS)]
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                   "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
                   "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                                                       "use_regex": True},
                   "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
                             "merges": []}}, file)
    write_tool_template(folder)
    return folder


def adapters(folder, names):
    """The options for adapters of the demo model under these names, each another one."""
    options = []
    for seed, name in enumerate(names):
        demo_adapter.write(os.path.join(folder, name), seed)
        options += ["--adapter", f"{name}={os.path.join(folder, name)}"]
    return options


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="skald-serve-")
