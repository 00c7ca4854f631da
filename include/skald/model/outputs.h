// SPDX-License-Identifier: Apache-2.0
//
// Outputs: what came of a step, in the order of its rows.

#ifndef SKALD_MODEL_OUTPUTS_H_
#define SKALD_MODEL_OUTPUTS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace skald {

/// Results of one call: an output for each row that wanted one, in the order in which the rows were added. The
/// memory is the Workspace's: valid until its next call.
class Outputs {
 public:
  Outputs() = default;
  /// Those of a step that a hook ended: none.
  static Outputs Stopped() {
    Outputs outputs;
    outputs.stopped_ = true;
    return outputs;
  }

  /// Whether a hook ended the step (HookRows::Stop). Then there are no outputs, and no cache has changed.
  bool stopped() const { return stopped_; }

  /// Number of outputs.
  size_t size() const { return rows_.size(); }

  /// The output of the i-th row that wanted something: logits [vocab_size] or hidden state [model_dim].
  std::span<const float> operator[](size_t i) const { return rows_[i]; }

  /// Makes room for `size` outputs. Throws std::bad_alloc.
  void Reserve(size_t size) { rows_.reserve(size); }
  /// Adds an output. The memory stays the workspace's.
  void Append(std::span<const float> row) { rows_.push_back(row); }

 private:
  std::vector<std::span<const float>> rows_;
  bool stopped_ = false;
};

}  // namespace skald

#endif  // SKALD_MODEL_OUTPUTS_H_
