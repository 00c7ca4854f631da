// SPDX-License-Identifier: Apache-2.0
//
// An engine arranges what 08_batch does by hand: requests come and go, and each gets exactly what it would get alone.
// Here two answers to one prompt, one that ends at a text, and one that guesses ahead in its own words.
//
//   build/release/examples/02_engine [MODEL_FOLDER]

#include <iostream>
#include <map>

#include "demo_model/demo_config.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto pool, skald::CreateBlockPool<DemoModel>({.cache_bytes = 8'000'000}));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());
  skald::PromptLookup lookup;
  skald::EngineOptions options;
  options.tokenizer = &tokenizer;
  options.drafter = &lookup;
  SKALD_ASSIGN(const auto engine, skald::Engine::Create(model, pool, workspace, options));

  std::map<skald::RequestId, skald::Request> requests;
  for (const char* text : {"And the LORD said unto Moses,", "In the beginning", "begat Enoch: And Enoch begat"}) {
    skald::Request request;
    SKALD_ASSIGN(auto prompt, tokenizer.Encode(text, skald::ParseSpecial::kNo, skald::AddSpecial::kYes));
    request.prompt = std::move(prompt);
    request.sampler = {.temperature = 0.7f, .top_k = 40, .random = {.seed = 1}};
    request.max_tokens = 60;
    if (requests.empty()) request.samples = 2;
    if (requests.size() == 1) request.stop_strings = {"."};
    if (requests.size() == 2) request.sampler.temperature = 0.0f;
    SKALD_ASSIGN(const auto id, engine->Submit(request));
    requests[id] = std::move(request);
  }

  std::map<std::pair<skald::RequestId, uint32_t>, std::string> texts;
  while (engine->has_work()) {
    SKALD_ASSIGN(const auto report, engine->Step());
    for (const skald::Event& event : report.events) {
      std::string& text = texts[{event.request, event.sample}];
      text += event.text;
      if (!event.finish) continue;
      std::cout << "request " << event.request << ", sample " << event.sample << ": " << event.usage.prompt_tokens
                << " tokens of prompt (" << event.usage.cached_tokens << " known), " << event.usage.generated_tokens
                << " drawn, " << event.usage.accepted_tokens << " of them guessed\n"
                << text << "\n\n";
    }
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
