// SPDX-License-Identifier: Apache-2.0
//
// The cost of turning text into ids: English text, one word of many equal letters, loading a tokenizer and opening its
// binary form; and the share of split patterns, by scanners and by regular expressions. Environment:
//   SKALD_TOKENIZER  a tokenizer.json or tokenizer.model; the small one of the tests without it
//   SKALD_TEXT       a file of text; without it, words of the tests' corpus in a random order

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "skald/tokenizers/detail/byte_range.h"
#include "skald/tokenizers/detail/published_patterns.h"
#include "skald/tokenizers/detail/split_pattern.h"
#include "skald/tokenizers/detail/unicode.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {
namespace {

std::string Setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string(SKALD_REPOSITORY) + otherwise : value;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TokenizerPath() { return Setting("SKALD_TOKENIZER", "/tests/text/data/mistral_style.model"); }

const Tokenizer& TheTokenizer() {
  static const Tokenizer tokenizer = Tokenizer::Load(TokenizerPath()).value();
  return tokenizer;
}

const std::string& English() {
  static const std::string text = [] {
    if (std::getenv("SKALD_TEXT") != nullptr) return ReadFile(Setting("SKALD_TEXT", ""));
    std::istringstream corpus(ReadFile(std::string(SKALD_REPOSITORY) + "/tests/text/data/corpus.txt"));
    const std::vector<std::string> words{std::istream_iterator<std::string>(corpus), {}};
    std::mt19937 random(1);
    std::string joined;
    while (joined.size() < (1u << 20)) joined.append(words[random() % words.size()]).append(1, ' ');
    return joined;
  }();
  return text;
}

void ReportSpeed(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void EncodeEnglish(benchmark::State& state) {
  size_t tokens = 0;
  for (auto _ : state) tokens = TheTokenizer().Encode(English()).value().size();
  ReportSpeed(state, English().size());
  state.counters["bytes/token"] = static_cast<double>(English().size()) / static_cast<double>(tokens);
}
BENCHMARK(EncodeEnglish)->Unit(benchmark::kMillisecond);

void DecodeEnglish(benchmark::State& state) {
  const std::vector<int32_t> ids = TheTokenizer().Encode(English()).value();
  for (auto _ : state) benchmark::DoNotOptimize(TheTokenizer().Decode(ids));
  ReportSpeed(state, English().size());
}
BENCHMARK(DecodeEnglish)->Unit(benchmark::kMillisecond);

void EncodeLongWord(benchmark::State& state) {
  const std::string word(static_cast<size_t>(state.range(0)), 'a');
  for (auto _ : state) benchmark::DoNotOptimize(TheTokenizer().Encode(word));
  ReportSpeed(state, word.size());
}
BENCHMARK(EncodeLongWord)->RangeMultiplier(10)->Range(1000, 100'000);

void Load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::Load(TokenizerPath()));
}
BENCHMARK(Load)->Unit(benchmark::kMillisecond);

void OpenBinaryForm(benchmark::State& state) {
  const Result<std::string> bytes = TheTokenizer().ToBytes();
  if (!bytes) return state.SkipWithError(bytes.error().message.c_str());
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::Parse(*bytes));
}
BENCHMARK(OpenBinaryForm)->Unit(benchmark::kMillisecond);

void SplitEnglish(benchmark::State& state, const std::string& regex) {
  const auto pattern = internal::SplitPattern::Compile(regex).value();
  std::vector<internal::ByteRange> matches;
  for (auto _ : state) benchmark::DoNotOptimize(pattern.FindAll(English(), matches));
  ReportSpeed(state, English().size());
}

void NormalizeEnglish(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(internal::Normalize(NormalizationForm::kNfc, English()));
  }
  ReportSpeed(state, English().size());
}
BENCHMARK(NormalizeEnglish)->Unit(benchmark::kMillisecond);

// In parentheses a pattern is no longer known by its text, and so Oniguruma's.
const bool registered = [] {
  constexpr const char* kNames[] = {"gpt2", "llama3", "qwen2", "qwen3.5", "tekken", "gpt4o"};
  static_assert(std::size(kNames) == std::size(internal::kPublishedPatterns));
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const std::string regex(internal::kPublishedPatterns[i].regex), name = std::string("SplitEnglish/") + kNames[i];
    benchmark::RegisterBenchmark((name + "/scanner").c_str(), SplitEnglish, regex)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((name + "/oniguruma").c_str(), SplitEnglish, "(?:" + regex + ")")
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace skald
