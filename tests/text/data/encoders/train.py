#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small tokenizers of encoders that the tests use, and writes what the original libraries make of texts.

usage: train.py      needs tokenizers 0.23.3, transformers 5.24.0, sentencepiece 0.2.3

Reads ../corpus.txt (Genesis 1:1-10 in the King James version) and words of other languages below. Writes folders beside
this file: bert_uncased, bert_cased and mpnet (vocab.txt alone, as old models have it), xlm_roberta
(sentencepiece.bpe.model alone), t5 (spiece.model alone), the same with a tokenizer.json alone, and roberta (merges of
bytes, RobertaProcessing); and cases.json: texts, pairs and limits with ids and type ids. Training breaks ties
at random: files and values belong together.
"""

import json
import pathlib
import random

import sentencepiece
import tokenizers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertTokenizer, MPNetTokenizer, T5Tokenizer, XLMRobertaTokenizer

HERE = pathlib.Path(__file__).parent
MORE = ["\u00c9lan vital, na\u00efve fa\u00e7ade, \u00c5NGSTR\u00d6M, Stra\u00dfe, \u0130stanbul.",
        "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u043b\u043a\u0430.",
        "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u6771\u4eac\u30bf\u30ef\u30fc", "\ud55c\uad6d\uc5b4 \ubb38\uc7a5",
        "\ufb01ne \ufb02our \u00bd \uff12\uff10\uff12\uff16 \uff21\uff22\uff23", "don't stop-it (now)\u2026"]
PROBES = [
    "", " ", "In the beginning God created the heaven and the earth.", "IN THE BEGINNING",
    "na\u00efve fa\u00e7ade \u00c9lan \u00c5NGSTR\u00d6M",
    "\u4f60\u597d\u4e16\u754c mixed \u6771\u4eac", "\ud55c\uad6d\uc5b4",
    "tab\tnew\nline\r\nzero\u200bwidth\u00a0space\u3000wide", "\u0000nul\ufffdreplaced",
    "a" * 101, "word" * 30, "[CLS] in text [SEP]", "<s> in text </s> <mask> x", "<extra_id_5> gap",
    "##ing \u2581the", "\u00bd\ufb01\u00b2",
    "don't!!! (now)\u2026", "e\u0301 combining", "\u2167 \u0130 \u00df \u01c5",
    "\U0001f600\U0001f44d\U0001f3fd emoji", "\u202eright\u202c", "   spaces   around   "]
# Letters and their replacements: a small part of NFKC, so that the files stay small.
RULES = {"\t": " ", "\n": " ", "\u00a0": " ", "\u3000": " ", "\u200b": "", "\ufb01": "fi", "\u00bd": "1\u20442",
         "\u00b2": "2", "e\u0301": "\u00e9", "\u2167": "VIII", **{chr(0xFF21 + i): chr(65 + i) for i in range(26)}}
LIMITS = [("longest_first", 8), ("longest_first", 9), ("longest_first", 5), ("only_first", 14), ("only_second", 14)]


def corpus():
    return (HERE.parent / "corpus.txt").read_text().splitlines() + MORE


def train_word_pieces(lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=260, special_tokens=special))
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.get)


def write_bert(name, lowercase):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in train_word_pieces(lowercase)))
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n")
    return BertTokenizer.from_pretrained(folder)._tokenizer


def write_mpnet():
    """The pieces of bert_uncased with the special tokens of MPNet, and no word of its class but in config.json."""
    folder = HERE / "mpnet"
    folder.mkdir(exist_ok=True)
    pieces = (HERE / "bert_uncased" / "vocab.txt").read_text().split("\n")
    pieces[:5] = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    (folder / "config.json").write_text(json.dumps({"model_type": "mpnet"}) + "\n")
    return MPNetTokenizer.from_pretrained(folder)._tokenizer


def train_sentencepiece(path, **settings):
    rules = path.with_suffix(".tsv")
    rules.write_text("".join(" ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new) + "\n"
                             for old, new in RULES.items()))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_prefix=str(path.with_suffix("")), vocab_size=230, model_type="unigram",
        hard_vocab_limit=False, character_coverage=1.0, num_threads=1, normalization_rule_tsv=str(rules),
        minloglevel=2, **settings)
    path.with_suffix(".vocab").unlink()
    rules.unlink()
    path.with_suffix(".model").rename(path)


def write_sentencepiece(name, file, kind, config, **settings):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    train_sentencepiece(folder / file, **settings)
    (folder / "tokenizer_config.json").write_text(json.dumps(config) + "\n")
    return kind.from_pretrained(folder)._tokenizer


def write_roberta():
    folder = HERE / "roberta"
    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=alphabet))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    return tokenizer


def case_of(tokenizer, texts, strategy=None, most=None, left=False):
    case = {"texts": texts}
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if most:
        case |= {"truncation": strategy, "most": most, "left": left}
        tokenizer.enable_truncation(most, strategy=strategy, direction="left" if left else "right")
    try:
        encoding = tokenizer.encode(*texts)
    except Exception:  # a text too short for the cut
        return case | {"error": True}
    return case | {"ids": encoding.ids, "types": encoding.type_ids}


def cases_of(tokenizer):
    random.seed(38)
    cases = [case_of(tokenizer, [text]) for text in PROBES]
    for _ in range(40):
        first, second = random.choice(PROBES), random.choice(PROBES)
        cases.append(case_of(tokenizer, [first, second]))
        strategy, most = random.choice(LIMITS)
        cases.append(case_of(tokenizer, [first, second], strategy, most, random.random() < 0.3))
    for text in PROBES:
        cases.append(case_of(tokenizer, [text], "longest_first", 6))
    return cases


def main():
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    uncased = write_bert("bert_uncased", True)
    made = {"bert_uncased": uncased, "bert_cased": write_bert("bert_cased", False), "roberta": write_roberta(),
            "mpnet": write_mpnet()}
    made["xlm_roberta"] = write_sentencepiece(
        "xlm_roberta", "sentencepiece.bpe.model", XLMRobertaTokenizer, {"tokenizer_class": "XLMRobertaTokenizer"})
    made["t5"] = write_sentencepiece(
        "t5", "spiece.model", T5Tokenizer, {"tokenizer_class": "T5Tokenizer", "extra_ids": 10},
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    for name in ("bert_uncased", "xlm_roberta", "t5"):  # the same as newer models have it
        folder = HERE / (name + "_json")
        folder.mkdir(exist_ok=True)
        made[name].no_truncation()
        made[name].save(str(folder / "tokenizer.json"), pretty=False)
    cases = {name: cases_of(tokenizer) for name, tokenizer in made.items()}
    lines = ",\n".join(json.dumps(name) + ":[\n" + ",\n".join(json.dumps(case) for case in all_of) + "]"
                       for name, all_of in cases.items())
    (HERE / "cases.json").write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
