// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/encoders/encoder_facts.h.

#ifndef SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_
#define SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_

#include "skald/open/encoders/encoder_facts.h"

#include <array>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"

namespace skald {

SKALD_INLINE std::string_view NameOf(EncoderKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"encoder", "decoder", "reranker", "decoder reranker"};
  return kNames[static_cast<size_t>(kind)];
}

namespace internal {

// In the order of Pooling.
inline constexpr std::array<std::string_view, 7> kPoolingNames = {"mean", "cls",       "last", "weighted",
                                                                  "max",  "mean sqrt", "none"};

}  // namespace internal

SKALD_INLINE std::string_view NameOf(Pooling pooling) { return internal::kPoolingNames[static_cast<size_t>(pooling)]; }

SKALD_INLINE Result<Pooling> PoolingNamed(std::string_view name) {
  std::string all;
  for (size_t i = 0; i < internal::kPoolingNames.size(); ++i) {
    if (internal::kPoolingNames[i] == name) return static_cast<Pooling>(i);
    all += Concat({i == 0 ? "" : ", ", internal::kPoolingNames[i]});
  }
  return Fail(ErrorCode::kInvalidArgument, Concat({"no pooling is called \"", name, "\", expected one of ", all}));
}

}  // namespace skald

#endif  // SKALD_OPEN_ENCODERS_DETAIL_ENCODER_FACTS_H_
