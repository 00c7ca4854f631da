#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Embeddings and rankings as clients for Python see them: encoders_test.py PROGRAM.

Tests of packages that are not installed are skipped; with none of them it exits with 77 and a word: `pip install openai
cohere huggingface_hub langchain-openai llama-index-embeddings-text-embeddings-inference`."""

import importlib.util
import json
import os
import sys
import unittest
import urllib.request

PACKAGES = ["openai", "cohere", "huggingface_hub", "langchain_openai", "llama_index.embeddings.text_embeddings_inference"]


def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


if not any(has(name) for name in PACKAGES):
    print("skipped: none of the Python packages " + ", ".join(PACKAGES))
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer, temporary_folder  # noqa: E402
import tiny_encoder  # noqa: E402

PROGRAM = sys.argv[1]
TEXTS = ["And God said, Let there be light", "light", "the waters"]


def setUpModule():
    global server, folder, root, vectors, wanted
    folder = temporary_folder()
    embed = tiny_encoder.write_encoder(os.path.join(folder.name, "embed"))
    rerank = tiny_encoder.write_reranker(os.path.join(folder.name, "rerank"))
    server = RunningServer(PROGRAM, "--model", f"embed={embed}", "--model", f"rerank={rerank}", "--f32")
    root = f"http://127.0.0.1:{server.port}"
    vectors = server.post("/embed", {"model": "embed", "inputs": TEXTS})[1]
    wanted = tiny_encoder.ranks_of("bert")


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


class Case(unittest.TestCase):
    def check_vectors(self, given, places=6):
        self.assertEqual(len(given), len(vectors))
        for one, other in zip(given, vectors):
            for a, b in zip(one, other, strict=True):
                self.assertAlmostEqual(float(a), b, places=places)

    def check_ranking(self, pairs):
        """Pairs of index and score, the best first."""
        scores = wanted["scores"]
        self.assertEqual([index for index, _ in pairs], sorted(range(len(scores)), key=lambda i: -scores[i])[:len(pairs)])
        for index, score in pairs:
            self.assertAlmostEqual(score, scores[index], places=5)


@unittest.skipUnless(has("openai"), "openai is not installed")
class OpenAi(Case):
    def test_embeddings(self):
        import openai
        client = openai.OpenAI(base_url=root + "/v1", api_key="none", max_retries=0)
        for form in ("float", "base64"):
            answer = client.embeddings.create(model="embed", input=TEXTS, encoding_format=form)
            self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens)
            if form == "float":
                self.check_vectors([one.embedding for one in answer.data])
        self.check_vectors([one.embedding for one in client.embeddings.create(model="embed", input=TEXTS).data])
        self.assertEqual(len(client.embeddings.create(model="embed", input="a", dimensions=8).data[0].embedding), 8)
        with self.assertRaisesRegex(openai.BadRequestError, "ranks texts"):
            client.embeddings.create(model="rerank", input=TEXTS)


@unittest.skipUnless(has("cohere"), "cohere is not installed")
class Cohere(Case):
    def test_embeddings(self):
        import cohere
        client = cohere.ClientV2(api_key="none", base_url=root)
        answer = client.embed(model="embed", texts=TEXTS, input_type="search_document", embedding_types=["float", "int8", "ubinary"])
        self.check_vectors(answer.embeddings.float_)
        self.assertEqual([len(row) for row in answer.embeddings.ubinary], [tiny_encoder.DIMENSION // 8] * 3)
        self.assertEqual(max(map(abs, answer.embeddings.int8[0])), 127)
        with self.assertRaises(cohere.errors.BadRequestError) as caught:
            client.embed(model="embed", texts=["light " * 200], input_type="classification", truncate="NONE")
        self.assertIn("too long", str(caught.exception.body))

    def test_rankings(self):
        import cohere
        for client in (cohere.ClientV2(api_key="none", base_url=root), cohere.Client(api_key="none", base_url=root)):
            answer = client.rerank(model="rerank", query=wanted["query"], documents=wanted["documents"], top_n=3)
            self.check_ranking([(one.index, one.relevance_score) for one in answer.results])
            self.assertEqual(len(answer.results), 3)


class Jina(Case):
    """Jina has no client of its own: its page shows a plain request."""

    def post(self, path, body):
        request = urllib.request.Request(root + path, json.dumps(body).encode(), {
            "Content-Type": "application/json", "Authorization": "Bearer none"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def test_rankings(self):
        answer = self.post("/v1/rerank", {"model": "rerank", "query": wanted["query"], "documents": wanted["documents"],
                                          "top_n": 2, "return_documents": True})
        self.check_ranking([(one["index"], one["relevance_score"]) for one in answer["results"]])
        self.assertEqual(answer["results"][0]["document"]["text"], wanted["documents"][answer["results"][0]["index"]])
        self.assertGreater(answer["usage"]["total_tokens"], 0)

    def test_embeddings(self):
        answer = self.post("/v1/embeddings", {"model": "embed", "task": "retrieval.query", "input": TEXTS,
                                              "embedding_type": "float", "dimensions": 32})
        self.check_vectors([one["embedding"] for one in answer["data"]])
        self.assertEqual(answer["skald"]["ignored"], ["task"])


@unittest.skipUnless(has("huggingface_hub"), "huggingface_hub is not installed")
class HuggingFace(Case):
    def test_features_and_similarities(self):
        from huggingface_hub import InferenceClient
        client = InferenceClient(token="none")
        self.check_vectors([client.feature_extraction(text, model=root + "/embed")[0] for text in TEXTS])
        scores = client.sentence_similarity(TEXTS[0], other_sentences=TEXTS, model=root + "/similarity")
        self.assertAlmostEqual(scores[0], 1, places=5)
        self.assertEqual(len(scores), 3)


class LangChain(Case):
    @unittest.skipUnless(has("langchain_openai"), "langchain_openai is not installed")
    def test_openai(self):
        from langchain_openai import OpenAIEmbeddings
        client = OpenAIEmbeddings(model="embed", base_url=root + "/v1", api_key="none", max_retries=0,
                                  check_embedding_ctx_length=False)
        self.check_vectors(client.embed_documents(TEXTS))
        self.check_vectors([client.embed_query(text) for text in TEXTS])


@unittest.skipUnless(has("llama_index.embeddings.text_embeddings_inference"), "the package of llama-index is not installed")
class LlamaIndex(Case):
    def test_text_embeddings_inference(self):
        from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
        client = TextEmbeddingsInference(model_name="embed", base_url=root)
        self.check_vectors(client.get_text_embedding_batch(TEXTS))
        self.assertEqual(len(client.get_query_embedding("light")), tiny_encoder.DIMENSION)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
