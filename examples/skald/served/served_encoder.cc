// SPDX-License-Identifier: Apache-2.0

#include "served/served_encoder.h"

#ifdef SKALD_HAS_SERVER

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "setup.h"
#include "skald/layers/model_weights.h"
#include "skald/model/rank_memory.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/open_encoder.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

bool IsOfSentenceTransformers(const ModelInfo& info) {
  std::error_code ignored;
  return !info.model.is_whole() && std::filesystem::exists(info.model.folder() / "modules.json", ignored);
}

serve::ModelFacts FactsOf(const ModelInfo& info, const Encoder& encoder) {
  uint64_t parameters = 0;
  ForEachArray(
      ParametersOf(encoder.model().weights()),
      [&](const Matrix&, size_t rows, size_t cols) { parameters += uint64_t{rows} * cols; },
      [&](const std::vector<float>&, size_t size) { parameters += size; });
  return {.family = info.family,
          .parameters = parameters,
          .bytes = MemoryBytes(encoder.model().weights()),
          .type = info.weight_type,
          .trained_context = encoder.facts().longest_text};
}

}  // namespace

Result<bool> IsServedEncoder(const Options& options, const ModelInfo& info) {
  if (options.encoding.by_yes_or_no) return true;
  const auto facts = ReadEncoderFacts(info);
  if (!facts) return IsOfSentenceTransformers(info) ? Result<bool>(Failure(facts.error())) : false;
  return facts->kind != EncoderKind::kDecoder || IsOfSentenceTransformers(info);
}

Result<serve::ModelAtWork> LoadServedEncoder(const Options& options, const ModelInfo& info, const std::string& name) {
  if (!options.serve.adapters.empty() || options.draft.any() || options.ranks != nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "a model that embeds or ranks texts takes no --adapter, nothing that guesses tokens and no --ranks");
  }
  const ProgressBar bar("loading " + name, options.show_progress);
  EncoderOptions of_encoder = {.weight_type = options.weight_type, .load = LoadOptionsOf(options, info, bar)};
  if (options.encoding.by_yes_or_no) of_encoder.kind = EncoderKind::kDecoderReranker;
  SKALD_ASSIGN(auto encoder, OpenEncoder(info, of_encoder));
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const serve::ModelFacts facts = FactsOf(info, encoder);
  return serve::ModelAtWork{
      .facts = facts,
      .encoder = std::make_unique<serve::EncoderService>(name, std::move(encoder), std::move(workspace))};
}

Result<uint64_t> BytesOfServedEncoder(const LoadShape& shape) {
  SKALD_ASSIGN(const auto memory, MemoryOfRank(shape.spec, shape.matrices, {}, RuntimeConfig(), 1));
  return memory.weights();
}

}  // namespace skald::program

#endif  // SKALD_HAS_SERVER
