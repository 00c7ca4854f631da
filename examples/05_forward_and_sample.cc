// SPDX-License-Identifier: Apache-2.0
//
// One layer below conversations and engines: a Config says at compile time what the model is, a cache holds all that
// changes, and the loop that feeds a prompt and samples text token by token is your own.
//
//   build/release/examples/05_forward_and_sample [MODEL_FOLDER]

#include <iostream>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/sentencepiece.h"
#include "skald/tokenizers/stream_decoder.h"

int Stop(const skald::Error& error) {
  std::cerr << error.message << '\n';
  return 1;
}

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "examples/demo_model";
  const auto tokenizer = skald::LoadSentencePiece(folder / "tokenizer.model");
  if (!tokenizer) return Stop(tokenizer.error());
  const auto model = skald::LoadModel<DemoModel>(folder);  // immutable; any number of conversations may share it
  if (!model) return Stop(model.error());
  auto cache = skald::CreateKVCache<DemoModel>();  // all that this conversation changes
  if (!cache) return Stop(cache.error());
  auto workspace = skald::CreateWorkspace();  // threads and memory to compute with
  if (!workspace) return Stop(workspace.error());

  auto tokens = tokenizer->Encode("In the beginning");
  if (!tokens) return Stop(tokens.error());
  if (const auto bos = tokenizer->bos_id()) tokens->insert(tokens->begin(), *bos);

  const skald::SamplerSettings settings = {.temperature = 0.7f, .top_k = 40, .random = {.seed = 1}};
  skald::StreamDecoder decoder(*tokenizer);
  for (const int32_t id : *tokens) std::cout << decoder.Push(id).value_or("");
  for (int i = 0; i < 100; ++i) {
    const auto logits = model->Forward(*cache, *tokens, *workspace);
    if (!logits) return Stop(logits.error());
    const auto next = skald::Sample(*logits, settings, {}, cache->size());
    if (!next) return Stop(next.error());
    if (next->id == tokenizer->eos_id()) break;
    std::cout << decoder.Push(next->id).value_or("") << std::flush;  // a model may have ids that are no text
    tokens->assign({next->id});
  }
  std::cout << decoder.Flush() << '\n';
}
