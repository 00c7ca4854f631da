#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small byte-level tokenizer that the tests use: 420 pieces, built as Llama 3's is.

usage: train.py

Reads ../corpus.txt (Genesis 1:1-10 in the King James version) and writes tokenizer.json and tokenizer_config.json
beside this file.
"""

import collections
import json
import pathlib
import re

PIECES = 420
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")
ASCII_PATTERN = PATTERN.replace(r"\p{L}", "a-zA-Z").replace(r"\p{N}", "0-9")  # of sets; the rest follows
ASCII_PATTERN = ASCII_PATTERN.replace("?a-zA-Z+", "?[a-zA-Z]+").replace("|0-9{", "|[0-9]{")
ADDED = [("<|begin_of_text|>", True), ("<|end_of_text|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
         ("<tool_call>", False)]


def alphabet():
    """The letter of each byte, as GPT-2 chose them."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def train(text, letters, merges_wanted):
    words = collections.Counter(re.findall(ASCII_PATTERN, text))
    words = {tuple(letters[byte] for byte in word.encode()): count for word, count in words.items()}
    merges = []
    while len(merges) < merges_wanted:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        words = {merged(word, best): count for word, count in words.items()}
    return merges


def merged(word, pair):
    result, i = [], 0
    while i < len(word):
        step = 2 if word[i:i + 2] == pair else 1
        result.append("".join(word[i:i + step]))
        i += step
    return tuple(result)


def main():
    here = pathlib.Path(__file__).parent
    letters = alphabet()
    merges = train((here.parent / "corpus.txt").read_text(), letters, PIECES - 256 - len(ADDED))
    vocabulary = {piece: i for i, piece in enumerate([*letters, *("".join(pair) for pair in merges)])}
    added = [{"id": len(vocabulary) + i, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": special} for i, (name, special) in enumerate(ADDED)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    bos = ADDED[0][0]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}, byte_level]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {bos: {"id": bos, "ids": [len(vocabulary)], "tokens": [bos]}}},
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocabulary, "merges": [" ".join(pair) for pair in merges]}}
    (here / "tokenizer.json").write_text(json.dumps(tokenizer, separators=(",", ":")) + "\n")
    config = {"bos_token": bos, "eos_token": {"content": "<|end_of_text|>", "special": True}, "pad_token": None}
    (here / "tokenizer_config.json").write_text(json.dumps(config) + "\n")


if __name__ == "__main__":
    main()
