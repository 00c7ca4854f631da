# SPDX-License-Identifier: Apache-2.0
"""Models for a server of several, and what it tells of them."""

import json
import os
import re
import struct
import time

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")


def swapped_model(folder, one, other):
    """The demo model with two of its layers in each other's place: another model of the same size."""
    os.makedirs(folder)
    for name in ("config.json", "tokenizer.model"):
        os.symlink(os.path.abspath(os.path.join(DEMO, name)), os.path.join(folder, name))
    with open(os.path.join(DEMO, "model.safetensors"), "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    for name in [name for name in header if f"layers.{one}." in name]:
        twin = name.replace(f"layers.{one}.", f"layers.{other}.")
        header[name]["data_offsets"], header[twin]["data_offsets"] = header[twin]["data_offsets"], header[name]["data_offsets"]
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return folder


def states(server):
    return {one["id"]: one["status"]["value"] for one in server.get("/v1/models")[1]["data"]}


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def resident(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def metric(server, name):
    text = server.request("GET", "/metrics")[2].decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])
