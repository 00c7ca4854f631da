// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/convert_model.h.

#ifndef SKALD_OPEN_DETAIL_CONVERT_MODEL_H_
#define SKALD_OPEN_DETAIL_CONVERT_MODEL_H_

#include "skald/layers/model_spec.h"
#include "skald/open/convert_model.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/families/gguf_metadata.h"
#include "skald/families/registry.h"
#include "skald/layers/model_weights.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/model_file.h"
#include "skald/open/open_encoder.h"
#include "skald/templates/published.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/writing/draft_parameters.h"

namespace skald {

namespace internal {

// The chat template that the folder publishes, if there is one, with those for other uses.
inline Result<void> AddTemplate(const OpenedModel& model, GgufDraft& draft) {
  SKALD_ASSIGN(const auto published,
               ChatTemplateFromFiles([&](std::string_view name) { return ReadModelFile(model, name); }));
  if (!published) return {};
  constexpr std::string_view kName = "tokenizer.chat_template";
  draft.Set(GgufText(kName, published->source()));
  for (const auto& [name, source] : published->parts().named_sources) {
    if (name != "default") draft.Set(GgufText(Concat({kName, ".", name}), source));
  }
  return {};
}

// A model without a tokenizer runs on token ids, which its file says.
inline Result<void> AddTokenizer(const ModelInfo& info, GgufDraft& draft) {
  if (const auto file = TokenizerFileIn(info.model.folder()); !file && file.error().code == ErrorCode::kNotFound) {
    draft.Set(GgufText("tokenizer.ggml.model", "none"));
    return {};
  }
  SKALD_ASSIGN(auto entries, GgufTokenizerEntries(info.model.folder(), static_cast<size_t>(info.spec.vocab_size)));
  std::ranges::move(entries, std::back_inserter(draft.entries));
  return {};
}

// How rows become one embedding. Layers after that, and heads of rerankers, would be missing from the file.
inline Result<void> AddPooling(const ModelInfo& info, std::string_view architecture, GgufDraft& draft) {
  if (!SeesBothWays(info.spec)) return {};
  SKALD_ASSIGN(const EncoderFacts facts, ReadEncoderFacts(info));
  if (facts.kind != EncoderKind::kEncoder) {
    return Fail(ErrorCode::kUnsupported, "heads of rerankers cannot be written to a GGUF file yet");
  }
  if (!facts.dense.empty()) {
    return Fail(ErrorCode::kUnsupported,
                Concat({facts.dense.front().folder, ": dense layers cannot be written to a GGUF file yet"}));
  }
  constexpr std::pair<Pooling, uint32_t> kTypes[] = {
      {Pooling::kNone, 0}, {Pooling::kMean, 1}, {Pooling::kFirst, 2}, {Pooling::kLast, 3}};
  for (const auto& [pooling, number] : kTypes) {
    if (pooling == facts.pooling) draft.Set(GgufNumber(Concat({architecture, ".pooling_type"}), number));
  }
  if (draft.Find(Concat({architecture, ".pooling_type"})) != nullptr) return {};
  return Fail(ErrorCode::kUnsupported,
              Concat({"the pooling '", NameOf(facts.pooling), "' has no number in GGUF files"}));
}

inline Result<GgufDraft> DraftOfFolder(const ModelInfo& info) {
  const uint32_t context = info.trained_context == 0 ? 2048 : info.trained_context;
  SKALD_ASSIGN(auto described, DescribeForGguf(info.spec, info.family, context));
  SKALD_ASSIGN(auto checkpoint, info.model.checkpoint());
  GgufDraft draft{std::move(described.entries), std::move(described.tensors)};
  draft.Set(GgufText("general.type", "model"));
  draft.Set(GgufText("general.name", info.name));
  ModelWeights weights(info.spec);
  SKALD_ASSIGN(auto tensors, DraftParameters(checkpoint, ParametersOf(weights), TensorNamesOf(*checkpoint),
                                             described.names, described.with_unused));
  std::ranges::move(tensors, std::back_inserter(draft.tensors));
  if (described.change_draft) described.change_draft(draft);
  SKALD_TRY(AddPooling(info, described.architecture, draft));
  SKALD_TRY(AddTokenizer(info, draft));
  SKALD_TRY(AddTemplate(info.model, draft));
  return draft;
}

}  // namespace internal

SKALD_INLINE Result<GgufDraft> DraftOfModel(const ModelInfo& info) {
  const std::string shown = PathText(info.model.path());
  return NoThrow(shown, [&]() -> Result<GgufDraft> {
    if (info.model.packed() != nullptr) {
      return Fail(ErrorCode::kUnsupported,
                  Concat({shown, ": is a packed file, expected a GGUF file or a folder with safetensors files"}));
    }
    if (info.model.gguf() != nullptr) return DraftOf(*info.model.gguf());
    auto draft = internal::DraftOfFolder(info);
    if (!draft) return Annotate(shown, draft);
    return draft;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_CONVERT_MODEL_H_
