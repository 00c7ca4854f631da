// SPDX-License-Identifier: Apache-2.0
//
// Guessing ahead: several tokens are computed in one step, and those that were guessed as they are drawn stay. The text
// is the same with any drafter, also with a bad one. Here no drafter guesses, then a look-up in the text so far, then a
// drafter of our own, which learns from all text that it sees written.
//
//   build/release/examples/04_speculation [MODEL_FOLDER]

#include <cstdint>
#include <iostream>
#include <map>
#include <utility>

#include "demo_model/demo_config.h"
#include "skald/engine/engine.h"
#include "skald/engine/speculation/prompt_lookup.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

// Guesses what followed the last two tokens when they stood together before, in any text.
class Pairs : public skald::Drafter {
 public:
  skald::Result<void> Draft(std::span<skald::DraftTask> tasks) override {
    for (skald::DraftTask& task : tasks) {
      const auto& text = task.tokens;
      for (size_t i = 2; i < text.size(); ++i) next_[{text[i - 2], text[i - 1]}] = text[i];
      if (text.size() < 2) continue;
      std::pair last = {text[text.size() - 2], text[text.size() - 1]};
      for (auto known = next_.find(last); known != next_.end() && task.drafts.size() < task.most;) {
        task.drafts.push_back(known->second);
        last = {last.second, known->second};
        known = next_.find(last);
      }
    }
    return {};
  }

 private:
  std::map<std::pair<int32_t, int32_t>, int32_t> next_;
};

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());
  SKALD_ASSIGN(const auto prompt,
               tokenizer.Encode("And the sons of Levi;", skald::ParseSpecial::kNo, skald::AddSpecial::kYes));

  skald::PromptLookup lookup;
  Pairs pairs;
  std::string plain;
  for (const auto& [name, drafter] : std::initializer_list<std::pair<const char*, skald::Drafter*>>{
           {"nobody", nullptr}, {"prompt lookup", &lookup}, {"pairs", &pairs}, {"pairs again", &pairs}}) {
    SKALD_ASSIGN(auto pool, skald::CreateBlockPool<DemoModel>({.rewind_tokens = 8}));
    skald::EngineOptions options;
    options.tokenizer = &tokenizer;
    options.drafter = drafter;
    SKALD_ASSIGN(const auto engine, skald::Engine::Create(model, pool, workspace, options));
    SKALD_TRY(engine->Submit({.prompt = prompt, .sampler = {.random = {.seed = 1}}, .max_tokens = 120}));
    std::string text;
    while (engine->has_work()) {
      SKALD_ASSIGN(const auto report, engine->Step());
      for (const skald::Event& event : report.events) text += event.text;
    }
    const skald::EngineStats stats = engine->stats();
    if (plain.empty()) std::cout << (plain = text) << "\n\n";
    std::cout << name << ": " << stats.steps << " steps, " << stats.accepted_tokens << " of " << stats.drafted_tokens
              << " guesses right, " << (text == plain ? "the same text" : "another text") << '\n';
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
