// SPDX-License-Identifier: Apache-2.0
//
// The variables of a rendering, from JSON. Messages are the authors of texts in them, with two exceptions that
// templates need: the spellings of special tokens, and the role of a message if it is one of the well-known words,
// since there are templates that write '<|' + message.role + '|>'.

#ifndef SKALD_TEMPLATES_VARIABLES_H_
#define SKALD_TEMPLATES_VARIABLES_H_

#include <algorithm>
#include <iterator>
#include <string_view>

#include <nlohmann/json.hpp>

#include "skald/templates/values/machine.h"
#include "skald/templates/values/value.h"

namespace skald::internal::jinja {

/// The names of variables that hold special tokens, as tokenizer_config.json has them.
inline constexpr std::string_view kSpecialTokenNames[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                                          "sep_token", "cls_token", "mask_token"};

constexpr bool IsSpecialTokenName(std::string_view name) {
  return std::find(std::begin(kSpecialTokenNames), std::end(kSpecialTokenNames), name) != std::end(kSpecialTokenNames);
}

class VariableReader {
 public:
  using Json = nlohmann::ordered_json;

  explicit VariableReader(Machine& machine) : machine_(machine) {}

  Value ReadVariable(std::string_view name, const Json& json);

 private:
  // `levels_to_role` is how deep a role would be: 2 for the list of messages, 1 for a message, 0 if there is none.
  Value Read(const Json& json, int levels_to_role);

  Value ReadArray(const Json& json, int levels_to_role);

  Value ReadObject(const Json& json, int levels_to_role);

  Machine& machine_;
};

}  // namespace skald::internal::jinja

#ifndef SKALD_COMPILED
#include "skald/templates/detail/variables.h"
#endif

#endif  // SKALD_TEMPLATES_VARIABLES_H_
