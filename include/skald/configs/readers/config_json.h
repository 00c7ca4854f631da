// SPDX-License-Identifier: Apache-2.0
//
// Reads the config.json of a Hugging Face checkpoint, in the spellings of versions 4 and 5 of the
// transformers library. Fields that cannot change a logit (context length, token ids, dropout, dtype) are not
// looked at. A field that is absent or null means what the configuration class of its model_type takes it to
// mean; sizes must be there. Nothing throws, whatever the text holds.

#ifndef SKALD_CONFIGS_READERS_CONFIG_JSON_H_
#define SKALD_CONFIGS_READERS_CONFIG_JSON_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "skald/base/json/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/float_environment.h"
#include "skald/configs/families/dense/gemma3.h"
#include "skald/configs/families/recurrent/granite4.h"
#include "skald/configs/form/short_form.h"
#include "skald/configs/readers/config_json_recurrent.h"
#include "skald/configs/readers/config_json_transformer.h"
#include "skald/configs/readers/families/granite4.h"
#include "skald/configs/readers/family_readers.h"
#include "skald/configs/readers/python_json.h"

namespace skald {
namespace internal {

// Multimodal models, whose language model is an object inside. The vision part is not read.
inline constexpr std::string_view kMultimodalTypes[] = {"gemma3", "gemma4", "qwen3_5", "qwen3_5_moe"};

// Refuses weights that are quantised in one of the ways that transformers knows: the tensors have the names of others,
// or their names and another meaning. Those of MXFP4 have names of their own (tensor_names.h).
inline void RefuseQuantised(const JsonFields& fields) {
  constexpr const char* kMethod = "quant_method";
  for (const char* const name : {"quantization_config", "compression_config"}) {
    const nlohmann::json* const found = fields.Find(name);
    if (found == nullptr) continue;
    const auto inside = found->is_object() ? fields.Object(name) : std::nullopt;
    const nlohmann::json* const method = inside ? inside->Find(kMethod) : nullptr;
    if (method != nullptr && *method == nlohmann::json("mxfp4")) continue;
    const char* const supported = "F32, F16, BF16 and the types of GGUF files";
    method != nullptr ? inside->Unsupported(kMethod, *method, supported) : fields.Unsupported(name, *found, supported);
  }
}

// A model as its family's reader describes it: families whose layers are of the lineages that the short form of a
// Config knows by their facts, others whole.
using TextModel = std::variant<ShortForm, DescribedModel>;

// Reads a model whose family `fields` names.
inline TextModel ReadTextModel(const JsonFields& fields) {
  const std::string model_type = fields.String("model_type");
  std::string supported;
  const auto is = [&](std::string_view type) {
    supported.append(supported.empty() ? "" : ", ").append(type);
    return model_type == type;
  };
  for (const FamilyRules& family : TransformerFamilies()) {
    if (is(family.implied.model_type)) return ReadTransformer(fields, family);
  }
  for (const RecurrentFamily& family : kRecurrentFamilies) {
    if (is(family.model_type)) return family.read(fields);
  }
  if (is(Granite4Family::kModelType)) return ReadGranite4(fields);
  for (const FamilyReader& family : kFamilyReaders) {
    if (family.read_json != nullptr && is(family.model_type)) return family.read_json(fields);
  }
  fields.Unsupported("model_type", model_type, supported);
  return {};
}

}  // namespace internal

// Most bytes of a config.json. Published ones have a few thousand.
inline constexpr uint64_t kMaxConfigJson = uint64_t{16} << 20;

namespace internal {

inline Result<TextModel> ReadConfigJson(std::string_view text) {
  if (text.size() > kMaxConfigJson) {
    return Fail(ErrorCode::kOutOfRange, "config.json has " + std::to_string(text.size()) + " bytes, expected at most " +
                                            std::to_string(kMaxConfigJson));
  }
  nlohmann::json root, defaults = nlohmann::json::object();
  const JsonGuard guards[] = {JsonGuard(root), JsonGuard(defaults)};
  if (const std::string complaint = ParsePythonJson(text, root); !complaint.empty()) {
    return Fail(ErrorCode::kDataLoss, "config.json " + complaint);
  }
  if (!root.is_object()) return Fail(ErrorCode::kDataLoss, "config.json does not hold a JSON object");

  std::optional<Error> error;
  const JsonFields whole(&root, nullptr, "", &error);
  const std::string model_type = whole.String("model_type");
  if (model_type.starts_with("gemma3")) AddGemma3TextDefaults(defaults);
  std::optional<JsonFields> fields(std::in_place, &root, &defaults, "", &error);
  if (std::ranges::find(kMultimodalTypes, model_type) != std::end(kMultimodalTypes)) {
    if (whole.Contains("tie_word_embeddings")) defaults["tie_word_embeddings"] = root["tie_word_embeddings"];
    fields = whole.Object("text_config", &defaults);
    if (!fields) whole.Missing("text_config");
  }
  RefuseQuantised(whole);
  if (fields) RefuseQuantised(*fields);
  TextModel model;
  if (!error) model = ReadTextModel(*fields);
  if (error) return Fail(error->code, "config.json: " + error->message);
  return model;
}

}  // namespace internal

// Returns the model that the text of a config.json describes. Fails with kOutOfRange when it is longer than
// kMaxConfigJson, kDataLoss when it is not a JSON object or a value cannot be right, kNotFound when a field is missing
// that must be there, and kUnsupported when a model_type, RoPE type or other feature is none that Skald runs. The
// sentence names the field.
inline Result<DescribedModel> ParseConfigJson(std::string_view text) {
  return NoThrow("config.json", [&]() -> Result<DescribedModel> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    Result<internal::TextModel> read = internal::ReadConfigJson(text);
    if (!read) return Failure(read.error());
    const auto* const form = std::get_if<ShortForm>(&*read);
    if (form != nullptr) return DescribedModel{form->model_type, Expand(*form)};
    return std::get<DescribedModel>(std::move(*read));
  });
}

}  // namespace skald

#endif  // SKALD_CONFIGS_READERS_CONFIG_JSON_H_
