#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the logits that llama.cpp's own libraries compute of a GGUF file: a program apart, since they end the
process where they meet a file that they cannot take.

usage: logits.py LIBRARIES FILE IDS POSITIONS      numbers with commas between them; positions count from 0
"""
import ctypes
import json
import os
import pathlib
import struct
import sys

ERROR = 4  # level of what llama.cpp reports
F16_TWICE, F32_TWICE = struct.pack("<ii", 1, 1), struct.pack("<ii", 0, 0)  # types of keys and of values
AUTOMATIC, OFF = struct.pack("<i", -1), struct.pack("<i", 0)


class Parameters(ctypes.Structure):
    """Any version's structure of parameters, which are passed by value: large enough, and what it holds is looked for."""
    _fields_ = [("bytes", ctypes.c_uint64 * 128)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)), ("embd", ctypes.c_void_p),
                ("pos", ctypes.c_void_p), ("n_seq_id", ctypes.c_void_p), ("seq_id", ctypes.c_void_p),
                ("logits", ctypes.POINTER(ctypes.c_int8))]


Log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def libraries(folder):
    """Loads the libraries of a folder, each after those that it needs. Returns the last."""
    loaded = None
    for name in ("ggml-base", "ggml-cpu", "ggml", "llama"):
        found = sorted(folder.glob(f"lib{name}.so*")) or sorted(folder.glob(f"lib{name}.*"))
        if found:
            loaded = ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)
            if name == "ggml":
                loaded.ggml_backend_load_all_from_path(os.fsencode(folder))
    return loaded


def replace(parameters, before, old, new, after):
    """Replaces a value that lies between two others. Returns whether there is one such place."""
    raw = bytes(parameters.bytes)
    at = raw.find(before + old + after)
    if at < 0 or raw.find(before + old + after, at + 1) >= 0:
        return False
    ctypes.memmove(ctypes.byref(parameters, at + len(before)), new, len(new))
    return True


def make_exact(parameters):
    """Asks for keys and values in F32, whose types lie between pairs of null pointers, and for no flash attention, which
    rounds to F16 on some processors: an automatic choice after three others, before two zeros."""
    if not replace(parameters, bytes(16), F16_TWICE, F32_TWICE, bytes(16)):
        sys.exit("this llama.cpp has other parameters of contexts")
    replace(parameters, AUTOMATIC * 3, AUTOMATIC, OFF, bytes(8))


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


class Opened:
    """A model and a context of it. The process ends with what llama.cpp reports if it cannot take the file."""

    def __init__(self, folder, path):
        self.llama, self.said = libraries(folder), []
        self.log = Log(lambda level, text, _: self.said.append(text.decode(errors="replace")) if level == ERROR else None)
        self.function("llama_log_set", None, Log, ctypes.c_void_p)(self.log, None)
        self.model = self.function("llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Parameters)(
            os.fsencode(path), self.function("llama_model_default_params", Parameters)())
        if not self.model:
            self.fail()
        parameters = self.function("llama_context_default_params", Parameters)()
        make_exact(parameters)
        self.context = self.function("llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p, Parameters)(
            self.model, parameters)
        if not self.context:
            self.fail()

    def function(self, name, result, *arguments):
        return function(self.llama, name, result, *arguments)

    def run(self, name, ids):
        """Calls a function that computes the rows of all ids."""
        tokens, wanted = (ctypes.c_int32 * len(ids))(*ids), (ctypes.c_int8 * len(ids))(*[1] * len(ids))
        batch = Batch(n_tokens=len(ids), token=tokens, logits=wanted)
        if self.function(name, ctypes.c_int32, ctypes.c_void_p, Batch)(self.context, batch):
            self.fail()

    def fail(self):
        sys.exit("llama.cpp: " + (self.said or ["no answer"])[0].split("error loading model")[-1].strip(" :\n"))


def finish(answer):
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # llama.cpp's destructors may meet what is gone already


def main():
    ids, positions = ([int(number) for number in words.split(",")] for words in sys.argv[3:5])
    opened = Opened(pathlib.Path(sys.argv[1]), sys.argv[2])
    vocabulary = opened.function("llama_model_get_vocab", ctypes.c_void_p, ctypes.c_void_p)(opened.model)
    size = opened.function("llama_vocab_n_tokens", ctypes.c_int32, ctypes.c_void_p)(vocabulary)
    opened.run("llama_decode", ids)
    row = opened.function("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
    finish([row(opened.context, position)[:size] for position in positions])


if __name__ == "__main__":
    main()
