# SPDX-License-Identifier: Apache-2.0
"""The content of /openapi.json, for tests: the operations, requests that fit a schema, and requests that do not."""

import copy

# Values that are of the wrong type, or out of range, nearly everywhere.
ODD = [None, True, -1, 2**31, 2**63, -2**64, 0.5, 1e308, "", "x", "\0", "\ud800", "\u2028" * 40, "x" * 20000, [], {}, [[]],
       [None] * 2000, {"": {}}, {str(i): i for i in range(2000)}]


class Operation:
    def __init__(self, method, path, described, resolve):
        self.method, self.path = method.upper(), path
        self.status = min(int(status) for status in described["responses"] if status != "default")
        content = described.get("requestBody", {}).get("content", {}).get("application/json")
        self.schema = resolve(content["schema"]) if content else None
        self.example = content["example"] if content else None


class ApiDescription:
    def __init__(self, document):
        self.document = document
        self.operations = [Operation(method, path, described, self.resolve)
                           for path, methods in document["paths"].items() for method, described in methods.items()]

    def resolve(self, schema):
        while "$ref" in schema:
            place = self.document
            for name in schema["$ref"].split("/")[1:]:
                place = place[name]
            schema = place
        return schema

    def make(self, schema, random, depth=0):
        """A value that fits."""
        schema = self.resolve(schema)
        if "anyOf" in schema:
            return self.make(random.choice(schema["anyOf"]), random, depth)
        if "enum" in schema:
            return copy.deepcopy(random.choice(schema["enum"]))
        kind = schema.get("type")
        if kind == "string":
            if "pattern" in schema:
                return "tool_" + str(random.randrange(4))
            return random.choice(["a", "And it came", "{\"a\": 1}", "<tool_call>", "</think>", "\u00e9\u4e16", "x" * 300])
        if kind == "integer":
            low, high = schema.get("minimum", -5), schema.get("maximum", 2**53)
            return random.choice([low, min(high, low + 1), min(high, max(low, random.randrange(40)))])
        if kind == "number":
            return random.choice([schema["minimum"], schema["maximum"], random.uniform(max(-2, schema["minimum"]),
                                                                                        min(2, schema["maximum"]))])
        if kind == "boolean":
            return random.random() < 0.5
        if kind == "null":
            return None
        if kind == "array":
            count = max(schema.get("minItems", 0), random.choice([0, 1, 1, 2, 3]) if depth < 6 else 0)
            return [self.make(schema["items"], random, depth + 1) for _ in range(count)]
        if kind == "object" and "properties" in schema:
            required = schema.get("required", [])
            return {name: self.make(inner, random, depth + 1) for name, inner in schema["properties"].items()
                    if name in required or random.random() < (0.15 if depth == 0 else 0.4)}
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return {str(random.randrange(300)): self.make(schema["additionalProperties"], random, depth + 1)}
        if kind == "object":
            return copy.deepcopy(random.choice([{}, {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}},
                                                {"type": "object", "properties": {"b": {"enum": ["c", 1, None]}},
                                                 "required": ["b"]}, {"a": [1, {"b": None}]}]))
        return copy.deepcopy(random.choice([None, 1, "a", [], {}]))

    def request(self, operation, random):
        """A body that fits the operation: its example, with other fields at random."""
        made = self.make(operation.schema, random)
        kept = {name: value for name, value in operation.example.items() if name not in made or random.random() < 0.6}
        return {**made, **copy.deepcopy(kept)}

    @staticmethod
    def places(value):
        """Every place in a JSON value: (its container, its key)."""
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in list(pairs):
            yield value, key
            yield from ApiDescription.places(inner)

    def change_one(self, body, random):
        """Changes one thing of a body, in place."""
        holder, key = random.choice(list(self.places(body)) or [({"": 0}, "")])
        how = random.randrange(8)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, dict):
            holder[random.choice(["type", "role", "n", "priority", "no_such_field", ""])] = copy.deepcopy(random.choice(ODD))
        elif how == 2:  # depth
            for _ in range(random.choice([1, 3, 50, 90])):
                holder[key] = random.choice([[holder[key]], {"content": holder[key]}])
        elif how == 3 and isinstance(holder[key], list):
            holder[key] = holder[key] * random.choice([2, 30, 300])
        elif how == 4 and isinstance(holder[key], str):
            holder[key] = (holder[key] + random.choice(["\0", "\ud83d", "</tool_call>", "\"", "[" * 500, "{\"a\":" * 300])) * random.choice([1, 2, 400])
        elif how == 5 and isinstance(holder[key], (int, float)):
            holder[key] = random.choice([-holder[key], holder[key] + 0.5, holder[key] * 1e300, 2**64, str(holder[key])])
        elif how == 6:  # another part of the request
            other, name = random.choice(list(self.places(body)))
            holder[key] = copy.deepcopy(other[name])
        else:
            holder[key] = copy.deepcopy(random.choice(ODD))
