// SPDX-License-Identifier: Apache-2.0
//
// Batch: the tokens of one or more conversations for one call of Forward, and what is wanted of each; Outputs: what
// came of it, in the caller's order. A batch refers to caches and tokens that the caller keeps alive during the call.

#ifndef SKALD_MODEL_BATCH_H_
#define SKALD_MODEL_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/step.h"

namespace skald {

// What is wanted of a token's row.
enum class Want : uint8_t {
  kNothing,  // only its effect on the cache
  kLogits,   // [vocab_size], for the token that follows it
  kHidden,   // [model_dim], the final norm's output that the logits are made from
};

class Batch {
 public:
  // Appends `tokens` to the conversation in `cache`; `last` is wanted of the last of them.
  Batch& Add(KVCache& cache, std::span<const int32_t> tokens, Want last = Want::kLogits) {
    return Append([&] {
      Begin(cache, tokens);
      wants_.insert(wants_.end(), tokens.size(), Want::kNothing);
      if (!tokens.empty()) wants_.back() = last;
    });
  }

  // The same, with a wish for each token: `wants` must be as long as `tokens`
  // (Forward refuses the batch otherwise).
  Batch& Add(KVCache& cache, std::span<const int32_t> tokens, std::span<const Want> wants) {
    return Append([&] {
      Begin(cache, tokens);
      wants_.insert(wants_.end(), wants.begin(), wants.end());
    });
  }

  std::span<const StepRequest> requests() const { return requests_; }
  // All wishes, and those of one request, one for each of its tokens.
  std::span<const Want> wants() const { return wants_; }
  std::span<const Want> wants(size_t request) const {
    const size_t end = request + 1 < first_wants_.size() ? first_wants_[request + 1] : wants_.size();
    return wants().subspan(first_wants_[request], end - first_wants_[request]);
  }

  // False where there was no memory for something that was added; Forward refuses such a batch.
  bool is_complete() const { return is_complete_; }

 private:
  template <class Function>
  Batch& Append(Function function) {
    const auto added = NoThrow("Batch::Add", [&]() -> Result<void> {
      function();
      return {};
    });
    is_complete_ = is_complete_ && added.has_value();
    return *this;
  }

  void Begin(KVCache& cache, std::span<const int32_t> tokens) {
    requests_.push_back({&cache, tokens});
    first_wants_.push_back(wants_.size());
  }

  std::vector<StepRequest> requests_;
  std::vector<size_t> first_wants_;  // [requests], where the wishes of each begin
  std::vector<Want> wants_;
  bool is_complete_ = true;
};

// Results of one Forward: an output for each row that wanted one, in the order in which the rows were added. The
// memory is the Workspace's: valid until its next Forward.
class Outputs {
 public:
  // Number of outputs.
  size_t size() const { return rows_.size(); }

  // The output of the i-th row that wanted something: logits [vocab_size] or hidden state [model_dim].
  std::span<const float> operator[](size_t i) const { return rows_[i]; }

  void Reserve(size_t size) { rows_.reserve(size); }
  void Append(std::span<const float> row) { rows_.push_back(row); }

 private:
  std::vector<std::span<const float>> rows_;
};

}  // namespace skald

#endif  // SKALD_MODEL_BATCH_H_
