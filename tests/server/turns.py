# SPDX-License-Identifier: Apache-2.0
"""Conversations whose every answer is known: what a server that is killed goes on with."""

WORDS = "And it came to pass in the days of the king that a man went out of the city and said behold".split()


def essence(answer):
    return [(c["message"]["content"], c["logprobs"]) for c in answer["choices"]], answer["skald"]["digest"]


class Turns:
    """The turns of a conversation. `ask_all` on a server that nothing disturbs says what they are answered with."""

    def __init__(self, rng, count=8):
        self.questions = [{"messages": [{"role": "user", "content": " ".join(rng.choice(WORDS) for _ in range(30))}],
                           "seed": i, "max_tokens": 12, "temperature": 1} for i in range(count)]
        self.expected = []

    def ask_all(self, server):
        name = server.post("/v1/conversations", {})[1]["id"]
        for question in self.questions:
            self.expected.append(essence(server.post("/v1/chat/completions", {**question, "conversation": name})[1]))

    def one(self, test, server, name):
        """Goes on with a conversation, or begins it anew. Returns how many tokens of its prompt were known."""
        status, shown = server.get(f"/v1/conversations/{name}")
        test.assertEqual(status, 200)
        count, all_of_them = shown["message_count"], 2 * len(self.questions)
        if count % 2 == 1 or count == all_of_them:
            keep = 0 if count == all_of_them else count - 1
            test.assertEqual(server.post(f"/v1/conversations/{name}/rewind", {"messages": keep})[0], 200)
            count = keep
        status, answer = server.post("/v1/chat/completions", {**self.questions[count // 2], "conversation": name})
        test.assertEqual(status, 200, answer)
        test.assertEqual(essence(answer), self.expected[count // 2])
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]
