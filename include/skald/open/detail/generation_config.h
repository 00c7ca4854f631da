// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/generation_config.h.

#ifndef SKALD_OPEN_DETAIL_GENERATION_CONFIG_H_
#define SKALD_OPEN_DETAIL_GENERATION_CONFIG_H_

#include "skald/open/generation_config.h"

#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/float_environment.h"

namespace skald {

namespace internal {

class GenerationConfigReader {
 public:
  explicit GenerationConfigReader(const nlohmann::json& root) : root_(root) {}

  const std::optional<Error>& error() const { return error_; }

  void Read(const char* name, std::optional<bool>& value) {
    if (const nlohmann::json* const found = Find(name)) {
      found->is_boolean() ? void(value = found->get<bool>()) : Complain(name, "true or false");
    }
  }
  void Read(const char* name, std::optional<float>& value) {
    if (const nlohmann::json* const found = Find(name)) {
      found->is_number() ? void(value = found->get<float>()) : Complain(name, "a number");
    }
  }
  void Read(const char* name, std::optional<int32_t>& value) {
    if (const nlohmann::json* const found = Find(name)) {
      IsCount(*found) ? void(value = found->get<int32_t>()) : Complain(name, "a number that is not negative");
    }
  }

  // One id or a list of them.
  void Read(const char* name, std::vector<int32_t>& ids) {
    const nlohmann::json* const found = Find(name);
    if (found == nullptr) return;
    const auto add = [&](const nlohmann::json& id) {
      IsCount(id) ? ids.push_back(id.get<int32_t>()) : Complain(name, "an id of a token, or a list of them");
    };
    if (!found->is_array()) return add(*found);
    for (const nlohmann::json& id : *found) add(id);
  }

 private:
  static bool IsCount(const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<int32_t>::max();
  }

  const nlohmann::json* Find(const char* name) const {
    const auto found = root_.find(name);
    return found == root_.end() || found->is_null() ? nullptr : &*found;
  }

  void Complain(const char* name, std::string_view expected) {
    if (!error_) error_ = Error{ErrorCode::kDataLoss, Concat({"generation_config.json: ", name, " is not ", expected})};
  }

  const nlohmann::json& root_;
  std::optional<Error> error_;
};

}  // namespace internal

SKALD_INLINE Result<GenerationConfig> ParseGenerationConfig(std::string_view text) {
  return NoThrow("generation_config.json", [&]() -> Result<GenerationConfig> {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded as they always are
    nlohmann::json root;
    const internal::JsonGuard guard(root);
    std::string complaint = internal::ParseJson(text, root);
    if (complaint.empty() && !root.is_object()) complaint = "is no JSON object";
    if (!complaint.empty()) return Fail(ErrorCode::kDataLoss, "generation_config.json " + complaint);
    GenerationConfig config;
    internal::GenerationConfigReader reader(root);
    reader.Read("eos_token_id", config.eos_ids);
    reader.Read("do_sample", config.do_sample);
    reader.Read("temperature", config.temperature);
    reader.Read("top_k", config.top_k);
    reader.Read("top_p", config.top_p);
    reader.Read("min_p", config.min_p);
    reader.Read("repetition_penalty", config.repetition_penalty);
    if (reader.error()) return Failure(*reader.error());
    return config;
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_GENERATION_CONFIG_H_
