// SPDX-License-Identifier: Apache-2.0
//
// adapter_config.json of Hugging Face's PEFT: the rank of each adapted module, and the factor of its product. Kinds of
// adapters other than LoRA are refused by the name of the field that selects them.

#ifndef SKALD_WEIGHTS_ADAPTERS_DETAIL_PEFT_CONFIG_H_
#define SKALD_WEIGHTS_ADAPTERS_DETAIL_PEFT_CONFIG_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/base/json/detail/strict_json.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/float_environment.h"

namespace skald::internal {

/// Of one module.
struct PeftScale {
  int rank;
  double scale;
};

class PeftConfig {
 public:
  // Errors: kDataLoss, kUnsupported, naming the field.
  static Result<PeftConfig> Parse(std::string_view text) {
    const FloatEnvironment plain(Denormals::kKept);  // decimals are rounded in the default mode
    PeftConfig config;
    const std::string complaint = ParseStrictJson(text, config.root_);
    if (!complaint.empty() || !config.root_.is_object()) {
      return Fail(ErrorCode::kDataLoss, complaint.empty() ? "is not a JSON object" : complaint);
    }
    std::optional<Error> error;
    config.Read(JsonFields(&config.root_, nullptr, "", &error));
    if (error) return Failure(*error);
    return config;
  }

  PeftConfig(PeftConfig&&) = default;
  ~PeftConfig() { Dismantle(root_); }

  /// Of a module by the model's name for it, "model.layers.0.self_attn.q_proj". Error: kUnsupported if several patterns
  /// fit.
  Result<PeftScale> Of(std::string_view module) const {
    std::optional<Error> error;
    const JsonFields fields(&root_, nullptr, "", &error);
    const int rank = static_cast<int>(Pattern(fields, "rank_pattern", module).value_or(rank_));
    const double alpha = Pattern(fields, "alpha_pattern", module).value_or(alpha_);
    if (error) return Failure(*error);
    return PeftScale{rank, alpha / (by_root_ ? std::sqrt(rank) : rank)};
  }

 private:
  PeftConfig() = default;

  void Read(const JsonFields& fields) {
    fields.Expect("peft_type", "LORA");
    // "fan_in_fan_out" tells how the model's own matrices are stored; pairs are the same.
    for (const char* const flag : {"use_dora", "use_qalora", "lora_bias"}) fields.Expect(flag, false);
    fields.Expect("bias", "none");
    // Whole modules beside the pairs, repeated layers, parameters outside modules, tokens that switch it on.
    for (const char* const name : {"modules_to_save", "layer_replication", "target_parameters",
                                   "trainable_token_indices", "alora_invocation_tokens"}) {
      const nlohmann::json* const value = fields.Find(name);
      if (value != nullptr && !value->empty()) fields.Unsupported(name, *value, "null");
    }
    CheckInitialisation(fields);
    rank_ = fields.Size("r");
    alpha_ = fields.Positive("lora_alpha");
    by_root_ = fields.Flag("use_rslora", false);
    for (const char* const name : {"rank_pattern", "alpha_pattern"}) CheckPatterns(fields, name);
  }

  /// Some ways to begin training change the model's own weights too.
  static void CheckInitialisation(const JsonFields& fields) {
    const nlohmann::json* const value = fields.Find("init_lora_weights");
    if (value == nullptr || value->is_boolean()) return;
    for (const char* const harmless : {"gaussian", "eva", "orthogonal"}) {
      if (*value == harmless) return;
    }
    fields.Unsupported("init_lora_weights", *value,
                       "true, false, \"gaussian\", \"eva\" or \"orthogonal\", which leave the model's weights alone");
  }

  static void CheckPatterns(const JsonFields& fields, const char* name) {
    const auto patterns = fields.Object(name);
    const nlohmann::json* const object = fields.Find(name);
    if (!patterns) return;
    for (const auto& [pattern, value] : object->items()) {
      name[0] == 'r' ? void(patterns->Size(pattern.c_str())) : void(patterns->Positive(pattern.c_str()));
      if (pattern.find_first_of("\\*+?[](){}|$", 0) == pattern.npos && pattern.find('^', 1) == pattern.npos) continue;
      patterns->Unsupported(pattern.c_str(), value, "patterns that are names of modules or their ends");
    }
  }

  /// Whether a module's name is `pattern`, or ends with a dot and `pattern`.
  static bool Fits(std::string_view pattern, std::string_view module) {
    if (pattern.starts_with('^')) return pattern.substr(1) == module;
    if (!module.ends_with(pattern)) return false;
    const size_t front = module.size() - pattern.size();
    return front == 0 || module[front - 1] == '.';
  }

  /// The value of the pattern for this module, if one fits.
  static std::optional<double> Pattern(const JsonFields& fields, const char* name, std::string_view module) {
    const nlohmann::json* const patterns = fields.Find(name);
    std::optional<double> found;
    if (patterns == nullptr) return found;
    for (const auto& [pattern, value] : patterns->items()) {
      if (!Fits(pattern, module)) continue;
      const auto number = value.get<double>();
      if (found && *found != number) {
        fields.Unsupported(name, *patterns, Concat({"one pattern for each module, and several fit ", module}));
      }
      found = number;
    }
    return found;
  }

  nlohmann::json root_;
  int rank_ = 0;
  double alpha_ = 0.0;
  bool by_root_ = false;  ///< rank-stabilised (Kalajdzievski 2023, arXiv:2312.03732)
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_ADAPTERS_DETAIL_PEFT_CONFIG_H_
