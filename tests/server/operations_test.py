#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit, traces, metrics and context that a server tells operators: operations_test.py PROGRAM."""

import json
import os
import re
import signal
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder

try:
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
except ImportError:
    TracesData = None

PROGRAM = sys.argv[1]
DEMO = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model"))
COMPLETION = {"prompt": "a secret", "max_tokens": 2}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def keys_file(folder, text):
    path = os.path.join(folder, "keys")
    with open(path, "w") as file:
        file.write(text)
    return path


def read(path):
    with open(path) as file:
        return file.read()


class Audit(unittest.TestCase):
    def run_server(self, *options):
        with temporary_folder() as folder:
            keys = keys_file(folder, "key-one alice\n")
            with RunningServer(PROGRAM, "--max-context", "512", "--api-keys", keys, *options) as server:
                def ask(name, method, path, body=None, key="key-one"):
                    return server.request(method, path, body, {**bearer(key), "x-request-id": name})
                made = json.loads(ask("r1", "POST", "/v1/conversations", {"title": "a secret"})[2])["id"]
                ask("r2", "GET", f"/v1/conversations/{made}")
                state = ask("r3", "GET", f"/v1/conversations/{made}/state")[2]
                self.assertEqual(ask("r4", "POST", "/v1/conversations/import", state)[0], 201)
                ask("r5", "POST", "/v1/conversations/import", b"nothing")
                self.assertEqual(ask("r6", "DELETE", f"/v1/conversations/{made}")[0], 200)
                ask("r7", "DELETE", f"/v1/conversations/{made}")
                ask("r8", "DELETE", f"/v1/conversations/{made}", None, "key-none")
            self.assertNotIn("secret", "".join(server.log))
            return made, server.log

    def acts(self, made):
        done = [("export", "done", made, "alice", "r3"), ("import", "done", "", "alice", "r4"), ("import", "refused", "", "alice", "r5"),
                ("delete", "done", made, "alice", "r6"), ("delete", "refused", made, "alice", "r7"),
                ("delete", "refused", made, "", "r8")]
        return [("conversation." + action, *rest) for action, *rest in done]

    def test_lines_of_text(self):
        made, log = self.run_server()
        lines = [line.split() for line in log if " audit " in line]
        acts = sorted((line[2:] for line in lines if line[-1] != "-"), key=lambda act: act[-1])
        self.assertEqual(acts, [[action, outcome, target or "-", "127.0.0.1", tenant or "-", name]
                                for action, outcome, target, tenant, name in self.acts(made)])
        self.assertEqual([line[2:4] for line in lines if line[-1] == "-"], [["start", "done"], ["stop", "done"]])

    def test_models(self):
        with RunningServer(PROGRAM, "--max-context", "512", "--model", f"one={DEMO}", "--model", f"two={DEMO}") as server:
            for name, path, model in (("r1", "load", "two"), ("r2", "load", "x"), ("r3", "unload", "two")):
                if path == "unload":
                    text = server.request("GET", "/metrics")[2].decode()
                server.request("POST", "/models/" + path, {"model": model}, {"x-request-id": name})
        lines = [line.split() for line in server.log if " audit model." in line]
        self.assertEqual([(line[2:5], line[-1]) for line in sorted(lines, key=lambda line: line[-1])],
                         [(["model.load", "done", "two"], "r1"), (["model.load", "refused", "-"], "r2"), (["model.unload", "done", "two"], "r3")])
        self.assertRegex(text, r'skald_model_info\{model="two",family="gemma3[^"]*",type="[A-Z0-9]+"\} 1')

    def test_lines_of_json(self):
        made, log = self.run_server("--log-format", "json")
        lines = [json.loads(line) for line in log if line.startswith("{")]
        acts = sorted((line for line in lines if line["kind"] == "audit" and line["request_id"]), key=lambda act: act["request_id"])
        self.assertEqual([(act["action"], act["outcome"], act["target"], act["tenant"], act["request_id"]) for act in acts], self.acts(made))
        self.assertEqual({act["client"] for act in acts}, {"127.0.0.1"})
        self.assertEqual([line["request_id"] for line in lines if line["kind"] == "request"].count("r6"), 1)


class Context(unittest.TestCase):
    """It is the model's own, as far as there is memory for it."""

    def check(self, trained, cache, wanted, told):
        with temporary_folder() as folder:
            for name in ("model.safetensors", "tokenizer.model"):
                os.symlink(os.path.join(DEMO, name), os.path.join(folder, name))
            with open(os.path.join(DEMO, "config.json")) as file:
                config = json.load(file)
            with open(os.path.join(folder, "config.json"), "w") as file:
                json.dump({**config, "max_position_embeddings": trained}, file)
            with RunningServer(PROGRAM, "--model", folder, "--cache-bytes", cache) as server:
                context = server.get("/v1/models")[1]["data"][0]["context_length"]
                self.assertIn(context, wanted)
                self.assertTrue(any(f"with a context of {context} tokens{told}" in line for line in server.log), server.log)
                if context < 10_000:
                    self.fill(server, context)

    def fill(self, server, context):
        body = {"prompt": [5] * (context - 20), "max_tokens": 100, "ignore_eos": True}
        status, answer = server.post("/v1/completions", body)
        self.assertEqual((status, answer.get("usage", {}).get("total_tokens")), (200, context + 1), answer)  # the last token is not computed with
        long = {"messages": [{"role": "user", "content": "long " * 2 * context}], "max_tokens": 1}
        words = rf"prompt is too long: \d+ tokens > {context} maximum.*--max-context"
        error = server.post("/v1/chat/completions", long)[1]["error"]
        self.assertEqual((error["code"], bool(re.search(words, error["message"]))), ("context_length_exceeded", True), error)
        error = server.post("/v1/messages", long)[1]["error"]
        self.assertRegex(error["message"], "^" + words)

    def test_as_far_as_memory_goes(self):
        self.check(100_000, "4MB", range(513, 4096), " of the model's 100000, for which --cache-bytes has no room")

    def test_the_whole_of_it(self):
        self.check(50_000, "100MB", [50_000], "; --max-context sets it")


class Traces(unittest.TestCase):
    def spans(self, path, count):
        deadline = time.monotonic() + 60
        while not os.path.exists(path) or read(path).count("\n") < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        spans = []
        for line in read(path).splitlines():
            (resource,) = json.loads(line)["resourceSpans"]
            self.assertEqual(resource["resource"]["attributes"][0], {"key": "service.name", "value": {"stringValue": "skald"}})
            (scope,) = resource["scopeSpans"]
            spans += scope["spans"]
        return spans

    def test_requests_are_spans(self):
        with temporary_folder() as folder:
            path = os.path.join(folder, "traces.jsonl")
            with RunningServer(PROGRAM, "--max-context", "512", "--trace-file", path, "--log-format", "json") as server:
                begin = time.time()
                headers = server.request("POST", "/v1/completions", COMPLETION,
                                         {"traceparent": f"00-{TRACE}-{PARENT}-00", "x-request-id": "r1"})[1]
                (span,) = self.spans(path, 1)
                self.assertEqual((span["traceId"], span["parentSpanId"], span["flags"], span["kind"]), (TRACE, PARENT, 0, 2))
                self.assertEqual(span["name"], "POST /v1/completions")
                self.assertEqual(headers["traceresponse"], f"00-{TRACE}-{span['spanId']}-00")
                times = [int(span[name]) / 1e9 for name in ("startTimeUnixNano", "endTimeUnixNano")]
                self.assertTrue(begin - 1 < times[0] < times[1] < time.time() + 1, times)
                attributes = {one["key"]: one["value"] for one in span["attributes"]}
                self.assertEqual(attributes["http.response.status_code"], {"intValue": "200"})
                self.assertEqual(attributes["skald.request_id"], {"stringValue": "r1"})
                self.assertNotIn("secret", read(path))
                while not (lines := [json.loads(line) for line in server.log if '"r1"' in line]):
                    time.sleep(0.02)  # the reader of the log is a thread
                line = lines[0]
                self.assertEqual((line["trace_id"], line["span_id"], line["parent_span_id"]), (TRACE, span["spanId"], PARENT))
                if TracesData is not None:  # of the package opentelemetry-proto
                    (parsed,) = json_format.Parse(read(path), TracesData()).resource_spans[0].scope_spans[0].spans
                    self.assertEqual((parsed.name, len(parsed.attributes)), (span["name"], len(attributes)))
                # A file that was moved away is made anew.
                os.rename(path, path + ".1")
                server.process.send_signal(signal.SIGHUP)
                while not any('"reload"' in line for line in server.log):
                    time.sleep(0.02)
                server.request("GET", "/nowhere")
                self.assertEqual([one["name"] for one in self.spans(path, 1)], ["other"])

    def test_what_names_no_trace(self):
        with temporary_folder() as folder:
            path = os.path.join(folder, "traces.jsonl")
            wrong = [f"00-{TRACE}-{PARENT}", f"00-{TRACE.upper()}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01",
                     f"ff-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01-more", f"01-{TRACE}-{PARENT}-01more", "", "x" * 3000]
            with RunningServer(PROGRAM, "--max-context", "512", "--trace-file", path) as server:
                for header in wrong:
                    self.assertNotIn("traceresponse", server.request("GET", "/live", None, {"traceparent": header})[1])
                self.assertIn("traceresponse", server.request("GET", "/live", None, {"traceparent": f"01-{TRACE}-{PARENT}-01-more"})[1])
                spans = self.spans(path, len(wrong) + 1)
            self.assertEqual(len({span["traceId"] for span in spans}), len(wrong) + 1)
            self.assertEqual(sum("parentSpanId" in span for span in spans), 1)
            for span in spans:
                self.assertRegex(span["traceId"] + span["spanId"], "^[0-9a-f]{48}$")


class Metrics(unittest.TestCase):
    def read(self, text):
        """Returns {name: type} and {(name, labels): value}; raises where the text is not Prometheus' format."""
        types, values = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                found = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)', line)
                self.assertIsNotNone(found, line)
                base = re.sub("_(bucket|sum|count)$", "", found[1])
                self.assertTrue(found[1] in types or types.get(base) == "histogram", line)
                self.assertNotIn((found[1], found[2]), values)
                values[found[1], found[2]] = float(found[3])
        return types, values

    def test_what_is_counted(self):
        alice, time_of = r'tenant="al\"ice\\"', "skald_http_request_duration_seconds"
        with temporary_folder() as folder:
            keys = keys_file(folder, 'key-one al"ice\\\nkey-two bob\n')
            with RunningServer(PROGRAM, "--max-context", "512", "--cache-bytes", "64MB", "--model-name", "a model", "--api-keys", keys) as server:
                server.post("/v1/completions", COMPLETION, bearer("key-one"))
                for _ in range(2):
                    server.post("/v1/completions", {**COMPLETION, "max_tokens": 5}, bearer("key-two"))
                server.get("/v1/nothing/there", bearer("key-two"))
                deadline = time.monotonic() + 60
                while True:  # answers are counted as they are put away, which a client does not wait for
                    types, values = self.read(server.request("GET", "/metrics", None, bearer("key-two"))[2].decode())
                    counts = [values.get((name, labels)) for name, labels in (
                        ("skald_tenant_requests_total", alice), ("skald_tenant_requests_total", 'tenant="bob"'),
                        (time_of + "_count", 'path="/v1/completions"'))]
                    if counts == [1, 2, 3] or time.monotonic() > deadline:
                        break
        for name, kind in types.items():
            self.assertTrue(name.startswith("skald_"), name)
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertIn(kind, ("counter", "gauge", "histogram"))
        self.assertEqual(values["skald_tenant_requests_total", alice], 1)
        self.assertEqual(values["skald_tenant_generated_tokens_total", alice], 2)
        self.assertEqual(values["skald_tenant_generated_tokens_total", 'tenant="bob"'], 10)
        self.assertGreater(values["skald_tenant_prompt_tokens_total", 'tenant="bob"'], 2)
        buckets = [value for (name, labels), value in values.items() if name == time_of + "_bucket" and '"/v1/completions"' in labels]
        self.assertEqual((buckets, buckets[-1]), (sorted(buckets), 3))
        self.assertEqual(values[time_of + "_count", 'path="/v1/completions"'], 3)
        self.assertEqual(values["skald_pool_limit_bytes", None], 64_000_000)
        self.assertLessEqual(values["skald_pool_used_bytes", None], 64_000_000)
        self.assertEqual(values["skald_model_context_tokens", None], 512)
        (model,) = [labels for name, labels in values if name == "skald_model_info"]
        self.assertIn('model="a model"', model)
        (build,) = [labels for name, labels in values if name == "skald_build_info"]
        self.assertRegex(build, r'^version="\d+\.\d+\.\d+",commit="[^"]+",compiler="[^"]+ \d+[^"]+",simd_target="[A-Z0-9_]+"$')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
