// SPDX-License-Identifier: Apache-2.0

#include "texts/run_texts.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "setup.h"
#include "terminal/interrupt.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"
#if defined(SKALD_HAS_STORE)
#include "conversation/drafting.h"
#include "skald/constraints/gbnf.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/constraints/token_vocabulary.h"
#include "texts/perplexity.h"
#include "texts/text_engine.h"
#include "texts/text_output.h"
#endif

namespace skald::program {

#if defined(SKALD_HAS_STORE)

namespace {

constexpr size_t kMaxGrammarBytes = 1'000'000;
constexpr uint32_t kPerplexityWindow = 512;  // tokens

// The filter of a grammar or a schema; null without.
Result<std::shared_ptr<const TokenFilter>> OpenFilter(const TextOptions& texts, const TextTask& task) {
  if (!texts.grammar && !texts.schema) return nullptr;
  const std::filesystem::path& path = texts.grammar ? *texts.grammar : *texts.schema;
  if (!task.tokenizer) return Fail(ErrorCode::kInvalidArgument, path.string() + ": ids have no text to hold to it");
  SKALD_ASSIGN(const auto text, ReadFileOrStandardInput(path, kMaxGrammarBytes));
  const auto grammar = texts.grammar ? ParseGbnf(text) : ParseJsonSchema(text);
  if (!grammar) return Annotate(path.string(), grammar);
  SKALD_ASSIGN(const auto vocabulary, TokenVocabulary::Make(*task.tokenizer, task.stop_ids));
  auto filter = GrammarFilter::Compile(*grammar, vocabulary);
  if (!filter) return Annotate(path.string(), filter);
  return std::make_shared<const GrammarFilter>(std::move(*filter));
}

Result<std::vector<Request>> MakeRequests(const Options& options, const TextTask& task, uint32_t capacity,
                                          const Sha256Digest& adapter) {
  const TextOptions& texts = options.texts;
  SKALD_ASSIGN(const auto filter, OpenFilter(texts, task));
  std::vector<Request> requests;
  for (const std::vector<int32_t>& ids : task.ids) {
    if (ids.size() > capacity) {
      return Fail(ErrorCode::kOutOfRange, "prompt " + std::to_string(requests.size()) + " has " +
                                              std::to_string(ids.size()) + " tokens, but the context has " +
                                              std::to_string(capacity) + " (see --max-context)");
    }
    Request request;
    request.prompt = ids;
    request.sampler = task.sampler;
    request.sampler.num_logprobs = texts.logprobs;
    request.penalize_prompt = true;
    request.samples = texts.samples;
    const size_t most = std::min<size_t>(options.max_tokens.value_or(kTextTokens), capacity - ids.size() + 1);
    request.max_tokens = static_cast<uint32_t>(most);
    request.end_tokens = task.stop_ids;
    request.stop_strings = texts.stop;
    request.filter = filter;
    request.adapter = adapter;
    if (!texts.embedding.empty())
      request.embedding = texts.embedding == "mean" ? PromptEmbedding::kMean : PromptEmbedding::kLast;
    requests.push_back(std::move(request));
  }
  return requests;
}

// Tells how much was computed, on stderr.
void PrintSummary(const TextTask& task, const TextOutput& output, const EngineStats& stats, uint64_t seed) {
  size_t prompt_tokens = 0, generated = 0;
  double begin = 0.0, end = 0.0;
  for (const auto& [number, told] : output.texts()) {
    const Usage& usage = told.last.usage;
    if (told.last.sample == 0) prompt_tokens += usage.prompt_tokens;
    generated += usage.generated_tokens;
    begin = begin == 0.0 ? usage.submitted : std::min(begin, usage.submitted);
    end = std::max(end, usage.finished.value_or(0.0));
  }
  std::ostringstream line;
  line << task.info.name << ": " << output.texts().size() << " texts, prompts of " << prompt_tokens
       << " tokens, generated " << generated << " tokens in " << std::fixed << std::setprecision(2) << end - begin
       << " s, seed " << seed;
  if (stats.drafted_tokens > 0)
    line << ", " << stats.accepted_tokens << " of " << stats.drafted_tokens << " guesses right";
  Note(line.str());
}

Result<int> WriteTexts(const Options& options, const TextTask& task, TextEngine& engine, const Sha256Digest& adapter) {
  SKALD_ASSIGN(auto requests, MakeRequests(options, task, engine.capacity(), adapter));
  const bool json = options.texts.json || !options.texts.embedding.empty();
  TextOutput output(task, {.json = json, .samples = options.texts.samples, .seed = options.seed});
  SKALD_ASSIGN(const bool is_whole,
               engine.Run(std::move(requests), [&](const Event& event) { return output.Take(event); }));
  for (const auto& [number, told] : output.texts()) {
    if (told.last.error) return Failure(*told.last.error);
  }
  PrintSummary(task, output, engine.stats(), options.seed);
  return is_whole || !std::cout.good() ? 0 : ExitCodeOfSignal();  // main tells of lost output
}

Result<int> WritePerplexity(const Options& options, const TextTask& task, TextEngine& engine, uint32_t window) {
  if (!task.tokenizer) return Fail(ErrorCode::kInvalidArgument, "--perplexity needs a tokenizer");
  SKALD_ASSIGN(const auto text, ReadFileOrStandardInput(*options.texts.perplexity, kMaxPromptBytes));
  SKALD_ASSIGN(const auto ids, task.tokenizer->Encode(text, ParseSpecial::kNo, AddSpecial::kYes));
  const auto bos = task.tokenizer->bos_id();
  const bool begins_with_bos = bos && !ids.empty() && ids[0] == *bos;
  const auto measured = MeasurePerplexity(engine, ids, window, begins_with_bos ? &*bos : nullptr);
  if (!measured) return Annotate(options.texts.perplexity->string(), measured);
  if (!*measured) return ExitCodeOfSignal();
  const Perplexity& found = **measured;
  if (options.texts.json) {
    const nlohmann::ordered_json line = {
        {"perplexity", found.value}, {"error", found.error}, {"tokens", found.tokens}, {"window", window}};
    std::cout << line.dump() << '\n';
  } else {
    std::cout << std::setprecision(6) << "perplexity " << found.value << " +- " << found.error << ", " << found.tokens
              << " tokens in windows of " << window << '\n';
  }
  return 0;
}

}  // namespace

Result<int> RunTexts(const Options& options, TextTask task) {
  RuntimeConfig runtime = RuntimeOf(options, task.info);
  const uint32_t window = std::min(options.max_context.value_or(kPerplexityWindow),
                                   task.info.trained_context > 0 ? task.info.trained_context : kMaxTokens);
  if (options.texts.perplexity) runtime.max_tokens = window;
  SKALD_ASSIGN(const auto loaded, LoadWithDrafter(options, task.info, runtime));
  if (loaded.drafter != nullptr) Note(DescribeDrafter(options.draft));
  SKALD_ASSIGN(const auto engine,
               TextEngine::Create(*loaded.model, runtime, options.workspace,
                                  task.tokenizer ? &*task.tokenizer : nullptr, loaded.drafter.get()));
  SKALD_TRY(CatchSignals());
  return options.texts.perplexity ? WritePerplexity(options, task, *engine, window)
                                  : WriteTexts(options, task, *engine, loaded.model->adapter().digest);
}

#else

Result<int> RunTexts(const Options&, TextTask) {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without skald::store, which --prompts, --stop, --json and the like need");
}

#endif

}  // namespace skald::program
