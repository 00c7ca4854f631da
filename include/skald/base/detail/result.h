// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/result.h.

#ifndef SKALD_BASE_DETAIL_RESULT_H_
#define SKALD_BASE_DETAIL_RESULT_H_

#include "skald/base/result.h"

#include <utility>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Failure Fail(ErrorCode code, std::string message, const ErrorFacts& facts) {
  return Failure(Error{code, std::move(message), facts});
}

SKALD_INLINE Failure OfSequence(size_t index, const Result<void>& result) {
  ErrorFacts facts = result.error().facts;
  facts.sequence = index;
  return Fail(result.error().code, "sequence " + std::to_string(index) + " of the batch: " + result.error().message,
              facts);
}

}  // namespace skald

#endif  // SKALD_BASE_DETAIL_RESULT_H_
