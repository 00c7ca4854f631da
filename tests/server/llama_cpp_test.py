#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The endpoints of llama.cpp's server, and of vLLM's for tokenizers: llama_cpp_test.py PROGRAM."""

import json
import os
import sys
import unittest

from running_server import RunningServer, infill_model, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")


def setUpModule():
    global server, folder
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "512",
                           "--users", "3")


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def complete(prompt="In the beginning", **fields):
    return server.post("/completion", {"prompt": prompt, "n_predict": 8, "temperature": 0, **fields})


class Completion(unittest.TestCase):
    def test_it_is_that_of_the_other_api(self):
        other = server.post("/v1/completions", {"prompt": "In the beginning", "max_tokens": 8, "temperature": 0})[1]
        status, answer = complete(return_tokens=True)
        self.assertEqual(status, 200)
        self.assertEqual(answer["content"], other["choices"][0]["text"])
        self.assertEqual((answer["stop"], answer["stop_type"], answer["tokens_predicted"]), (True, "limit", 8))
        self.assertEqual(len(answer["tokens"]), 8)
        self.assertGreater(answer["timings"]["predicted_ms"], 0)
        pieces = server.stream("/completion", {"prompt": "In the beginning", "n_predict": 8, "temperature": 0})
        self.assertEqual("".join(piece["content"] for piece in pieces), answer["content"])
        self.assertEqual([piece["stop"] for piece in pieces], [False] * (len(pieces) - 1) + [True])
        # Streams have their tokens, whether they are asked for or not.
        self.assertEqual([token for piece in pieces for token in piece["tokens"]], answer["tokens"])

    def test_what_an_answer_tells(self):
        answer = complete(seed=7)[1]
        self.assertEqual((answer["generation_settings"]["seed"], answer["truncated"]), (7, False))
        timings = answer["timings"]  # the first token is not one of the steps that are timed
        self.assertAlmostEqual(timings["predicted_per_second"], 7000 / timings["predicted_ms"], delta=1e-6 * timings["predicted_per_second"])
        self.assertEqual(complete(n_predict=1)[1]["timings"]["predicted_per_second"], 0)
        full = complete(n_predict=-1, ignore_eos=True)[1]
        self.assertEqual((full["truncated"], full["stop_type"]), (True, "limit"))

    def test_prompts_are_texts_and_ids(self):
        ids = server.post("/tokenize", {"content": "In the beginning", "add_special": True})[1]["tokens"]
        text = complete()[1]["content"]
        self.assertEqual(complete(ids)[1]["content"], text)
        self.assertEqual(complete("<bos>In the beginning")[1]["prompt"], "<bos><bos>In the beginning")
        many = complete(["In the beginning", ids])[1]
        self.assertEqual([(one["index"], one["content"]) for one in many], [(0, text), (1, text)])
        mixed = complete([ids[0], "In", ids[3]])[1]
        self.assertEqual(mixed["tokens_evaluated"], 2 + len(server.post("/tokenize", {"content": "In"})[1]["tokens"]))

    def test_prompts_in_objects(self):
        text = complete()[1]["content"]
        self.assertEqual(complete({"prompt_string": "In the beginning"})[1]["content"], text)
        many = complete([{"prompt_string": "In the beginning", "multimodal_data": []}, "In the beginning"])[1]
        self.assertEqual([one["content"] for one in many], [text, text])
        for wrong in ({}, {"prompt_string": 3}, {"content": "x"}, {"content": [{"type": "image"}]}, {"prompt_string": "x", "multimodal_data": ["aaaa"]}):
            self.assertEqual(complete(wrong)[0], 400, wrong)
        parts = {"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "nd"}]}
        one, *others = (server.post("/v1/embeddings", {"input": given})[1]["data"] for given in ("And", {"prompt_string": "And"}, parts))
        self.assertEqual(others, [one, one])

    def test_fields_of_answers(self):
        whole = complete(seed=3)[1]
        wanted = complete(seed=3, response_fields=["content", "generation_settings/seed", "what", "content/x"])[1]
        self.assertEqual(wanted, {"content": whole["content"], "generation_settings/seed": 3})
        last = server.stream("/completion", {"prompt": "In", "n_predict": 2, "response_fields": ["stop"]})[-1]
        self.assertEqual(last, {"stop": True})
        self.assertIn("timings", complete(response_fields=[])[1])

    def test_tokens_of_a_chat_are_counted(self):
        chat = {"messages": [{"role": "user", "content": "And it came"}], "max_tokens": 1}
        counted = server.post("/v1/chat/completions/input_tokens", chat)
        self.assertEqual(counted[0], 200)
        self.assertEqual(counted[1]["input_tokens"], server.post("/v1/chat/completions", chat)[1]["usage"]["prompt_tokens"])
        self.assertEqual(server.post("/chat/completions/input_tokens", chat), counted)

    def test_stops_seeds_and_probabilities(self):
        text = complete(n_predict=20)[1]["content"]
        stopped = complete(n_predict=20, stop=[text[8:12]])[1]
        self.assertEqual((stopped["stop_type"], stopped["stopping_word"]), ("word", text[8:12]))
        drawn = {"temperature": 1, "seed": 5}
        self.assertEqual(complete(**drawn)[1]["content"], complete(**drawn)[1]["content"])
        answers = {complete(temperature=1, seed=-1, n_predict=20)[1]["content"] for _ in range(4)}
        self.assertGreater(len(answers), 1)
        first = complete(n_probs=3)[1]["completion_probabilities"][0]
        self.assertEqual((first["id"], len(first["top_logprobs"])), (first["top_logprobs"][0]["id"], 3))

    def test_biases(self):
        text, ids = (complete(return_tokens=True)[1][name] for name in ("content", "tokens"))
        for biases in ([[ids[0], False]], [[ids[0], -100]], [[text, False]], {str(ids[0]): -100}):
            self.assertNotIn(ids[0], complete(return_tokens=True, logit_bias=biases)[1]["tokens"][:1], biases)
        for wrong in ([ids[0]], [[ids[0]]], [[ids[0], True]], [[ids[0], 200]], [[-1, 1]], [[10**9, 1]], [[None, 1]]):
            self.assertEqual(complete(logit_bias=wrong)[0], 400, wrong)

    def test_forms(self):
        answer = complete(json_schema={"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}, n_predict=60)[1]
        self.assertIn(json.loads(answer["content"])["a"], (1, 2))
        self.assertEqual(complete(grammar='root ::= "yes"')[1]["content"].strip(), "yes")

    def test_errors_have_the_form_of_the_api(self):
        for path, body in [("/completion", {}), ("/completion", {"prompt": "a", "n_predict": "x"}), ("/completion", "["),
                           ("/completion", {"prompt": "a", "mirostat": 1}), ("/completion", {"prompt": "a " * 2000}),
                           ("/infill", {"input_prefix": "a", "input_suffix": "b"}), ("/apply-template", {"messages": []})]:
            with self.subTest(path, body=body):
                status, answer = server.post(path, body)
                self.assertEqual((status, answer["error"]["code"]), (400, 400), answer)
                self.assertTrue(answer["error"]["message"] and answer["error"]["type"])


class Infill(unittest.TestCase):
    def test_marks_tell_the_parts(self):
        with temporary_folder() as folder, RunningServer(PROGRAM, "--model", infill_model(DEMO, folder), "--model-name", "coder",
                                                         "--max-context", "512") as coder:
            body = {"input_prefix": "def ", "prompt": "f", "input_suffix": "return 1<|fim_middle|>", "n_predict": 4,
                    "temperature": 0}
            status, answer = coder.post("/infill", body)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["prompt"], "<|fim_prefix|>def f<|fim_suffix|>return 1<|fim_middle|><|fim_middle|>")
            marks = 3  # what the client wrote is no mark
            self.assertEqual(answer["tokens_evaluated"], marks + len("def freturn 1<|fim_middle|>"))
            files = coder.post("/infill", {**body, "input_extra": [{"filename": "a.py", "text": "a = 1"}]})[1]["prompt"]
            self.assertTrue(files.startswith("<|repo_name|>repository\n<|file_sep|>a.py\na = 1\n<|file_sep|>file\n<|fim_prefix|>def f"))
            filled = {"model": "coder", "prompt": "def f", "suffix": "return 1<|fim_middle|>", "stream": False,
                      "options": {"num_predict": 4, "temperature": 0}}
            self.assertEqual(coder.post("/api/generate", filled)[1]["response"], answer["content"])
            self.assertIn("insert", coder.post("/api/show", {"model": "coder"})[1]["capabilities"])


class Facts(unittest.TestCase):
    def test_props_and_slots(self):
        props = server.get("/props")[1]
        self.assertEqual((props["total_slots"], props["default_generation_settings"]["n_ctx"]), (3, 512))
        self.assertIn("tool_call", props["chat_template"])
        slots = json.loads(server.request("GET", "/slots?fail_on_no_slot=1")[2])
        self.assertEqual([(slot["id"], slot["is_processing"]) for slot in slots], [(i, False) for i in range(3)])

    def test_a_chat_is_rendered(self):
        messages = [{"role": "user", "content": "Hail"}]
        self.assertEqual(server.post("/apply-template", {"messages": messages})[1]["prompt"], "user: Hailassistant: ")
        whole = server.post("/apply-template", {"messages": messages, "add_generation_prompt": False})[1]
        self.assertEqual(whole["prompt"], "user: Hail")


class Tokens(unittest.TestCase):
    def test_pieces_are_texts_or_bytes(self):
        tokens = server.post("/tokenize", {"content": "In the \u4e16", "with_pieces": True})[1]["tokens"]
        spelled = b"".join(one["piece"].encode() if isinstance(one["piece"], str) else bytes(one["piece"]) for one in tokens)
        self.assertEqual(spelled.decode(), "In the \u4e16")
        self.assertTrue(any(isinstance(one["piece"], list) for one in tokens))

    def test_special_tokens_are_read_and_written(self):
        ids = server.post("/tokenize", {"content": "In<eos>"})[1]["tokens"]
        self.assertTrue(server.post("/detokenize", {"tokens": ids})[1]["content"].endswith("<eos>"))
        plain = server.post("/tokenize", {"content": "In<eos>", "parse_special": False})[1]["tokens"]
        self.assertGreater(len(plain), len(ids))

    def test_the_names_of_another_server(self):
        info = server.get("/tokenizer_info")[1]
        self.assertEqual((info["bos_token"], info["eos_token"], info["model_max_length"]), ("<bos>", "<eos>", 512))
        answer = server.post("/tokenize", {"prompt": "In the"})[1]
        self.assertEqual((answer["count"], answer["max_model_len"]), (len(answer["tokens"]), 512))
        bare = server.post("/tokenize", {"prompt": "In the", "add_special_tokens": False})[1]["tokens"]
        self.assertEqual(answer["tokens"][1:], bare)
        self.assertEqual(server.post("/detokenize", {"tokens": bare})[1]["prompt"], "In the")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
