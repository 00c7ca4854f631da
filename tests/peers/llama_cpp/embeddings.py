#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the pooled embeddings, or a reranker's scores, that llama.cpp's own libraries compute of a GGUF file: a
program apart, as logits.py is.

usage: embeddings.py LIBRARIES FILE IDS...      ids of a text each, with commas between them
"""
import ctypes
import pathlib
import sys

from logits import Opened, finish

RANK = 4  # the pooling that gives scores


def main():
    texts = [[int(number) for number in words.split(",")] for words in sys.argv[3:]]
    opened = Opened(pathlib.Path(sys.argv[1]), sys.argv[2])
    opened.function("llama_set_embeddings", None, ctypes.c_void_p, ctypes.c_bool)(opened.context, True)
    ranks = opened.function("llama_pooling_type", ctypes.c_int, ctypes.c_void_p)(opened.context) == RANK
    of_model = "llama_model_n_cls_out" if ranks else "llama_model_n_embd"
    size = opened.function(of_model, ctypes.c_int32, ctypes.c_void_p)(opened.model)
    pooled = opened.function("llama_get_embeddings_seq", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
    found = []
    for ids in texts:
        opened.run("llama_encode", ids)
        row = pooled(opened.context, 0)
        if not row:
            opened.fail()
        found.append(row[:size])
    finish(found)


if __name__ == "__main__":
    main()
