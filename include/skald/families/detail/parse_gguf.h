// SPDX-License-Identifier: Apache-2.0
//
// From the metadata of a GGUF file to the models that it can hold. Nothing throws, whatever the metadata hold.

#ifndef SKALD_FAMILIES_DETAIL_PARSE_GGUF_H_
#define SKALD_FAMILIES_DETAIL_PARSE_GGUF_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/float_environment.h"
#include "skald/families/config/short_form.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/detail/find_family.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/families/readers/passed/detail/gguf_values.h"
#include "skald/families/readers/passed/detail/unread_fields.h"

namespace skald {

namespace internal {

// Adds the values whose names begin with `prefix` to `fields`, under the rest of their names.
inline void AddFieldsBehind(const nlohmann::json& metadata, const std::string& prefix, nlohmann::json& fields) {
  for (const auto& [name, value] : metadata.items()) {
    if (name.starts_with(prefix)) fields[name.substr(prefix.size())] = value;
  }
}

// Returns all architectures that are read, for people.
inline std::string SupportedArchitectures() {
  std::string supported;
  for (const FamilyRow& row : kFamilies) {
    for (const GgufArchitecture& one : row.architectures)
      supported.append(supported.empty() ? "" : ", ").append(one.name);
  }
  return supported;
}

// Names in `fields` of the tensors that only a RoPE's reader knows to take.
inline void AddRopeTensors(const GgufTensorFacts& facts, nlohmann::json& fields) {
  if (!facts.rope_divisors.empty()) fields[kRopeDivisors] = "a tensor";
  if (!facts.long_rope_divisors.empty()) fields[kLongRopeDivisors] = "a tensor";
  if (!facts.short_rope_divisors.empty()) fields[kShortRopeDivisors] = "a tensor";
}

}  // namespace internal

// Returns all models that one with these metadata can be: one, but several for "llama", the likeliest first. `metadata`
// is an object of names like "llama.block_count". Of those with the architecture's name in front each is read, or
// cannot change a logit (readers/passed/detail/gguf_values.h and the lists of families), or is refused. Fails with
// kDataLoss when a value cannot be right, kNotFound when one is missing, and kUnsupported for an architecture or value
// that is none that Skald runs. The sentence names the value.
inline Result<std::vector<DescribedModel>> ParseConfigGguf(const nlohmann::json& metadata,
                                                           const GgufTensorFacts& facts) {
  return NoThrow("the metadata", [&]() -> Result<std::vector<DescribedModel>> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    std::optional<Error> error;
    internal::FieldsRead read;
    const internal::JsonFields whole(&metadata, nullptr, "", &error);
    const std::string name = whole.String("general.architecture"), prefix = name + ".";
    nlohmann::json of_model = nlohmann::json::object();
    const internal::JsonGuard guard(of_model);
    internal::AddFieldsBehind(metadata, prefix, of_model);
    internal::AddRopeTensors(facts, of_model);
    const internal::JsonFields fields(&of_model, nullptr, prefix, &error, &read);
    const internal::GgufArchitecture* const architecture = internal::FindArchitecture(name);
    if (!error && architecture == nullptr) {
      whole.Unsupported("general.architecture", name, internal::SupportedArchitectures());
    }
    std::vector<DescribedModel> models;
    if (!error) models = architecture->read(fields, facts);
    const internal::FamilyRow* const family = internal::FamilyOfArchitecture(name);
    const auto of_family = family == nullptr ? std::span<const internal::PassedFields>() : family->passed_gguf;
    const internal::UnreadFields unread(internal::kPassedGguf, of_family, name, read, prefix);
    if (!error) unread.Refuse(of_model, prefix, &error);
    if (error) return Fail(error->code, "metadata: " + error->message);
    return models;
  });
}

}  // namespace skald

#endif  // SKALD_FAMILIES_DETAIL_PARSE_GGUF_H_
