#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that embed or rank texts, alone and beside one that writes: encoders_test.py PROGRAM."""

import base64
import os
import struct
import sys
import threading
import unittest

from running_server import RunningServer, temporary_folder
import tiny_encoder

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
TEXTS = ["And God said, Let there be light", "light", "the waters"]
LONG = "light " * 200


def setUpModule():
    global server, folder
    folder = temporary_folder()
    embed = tiny_encoder.write_encoder(os.path.join(folder.name, "embed"))
    rerank = tiny_encoder.write_reranker(os.path.join(folder.name, "rerank"))
    colbert = tiny_encoder.write_colbert(os.path.join(folder.name, "colbert"))
    judge = tiny_encoder.write_judge(os.path.join(folder.name, "judge"))
    server = RunningServer(PROGRAM, "--model", f"embed={embed}", "--model", f"rerank={rerank}", "--model", f"demo={DEMO}",
                           "--model", f"colbert={colbert}", "--model", f"judge={judge}", "--f32")


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


class Embeddings(unittest.TestCase):
    def vectors(self, texts, **fields):
        status, answer = server.post("/v1/embeddings", {"model": "embed", "input": texts, **fields})
        self.assertEqual(status, 200, answer)
        self.assertEqual([one["index"] for one in answer["data"]], list(range(len(answer["data"]))))
        return [one["embedding"] for one in answer["data"]]

    def test_texts_base64_and_dimensions(self):
        vectors = self.vectors(TEXTS)
        for vector in vectors:
            self.assertEqual(len(vector), tiny_encoder.DIMENSION)
            self.assertAlmostEqual(sum(x * x for x in vector), 1, places=5)
        packed = self.vectors(TEXTS, encoding_format="base64")
        for vector, text in zip(vectors, packed):
            self.assertEqual(list(struct.unpack(f"<{len(vector)}f", base64.b64decode(text))), vector)
        self.assertEqual(self.vectors(TEXTS[1])[0], vectors[1])
        short = self.vectors(TEXTS, dimensions=8, normalize=False)
        self.assertEqual([len(vector) for vector in short], [8] * 3)

    def test_ids_are_taken_as_they_are(self):
        ids = server.post("/v1/embeddings", {"model": "embed", "input": TEXTS[1]})[1]["usage"]["prompt_tokens"]
        vectors = self.vectors([[2, 7, 3], [2, 8, 9, 3]])
        self.assertEqual(self.vectors([2, 7, 3]), vectors[:1])
        self.assertGreater(ids, 2)

    def test_usage_counts_the_tokens(self):
        answer = server.post("/v1/embeddings", {"model": "embed", "input": [[2, 7, 3], [2, 8, 9, 3]]})[1]
        self.assertEqual(answer["usage"], {"prompt_tokens": 7, "total_tokens": 7})
        self.assertEqual(answer["model"], "embed")

    def test_prompts(self):
        self.assertEqual(self.vectors("light", prompt_name="query"), self.vectors(tiny_encoder.PROMPTS["query"] + "light"))
        self.assertEqual(server.post("/v1/embeddings", {"model": "embed", "input": "a", "prompt_name": "none"})[0], 400)

    def test_long_texts_are_refused_unless_the_client_chooses(self):
        status, answer = server.post("/v1/embeddings", {"model": "embed", "input": ["light", LONG]})
        self.assertEqual(status, 400)
        self.assertIn("text 1 of 'input' is too long: 202 tokens > 64", answer["error"]["message"])
        self.assertEqual(answer["error"]["code"], "context_length_exceeded")
        self.assertEqual(answer["error"]["param"], "input")
        cut, windows = self.vectors(LONG, truncate=True), self.vectors(LONG, truncate="windows")
        self.assertNotEqual(cut, windows)

    def test_what_is_wrong_is_named(self):
        for body, words in [({"input": ""}, "input"), ({"input": []}, "input"), ({"input": [[999]]}, "below 260"),
                            ({"input": "a", "dimensions": 33}, "dimensions"), ({"input": "a", "pooling": "best"}, "pooling"),
                            ({"input": ["a"] * 2049}, "2048"), ({"input": [[]]}, "input")]:
            with self.subTest(words):
                status, answer = server.post("/v1/embeddings", {"model": "embed", **body})
                self.assertEqual(status, 400, answer)
                self.assertIn(words, answer["error"]["message"])
        status, answer = server.post("/v1/embeddings", {"model": "rerank", "input": "a"})
        self.assertEqual(status, 400)
        self.assertIn("ranks texts", answer["error"]["message"])

    def test_the_other_apis_have_the_same(self):
        vectors = self.vectors(TEXTS)
        self.assertEqual(server.post("/embed", {"model": "embed", "inputs": TEXTS})[1], vectors)
        self.assertEqual(server.post("/embed", {"model": "embed", "inputs": TEXTS[0]})[1], vectors[:1])
        rows = server.post("/embedding", {"model": "embed", "input": TEXTS})[1]
        self.assertEqual([row["embedding"][0] for row in rows], vectors)
        answer = server.post("/api/embed", {"model": "embed:latest", "input": TEXTS})[1]
        self.assertEqual(answer["embeddings"], vectors)
        self.assertEqual(server.post("/api/embeddings", {"model": "embed", "prompt": TEXTS[0]})[1]["embedding"], vectors[0])

    def test_codes_in_place_of_floats(self):
        vectors = self.vectors(TEXTS)
        for vector, codes in zip(vectors, self.vectors(TEXTS, encoding_format="int8")):
            self.assertEqual(max(map(abs, codes)), 127)
            self.assertEqual([code > 0 for code in codes], [round(x * 127 / max(map(abs, vector))) > 0 for x in vector])
        unsigned = self.vectors(TEXTS, embedding_type="ubinary")
        self.assertEqual(unsigned, [[sum((x > 0) << (7 - i) for i, x in enumerate(vector[at:at + 8]))
                                     for at in range(0, len(vector), 8)] for vector in vectors])
        self.assertEqual(self.vectors(TEXTS, encoding_format="binary"), [[byte - 128 for byte in row] for row in unsigned])

    def test_coheres_form(self):
        body = {"model": "embed", "texts": TEXTS, "input_type": "search_query", "embedding_types": ["float", "ubinary"]}
        status, answer = server.post("/v2/embed", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["embeddings"]["float"], self.vectors(TEXTS, prompt_name="query"))
        self.assertEqual(answer["embeddings"]["ubinary"], self.vectors(TEXTS, prompt_name="query", encoding_format="ubinary"))
        self.assertEqual(answer["texts"], TEXTS)
        answer = server.post("/v2/embed", {"model": "embed", "texts": ["light", LONG], "output_dimension": 8})[1]
        self.assertEqual([len(row) for row in answer["embeddings"]["float"]], [8, 8])
        self.assertEqual(answer["skald"]["cut"], [1])
        for wrong, words in [({"truncate": "NONE", "texts": [LONG]}, "too long"), ({"embedding_types": ["uint8"]}, "embedding_types"),
                             ({"images": ["a"]}, "images"), ({"texts": []}, "texts"), ({"truncate": "START"}, "truncate")]:
            status, answer = server.post("/v2/embed", {**body, **wrong})
            self.assertEqual(status, 400, answer)
            self.assertIn(words, answer["message"])

    def test_embeddings_of_tokens(self):
        status, answer = server.post("/v1/embeddings", {"model": "colbert", "input": TEXTS})
        self.assertEqual(status, 200, answer)
        rows = [one["embedding"] for one in answer["data"]]
        self.assertEqual(sum(map(len, rows)), answer["usage"]["prompt_tokens"])
        self.assertEqual({len(row) for text in rows for row in text}, {tiny_encoder.TOKEN_DIMENSION})
        of_llama_cpp = server.post("/embedding", {"model": "colbert", "content": TEXTS})[1]
        self.assertEqual([one["embedding"] for one in of_llama_cpp], rows)
        packed = server.post("/v1/embeddings", {"model": "colbert", "input": TEXTS[1], "encoding_format": "base64"})[1]
        first = base64.b64decode(packed["data"][0]["embedding"][0])
        self.assertEqual(list(struct.unpack(f"<{tiny_encoder.TOKEN_DIMENSION}f", first)), rows[1][0])
        every = server.post("/embed_all", {"model": "embed", "inputs": TEXTS})[1]
        self.assertEqual([len(text) for text in every], [len(text) for text in rows])
        mean = [sum(column) / len(every[1]) for column in zip(*every[1])]
        length = sum(x * x for x in mean) ** 0.5
        for value, wanted in zip(mean, self.vectors(TEXTS[1])[0]):
            self.assertAlmostEqual(value / length, wanted, places=5)
        status, answer = server.post("/embed", {"model": "colbert", "inputs": TEXTS})
        self.assertEqual(status, 400)
        self.assertIn("each token", answer["error"])

    def test_similarities(self):
        inputs = {"source_sentence": TEXTS[0], "sentences": [TEXTS[0], *TEXTS]}
        status, answer = server.post("/similarity", {"model": "embed", "inputs": inputs})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer[0], answer[1])
        vectors = self.vectors(TEXTS)
        for score, vector in zip(answer[1:], vectors):
            self.assertAlmostEqual(score, sum(a * b for a, b in zip(vectors[0], vector)), places=5)
        for wrong in [{}, {"inputs": {}}, {"inputs": {"source_sentence": "a", "sentences": []}}, {"inputs": "a"},
                      {"inputs": {"source_sentence": "", "sentences": ["a"]}}]:
            status, answer = server.post("/similarity", {"model": "embed", **wrong})
            self.assertEqual((status, answer["error_type"]), (400, "Validation"), answer)

    def test_errors_have_the_form_of_their_api(self):
        status, answer = server.post("/embed", {"model": "embed", "inputs": LONG})
        self.assertEqual((status, answer["error_type"]), (400, "Validation"))
        self.assertIn("too long", answer["error"])
        answer = server.post("/embedding", {"model": "embed", "content": LONG})[1]
        self.assertEqual(answer["error"]["type"], "exceed_context_size_error")
        status, answer = server.post("/api/embed", {"model": "embed", "input": LONG, "truncate": False})
        self.assertEqual(status, 400)
        self.assertIn("too long", answer["error"])

    def test_what_ollamas_api_cuts_is_told(self):
        answer = server.post("/api/embed", {"model": "embed", "input": ["light", LONG]})[1]
        self.assertEqual(answer["skald"]["cut"], [1])

    def test_many_clients_at_a_time_get_what_each_would_get_alone(self):
        texts = [f"{'light ' * (i % 20)}{i}" for i in range(60)]
        alone = {text: self.vectors(text)[0] for text in texts}
        wrong = []

        def ask(some):
            if self.vectors(some) != [alone[text] for text in some]:
                wrong.append(some)

        threads = [threading.Thread(target=ask, args=(texts[i::6],)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Rankings(unittest.TestCase):
    def rank(self, path="/v1/rerank", model="rerank", **fields):
        status, answer = server.post(path, {"model": model, "query": "light", **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def test_jinas_and_coheres_form(self):
        answer = self.rank(documents=[*TEXTS, TEXTS[1]], return_documents=True)
        scores = [one["relevance_score"] for one in answer["results"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 < score < 1 for score in scores))
        order = [one["index"] for one in answer["results"]]
        self.assertLess(order.index(1), order.index(3))  # the same text twice
        self.assertEqual([one["document"]["text"] for one in answer["results"]], [([*TEXTS, TEXTS[1]])[i] for i in order])
        self.assertEqual(answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"])
        top = self.rank(documents=[{"text": text} for text in TEXTS], top_n=2)
        self.assertEqual(len(top["results"]), 2)
        self.assertNotIn("document", top["results"][0])
        self.assertEqual(self.rank("/v2/rerank", documents=TEXTS)["meta"]["api_version"]["version"], "2")
        for path in ("/rerank", "/v1/reranking", "/reranking"):
            self.assertEqual(self.rank(path, documents=TEXTS, top_n=2)["results"], top["results"])

    def test_the_form_of_text_embeddings_inference(self):
        list_of = self.rank("/rerank", texts=TEXTS, return_text=True)
        wanted = self.rank(documents=TEXTS)["results"]
        self.assertEqual([(one["index"], one["score"]) for one in list_of],
                         [(one["index"], one["relevance_score"]) for one in wanted])
        self.assertEqual([one["text"] for one in list_of], [TEXTS[one["index"]] for one in wanted])
        raw = self.rank("/rerank", texts=TEXTS, raw_scores=True)
        self.assertEqual([one["index"] for one in raw], [one["index"] for one in wanted])

    def test_scores_are_those_of_the_originals(self):
        bert, judge = tiny_encoder.ranks_of("bert"), tiny_encoder.ranks_of("judge")
        for model, wanted, name, fields in [("rerank", bert, "scores", {}), ("rerank", bert, "raw", {"raw_scores": True}),
                                            ("judge", judge, "scores", {}),
                                            ("judge", judge, "instructed", {"instruction": judge["instruction"]})]:
            scores = wanted[name]
            results = self.rank(model=model, query=wanted["query"], documents=wanted["documents"], **fields)["results"]
            self.assertEqual([one["index"] for one in results], sorted(range(len(scores)), key=lambda i: -scores[i]))
            for one in results:
                self.assertAlmostEqual(one["relevance_score"], scores[one["index"]], places=5)

    def test_late_interaction(self):
        answer = server.post("/v1/embeddings", {"model": "colbert", "input": TEXTS})[1]
        documents = [one["embedding"] for one in answer["data"]]
        scores = {one["index"]: one["relevance_score"] for one in self.rank(model="colbert", documents=TEXTS)["results"]}
        prefixed = server.post("/v1/embeddings", {"model": "colbert", "input": "light", "prompt_name": "query"})[1]
        query = prefixed["data"][0]["embedding"]
        for i, document in enumerate(documents):
            best = [max(sum(a * b for a, b in zip(row, other)) for other in document) for row in query]
            self.assertAlmostEqual(scores[i], sum(best), places=4)

    def test_models_that_embed_rank_by_their_cosine(self):
        scores = {one["index"]: one["relevance_score"] for one in self.rank(model="embed", documents=TEXTS)["results"]}
        self.assertLessEqual(max(scores.values()), 1.0001)

    def test_what_is_wrong_is_named(self):
        for body, words in [({"documents": []}, "documents"), ({"documents": [1]}, "documents"), ({}, "documents"),
                            ({"documents": ["a"], "query": ""}, "query"), ({"documents": ["a"], "rank_fields": ["b"]}, "rank_fields"),
                            ({"documents": ["a"], "max_tokens_per_doc": 4}, "max_tokens_per_doc")]:
            with self.subTest(words):
                status, answer = server.post("/v1/rerank", {"model": "rerank", "query": "light", **body})
                self.assertEqual(status, 400, answer)
                self.assertIn(words, answer["message"])
                self.assertEqual(answer["message"], answer["detail"])
        status, answer = server.post("/v1/rerank", {"model": "rerank", "query": "light", "documents": ["a", LONG]})
        self.assertEqual((status, answer["error"]["code"]), (400, "context_length_exceeded"))
        self.assertIn("text 1", answer["message"])
        self.rank(documents=[LONG], truncate=True)
        status, answer = server.post("/v1/rerank", {"model": "demo", "query": "light", "documents": ["a"]})
        self.assertEqual(status, 400)
        self.assertIn("writes texts", answer["message"])


class Server(unittest.TestCase):
    def test_a_model_that_embeds_writes_nothing(self):
        body = {"model": "embed", "messages": [{"role": "user", "content": "a"}]}
        status, answer = server.post("/v1/chat/completions", body)
        self.assertEqual(status, 400)
        self.assertIn("writes none", answer["error"]["message"])
        body["model"] = "demo"
        self.assertEqual(server.post("/v1/chat/completions", {**body, "max_tokens": 1})[0], 200)

    def test_lists_of_models_and_metrics(self):
        server.post("/v1/embeddings", {"model": "embed", "input": "a"})
        models = {one["id"]: one for one in server.get("/v1/models")[1]["data"]}
        self.assertEqual(models["embed"]["context_length"], tiny_encoder.POSITIONS)
        shown = server.post("/api/show", {"model": "embed"})[1]
        self.assertEqual(shown["capabilities"], ["embedding"])
        metrics = server.request("GET", "/metrics")[2].decode()
        self.assertIn('skald_encoder_texts_total{model="embed"}', metrics)
        self.assertEqual(server.get("/health")[0], 200)

    def test_a_decoder_ranks_where_the_option_says_so(self):
        path = tiny_encoder.write_judge(os.path.join(folder.name, "silent"), says_so=False)
        wanted = server.post("/rerank", {"model": "judge", "query": "light", "texts": TEXTS})[1]
        with RunningServer(PROGRAM, "--model", path, "--f32", "--yes-or-no") as alone:
            self.assertEqual(alone.post("/rerank", {"query": "light", "texts": TEXTS})[1], wanted)
            status, answer = alone.post("/v1/embeddings", {"input": "light"})
            self.assertEqual(status, 400)
            self.assertIn("ranks texts", answer["error"]["message"])
        with RunningServer(PROGRAM, "--model", path, "--f32") as writes:
            self.assertEqual(writes.post("/v1/rerank", {"query": "light", "documents": TEXTS})[0], 400)

    def test_one_alone(self):
        with RunningServer(PROGRAM, "--model", os.path.join(folder.name, "embed"), "--f32") as alone:
            vector = alone.post("/v1/embeddings", {"model": "any", "input": "light"})[1]["data"][0]["embedding"]
        wanted = server.post("/v1/embeddings", {"model": "embed", "input": "light"})[1]["data"][0]["embedding"]
        self.assertEqual(vector, wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
