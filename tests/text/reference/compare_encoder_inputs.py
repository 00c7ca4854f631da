#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what encoders read for random texts with Hugging Face's tokenizers: ids, type ids, pairs, truncation.

usage: compare_encoder_inputs.py --program build/release/tests/token_ids [--count 5000] [--seed 1] [--text FILE]
                                 TOKENIZER [REFERENCE]

TOKENIZER is what Skald reads (a tokenizer.json, vocab.txt, sentencepiece.bpe.model, spiece.model or a GGUF file),
REFERENCE the tokenizer.json, or the folder for transformers, that it is held to; the same if it is left out. Texts are
parts of FILE, and characters of all of Unicode. Exits with 77 and says so without the package tokenizers.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import unicodedata

try:
    import tokenizers
except ImportError:
    print("skipped: no package tokenizers")
    sys.exit(77)

WORDS = ["the", "Beginning", "unbelievable", "na\u00efve", "fa\u00e7ade", "\u00c5NGSTR\u00d6M", "Stra\u00dfe",
         "\u0130stanbul", "e\u0301", "\ufb01ne", "\u00bd", "\u00b2", "\u2167",
         "\u4f60\u597d", "\u4e16\u754c", "\u6771\u4eac", "\ud55c\uad6d\uc5b4",
         "\u043f\u0440\u0438\u0432\u0435\u0442", "\u0401\u043b\u043a\u0430", "\u0645\u0631\u062d\u0628\u0627",
         "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0e44\u0e17\u0e22", "don't", "it's", "(x)", "...", "!!",
         "\u2014", "\U0001f642", "\U0001f44d\U0001f3fd",
         "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<s>", "</s>", "<mask>", "<extra_id_3>", "##ing", "\u2581the",
         "a" * 101,
         "x1y2", "2026", "\uff13", "\u200b", "\u00ad", "\ufeff", "\u0000", "\ufffd", "\t", "\n", "\r\n", "\u00a0",
         "\u3000", "\u2028", "\x85"]
STRATEGIES = ["longest_first", "only_first", "only_second"]


def any_character(rng):
    while True:
        point = rng.randrange(rng.choice([0x80, 0x3000, 0x10000, 0x110000]))
        if not 0xD800 <= point < 0xE000 and unicodedata.category(chr(point)) != "Cn":  # of a newer Unicode perhaps
            return chr(point)


def random_text(rng, text):
    parts = []
    for _ in range(rng.randrange(12)):
        kind = rng.randrange(4)
        if kind == 0 and text:
            begin = rng.randrange(len(text))
            parts.append(text[begin:begin + rng.randrange(1, 200)])
        elif kind == 1:
            parts.append("".join(any_character(rng) for _ in range(rng.randrange(1, 8))))
        else:
            parts.append(rng.choice(WORDS))
    return rng.choice(["", " ", "  "]).join(parts)


def expected(tokenizer, request):
    tokenizer.no_truncation()
    if "most" in request:
        tokenizer.enable_truncation(request["most"], strategy=request["truncation"],
                                    direction="left" if request["left"] else "right")
    try:
        encoding = tokenizer.encode(*request["texts"])
    except Exception:  # a text that is too short for the cut
        return None
    return encoding.ids, encoding.type_ids


def load(path):
    if pathlib.Path(path).is_dir():
        import transformers
        return transformers.AutoTokenizer.from_pretrained(path)._tokenizer
    return tokenizers.Tokenizer.from_file(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/tests/token_ids")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", default="")
    parser.add_argument("tokenizer")
    parser.add_argument("reference", nargs="?")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    text = pathlib.Path(args.text).read_text(errors="replace") if args.text else ""
    reference = load(args.reference or args.tokenizer)
    reference.no_padding()
    requests = []
    for _ in range(args.count):
        request = {"texts": [random_text(rng, text) for _ in range(rng.randrange(1, 3))]}
        if rng.randrange(3) == 0:
            strategies = STRATEGIES if len(request["texts"]) == 2 else STRATEGIES[:1]
            request |= {"most": rng.randrange(5, 40), "truncation": rng.choice(strategies), "left": rng.random() < 0.3}
        requests.append(request)
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answers = subprocess.run([args.program, args.tokenizer, "--inputs"], input=lines, capture_output=True, text=True,
                             check=True).stdout.split("\n")[:-1]
    wrong = 0
    for request, answer in zip(requests, answers, strict=True):
        want = expected(reference, request)
        ids, bar, types = answer.partition("|")
        got = ([int(i) for i in ids.split()], [int(i) for i in types.split()]) if bar else None
        if got == want:
            continue
        wrong += 1
        if wrong <= 5:
            print(f"{json.dumps(request)}\n  expected {want}\n  got      {got or answer}")
    print(f"{args.tokenizer}: {len(requests)} inputs, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
