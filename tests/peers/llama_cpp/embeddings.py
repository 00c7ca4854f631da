#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the pooled embeddings, or a reranker's scores, that llama.cpp's own libraries compute of a GGUF file: a
program apart, as logits.py is.

usage: embeddings.py LIBRARIES FILE IDS...      ids of a text each, with commas between them
"""
import ctypes
import json
import os
import pathlib
import sys

from logits import Batch, Log, Parameters, ERROR, function, libraries, make_exact

RANK = 4  # the pooling that gives scores


def main():
    folder, path = pathlib.Path(sys.argv[1]), sys.argv[2]
    texts = [[int(number) for number in words.split(",")] for words in sys.argv[3:]]
    llama = libraries(folder)
    said = []
    log = Log(lambda level, text, _: said.append(text.decode(errors="replace")) if level == ERROR else None)
    function(llama, "llama_log_set", None, Log, ctypes.c_void_p)(log, None)
    model = function(llama, "llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Parameters)(
        os.fsencode(path), function(llama, "llama_model_default_params", Parameters)())
    if not model:
        sys.exit("llama.cpp: " + (said or ["no answer"])[0].split("error loading model")[-1].strip(" :\n"))
    parameters = function(llama, "llama_context_default_params", Parameters)()
    make_exact(parameters)
    context = function(llama, "llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p, Parameters)(model, parameters)
    if not context:
        sys.exit("llama.cpp: " + (said or ["no context"])[0].strip())
    function(llama, "llama_set_embeddings", None, ctypes.c_void_p, ctypes.c_bool)(context, True)
    ranks = function(llama, "llama_pooling_type", ctypes.c_int, ctypes.c_void_p)(context) == RANK
    of_model = "llama_model_n_cls_out" if ranks else "llama_model_n_embd"
    size = function(llama, of_model, ctypes.c_int32, ctypes.c_void_p)(model)
    encode = function(llama, "llama_encode", ctypes.c_int32, ctypes.c_void_p, Batch)
    pooled = function(llama, "llama_get_embeddings_seq", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
    found = []
    for ids in texts:
        tokens, wanted = (ctypes.c_int32 * len(ids))(*ids), (ctypes.c_int8 * len(ids))(*[1] * len(ids))
        row = None if encode(context, Batch(n_tokens=len(ids), token=tokens, logits=wanted)) else pooled(context, 0)
        if not row:
            sys.exit("llama.cpp: " + (said or ["no embedding"])[0].strip())
        found.append(row[:size])
    json.dump(found, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # its destructors may meet what is gone already


if __name__ == "__main__":
    main()
