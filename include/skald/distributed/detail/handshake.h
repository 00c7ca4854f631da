// SPDX-License-Identifier: Apache-2.0
//
// The checks of ranks before they compute together: that all have parts of the same weights, and compute the same bits.
// Rank 0 sends the other settings with its messages (rank_messages.h): tokens, plan and tokens of a pass with each
// step, the type of keys and values, the token limit and the size of blocks with each pool. Threads change no bit.
//
// Of weights those are compared that all ranks have: vectors, matrices that are not divided, and the first row of each
// tensor of those that are, which every rank reads for this. So what differs in other rows alone is not noticed.

#ifndef SKALD_DISTRIBUTED_DETAIL_HANDSHAKE_H_
#define SKALD_DISTRIBUTED_DETAIL_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "skald/base/numbers/fingerprint.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/ranks/communicator.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/base/version.h"
#include "skald/distributed/detail/arithmetic_probe.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/parameters.h"

namespace skald::internal {

// The values that must be equal. Whole numbers, so that there are no gaps between them.
struct RankFacts {
  uint64_t version = 0;
  uint64_t arithmetic = 0;
  uint64_t model = 0;    // Fingerprint of its spec
  uint64_t weights = 0;  // of what every rank has or has read of each parameter, and of their types
  uint64_t ranks = 0;
};
static_assert(std::has_unique_object_representations_v<RankFacts>);

inline RankFacts FactsOf(const ModelWeights& weights) {
  Fingerprint64 print;
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    if (const auto* vector = std::get_if<VectorParameter>(&parameter.value)) {
      if (ArePartitioned(vector->axes, weights.share.ranks)) continue;
      for (const float value : *vector->target) print.Add(value);
    } else if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      print.Add(static_cast<uint64_t>(matrix->target->dtype));
      print.Add(uint64_t{matrix->target->row_scale});
      const Division* const division = matrix->target->division.get();
      print.Add(division == nullptr ? Xxh64(matrix->target->data) : division->known_by);
    }
  }
  return {.version = (SKALD_VERSION_MAJOR * 1000u + SKALD_VERSION_MINOR) * 1000u + SKALD_VERSION_PATCH,
          .arithmetic = ProbeArithmetic(),
          .model = Fingerprint(weights.spec),
          .weights = print.value(),
          .ranks = weights.share.ranks};
}

// Compares what each rank has with rank 0's. Errors name the first rank that differs, and in what: kInvalidArgument;
// and those of the exchange.
inline Result<void> CompareFacts(const CommunicatorRef& ranks, const RankFacts& own) {
  const auto [rank, count] = ranks.share();
  std::vector<RankFacts> facts(count);
  std::vector<size_t> begins;
  for (size_t r = 0; r <= count; ++r) begins.push_back(r * sizeof(RankFacts));
  facts[rank] = own;
  SKALD_TRY(ranks.Wait());  // some take longer to load their weights
  SKALD_TRY(ranks.AllGather(std::as_writable_bytes(std::span(facts)), begins));
  for (size_t r = 0; r < count; ++r) {
    const auto differs = [&](std::string_view what) {
      return Fail(ErrorCode::kInvalidArgument,
                  "rank " + std::to_string(r) + " has " + std::string(what) + " than rank 0; start all ranks alike");
    };
    if (facts[r].version != facts[0].version) return differs("another version of Skald");
    if (facts[r].arithmetic != facts[0].arithmetic) {
      return differs("another arithmetic (a processor without FMA, or another C library)");
    }
    if (facts[r].model != facts[0].model) return differs("another model");
    if (facts[r].weights != facts[0].weights) return differs("other weights");
    if (facts[r].ranks != count) return differs("weights for another number of ranks");
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DETAIL_HANDSHAKE_H_
