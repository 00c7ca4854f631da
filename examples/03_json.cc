// SPDX-License-Identifier: Apache-2.0
//
// Answers that are held to a JSON Schema: whatever the model would rather say, what comes out is valid. A model that
// knows only old books shows it best.
//
//   build/release/examples/03_json [MODEL_FOLDER]

#include <iostream>
#include <memory>

#include "demo_model/demo_config.h"
#include "skald/constraints/grammar_filter.h"
#include "skald/constraints/json_schema.h"
#include "skald/engine/engine.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

constexpr const char* kSchema = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 12},
    "age": {"type": "integer", "minimum": 0, "maximum": 969},
    "tribe": {"enum": ["Levi", "Judah", "Benjamin"]},
    "sons": {"type": "array", "items": {"type": "string", "maxLength": 10}, "minItems": 1, "maxItems": 3}
  },
  "required": ["name", "age", "tribe", "sons"],
  "additionalProperties": false
})";

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto pool, skald::CreateBlockPool<DemoModel>());
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());
  SKALD_ASSIGN(const auto engine, skald::Engine::Create(model, pool, workspace, {.tokenizer = &tokenizer}));

  // Compiled once; every request goes its own way from a clone.
  SKALD_ASSIGN(const auto grammar, skald::ParseJsonSchema(kSchema));
  SKALD_ASSIGN(const auto vocabulary, skald::TokenVocabulary::Make(tokenizer));
  SKALD_ASSIGN(auto filter, skald::GrammarFilter::Compile(grammar, vocabulary));

  SKALD_ASSIGN(auto prompt, tokenizer.Encode("And these are the names of the fathers:", skald::ParseSpecial::kNo,
                                             skald::AddSpecial::kYes));
  skald::Request request;
  request.prompt = std::move(prompt);
  request.sampler = {.temperature = 0.8f, .random = {.seed = 7}};
  request.samples = 3;
  request.filter = std::make_shared<skald::GrammarFilter>(std::move(filter));
  if (const auto end = tokenizer.eos_id()) request.end_tokens = {*end};
  SKALD_TRY(engine->Submit(std::move(request)));

  std::vector<std::string> texts(3);
  while (engine->has_work()) {
    SKALD_ASSIGN(const auto report, engine->Step());
    for (const skald::Event& event : report.events) texts[event.sample] += event.text;
  }
  for (const std::string& text : texts) std::cout << text << '\n';
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
