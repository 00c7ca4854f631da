#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load on a running `skald serve`: streams at a time, what each sees, the time to a first byte of a known prompt, and
switches of models.

serve_load.py URL [--streams 1,8,32] [--prompt-tokens 64] [--answer-tokens 64]
serve_load.py URL --switch NAME,NAME

Prints a Markdown table: tokens a second while all streams write, the time to the first token and between tokens (median
and 99th percentile), and, last, milliseconds to the first byte of a prompt that the server has computed before. With
--switch it asks models in turns, of which the server's --memory holds one, for one token each, and tells how long each
takes, and how long the same request to a model that is loaded.
"""

import argparse
import http.client
import json
import statistics
import threading
import time
from urllib.parse import urlparse


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def one_stream(address, prompt, tokens, out, barrier):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True})
    barrier.wait()
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    times = []
    while line := answer.readline():
        if line.startswith(b"data: {"):
            times.append(time.monotonic())
    connection.close()
    out.append((begin, times))


def measure(address, streams, prompt_tokens, answer_tokens):
    out, barrier = [], threading.Barrier(streams)
    threads = [threading.Thread(target=one_stream, args=(
        address, [100 + (i * 7 + 13 * s) % 2000 for i in range(prompt_tokens)], answer_tokens, out, barrier))
        for s in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    all_write = max(times[0] for _, times in out)
    one_ends = min(times[-1] for _, times in out)
    written = sum(sum(all_write < t <= one_ends for t in times) for _, times in out)
    first = [times[0] - begin for begin, times in out]
    between = [b - a for _, times in out for a, b in zip(times, times[1:])]
    print(f"| {streams} | {written / (one_ends - all_write):.1f} | {1e3 * statistics.median(first):.0f}, "
          f"{1e3 * percentile(first, 0.99):.0f} | {1e3 * statistics.median(between):.1f}, {1e3 * percentile(between, 0.99):.1f} |")


def first_byte(address, tokens):
    body = json.dumps({"prompt": [100 + i * 3 % 1500 for i in range(tokens)], "max_tokens": 1, "temperature": 0})
    times = []
    for _ in range(21):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
        begin = time.monotonic()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        times.append(time.monotonic() - begin)
        connection.close()
    print(f"\nFirst byte of a known prompt of {tokens} tokens: {1e3 * statistics.median(times[1:]):.1f} ms "
          f"(computed: {1e3 * times[0]:.1f} ms)")


def seconds_of(address, model):
    """From a request for one token, with a prompt that was not there before, to its whole answer."""
    prompt = [100 + time.monotonic_ns() // 1000 ** i % 1000 for i in range(4)]
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0})
    begin = time.monotonic()
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    taken = time.monotonic() - begin
    connection.close()
    if answer.status != 200:
        raise SystemExit(text.decode())
    return taken


def switches(address, models):
    for model in models:
        seconds_of(address, model)
    print("| model | first answer: median, most, ms | loaded: median, ms |\n|---|---|---|")
    switched, loaded = {model: [] for model in models}, {model: [] for model in models}
    for _ in range(9):
        for model in models:
            switched[model].append(1e3 * seconds_of(address, model))
            loaded[model] += [1e3 * seconds_of(address, model) for _ in range(3)]
    for model in models:
        print(f"| {model} | {statistics.median(switched[model]):.0f}, {max(switched[model]):.0f} | "
              f"{statistics.median(loaded[model]):.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--streams", default="1,8,32")
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--answer-tokens", type=int, default=64)
    parser.add_argument("--switch", default="")
    options = parser.parse_args()
    address = urlparse(options.url)
    if options.switch:
        return switches(address, options.switch.split(","))
    print("| streams | tokens/s | first token: p50, p99, ms | between tokens: p50, p99, ms |\n|---|---|---|---|")
    for streams in map(int, options.streams.split(",")):
        measure(address, streams, options.prompt_tokens, options.answer_tokens)
    first_byte(address, 1000)


if __name__ == "__main__":
    main()
