#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenAI's client with `skald serve`: openai_client.py [URL [MESSAGE]]."""

import sys

from openai import OpenAI

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/v1"
message = sys.argv[2] if len(sys.argv) > 2 else "In the beginning"
client = OpenAI(base_url=url, api_key="none")
stream = client.chat.completions.create(model="default", stream=True, messages=[{"role": "user", "content": message}])
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
