// SPDX-License-Identifier: Apache-2.0
//
// Texts and pairs of texts as token ids for encoders, and the layers after an encoder by the names of its files.

#ifndef SKALD_OPEN_DETAIL_ENCODER_TEXTS_H_
#define SKALD_OPEN_DETAIL_ENCODER_TEXTS_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/text/message.h"
#include "skald/families/registry.h"
#include "skald/model/load.h"
#include "skald/open/detail/encoder_files.h"
#include "skald/open/detail/encoder_head.h"
#include "skald/open/detail/encoder_rows.h"
#include "skald/open/model_text.h"
#include "skald/open/open_encoder.h"
#include "skald/tokenizers/encoder_input.h"
#include "skald/weights/files/checkpoint.h"

namespace skald::internal {

inline Failure FailNoTokenizer() {
  return Fail(ErrorCode::kFailedPrecondition, "the encoder was opened without a tokenizer; it takes token ids alone");
}

// Returns the prompt of this name if the model has it, else the empty name.
inline std::string NameIfThere(const EncoderFacts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts.prompts, name, &std::pair<std::string, std::string>::first);
  return found == facts.prompts.end() ? std::string() : found->first;
}

// Returns the text of the prompt that is asked for, or that belongs to the task.
inline Result<std::string> PromptOf(const EncoderFacts& facts, const EmbedOptions& options) {
  if (options.prompt) return *options.prompt;
  const std::string of_task = NameIfThere(facts, options.task);
  const std::string& wanted = !options.prompt_name.empty() ? options.prompt_name
                              : !of_task.empty()           ? of_task
                                                           : facts.default_prompt;
  if (wanted.empty()) return std::string();
  std::string all;
  for (const auto& [one, prompt] : facts.prompts) {
    if (one == wanted) return prompt;
    all += Concat({all.empty() ? "" : ", ", one});
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({"the model has no prompt called \"", wanted, "\", but ",
                                                   all.empty() ? std::string_view("none at all") : all}));
}

// Returns which of the adapters for tasks is asked for, or nothing for none.
inline Result<std::optional<size_t>> TaskOf(const EncoderFacts& facts, const std::string& name) {
  if (name.empty()) return std::optional<size_t>();
  std::string all;
  for (size_t i = 0; i < facts.tasks.size(); ++i) {
    if (facts.tasks[i] == name) return std::optional(i);
    all += Concat({all.empty() ? "" : ", ", facts.tasks[i]});
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({"the model has no task called \"", name, "\", but ",
                                                   all.empty() ? std::string_view("none at all") : all}));
}

// Options for the side of a search that a text is on: its prompt or its task, where the model has one.
inline EmbedOptions ForSide(const EncoderFacts& facts, const RankOptions& options, std::string_view prompt,
                            std::string_view task) {
  EmbedOptions embed = {.long_text = options.long_text, .pass_tokens = options.pass_tokens, .ranks = options.ranks};
  embed.prompt_name = NameIfThere(facts, prompt);
  if (std::ranges::find(facts.tasks, task) != facts.tasks.end()) embed.task = task;
  return embed;
}

// The special tokens that go around every text.
struct Surroundings {
  std::vector<int32_t> before, after;
};

inline Result<Surroundings> SurroundingsOf(const Tokenizer& tokenizer) {
  SKALD_ASSIGN(const auto plain, tokenizer.Encode("a", ParseSpecial::kYes));
  SKALD_ASSIGN(const auto whole, tokenizer.Encode("a", ParseSpecial::kYes, AddSpecial::kYes));
  // Not std::ranges::search, whose result clang 14 cannot compile.
  const auto found = std::search(whole.begin(), whole.end(), plain.begin(), plain.end());
  const auto after = found == whole.end() ? found : found + std::ssize(plain);
  return Surroundings{{whole.begin(), found}, {after, whole.end()}};
}

// Special tokens in a text are parsed, as the originals do it.
inline Result<TextIds> IdsOf(const Tokenizer& tokenizer, const Surroundings& around, const std::string& prompt,
                             std::string_view text) {
  if (text.empty()) return Fail(ErrorCode::kInvalidArgument, "it is empty");
  SKALD_ASSIGN(auto tokens, tokenizer.Encode(Concat({prompt, text}), ParseSpecial::kYes, AddSpecial::kYes));
  TextIds ids = {.tokens = std::move(tokens)};
  ids.prefix = static_cast<uint32_t>(around.before.size()), ids.suffix = static_cast<uint32_t>(around.after.size());
  if (prompt.empty()) return ids;
  SKALD_ASSIGN(const auto of_prompt, tokenizer.Encode(prompt, ParseSpecial::kYes));
  ids.prompt_tokens = ids.prefix + static_cast<uint32_t>(of_prompt.size());
  return ids;
}

// The text of Qwen3-Reranker's authors around a query and a document (https://github.com/QwenLM/Qwen3-Embedding).
inline constexpr std::string_view kJudgeBefore =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";
inline constexpr std::string_view kJudgeAfter = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
inline constexpr std::string_view kJudgeInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";

// Splits the tokens of a document so that each part and the `others` are at most `longest`.
inline Result<std::vector<std::span<const int32_t>>> PartsOf(std::span<const int32_t> document, size_t others,
                                                             const EncoderFacts& facts, LongText long_text) {
  const size_t longest = facts.longest_text, size = document.size() + others;
  if (size <= longest) return std::vector{document};
  if (long_text == LongText::kRefuse || others >= longest) {
    return Fail(ErrorCode::kOutOfRange,
                Concat({"it has ", std::to_string(size), " tokens with the query, the model computes ",
                        std::to_string(longest), " at most"}),
                {.needed_tokens = size, .available_tokens = longest});
  }
  std::vector<std::span<const int32_t>> parts;
  const size_t step = longest - others;
  for (size_t begin = 0; begin < document.size(); begin += step) {
    parts.push_back(document.subspan(begin, std::min(step, document.size() - begin)));
    if (long_text == LongText::kCut) break;
  }
  return parts;
}

// Returns the ids of a query and a document, or of windows of the document, with a head's special tokens.
inline Result<std::vector<TextIds>> HeadPairs(const Tokenizer& tokenizer, const EncoderFacts& facts, bool has_types,
                                              std::string_view query, std::string_view document, LongText long_text) {
  SKALD_ASSIGN(const auto asked, tokenizer.Encode(query, ParseSpecial::kYes));
  SKALD_ASSIGN(const auto tokens, tokenizer.Encode(document, ParseSpecial::kYes));
  SKALD_ASSIGN(const size_t around, TokensAroundPair(tokenizer));
  SKALD_ASSIGN(const auto parts, PartsOf(tokens, asked.size() + around, facts, long_text));
  std::vector<TextIds> pairs;
  for (const std::span<const int32_t> part : parts) {
    SKALD_ASSIGN(auto input, MakePairInput(tokenizer, asked, part));
    pairs.push_back({.tokens = std::move(input.ids)});
    if (has_types) pairs.back().types = std::move(input.types);
  }
  return pairs;
}

// The same for a decoder that is asked whether the document fits. Texts do not steer it: their special tokens are text.
inline Result<std::vector<TextIds>> JudgedPairs(const Tokenizer& tokenizer, const EncoderFacts& facts,
                                                std::string_view query, std::string_view document,
                                                const RankOptions& options) {
  const std::string_view instruction = options.instruction.empty() ? kJudgeInstruction : options.instruction;
  SKALD_ASSIGN(auto before, tokenizer.Encode(kJudgeBefore, ParseSpecial::kYes));
  SKALD_ASSIGN(const auto after, tokenizer.Encode(kJudgeAfter, ParseSpecial::kYes));
  const std::string asked = Concat({"<Instruct>: ", instruction, "\n<Query>: ", query, "\n<Document>: "});
  SKALD_ASSIGN(const auto text, tokenizer.Encode(Concat({asked, document})));
  SKALD_ASSIGN(const auto question, tokenizer.Encode(asked));
  // The document begins where the tokens are no longer those of the question alone.
  const auto ends = std::ranges::mismatch(text, question);
  before.insert(before.end(), text.begin(), ends.in1);
  const std::span<const int32_t> tokens(ends.in1, text.end());
  SKALD_ASSIGN(const auto parts, PartsOf(tokens, before.size() + after.size(), facts, options.long_text));
  std::vector<TextIds> pairs;
  for (const std::span<const int32_t> part : parts) {
    TextIds& pair = pairs.emplace_back(TextIds{.tokens = before});
    pair.tokens.insert(pair.tokens.end(), part.begin(), part.end());
    pair.tokens.insert(pair.tokens.end(), after.begin(), after.end());
  }
  return pairs;
}

inline Result<std::vector<TextIds>> PairsOf(const Tokenizer& tokenizer, const ModelSpec& spec,
                                            const EncoderFacts& facts, std::string_view query,
                                            std::string_view document, const RankOptions& options) {
  if (query.empty() || document.empty()) return Fail(ErrorCode::kInvalidArgument, "a text of the pair is empty");
  if (facts.kind == EncoderKind::kDecoderReranker) return JudgedPairs(tokenizer, facts, query, document, options);
  return HeadPairs(tokenizer, facts, spec.token_types > 1, query, document, options.long_text);
}

// Refuses uses that a model is not for: its head reads rows that are pooled as its files say, and one that sees both
// ways has no logits.
inline Result<void> CheckUse(const ModelInfo& info, const EncoderFacts& facts, std::optional<Pooling> pooling) {
  const bool ranks = facts.kind == EncoderKind::kReranker || facts.kind == EncoderKind::kDecoderReranker;
  if (ranks && pooling && *pooling != facts.pooling) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({info.name, " ranks, and takes no other pooling (", NameOf(*pooling), " was asked for)"}));
  }
  if (facts.kind == EncoderKind::kDecoderReranker && SeesBothWays(info.spec)) {
    return Fail(ErrorCode::kUnsupported,
                Concat({info.name, " is an encoder, which has no logits of \"yes\" and \"no\" to rank by"}));
  }
  return {};
}

// Finds the tokens whose logits a decoder's scores compare.
inline Result<void> FindYesAndNo(const std::optional<Tokenizer>& tokenizer, EncoderFacts& facts) {
  if (facts.kind != EncoderKind::kDecoderReranker) return {};
  facts.dimension = 1;
  if (facts.yes_id >= 0 && facts.no_id >= 0) return {};
  if (!tokenizer) return FailNoTokenizer();
  const auto yes = tokenizer->PieceToId("yes"), no = tokenizer->PieceToId("no");
  if (!yes || !no) return Fail(ErrorCode::kUnsupported, "the tokenizer has no tokens \"yes\" and \"no\"");
  facts.yes_id = *yes, facts.no_id = *no;
  return {};
}

// Whether the checkpoint lacks the head that config.json says it has, as decoders that embed are often published.
inline bool LacksHead(const ModelInfo& info, const EncoderFacts& facts, const Checkpoint& checkpoint) {
  if (facts.kind != EncoderKind::kDecoder || info.spec.tied_embeddings) return false;
  return checkpoint.Find(TensorNamesOf(checkpoint).NameOf("lm_head.weight", std::nullopt)) == nullptr;
}

inline Result<ModelWeights> LoadEncoderWeights(const ModelInfo& info, const EncoderFacts& facts,
                                               const LoadOptions& options) {
  if (info.model.packed() != nullptr) return LoadWeights(info.model, info.spec, info.name, options);
  SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
  if (!LacksHead(info, facts, *checkpoint)) return LoadWeights(info.model, info.spec, info.name, options);
  ModelSpec spec = info.spec;
  spec.tied_embeddings = true;
  return LoadWeights(*checkpoint, spec, options);
}

// As ModernBERT's head has it.
inline void AddGeluAndNorm(const ModelInfo& info, std::string name, bool bias, RowLayer& layer) {
  const auto* const norm = info.spec.final_norm.As<LayerNorm>();
  layer.function = FactorFunction::kNone;
  layer.activation = Activation::kGeluErf;
  layer.norm = LayerNorm{.epsilon = norm == nullptr ? 1e-5f : norm->epsilon, .bias = bias};
  layer.norm_name = std::move(name);
}

// The layers between an encoder's row and a reranker's scores, by the names of transformers' classes.
inline Result<std::vector<RowLayer>> RerankerLayers(const ModelInfo& info, const EncoderFacts& facts,
                                                    const Checkpoint& checkpoint) {
  const auto width = static_cast<size_t>(info.spec.model_dim), labels = static_cast<size_t>(facts.dimension);
  const auto has = [&](std::string_view name) { return checkpoint.Find(name) != nullptr; };
  RowLayer first = {.name = {}, .inputs = width, .outputs = width, .function = FactorFunction::kTanh};
  RowLayer last = {.name = {}, .inputs = width, .outputs = labels};
  if (has("head.dense.weight")) {  // ModernBERT
    first.name = "head.dense", last.name = "classifier";
    first.has_bias = has("head.dense.bias");
    AddGeluAndNorm(info, "head.norm", has("head.norm.bias"), first);
  } else if (has("classifier.out_proj.weight")) {
    first.name = "classifier.dense", last.name = "classifier.out_proj";
  } else if (has("cls.output.weight")) {  // of GGUF files
    first.name = "cls", last.name = "cls.output";
    first.has_bias = has("cls.bias"), last.has_bias = has("cls.output.bias");
    if (has("cls.norm.weight")) AddGeluAndNorm(info, "cls.norm", has("cls.norm.bias"), first);
  } else if (has("classifier.weight")) {
    first.name = "pooler.dense", last.name = "classifier";
    for (const char* const body : {"bert.", "new.", "gte.", "roberta."}) {
      if (has(Concat({body, "pooler.dense.weight"}))) first.name = Concat({body, "pooler.dense"});
    }
  } else {
    return Fail(ErrorCode::kUnsupported,
                "expected a head of the names classifier.weight or classifier.out_proj.weight");
  }
  std::vector<RowLayer> layers;
  layers.push_back(std::move(first));
  layers.push_back(std::move(last));
  return layers;
}

// Loads the layers after the model.
inline Result<RowHead> LoadRowHead(const ModelInfo& info, const EncoderFacts& facts) {
  RowHead head;
  if (facts.kind == EncoderKind::kReranker) {
    SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
    SKALD_ASSIGN(head.layers, RerankerLayers(info, facts, *checkpoint));
    SKALD_TRY(head.Load(*checkpoint));
  }
  for (const DenseFacts& dense : facts.dense) {
    const bool is_gguf = info.model.gguf() != nullptr;
    head.layers.push_back({.name = is_gguf ? dense.folder : "linear",
                           .inputs = static_cast<size_t>(dense.inputs),
                           .outputs = static_cast<size_t>(dense.outputs),
                           .has_bias = dense.bias,
                           .function = dense.is_tanh ? FactorFunction::kTanh : FactorFunction::kNone});
    const size_t number = head.layers.size() - 1;
    if (is_gguf) {
      SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
      SKALD_TRY(head.Load(*checkpoint, number));
    } else {
      SKALD_ASSIGN(const auto checkpoint, Checkpoint::Open(info.model.folder() / dense.folder));
      SKALD_TRY(head.Load(checkpoint, number));
    }
  }
  return head;
}

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_ENCODER_TEXTS_H_
