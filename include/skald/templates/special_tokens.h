// SPDX-License-Identifier: Apache-2.0
//
// The variables of chat templates that hold the spellings of special tokens.

#ifndef SKALD_TEMPLATES_SPECIAL_TOKENS_H_
#define SKALD_TEMPLATES_SPECIAL_TOKENS_H_

#include <algorithm>
#include <iterator>
#include <string_view>

namespace skald::internal::jinja {

/// The names of variables that hold special tokens, as tokenizer_config.json has them.
inline constexpr std::string_view kSpecialTokenNames[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                                          "sep_token", "cls_token", "mask_token"};

constexpr bool IsSpecialTokenName(std::string_view name) {
  return std::find(std::begin(kSpecialTokenNames), std::end(kSpecialTokenNames), name) != std::end(kSpecialTokenNames);
}

}  // namespace skald::internal::jinja

#endif  // SKALD_TEMPLATES_SPECIAL_TOKENS_H_
