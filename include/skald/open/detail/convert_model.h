// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/convert_model.h.

#ifndef SKALD_OPEN_DETAIL_CONVERT_MODEL_H_
#define SKALD_OPEN_DETAIL_CONVERT_MODEL_H_

#include "skald/layers/model_spec.h"
#include "skald/open/convert_model.h"
#include "skald/open/open_encoder.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/families/gguf_metadata.h"
#include "skald/families/registry.h"
#include "skald/layers/model_weights.h"
#include "skald/open/detail/encoder_texts.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/model_file.h"
#include "skald/templates/published.h"
#include "skald/tokenizers/gguf_entries.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/writing/draft_parameters.h"
#include "skald/weights/writing/gguf_draft.h"
#include "skald/weights/writing/mixture.h"

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

// A tensor of the checkpoint as it is, under another name, if the checkpoint has it.
inline void AddCopy(std::shared_ptr<const Checkpoint> checkpoint, std::string_view name, std::string_view copy,
                    GgufDraft& draft) {
  const TensorView* const tensor = checkpoint->Find(name);
  if (tensor == nullptr) return;
  draft.tensors.push_back({std::string(copy),
                           {tensor->shape.begin(), tensor->shape.end()},
                           FindGgufTypeByName("F32"),
                           [checkpoint = std::move(checkpoint), tensor](uint64_t row, std::span<float> values) {
                             ReadRow(*tensor, row, values);
                           }});
}

// The layers that turn a pooled row into scores, as OpenEncoder finds them in the file again.
inline Result<void> AddRankingHead(const ModelInfo& info, std::string_view architecture, const EncoderFacts& facts,
                                   GgufDraft& draft) {
  if (architecture != "bert" && architecture != "modern-bert") {
    return Fail(ErrorCode::kUnsupported,
                Concat({"heads of rerankers cannot be written to a GGUF file of ", architecture, " yet"}));
  }
  SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
  SKALD_ASSIGN(const auto layers, RerankerLayers(info, facts, *checkpoint));
  const std::pair<std::string, std::string> names[] = {
      {layers[0].name, "cls"}, {layers[0].norm_name, "cls.norm"}, {layers[1].name, "cls.output"}};
  for (const auto& [name, written] : names) {
    for (const char* const part : {".weight", ".bias"}) {
      AddCopy(checkpoint, Concat({name, part}), Concat({written, part}), draft);
    }
  }
  draft.Set(GgufNumber(Concat({architecture, ".pooling_type"}), uint32_t{4}));
  draft.Set(GgufNumber(Concat({architecture, ".classifier.pooling_type"}),
                       facts.pooling == Pooling::kMean ? uint32_t{1} : uint32_t{2}));
  std::vector<std::string> labels;
  for (int i = 0; i < facts.dimension; ++i) labels.push_back("LABEL_" + std::to_string(i));
  draft.Set(GgufTexts(Concat({architecture, ".classifier.output_labels"}), labels));
  return {};
}

// How rows become one embedding or scores. Layers after that would be missing from the file.
inline Result<void> AddPooling(const ModelInfo& info, std::string_view architecture, GgufDraft& draft) {
  if (!SeesBothWays(info.spec)) return {};
  SKALD_ASSIGN(const EncoderFacts facts, ReadEncoderFacts(info));
  if (facts.kind == EncoderKind::kReranker) return AddRankingHead(info, architecture, facts, draft);
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
