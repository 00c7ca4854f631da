// SPDX-License-Identifier: Apache-2.0
//
// ReadEncoderFacts: what sentence-transformers' files and config.json say of an encoder. Sources: base/model.py,
// sentence_transformer/modules/ and cross_encoder/ of https://github.com/UKPLab/sentence-transformers, version 6.2.

#ifndef SKALD_OPEN_DETAIL_ENCODER_FILES_H_
#define SKALD_OPEN_DETAIL_ENCODER_FILES_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/layers/model_spec.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/detail/token_heads.h"
#include "skald/open/model_file.h"
#include "skald/open/open_encoder.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_metadata.h"

namespace skald {

namespace internal {

// Parses a file of the model into `root`, which its caller guards; null if there is none.
inline Result<void> ReadJsonFile(const ModelInfo& info, const std::string& name, nlohmann::json& root) {
  root = nullptr;
  const auto text = ReadModelFile(info.model, name);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  if (!text) return Failure(text.error());
  const std::string complaint = ParsePythonJson(*text, root);
  if (complaint.empty()) return {};
  return Fail(ErrorCode::kDataLoss, Concat({PathText(info.model.path()), ": ", name, " ", complaint}));
}

// Calls read(fields) with the object in a file, if there is one; fields that are wrong become the error.
template <class Read>
Result<bool> ReadFields(const ModelInfo& info, const std::string& name, Read read) {
  nlohmann::json root;
  const JsonGuard guard(root);
  SKALD_TRY(ReadJsonFile(info, name, root));
  if (!root.is_object()) return false;
  std::optional<Error> error;
  read(JsonFields(&root, nullptr, "", &error));
  if (!error) return true;
  return Fail(error->code, Concat({PathText(info.model.path()), ": ", name, ": ", error->message}));
}

inline constexpr std::pair<std::string_view, Pooling> kModulePoolings[] = {
    {"cls", Pooling::kFirst},
    {"max", Pooling::kMax},
    {"mean", Pooling::kMean},
    {"lasttoken", Pooling::kLast},
    {"weightedmean", Pooling::kWeighted},
    {"mean_sqrt_len_tokens", Pooling::kMeanRoot}};

inline void ReadPooling(const JsonFields& fields, EncoderFacts& facts) {
  constexpr std::pair<const char*, Pooling> kFlags[] = {
      {"pooling_mode_cls_token", Pooling::kFirst},  {"pooling_mode_max_tokens", Pooling::kMax},
      {"pooling_mode_mean_tokens", Pooling::kMean}, {"pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanRoot},
      {"pooling_mode_lasttoken", Pooling::kLast},   {"pooling_mode_weightedmean_tokens", Pooling::kWeighted}};
  facts.pooling = Pooling::kMean;
  facts.leaves_out_prompt = !fields.Flag("include_prompt", true);
  const nlohmann::json* const mode = fields.Find("pooling_mode");
  if (mode != nullptr) {
    const auto found = std::ranges::find_if(kModulePoolings, [&](const auto& one) { return *mode == one.first; });
    if (found == std::end(kModulePoolings)) return fields.Unsupported("pooling_mode", *mode, "one mode");
    facts.pooling = found->second;
    return;
  }
  int count = 0;
  for (const auto& [name, pooling] : kFlags) {
    if (!fields.Flag(name, false)) continue;
    facts.pooling = pooling;
    if (++count > 1) fields.Unsupported(name, true, "one mode of pooling alone");
  }
}

inline void ReadDense(const JsonFields& fields, std::string folder, EncoderFacts& facts) {
  constexpr std::string_view kNothing = "torch.nn.modules.linear.Identity", kTanh = "torch.nn.modules.activation.Tanh";
  DenseFacts dense = {.folder = std::move(folder),
                      .inputs = fields.Size("in_features"),
                      .outputs = fields.Size("out_features"),
                      .bias = fields.Flag("bias", true)};
  const std::string activation = fields.String("activation_function", kTanh);
  dense.is_tanh = activation == kTanh;
  if (!dense.is_tanh && activation != kNothing) {
    fields.Unsupported("activation_function", activation, Concat({kNothing, " and ", kTanh}));
  }
  facts.dense.push_back(std::move(dense));
}

// Reads the module `type`, whose files are in `folder`.
inline Result<void> ReadModule(const ModelInfo& info, std::string_view type, const std::string& folder,
                               EncoderFacts& facts) {
  const auto read = [&](auto function) -> Result<void> {
    SKALD_ASSIGN(const bool there, ReadFields(info, folder + "/config.json", function));
    if (there) return {};
    return Fail(ErrorCode::kNotFound, Concat({PathText(info.model.path()), ": expected ", folder, "/config.json"}));
  };
  const std::string_view name = type.substr(type.rfind('.') + 1);
  if (name == "Transformer") return {};
  if (name == "Normalize") {
    facts.normalises = true;
    return {};
  }
  if (name == "Pooling") return read([&](const JsonFields& fields) { ReadPooling(fields, facts); });
  if (name == "Dense") return read([&](const JsonFields& fields) { ReadDense(fields, folder, facts); });
  if (name == "LogitScore") {
    facts.kind = EncoderKind::kDecoderReranker;
    return read([&](const JsonFields& fields) {
      facts.yes_id = fields.Integer("true_token_id", 0, info.spec.vocab_size - 1);
      facts.no_id = fields.Integer("false_token_id", 0, info.spec.vocab_size - 1);
    });
  }
  return Fail(ErrorCode::kUnsupported, Concat({PathText(info.model.path()), ": modules.json has a module of the type ",
                                               type, ", expected Transformer, Pooling, Dense, Normalize, LogitScore"}));
}

// Returns whether there is a modules.json. Without a pooling among the modules rows stay as they are.
inline Result<bool> ReadModules(const ModelInfo& info, EncoderFacts& facts) {
  nlohmann::json root;
  const JsonGuard guard(root);
  SKALD_TRY(ReadJsonFile(info, "modules.json", root));
  if (root.is_null()) return false;
  if (!root.is_array()) {
    return Fail(ErrorCode::kDataLoss, PathText(info.model.path()) + ": modules.json does not hold an array");
  }
  facts.pooling = Pooling::kNone;
  for (const nlohmann::json& module : root) {
    const auto text = [&](const char* name) {
      const bool there = module.is_object() && module.contains(name) && module[name].is_string();
      return there ? module[name].get<std::string>() : std::string();
    };
    SKALD_TRY(ReadModule(info, text("type"), text("path"), facts));
  }
  return true;
}

inline void ReadPrompts(const JsonFields& fields, EncoderFacts& facts) {
  facts.default_prompt = fields.String("default_prompt_name", "");
  const nlohmann::json* const prompts = fields.Find("prompts");
  if (prompts == nullptr) return;
  if (!prompts->is_object()) return fields.WrongValue("prompts", *prompts, "an object");
  for (const auto& [name, text] : prompts->items()) {
    if (!text.is_string()) return fields.WrongValue("prompts", text, "strings");
    facts.prompts.emplace_back(name, text.get<std::string>());
  }
}

// Reads what files that Skald wrote have beside llama.cpp's metadata.
inline Result<void> ReadOwnMetadata(const ModelInfo& info, EncoderFacts& facts) {
  for (const auto& [name, fact] : kOwnFlags) {
    if (const bool* const value = info.model.gguf()->metadata().Get<bool>(name)) facts.*fact = *value;
  }
  if (const auto* const pooling = info.model.gguf()->metadata().Get<std::string>(kPoolingEntry)) {
    constexpr Pooling kOthers[] = {Pooling::kMax, Pooling::kMeanRoot, Pooling::kWeighted};
    const auto* const found =
        std::ranges::find(kOthers, std::string_view(*pooling), [](Pooling one) { return NameOf(one); });
    if (found == std::end(kOthers)) {
      return Fail(ErrorCode::kUnsupported, Concat({PathText(info.model.path()), ": ", kPoolingEntry, " is ",
                                                   QuotedName(*pooling), ", which Skald does not know"}));
    }
    facts.pooling = *found;
  }
  SKALD_ASSIGN(const bool has_prompts, ReadFields(info, std::string(kPromptsFile),
                                                  [&](const JsonFields& fields) { ReadPrompts(fields, facts); }));
  (void)has_prompts;
  return ReadTokenHeads(info, facts);
}

// Of a GGUF file: its metadata, and the layers that it has after the model. Embeddings are normalised, as llama.cpp
// gives them out (https://github.com/ggml-org/llama.cpp, src/llama-graph.cpp, build_pooling).
inline Result<void> ReadGgufFacts(const ModelInfo& info, EncoderFacts& facts) {
  constexpr std::pair<double, Pooling> kTypes[] = {
      {0, Pooling::kNone}, {1, Pooling::kMean}, {2, Pooling::kFirst}, {3, Pooling::kLast}};
  const GgufMetadata& metadata = info.model.gguf()->metadata();
  const auto* const architecture = metadata.Get<std::string>("general.architecture");
  const auto type = metadata.Number(Concat({architecture == nullptr ? "" : *architecture, ".pooling_type"}));
  SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
  facts.normalises = true;
  if (facts.kind == EncoderKind::kDecoder) facts.pooling = Pooling::kLast;
  if (!type) return {};
  for (const auto& [number, pooling] : kTypes) {
    if (static_cast<double>(*type) == number) facts.pooling = pooling;
  }
  if (static_cast<double>(*type) == 4 && facts.kind == EncoderKind::kDecoder) {
    facts.kind = EncoderKind::kDecoderReranker;
    return {};
  }
  if (static_cast<double>(*type) == 4) {
    const TensorView* const scores = checkpoint->Find("cls.output.weight");
    facts.kind = EncoderKind::kReranker;
    facts.dimension = scores == nullptr ? 1 : static_cast<int>(scores->shape[0]);
    // Files that do not say how rows are pooled before a head are older; of ModernBERT they meant the mean.
    constexpr double kMean = 1, kFirst = 2;
    const double usual = *architecture == "modern-bert" ? kMean : kFirst;
    const double before = metadata.Number(Concat({*architecture, ".classifier.pooling_type"})).value_or(usual);
    if (before != kMean && before != kFirst) {
      return Fail(ErrorCode::kUnsupported,
                  Concat({PathText(info.model.path()), ": ", *architecture, ".classifier.pooling_type is ",
                          std::to_string(before), ", expected 1 or 2"}));
    }
    facts.pooling = before == kMean ? Pooling::kMean : Pooling::kFirst;
    facts.bounded_scores = facts.dimension == 1;
  }
  for (const char* const name : {"dense_2", "dense_3"}) {
    const TensorView* const dense = checkpoint->Find(Concat({name, ".weight"}));
    if (dense == nullptr || dense->shape.size() != 2) continue;
    facts.dense.push_back({.folder = name,
                           .inputs = static_cast<int>(dense->shape[1]),
                           .outputs = static_cast<int>(dense->shape[0]),
                           .bias = false});
  }
  return {};
}

inline uint32_t PositionsOf(const ModelInfo& info) {
  if (const uint32_t longest = LongestText(info.spec); longest > 0) return longest;
  return info.trained_context > 0 ? info.trained_context : kMaxTokens;
}

// Takes the shortest limit that a file names.
inline Result<void> ReadLongestText(const ModelInfo& info, EncoderFacts& facts) {
  facts.longest_text = PositionsOf(info);
  const auto limit = [&](const JsonFields& fields, const char* name) {
    const nlohmann::json* const given = fields.Find(name);
    if (given == nullptr || !given->is_number_unsigned()) return;  // "no limit" is a number of 31 digits
    facts.longest_text = static_cast<uint32_t>(std::min<uint64_t>(given->get<uint64_t>(), facts.longest_text));
  };
  SKALD_ASSIGN(const bool has_own, ReadFields(info, std::string(kLongestTextFile), [&](const JsonFields& fields) {
                 fields.Expect("do_lower_case", false);
                 limit(fields, "max_seq_length");
               }));
  (void)has_own;
  SKALD_ASSIGN(const bool has_tokenizer, ReadFields(info, "tokenizer_config.json", [&](const JsonFields& fields) {
                 limit(fields, "model_max_length");
               }));
  (void)has_tokenizer;
  return {};
}

// Whether sentence-transformers' field for the function of scores says that there is none.
inline bool SaysNoFunction(const JsonFields& fields) {
  constexpr std::string_view kNothing = "torch.nn.modules.linear.Identity";
  const auto newer = fields.Object("sentence_transformers");
  if (newer && newer->String("activation_fn", "") == kNothing) return true;
  return fields.String("sbert_ce_default_activation_function", "") == kNothing;
}

// Of config.json: whether the model scores pairs, and how.
inline Result<void> ReadReranker(const ModelInfo& info, EncoderFacts& facts) {
  SKALD_ASSIGN(const bool there, ReadFields(info, "config.json", [&](const JsonFields& fields) {
                 const nlohmann::json* const architectures = fields.Find("architectures");
                 if (architectures == nullptr || !architectures->is_array() || architectures->empty()) return;
                 const nlohmann::json& first = architectures->front();
                 if (!first.is_string()) return;
                 if (!first.get_ref<const std::string&>().ends_with("ForSequenceClassification")) return;
                 const nlohmann::json* const labels = fields.Find("id2label");
                 facts.kind = EncoderKind::kReranker;
                 fields.Expect("classifier_activation", "gelu");
                 const bool is_mean = fields.String("classifier_pooling", "cls") == "mean";
                 facts.pooling = is_mean ? Pooling::kMean : Pooling::kFirst;
                 facts.dimension = labels != nullptr && labels->is_object() ? static_cast<int>(labels->size())
                                                                            : fields.Size("num_labels", 2);
                 facts.bounded_scores = facts.dimension == 1 && !SaysNoFunction(fields);
               }));
  (void)there;
  return {};
}

// Whether a decoder is one of Qwen3-Reranker, of which the heading of the model card alone tells.
inline Result<bool> IsQwen3Reranker(const ModelInfo& info) {
  if (info.family != "qwen3") return false;
  const auto card = ReadModelFile(info.model, "README.md");
  if (!card && card.error().code == ErrorCode::kNotFound) return false;
  if (!card) return Failure(card.error());
  return card->find("\n# Qwen3-Reranker") != std::string::npos;
}

// Of config.json: the tasks that the weights have adapters for, and the texts before theirs
// (https://huggingface.co/jinaai/xlm-roberta-flash-implementation, modeling_lora.py).
inline void ReadTasks(const JsonFields& fields, EncoderFacts& facts) {
  const nlohmann::json* const tasks = fields.Find("lora_adaptations");
  if (tasks == nullptr) return;
  const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
  if (!tasks->is_array() || !std::ranges::all_of(*tasks, is_text)) {
    return fields.WrongValue("lora_adaptations", *tasks, "an array of strings");
  }
  for (const nlohmann::json& task : *tasks) facts.tasks.push_back(task.get<std::string>());
  facts.task_scale = fields.Positive("lora_alpha", 1.0) / fields.Size("lora_rank", 4);
  const auto texts = fields.Object("task_instructions");
  for (size_t i = 0; texts && i < facts.tasks.size(); ++i) {
    const auto is_same = [&](const auto& prompt) { return prompt.first == facts.tasks[i]; };
    if (std::ranges::any_of(facts.prompts, is_same)) continue;
    facts.prompts.emplace_back(facts.tasks[i], texts->String(facts.tasks[i].c_str(), ""));
  }
}

// Of a folder, or a packed file, which has such files. Without a modules.json, encoders are pooled as
// sentence-transformers does it then.
inline Result<void> ReadFolderFacts(const ModelInfo& info, EncoderFacts& facts) {
  SKALD_ASSIGN(const bool has_modules, ReadModules(info, facts));
  if (!has_modules && facts.kind == EncoderKind::kEncoder && info.model.packed() != nullptr) {
    return Fail(ErrorCode::kUnsupported, Concat({PathText(info.model.path()),
                                                 ": does not say how rows become an embedding, as encoders packed by "
                                                 "older versions of Skald: pack the model again"}));
  }
  if (!has_modules && facts.kind == EncoderKind::kEncoder) SKALD_TRY(ReadReranker(info, facts));
  if (!has_modules && facts.kind == EncoderKind::kDecoder) {
    facts.pooling = Pooling::kLast;
    SKALD_ASSIGN(const bool is_reranker, IsQwen3Reranker(info));
    if (is_reranker) facts.kind = EncoderKind::kDecoderReranker;
  }
  SKALD_ASSIGN(const bool has_prompts, ReadFields(info, std::string(kPromptsFile),
                                                  [&](const JsonFields& fields) { ReadPrompts(fields, facts); }));
  (void)has_prompts;
  SKALD_ASSIGN(const bool has_config,
               ReadFields(info, "config.json", [&](const JsonFields& fields) { ReadTasks(fields, facts); }));
  (void)has_config;
  return ReadTokenHeads(info, facts);
}

}  // namespace internal

SKALD_INLINE Result<EncoderFacts> ReadEncoderFacts(const ModelInfo& info) {
  return NoThrow(PathText(info.model.path()), [&]() -> Result<EncoderFacts> {
    EncoderFacts facts;
    facts.kind = SeesBothWays(info.spec) ? EncoderKind::kEncoder : EncoderKind::kDecoder;
    if (info.model.gguf() != nullptr) {
      SKALD_TRY(internal::ReadGgufFacts(info, facts));
      SKALD_TRY(internal::ReadOwnMetadata(info, facts));
    } else {
      SKALD_TRY(internal::ReadFolderFacts(info, facts));
    }
    SKALD_TRY(internal::ReadLongestText(info, facts));
    int width = info.spec.model_dim;
    for (const DenseFacts& dense : facts.dense) {
      if (dense.inputs != width) {
        return Fail(ErrorCode::kInvalidArgument,
                    Concat({PathText(info.model.path()), ": ", dense.folder, " reads rows of ",
                            std::to_string(dense.inputs), " elements, but gets ", std::to_string(width)}));
      }
      width = dense.outputs;
    }
    if (facts.kind == EncoderKind::kEncoder || facts.kind == EncoderKind::kDecoder) facts.dimension = width;
    if (facts.kind == EncoderKind::kDecoderReranker) facts.dimension = 1;
    return facts;
  });
}

namespace internal {

// Returns the facts of a model that is for embeddings or ranking: as decoders are where sentence-transformers' files
// say so, a reranker's model card, or a GGUF file's pooling.
inline Result<std::optional<EncoderFacts>> EncoderIn(const ModelInfo& info) {
  SKALD_ASSIGN(bool is_one, IsQwen3Reranker(info));
  is_one |= SeesBothWays(info.spec) || ReadModelFile(info.model, "modules.json").has_value();
  if (info.model.gguf() != nullptr) {
    const GgufMetadata& metadata = info.model.gguf()->metadata();
    const auto* const architecture = metadata.Get<std::string>("general.architecture");
    is_one |= architecture != nullptr && metadata.Number(Concat({*architecture, ".pooling_type"})).has_value();
  }
  if (!is_one) return std::optional<EncoderFacts>();
  SKALD_ASSIGN(auto facts, ReadEncoderFacts(info));
  return std::optional(std::move(facts));
}

}  // namespace internal

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_ENCODER_FILES_H_
