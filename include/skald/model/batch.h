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

#include "skald/cache/kv_cache.h"
#include "skald/cache/step.h"

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
    requests_.push_back({&cache, tokens});
    if (!tokens.empty()) {
      wants_.insert(wants_.end(), tokens.size() - 1, Want::kNothing);
      wants_.push_back(last);
    }
    return *this;
  }

  // The same, with a wish for each token: `wants` must be as long as `tokens`
  // (Forward refuses the batch otherwise).
  Batch& Add(KVCache& cache, std::span<const int32_t> tokens, std::span<const Want> wants) {
    requests_.push_back({&cache, tokens});
    wants_.insert(wants_.end(), wants.begin(), wants.end());
    return *this;
  }

  std::span<const StepRequest> requests() const { return requests_; }
  // One for each token, over all requests in order.
  std::span<const Want> wants() const { return wants_; }

 private:
  std::vector<StepRequest> requests_;
  std::vector<Want> wants_;
};

// Results of one Forward: an output for each row that wanted one, in the order in which the rows were added. The
// memory is the Workspace's: valid until its next Forward.
class Outputs {
 public:
  // Number of outputs.
  size_t size() const { return rows_.size(); }

  // The output of the i-th row that wanted something: logits [vocab_size] or hidden state [model_dim].
  std::span<const float> operator[](size_t i) const { return rows_[i]; }

  void Append(std::span<const float> row) { rows_.push_back(row); }

 private:
  std::vector<std::span<const float>> rows_;
};

}  // namespace skald

#endif  // SKALD_MODEL_BATCH_H_
