// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/any_model.h: what a model refuses to compute.

#ifndef SKALD_MODEL_DETAIL_ANY_MODEL_CHECKS_H_
#define SKALD_MODEL_DETAIL_ANY_MODEL_CHECKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/text/message.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/step.h"
#include "skald/model/any_model.h"
#include "skald/model/detail/forward.h"
#include "skald/model/detail/other_caches.h"

namespace skald {

SKALD_INLINE Result<void> AnyModel::CheckPasses(const StepPlan& plan, uint32_t pass_tokens) {
  if (LargestPass(plan) <= pass_tokens) return {};
  return Fail(ErrorCode::kInvalidArgument, "the step plan has passes of up to " + std::to_string(LargestPass(plan)) +
                                               " tokens, expected at most " + std::to_string(pass_tokens) +
                                               " (ForwardOptions::pass_tokens)");
}

SKALD_INLINE Result<void> AnyModel::CheckRanks(const CommunicatorRef* ranks) const {
  const RankShare& share = weights_.share;
  if (share.ranks == 1 || (ranks != nullptr && ranks->share() == share)) return {};
  const std::string part = std::to_string(share.rank) + " of " + std::to_string(share.ranks);
  if (ranks == nullptr) {
    return Fail(ErrorCode::kFailedPrecondition,
                "the model has the weights of rank " + part + " alone; ForwardOptions::ranks must have the others");
  }
  return Fail(ErrorCode::kInvalidArgument,
              "the model has the weights of rank " + part + ", but ForwardOptions::ranks is rank " +
                  std::to_string(ranks->share().rank) + " of " + std::to_string(ranks->share().ranks));
}

SKALD_INLINE Result<void> AnyModel::CheckText(const WholeText& text) const {
  if (text.tokens.empty()) return Fail(ErrorCode::kInvalidArgument, "it has no tokens");
  if (text.wants.size() != text.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "it has wishes for " + std::to_string(text.wants.size()) +
                                                 " tokens but has " + std::to_string(text.tokens.size()));
  }
  if (std::ranges::count(text.wants, Want::kLogits) > 0) {
    return Fail(ErrorCode::kInvalidArgument, "it wants logits, which models that see both ways do not give");
  }
  const uint32_t longest = LongestText(spec());
  const size_t positions = longest > 0 ? longest : kMaxTokens;
  if (text.tokens.size() > positions) {
    return Fail(
        ErrorCode::kOutOfRange,
        std::to_string(text.tokens.size()) + " tokens, but the model has positions for " + std::to_string(positions),
        {.needed_tokens = text.tokens.size(), .available_tokens = positions});
  }
  if (!text.types.empty() && text.types.size() != text.tokens.size()) {
    return Fail(ErrorCode::kInvalidArgument, "it has types for " + std::to_string(text.types.size()) +
                                                 " tokens but has " + std::to_string(text.tokens.size()));
  }
  for (const int32_t type : text.types) {
    if (type == 0 || (type > 0 && type < spec().token_types)) continue;
    return Fail(ErrorCode::kInvalidArgument, "a token has the type " + std::to_string(type) + ", the model has " +
                                                 std::to_string(spec().token_types) + " types");
  }
  SKALD_TRY(CheckBeside(text));
  return CheckTokens(text.tokens);
}

SKALD_INLINE Result<void> AnyModel::CheckBeside(const WholeText& text) const {
  const bool reads = ReadsOtherCache(spec());
  if (reads == (text.beside != nullptr)) return {};
  return Fail(ErrorCode::kInvalidArgument, reads
                                               ? "the model reads the cache of another one, and there is none beside it"
                                               : "there is a cache beside it, which the model does not read");
}

SKALD_INLINE Result<void> AnyModel::CheckLooksBack() const {
  if (!SeesBothWays(spec())) return {};
  return Fail(ErrorCode::kUnsupported,
              Concat({name_, " sees both ways: Encode computes its texts whole, and none can be continued"}));
}

SKALD_INLINE Result<void> AnyModel::Check(const Batch& batch) const {
  SKALD_TRY(CheckLooksBack());
  for (size_t i = 0; i < batch.requests().size(); ++i) {
    const StepRequest& request = batch.requests()[i];
    if (auto valid = CheckPoolOf(*request.cache->pool(), "its cache"); !valid) return OfSequence(i, valid);
    if (auto valid = CheckTokens(request.tokens); !valid) return OfSequence(i, valid);
  }
  return {};
}

SKALD_INLINE Result<void> AnyModel::CheckPoolOf(const BlockPool& pool, const char* whose) const {
  if (tables_->RotationsOf(pool) == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string(whose) + " has another layout than the model " + name_ + " needs; make it for that model");
  }
  if (!pool.has_bytes()) return BlockPool::FailNoBytes();
  return {};
}

SKALD_INLINE Result<void> AnyModel::CheckTokens(std::span<const int32_t> tokens) const {
  const int vocab_size = spec().vocab_size;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab_size) continue;
    return Fail(ErrorCode::kInvalidArgument, "token " + std::to_string(i) + " has the id " + std::to_string(tokens[i]) +
                                                 ", expected 0 to " + std::to_string(vocab_size - 1));
  }
  return {};
}

SKALD_INLINE Result<void> AnyModel::CheckAdapter(const Adapter& adapter) const {
  if (adapter.model != tables_->layout.model()) {
    return Fail(ErrorCode::kInvalidArgument, Concat({"the adapter ", ShortHex(adapter.digest),
                                                     " is for another model than ", name_, "; load it for that"}));
  }
  if (adapter.share != weights_.share) {
    const auto part = [](const RankShare& share) {
      return std::to_string(share.rank) + " of " + std::to_string(share.ranks);
    };
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the adapter ", ShortHex(adapter.digest), " was loaded for rank ", part(adapter.share),
                        ", the model for rank ", part(weights_.share)}));
  }
  if (FindType(tables_->kernels, kAdapterType) != nullptr) return {};
  return Fail(ErrorCode::kFailedPrecondition, Concat({"adapters are multiplied as ", NameOf(kAdapterType),
                                                      ", which is not among the WeightTypes of the model's Config"}));
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_ANY_MODEL_CHECKS_H_
