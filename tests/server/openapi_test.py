#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/openapi.json says what the server takes: openapi_test.py PROGRAM.

Every endpoint of the server's table is in it and the other way round, its examples are answered, the fields that it
names are known to the server, and other fields are not.
"""

import copy
import json
import os
import re
import sys
import unittest

from api_description import ApiDescription
from running_server import RunningServer, temporary_folder, tool_model

PROGRAM = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROUTER = os.path.join(ROOT, "examples", "server", "api", "router.cc")


def setUpModule():
    global server, folder, api
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(os.path.join(ROOT, "examples", "demo_model"), folder.name),
                           "--max-context", "512")
    api = ApiDescription(server.get("/openapi.json")[1])


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def send(operation, body):
    """Sends a request about a conversation of its own, and returns (status, the error's message or None)."""
    path = operation.path
    if "{id}" in path:
        if path.startswith("/v1/models"):
            name = server.get("/v1/models")[1]["data"][0]["id"]
        else:
            name = server.post("/v1/conversations", {})[1]["id"]
        path = path.replace("{id}", name)
    status, _, data = server.request(operation.method, path, None if body is None else body)
    return status, json.loads(data)["error"]["message"] if status >= 400 else None


class Description(unittest.TestCase):
    def test_it_has_the_endpoints_that_there_are(self):
        with open(ROUTER) as file:
            table = re.findall(r'\{"(GET|POST|DELETE)", "([^"]+)",', file.read())
        described = {(o.method, re.sub(r"\{\w+\}", "{}", o.path)) for o in api.operations}
        self.assertEqual({pair for pair in described if pair[1] not in ("/health", "/live", "/metrics")}, set(table))

    def test_its_examples_are_answered(self):
        for operation in api.operations:
            with self.subTest(f"{operation.method} {operation.path}"):
                if operation.path.endswith("/import"):
                    continue  # takes bytes
                status, message = send(operation, operation.example)
                self.assertEqual(status, operation.status, message)

    def test_the_server_knows_its_fields_and_no_others(self):
        for operation in api.operations:
            if operation.schema is None:
                continue
            for name in [*operation.schema["properties"], "no_such_field"]:
                if name in operation.example:
                    continue
                with self.subTest(f"{operation.path} {name}"):
                    is_ours = name != "no_such_field"
                    status, message = send(operation, {**operation.example, name: None if is_ours else 1})
                    self.assertEqual(status, operation.status if is_ours else 400, message)
                    self.assertTrue(is_ours or name in message, message)

    def test_what_it_calls_required_is(self):
        for operation in api.operations:
            if operation.schema is None:
                continue
            for name in operation.schema.get("required", []):
                with self.subTest(f"{operation.path} {name}"):
                    body = copy.deepcopy(operation.example)
                    del body[name]
                    self.assertEqual(send(operation, body)[0], 400)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
