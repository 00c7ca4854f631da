// SPDX-License-Identifier: Apache-2.0
//
// The cost of a token filter: compiling a grammar, and for each token of a text Accept and Allowed together, as its
// median and 99th percentile in microseconds. Cold: a grammar that was compiled just now and has seen no text. Warm:
// one that has seen this text before. Environment:
//   SKALD_TOKENIZER  a tokenizer.json or tokenizer.model; without it, 150,000 made-up tokens

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/constraints/token_vocabulary.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {
namespace {

using Vocabulary = std::shared_ptr<const TokenVocabulary>;

// Processor time of this thread, so that other programs do not count.
double Microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// Words of letters with and without a space in front, numbers, runs of spaces, punctuation, Chinese characters, and all
// that ends a string in the middle of a token, about as often as in published vocabularies.
Vocabulary MadeUpVocabulary() {
  constexpr size_t kTokens = 150'000;
  std::set<std::string> known;
  std::vector<std::string> tokens;
  const auto add = [&](std::string token) {
    if (known.insert(token).second) tokens.push_back(std::move(token));
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (int n = 0; n < 1000; ++n) add(std::to_string(n));
  for (size_t n = 2; n < 80; ++n) add(std::string(n, ' '));
  const std::string marks = "\"',:;{}[]()<>=\\/\n\t .-_";
  std::mt19937 random(1);
  while (tokens.size() < kTokens) {
    std::string token;
    const auto kind = random() % 100;
    if (kind < 80) {
      if (random() % 2 == 0) token = " ";
      for (size_t i = 2 + random() % 8; i > 0; --i)
        token += static_cast<char>('a' + random() % 26 * (random() % 26) / 26);
    } else if (kind < 83) {
      for (size_t i = 1 + random() % 4; i > 0; --i) token += marks[random() % marks.size()];
      if (random() % 2 == 0) token += static_cast<char>('a' + random() % 26);
    } else {
      for (size_t i = 1 + random() % 3; i > 0; --i) token += internal::Utf8Of(0x4E00 + random() % 8000);
    }
    add(std::move(token));
  }
  const int32_t end = kTokens - 1;
  return TokenVocabulary::From(tokens, {&end, 1}).value();
}

const Vocabulary& TheVocabulary() {
  static const Vocabulary vocabulary = [] {
    const char* const path = std::getenv("SKALD_TOKENIZER");
    return path == nullptr ? MadeUpVocabulary() : TokenVocabulary::Make(Tokenizer::Load(path).value()).value();
  }();
  return vocabulary;
}

// The tokens of a text, each the longest that fits.
std::vector<int32_t> TokensOf(std::string_view text) {
  const TokenVocabulary& vocabulary = *TheVocabulary();
  std::vector<int32_t> ids;
  while (!text.empty()) {
    int32_t longest = -1;
    size_t length = 0;
    for (const TokenVocabulary::Kind kind : TokenVocabulary::kKinds) {
      const uint32_t root = vocabulary.root(kind);
      for (uint32_t node = root + 1, depth = 0; node < vocabulary.node(root).end && depth < text.size();) {
        const TokenVocabulary::Node& at = vocabulary.node(node);
        if (at.depth != depth + 1) break;
        if (at.byte != static_cast<uint8_t>(text[depth])) {
          node = at.end;
          continue;
        }
        ++depth;
        if (!vocabulary.TokensOf(node).empty() && depth > length)
          longest = vocabulary.TokensOf(node)[0], length = depth;
        ++node;
      }
    }
    ids.push_back(longest);
    text.remove_prefix(length);
  }
  return ids;
}

struct Example {
  const char* name;
  Result<Grammar> grammar;
  std::string text;
};

const std::vector<Example>& Examples() {
  static const std::vector<Example> examples = [] {
    const std::string person = R"({
  "name": "Ada Lovelace",
  "age": 36,
  "email": "ada@example.org",
  "roles": ["author", "admin"],
  "address": {"street": "12 St James's Square", "city": "London", "zip": "SW1Y 4JH"},
  "note": "She wrote the first program, for a machine that was never built; \"the Analytical Engine\"."
})";
    constexpr std::string_view kPersonSchema = R"({"type":"object","properties":{"name":{"type":"string"},
      "age":{"type":"integer","minimum":0,"maximum":150},"email":{"type":"string","format":"email"},
      "roles":{"type":"array","items":{"enum":["author","admin","reader"]}},
      "address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},
        "zip":{"type":"string"}},"required":["street","city","zip"],"additionalProperties":false},
      "note":{"anyOf":[{"type":"string"},{"type":"null"}]}},
      "required":["name","age","email","roles","address","note"],"additionalProperties":false})";
    constexpr std::string_view kTreeSchema = R"({"$defs":{"node":{"type":"object","properties":{"tag":{"type":"string"},
      "text":{"type":"string","maxLength":40},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},
      "required":["tag","text","children"],"additionalProperties":false}},"$ref":"#/$defs/node"})";
    constexpr std::string_view kTree =
        R"({"tag":"html","text":"","children":[{"tag":"p","text":"Hello there, world","children":[)"
        R"({"tag":"b","text":"bold words","children":[]},{"tag":"i","text":"and others","children":[]}]}]})";
    constexpr std::string_view kList = "root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\"";
    std::vector<Example> all;
    all.push_back({"person", ParseJsonSchema(kPersonSchema), person});
    all.push_back({"tree", ParseJsonSchema(kTreeSchema), std::string(kTree)});
    all.push_back({"any_object", AnyJsonObject(), person});
    all.push_back({"gbnf_list", ParseGbnf(kList), "- milk and honey\n- bread of the day before\n- three apples\n"});
    return all;
  }();
  return examples;
}

// Microseconds of each token.
std::vector<double> Read(GrammarFilter filter, const std::vector<int32_t>& ids, bool& is_allowed) {
  std::vector<double> times;
  benchmark::DoNotOptimize(filter.Allowed().value().data());
  for (const int32_t id : ids) {
    const double begin = Microseconds();
    is_allowed = is_allowed && filter.Accept(id).has_value();
    benchmark::DoNotOptimize(filter.Allowed().value().data());
    times.push_back(Microseconds() - begin);
  }
  is_allowed = is_allowed && filter.IsComplete();
  return times;
}

void Report(benchmark::State& state, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  state.counters["p50_us"] = at(0.5);
  state.counters["p99_us"] = at(0.99);
  state.counters["max_us"] = times.back();
}

void Compile(benchmark::State& state, const Example& example) {
  for (auto _ : state) benchmark::DoNotOptimize(GrammarFilter::Compile(example.grammar.value(), TheVocabulary()));
}

void Token(benchmark::State& state, const Example& example, bool is_cold) {
  const std::vector<int32_t> ids = TokensOf(example.text);
  GrammarFilter filter = GrammarFilter::Compile(example.grammar.value(), TheVocabulary()).value();
  bool is_allowed = true;
  if (!is_cold) Read(filter, ids, is_allowed);
  std::vector<double> all;
  for (auto _ : state) {
    if (is_cold) {
      state.PauseTiming();
      filter = GrammarFilter::Compile(example.grammar.value(), TheVocabulary()).value();
      state.ResumeTiming();
    }
    const std::vector<double> times = Read(filter, ids, is_allowed);
    all.insert(all.end(), times.begin(), times.end());
  }
  if (!is_allowed) return state.SkipWithError("the text is not one of the grammar");
  state.SetItemsProcessed(static_cast<int64_t>(all.size()));
  Report(state, std::move(all));
}

void GrowTree(benchmark::State& state) {
  std::vector<std::string> tokens;
  for (int32_t id = 0; static_cast<size_t>(id) < TheVocabulary()->size(); ++id) {
    tokens.emplace_back(TheVocabulary()->BytesOf(id));
  }
  for (auto _ : state) benchmark::DoNotOptimize(TokenVocabulary::From(tokens, {}));
}
BENCHMARK(GrowTree)->Unit(benchmark::kMillisecond);

const bool registered = [] {
  for (const Example& example : Examples()) {
    const std::string name = example.name;
    benchmark::RegisterBenchmark(("Compile/" + name).c_str(), [&](auto& state) {
      Compile(state, example);
    })->Unit(benchmark::kMillisecond);
    for (const bool is_cold : {true, false}) {
      benchmark::RegisterBenchmark(("Text/" + name + (is_cold ? "/cold" : "/warm")).c_str(),
                                   [&example, is_cold](auto& state) { Token(state, example, is_cold); })
          ->Iterations(50)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace skald
