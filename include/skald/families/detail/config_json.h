// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/families/config_json.h.

#ifndef SKALD_FAMILIES_DETAIL_CONFIG_JSON_H_
#define SKALD_FAMILIES_DETAIL_CONFIG_JSON_H_

#include "skald/families/config_json.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/detail/python_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/threads/float_environment.h"
#include "skald/families/config/short_form.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/passed/detail/config_json_fields.h"
#include "skald/families/readers/passed/detail/unread_fields.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald {

namespace internal {

// Marks as read what weights/quantised/ reads: of other methods than MXFP4, whose tensors have names of their own
// (tensor_names.h), every field.
inline void PassQuantised(const JsonFields& fields) {
  for (const char* const name : {"quantization", "quantization_config", "compression_config"}) {
    const nlohmann::json* const found = fields.Find(name);
    if (found == nullptr || !found->is_object()) continue;
    const auto method = found->find("quant_method");
    if (method == found->end() || *method != nlohmann::json("mxfp4")) continue;
    const auto inside = fields.Object(name);
    if (inside) inside->Find("quant_method");
  }
}

inline std::string_view ModelTypeOf(const TextModel& model) {
  return std::visit([](const auto& one) { return one.model_type; }, model);
}

// Returns all model types that are read, for people.
inline std::string SupportedTypes() {
  std::string supported;
  for (const FamilyRow& row : kFamilies) {
    for (const ModelType& type : row.model_types) supported.append(supported.empty() ? "" : ", ").append(type.name);
  }
  return supported;
}

// Reads a model whose family `fields` names.
inline TextModel ReadTextModel(const JsonFields& fields) {
  const std::string model_type = fields.String("model_type");
  if (const ModelType* const type = FindModelType(model_type)) return type->read(fields);
  fields.Unsupported("model_type", model_type, SupportedTypes());
  return {};
}

// Parses a config.json into `root`, which its caller guards.
inline Result<void> ParseConfigObject(std::string_view text, nlohmann::json& root) {
  if (text.size() > kMaxConfigJson) {
    return Fail(ErrorCode::kOutOfRange, "config.json has " + std::to_string(text.size()) + " bytes, expected at most " +
                                            std::to_string(kMaxConfigJson));
  }
  if (const std::string complaint = ParsePythonJson(text, root); !complaint.empty()) {
    return Fail(ErrorCode::kDataLoss, "config.json " + complaint);
  }
  if (!root.is_object()) return Fail(ErrorCode::kDataLoss, "config.json does not hold a JSON object");
  return {};
}

SKALD_INLINE Result<TextModel> ReadConfigJson(std::string_view text) {
  nlohmann::json root, defaults = nlohmann::json::object();
  const JsonGuard guards[] = {JsonGuard(root), JsonGuard(defaults)};
  SKALD_TRY(ParseConfigObject(text, root));
  SKALD_TRY(ParseQuantisation(text));
  std::optional<Error> error;
  FieldsRead read;
  const JsonFields whole(&root, nullptr, "", &error, &read);
  const std::string model_type = whole.String("model_type");
  const ModelType* const inner = FindInnerType(model_type);
  const ModelType* const type = inner != nullptr ? inner : FindModelType(model_type);
  if (type != nullptr && type->add_defaults != nullptr) type->add_defaults(defaults);
  std::optional<JsonFields> fields(std::in_place, &root, &defaults, "", &error, &read);
  if (inner != nullptr) {
    constexpr const char* kTied = "tie_word_embeddings";  // stands outside, or inside, or in both places
    if (whole.Contains(kTied)) defaults[kTied] = root[kTied];
    fields = whole.Object("text_config", &defaults);
    if (!fields) whole.Missing("text_config");
    const nlohmann::json* const tied = fields ? fields->Find(kTied) : nullptr;
    if (tied != nullptr) whole.Expect(kTied, *tied);
  }
  PassQuantised(whole);
  if (fields) PassQuantised(*fields);
  TextModel model;
  if (!error) model = ReadTextModel(*fields);
  const FamilyRow* const family = FamilyOfModelType(ModelTypeOf(model));
  const std::span<const PassedFields> of_family =
      family == nullptr ? std::span<const PassedFields>() : family->passed_json;
  const UnreadFields unread(kPassedConfigJson, of_family, ModelTypeOf(model), read, kTextConfig);
  if (!error) unread.Refuse(root, "", &error);
  if (error) return Fail(error->code, "config.json: " + error->message);
  return model;
}

SKALD_INLINE Result<bool> NamesKnownFamily(std::string_view text) {
  nlohmann::json root;
  const JsonGuard guard(root);
  SKALD_TRY(ParseConfigObject(text, root));
  const auto found = root.find("model_type");
  const auto* const type = found == root.end() ? nullptr : found->get_ptr<const std::string*>();
  return type != nullptr && (FindInnerType(*type) != nullptr || FindModelType(*type) != nullptr);
}

}  // namespace internal

SKALD_INLINE Result<DescribedModel> ParseConfigJson(std::string_view text) {
  return NoThrow("config.json", [&]() -> Result<DescribedModel> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    SKALD_ASSIGN(auto read, internal::ReadConfigJson(text));
    const auto* const form = std::get_if<ShortForm>(&read);
    if (form != nullptr) return DescribedModel{form->model_type, Expand(*form)};
    return std::get<DescribedModel>(std::move(read));
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_CONFIG_JSON_H_
