// SPDX-License-Identifier: Apache-2.0
//
// An encoder in a GGUF file beside its model: pooling, dense layers, heads. They have llama.cpp's names, or where it
// has none our own (own_metadata.h).

#ifndef SKALD_OPEN_DETAIL_CONVERT_ENCODER_H_
#define SKALD_OPEN_DETAIL_CONVERT_ENCODER_H_

#include "skald/open/open_encoder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/layers/model_spec.h"
#include "skald/open/detail/encoder_texts.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/detail/token_heads.h"
#include "skald/open/encoders/encoder_facts.h"
#include "skald/open/model_file.h"
#include "skald/open/model_text.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/writing/gguf_draft.h"
#include "skald/weights/writing/mixture.h"

namespace skald::internal {

// A tensor of the checkpoint as it is, under another name, if the checkpoint has it.
inline void AddCopy(std::shared_ptr<const Checkpoint> checkpoint, std::string_view name, std::string_view copy,
                    GgufDraft& draft) {
  const TensorView* const tensor = checkpoint->Find(name);
  if (tensor == nullptr) return;
  std::erase(draft.tensors_left_out, tensor->name);
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

// Of a decoder that answers yes or no: these two rows of its output head, as llama.cpp's converter has it
// (conversion/qwen.py), and the text around a query and a document.
inline Result<void> AddJudge(const ModelInfo& info, std::string_view architecture, EncoderFacts facts,
                             GgufDraft& draft) {
  if (architecture != "qwen3") {
    return Fail(ErrorCode::kUnsupported, Concat({"llama.cpp has no place for rerankers in files of ", architecture}));
  }
  std::optional<Tokenizer> tokenizer;
  if (facts.yes_id < 0 || facts.no_id < 0) {
    SKALD_ASSIGN(auto opened, OpenTokenizer(info));
    tokenizer = std::move(opened);
  }
  SKALD_TRY(FindYesAndNo(tokenizer, facts));
  const char* const name = info.spec.tied_embeddings ? "token_embd.weight" : "output.weight";
  const auto head = std::ranges::find(draft.tensors, name, &DraftTensor::name);
  if (head == draft.tensors.end()) return Fail(ErrorCode::kNotFound, Concat({name, " is not written"}));
  const std::array<uint64_t, 2> rows = {static_cast<uint64_t>(facts.yes_id), static_cast<uint64_t>(facts.no_id)};
  DraftTensor answers = {"cls.output.weight", {rows.size(), head->cols()}, FindGgufTypeByName("F32"), {}};
  answers.read_row = [read = head->read_row, rows](uint64_t row, std::span<float> values) { read(rows[row], values); };
  draft.tensors.push_back(std::move(answers));
  draft.Set(GgufNumber(Concat({architecture, ".pooling_type"}), uint32_t{4}));
  const std::vector<std::string> labels = {"yes", "no"};
  draft.Set(GgufTexts(Concat({architecture, ".classifier.output_labels"}), labels));
  draft.Set(
      GgufText("tokenizer.chat_template.rerank", Concat({kJudgeBefore, "<Instruct>: ", kJudgeInstruction,
                                                         "\n<Query>: {query}\n<Document>: {document}", kJudgeAfter})));
  return {};
}

// llama.cpp has two dense layers after EmbeddingGemma, and none after others that are read here.
inline Result<void> AddDense(const ModelInfo& info, std::string_view architecture, const EncoderFacts& facts,
                             GgufDraft& draft) {
  if (facts.dense.empty()) return {};
  constexpr const char* kNames[] = {"dense_2", "dense_3"};
  const bool is_plain =
      std::ranges::none_of(facts.dense, [](const DenseFacts& one) { return one.bias || one.is_tanh; });
  const bool ends_as_wide = facts.dense.back().outputs == info.spec.model_dim;
  if (architecture != "gemma-embedding" || facts.dense.size() != std::size(kNames) || !is_plain || !ends_as_wide) {
    return Fail(
        ErrorCode::kUnsupported,
        Concat({facts.dense.front().folder,
                ": cannot be written to a GGUF file: llama.cpp has dense layers after EmbeddingGemma alone, two "
                "without biases and functions, whose results are as wide as the model"}));
  }
  for (size_t i = 0; i < facts.dense.size(); ++i) {
    const DenseFacts& dense = facts.dense[i];
    SKALD_ASSIGN(auto checkpoint, Checkpoint::Open(info.model.folder() / dense.folder));
    AddCopy(std::make_shared<const Checkpoint>(std::move(checkpoint)), "linear.weight", Concat({kNames[i], ".weight"}),
            draft);
    const std::string begin = Concat({architecture, ".", kNames[i]});
    draft.Set(GgufNumber(begin + "_feat_in", static_cast<uint32_t>(dense.inputs)));
    draft.Set(GgufNumber(begin + "_feat_out", static_cast<uint32_t>(dense.outputs)));
  }
  return {};
}

inline void AddPooling(std::string_view architecture, const EncoderFacts& facts, GgufDraft& draft) {
  constexpr std::pair<Pooling, uint32_t> kTypes[] = {
      {Pooling::kNone, 0}, {Pooling::kMean, 1}, {Pooling::kFirst, 2}, {Pooling::kLast, 3}};
  const auto* const type = std::ranges::find(kTypes, facts.pooling, &std::pair<Pooling, uint32_t>::first);
  const bool is_known = type != std::end(kTypes);
  draft.Set(GgufNumber(Concat({architecture, ".pooling_type"}), is_known ? type->second : kTypes[0].second));
  if (is_known) return;
  draft.Set(GgufText(kPoolingEntry, NameOf(facts.pooling)));
  draft.left_out.push_back(
      Concat({"the pooling '", NameOf(facts.pooling), "' for llama.cpp, which will give the rows of tokens"}));
}

// Adds facts and heads that llama.cpp has no names for.
inline Result<void> AddOwnMetadata(const ModelInfo& info, const EncoderFacts& facts, GgufDraft& draft) {
  for (const auto& [name, fact] : kOwnFlags) draft.Set(GgufTruth(name, facts.*fact));
  if (facts.longest_text < PositionsOf(info)) {
    draft.Set(GgufText(Concat({kFileEntry, kLongestTextFile}),
                       Concat({"{\"max_seq_length\": ", std::to_string(facts.longest_text), "}"})));
  }
  SKALD_TRY(VisitTokenHeads(
      info, [&](const std::string& name, const std::vector<float>& values) { draft.Set(GgufNumbers(name, values)); }));
  std::string tasks;
  for (const std::string& task : facts.tasks) tasks += Concat({tasks.empty() ? "" : ", ", task});
  if (!tasks.empty()) draft.left_out.push_back(Concat({"adapters for tasks (", tasks, ")"}));
  return {};
}

inline Result<void> AddEncoder(const ModelInfo& info, std::string_view architecture, const EncoderFacts& facts,
                               GgufDraft& draft) {
  SKALD_TRY(AddOwnMetadata(info, facts, draft));
  if (facts.kind == EncoderKind::kReranker) return AddRankingHead(info, architecture, facts, draft);
  if (facts.kind == EncoderKind::kDecoderReranker) return AddJudge(info, architecture, facts, draft);
  SKALD_TRY(AddDense(info, architecture, facts, draft));
  AddPooling(architecture, facts, draft);
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_CONVERT_ENCODER_H_
