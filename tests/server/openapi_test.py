#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/openapi.json says what the server takes: openapi_test.py PROGRAM.

Every endpoint of the server's table is in it and the other way round, its examples are answered, and the fields that it
names are done, ignored or refused as it says. Other fields are ignored and told, or refused by a strict server.
"""

import copy
import json
import os
import re
import sys
import unittest

import fields_page
from api_description import ApiDescription
from running_server import RunningServer, temporary_folder, infill_model
import tiny_encoder

PROGRAM = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLE = os.path.join(ROOT, "examples", "server", "api", "routing", "endpoint_table.cc")


def setUpModule():
    global server, folder, api
    folder = temporary_folder()
    demo = os.path.join(folder.name, "demo")
    os.mkdir(demo)
    infill_model(os.path.join(ROOT, "examples", "demo_model"), demo)
    embed = tiny_encoder.write_encoder(os.path.join(folder.name, "embed"))
    server = RunningServer(PROGRAM, "--model", "demo=" + demo, "--model", "embed=" + embed, "--max-context", "256")
    api = ApiDescription(server.get("/openapi.json")[1])


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def place(operation):
    """The path, with a conversation or response of its own where it is about one."""
    path = operation.path
    if "{id}" in path:
        if path.startswith("/v1/models"):
            name = server.get("/v1/models")[1]["data"][0]["id"]
        elif path.startswith("/v1/responses"):
            name = server.post("/v1/responses", {"input": "And it came", "max_output_tokens": 1})[1]["id"]
        else:
            name = server.post("/v1/conversations", {"messages": [{"role": "user", "content": "And it came"}]})[1]["id"]
        path = path.replace("{id}", name)
    if "{item}" in path:
        path = path.replace("{item}", server.get(path.removesuffix("/{item}"))[1]["data"][0]["id"])
    return path


def send(operation, body):
    """Sends a request, and returns (status, the error's message or None)."""
    status, _, data = server.request(operation.method, place(operation), body)
    if status < 400:
        return status, None
    error = json.loads(data)["error"]
    return status, error if isinstance(error, str) else error["message"]


class Description(unittest.TestCase):
    def test_it_has_the_endpoints_that_there_are(self):
        with open(TABLE) as file:
            table = re.findall(r'\{"(GET|POST|DELETE)", "([^"]+)",', file.read())
        described = {(o.method, re.sub(r"\{\w+\}", "{}", o.path)) for o in api.operations}
        self.assertEqual({pair for pair in described if pair[1] not in ("/health", "/live", "/metrics")}, set(table))

    def test_the_page_of_fields_is_in_step(self):
        with open(fields_page.PAGE) as file:
            self.assertTrue(file.read() == fields_page.page(), "run tests/server/fields_page.py --write")

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
                    answer = self.check(operation, {name: None if is_ours else 1})
                    self.assertEqual(answer.get("skald", {}).get("ignored"), None if is_ours else [name])

    def test_ignored_fields_change_nothing(self):
        for operation in api.operations:
            for name, field in (operation.schema or {}).get("properties", {}).items():
                if field.get("x-skald") == "ignored":
                    with self.subTest(f"{operation.path} {name}"):
                        self.assertNotIn("ignored", self.check(operation, {name: {"any": ["value"]}}).get("skald", {}))

    def test_refused_fields_are_refused_by_name(self):
        for operation in api.operations:
            for name, field in (operation.schema or {}).get("properties", {}).items():
                if field.get("x-skald") != "refused":
                    continue
                with self.subTest(f"{operation.path} {name}"):
                    status, message = send(operation, {**operation.example, name: {"any": "value"}})
                    self.assertEqual(status, 400)
                    self.assertIn(f"'{name}' is not supported: {field['description']}", message)
                    for harmless in field["enum"]:
                        self.check(operation, {name: harmless})

    def check(self, operation, fields):
        """The answer; of a list, the fields that its header says to be ignored."""
        status, headers, data = server.request(operation.method, place(operation), {**operation.example, **fields})
        self.assertEqual(status, operation.status, data)
        answer = json.loads(data)
        if not isinstance(answer, list):
            return answer
        ignored = headers.get("X-Skald-Ignored")
        return {"skald": {"ignored": ignored.split(", ")}} if ignored else {}

    def test_odd_values_hurt_nothing(self):
        for operation in api.operations:
            if operation.schema is None:
                continue
            with self.subTest(f"{operation.method} {operation.path}"):
                for name, field in operation.schema["properties"].items():
                    if "x-skald" not in field:
                        self.assertLess(send(operation, {**operation.example, name: {"any": ["value"]}})[0], 500, name)
                self.assertEqual(send(operation, operation.example)[0], operation.status)

    def test_a_strict_server_refuses_other_fields(self):
        with RunningServer(PROGRAM, "--model", os.path.join(folder.name, "demo"), "--max-context", "512", "--strict") as strict:
            for path, body in [("/v1/chat/completions", {"messages": [{"role": "user", "content": "a", "mood": 1}]}),
                               ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "mood": 1}),
                               ("/v1/responses", {"input": "a", "tools": [{"type": "web_search"}]}),
                               ("/v1/messages", {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, "mood": 1})]:
                with self.subTest(path):
                    status, answer = strict.post(path, body)
                    self.assertEqual(status, 400, answer)

    def test_ignored_fields_are_told_once_in_the_log(self):
        body = {"messages": [{"role": "user", "content": "a", "mood": 1}] * 2, "max_tokens": 1}
        for _ in range(2):
            answer = server.post("/v1/chat/completions", body)[1]
            self.assertEqual(answer["skald"]["ignored"], ["messages[0].mood", "messages[1].mood"])
        self.assertEqual(sum("'messages.mood'" in line for line in server.log), 1)

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
