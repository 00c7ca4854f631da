// SPDX-License-Identifier: Apache-2.0
//
// Where does a word decide what comes next? Two prompts differ in one word. Hooks put rows of the first prompt's
// residual stream, one token before one block at a time, into the computation of the second one: how much of the first
// one's answer that brings back tells what the row carries (causal tracing, Meng et al. 2022, arXiv:2202.05262).
//
//   build/release/examples/15_causal_tracing [MODEL_FOLDER]

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

using Logits = std::vector<float>;

skald::Result<Logits> Compute(const skald::Model<DemoModel>& model, const std::vector<int32_t>& tokens,
                              skald::Workspace& workspace, const std::vector<skald::Hook>& hooks) {
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<DemoModel>());
  SKALD_ASSIGN(const auto logits, model.Forward(cache, tokens, workspace, {.hooks = hooks}));
  return Logits(logits.begin(), logits.end());
}

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());
  SKALD_ASSIGN(const auto first, tokenizer.Encode("And the LORD spake unto"));
  SKALD_ASSIGN(const auto second, tokenizer.Encode("And the king spake unto"));

  std::vector<std::vector<float>> streams;  // of the first prompt, before each block: [rows, model_dim]
  const auto keep = [&](const skald::HookRows& stream) {
    streams.emplace_back(stream.values().begin(), stream.values().end());
  };
  SKALD_ASSIGN(const Logits of_first, Compute(model, first, workspace, {{"stream.*", keep}}));
  SKALD_ASSIGN(const Logits of_second, Compute(model, second, workspace, {}));
  const auto most_likely = [](const Logits& logits) {
    return static_cast<size_t>(std::ranges::max_element(logits) - logits.begin());
  };
  const size_t one = most_likely(of_first), other = most_likely(of_second);
  const auto prefers = [&](const Logits& logits) { return logits[one] - logits[other]; };
  const auto piece = [&](size_t id) { return tokenizer.IdToPiece(static_cast<int32_t>(id)).value_or(""); };
  std::cout << "first: " << piece(one) << ", second: " << piece(other) << "\n             ";
  for (const int32_t token : second) std::cout << std::setw(9) << piece(static_cast<size_t>(token));

  for (size_t block = 0; block < model.spec().blocks.size(); ++block) {
    std::cout << "\nbefore block " << block;
    for (size_t row = 0; row < second.size(); ++row) {
      const auto patch = [&](const skald::HookRows& stream) {
        std::copy_n(streams[block].begin() + static_cast<ptrdiff_t>(row * stream.cols), stream.cols,
                    stream.row(row).begin());
      };
      SKALD_ASSIGN(const Logits patched, Compute(model, second, workspace, {{skald::StreamBefore(block), patch}}));
      const float restored = (prefers(patched) - prefers(of_second)) / (prefers(of_first) - prefers(of_second));
      std::cout << std::setw(8) << static_cast<int>(100 * restored) << '%';
    }
  }
  std::cout << '\n';
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
