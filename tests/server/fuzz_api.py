#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends valid requests with one thing changed: fuzz_api.py PROGRAM SECONDS [SEED].

Requests are made from the server's own description of them, /openapi.json, for two tenants, with state on disk, and now
and then the server is stopped and started again. It must live, answer 500 to nothing, give every error in its API's form
and every answer as JSON or as events, and still answer when all is over. Not part of ctest; meant for builds with
sanitizers. Input that is not HTTP is covered by fuzz_http.py.
"""

import http.client
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time

from api_description import ApiDescription
from running_server import RunningServer, check_answer, temporary_folder, tool_model

CLIENTS = 4
KEYS = ["first-key", "second-key"]
ROUND_SECONDS = 300
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")


class Fuzzer:
    def __init__(self, seed):
        self.seed, self.count, self.failures, self.statuses = seed, 0, [], {}
        self.lock = threading.Lock()

    def client(self, name, server, api, deadline):
        mine = random.Random(name)
        key = KEYS[mine.randrange(2)]
        known = {"/v1/conversations": [], "/v1/responses": []}
        state = b""
        shown = b""
        try:
            while time.monotonic() < deadline and not self.failures:
                operation = mine.choice(api.operations)
                body = state if operation.path.endswith("/import") else None
                if operation.schema is not None:
                    body = api.request(operation, mine)
                    if mine.randrange(6):
                        api.change_one(body, mine)
                    if "conversation" in body and known["/v1/conversations"] and mine.randrange(2):
                        body["conversation"] = mine.choice(known["/v1/conversations"])
                    if "previous_response_id" in body and known["/v1/responses"] and mine.randrange(2):
                        body["previous_response_id"] = mine.choice(known["/v1/responses"])
                    body = json.dumps(body).encode()
                elif body and mine.randrange(3):
                    body = bytearray(body)
                    for _ in range(mine.choice([1, 1, 4])):
                        body[mine.randrange(len(body))] ^= 1 << mine.randrange(8)
                    body = bytes(body)
                kind = next((kind for kind in known if operation.path.startswith(kind)), "/v1/conversations")
                path = operation.path.replace("{id}", mine.choice(known[kind] or ["conv_0"])).replace("{item}", "msg_0")
                if body is None and mine.randrange(3) == 0:
                    path += mine.choice(["?limit=1", "?order=asc&limit=2", "?after=msg_0", "?include[]=a&include[]=b", "?stream=true",
                                         "?limit=%31&limit=x", "?&=&a&%zz=%", "?limit=9999999999999999999999", "?order[]=asc"])
                shown = b"%s %s\n%s" % (operation.method.encode(), path.encode(), (body or b"")[:4000])
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
                connection.request(operation.method, path, body, {"Authorization": f"Bearer {key}"})
                if mine.randrange(20) == 0:  # impatient
                    connection.close()
                    continue
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                check_answer(answer.status, answer.getheader("Content-Type") or "", data)
                assert not 300 <= answer.status < 400, answer.status
                if answer.status in (200, 201) and operation.method == "POST":
                    for where, ids in known.items():
                        if operation.path == where and data[:1] == b"{":
                            ids.append(json.loads(data)["id"])
                            del ids[:-8]
                if answer.status == 200 and operation.path.endswith("/state"):
                    state = data
                with self.lock:
                    self.count += 1
                    self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected) as error:
            if server.process.poll() is not None:
                self.failures.append(f"{name}: the server has gone: {error!r}\n{shown!r}")
            # else: a body that it would not read
        except Exception as error:  # whatever it is, the request that led to it is shown
            self.failures.append(f"{name}: {error!r}\n{shown!r}")

    def round(self, number, program, folder, keys, seconds):
        server = RunningServer(program, "--model", tool_model_once(folder), "--max-context", "512", "--max-body", "300000",
                               "--state", os.path.join(folder, "state"), "--state-size", "20MB", "--api-keys", keys,
                               "--cache-bytes", "8MB")
        api = ApiDescription(server.get("/openapi.json")[1])
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.failures:
            clients = [threading.Thread(target=self.client, args=(f"{self.seed} {number} {i} {self.count}", server, api, deadline))
                       for i in range(CLIENTS)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        status, _ = server.get("/health")
        if status != 200:
            self.failures.append(f"/health says {status} after round {number}")
        code = server.stop()
        if code != 0:
            self.failures.append(f"the server ended with {code}:\n" + "".join(server.log[-60:]))


def tool_model_once(folder):
    inner = os.path.join(folder, "model")
    if not os.path.exists(inner):
        os.mkdir(inner)
        tool_model(DEMO, inner)
    return inner


def main():
    sys.setrecursionlimit(5000)  # for JSON that is nested deeper than the server takes
    program, seconds = sys.argv[1], float(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else str(random.randrange(10**9))
    print(f"seed {seed}", flush=True)
    fuzzer = Fuzzer(seed)
    end = time.monotonic() + seconds
    with temporary_folder() as folder, tempfile.NamedTemporaryFile("w") as keys:
        keys.write("".join(f"{key} tenant{i} max_tokens=16\n" for i, key in enumerate(KEYS)))
        keys.flush()
        number = 0
        while time.monotonic() < end and not fuzzer.failures:
            fuzzer.round(number, program, folder, keys.name, min(ROUND_SECONDS, end - time.monotonic()))
            number += 1
            print(f"{fuzzer.count} requests in {number} rounds; statuses: {dict(sorted(fuzzer.statuses.items()))}", flush=True)
    print("\n\n".join(fuzzer.failures))
    return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
