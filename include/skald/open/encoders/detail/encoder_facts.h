// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/encoder_facts.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_
#define SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_

#include "skald/open/encoders/encoder_facts.h"

#include <array>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::string_view NameOf(EncoderKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"encoder", "decoder", "reranker", "decoder reranker"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_
