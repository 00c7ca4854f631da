// SPDX-License-Identifier: Apache-2.0
//
// Hooks: a caller of Forward sees, and may change, what flows at named places of a model, or ends the step there. A
// model lists its places (AnyModel::Places):
//   stream.B          the residual stream before block B; B is the number of blocks: before the head
//   block.B.input     what the layers of the block read: the stream after the block's norm
//   block.B.NAME      inside the layer, which says its places itself (Layer::Places): queries, probabilities, gates ...
//   block.B.state     a recurrent layer's state, after the rows of the pass
//   block.B.output    what the layer gives
//   block.B.added     what the block adds to the stream: all its layers' outputs, normed and multiplied where it does
//   so logits            of the rows that want them
// Layers beside the first one of their block have names with their number: block.B.1.NAME. A block is what reads the
// stream, computes and adds (layers/model_spec.h): of most models half a layer, attention or feed-forward.

#ifndef SKALD_MODEL_HOOKS_H_
#define SKALD_MODEL_HOOKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

/// Which rows a place has in a pass.
enum class PlaceRows : uint8_t {
  kTokens,     ///< one for each token
  kLogits,     ///< one for each token that wants logits
  kSequences,  ///< one for each sequence, after its last token of the pass
  kChoices,    ///< one for each token and expert that it chose, some experts at a time (HookRows::experts)
};

/// A place of a model. Its values are rows of `parts` parts, of `part_cols` floats each.
struct Place {
  std::string name;       ///< "block.3.queries"
  std::string_view what;  ///< the name without numbers: "queries"
  size_t block;           ///< that it is in, or that reads the stream next; the number of blocks: the head
  size_t layer;           ///< that checkpoints count the block to; the number of layers: the head
  size_t parts;           ///< heads or experts, side by side in a row; 1 without
  size_t part_cols;       ///< floats of each; 0: one for each position, up to the last that the last row sees
  bool may_change;        ///< else what is written to its rows goes nowhere
  bool inside_layer;      ///< made by the layer itself; of several ranks each has a part, and hooks see the whole
  PlaceRows rows;         ///< what a row is

  /// Floats of a row, where rows see so many positions.
  size_t cols(size_t positions) const { return parts * (part_cols == 0 ? positions : part_cols); }
};

/// Rows of a pass at a place. Valid during the call that gets it.
class HookRows {
 public:
  /// Made by Forward. `tokens`, `positions` and `sequences` have an element for each row, and `experts`, if it has any.
  HookRows(const Place& where, std::span<const int32_t> row_tokens, std::span<const uint32_t> row_positions,
           std::span<const uint32_t> row_sequences, std::span<const uint32_t> row_experts, float* values,
           size_t row_cols, size_t row_stride)
      : place(where),
        tokens(row_tokens),
        positions(row_positions),
        sequences(row_sequences),
        experts(row_experts),
        data(values),
        cols(row_cols),
        stride(row_stride) {}

  const Place& place;                         ///< where they are
  const std::span<const int32_t> tokens;      ///< [rows]; of states the last one of each sequence
  const std::span<const uint32_t> positions;  ///< [rows], within the sequence
  const std::span<const uint32_t> sequences;  ///< [rows], index in the batch
  const std::span<const uint32_t> experts;    ///< [rows], whose row it is, of PlaceRows::kChoices; else empty
  float* const data;                          ///< the first row; what is written here is what the model goes on with
  const size_t cols;                          ///< floats of a row: place.parts times those of a part
  const size_t stride;                        ///< floats from one row to the next

  /// The number of rows.
  size_t rows() const { return tokens.size(); }
  /// Row `i`, [cols].
  std::span<float> row(size_t i) const { return {data + i * stride, cols}; }
  /// Part `part` of row `i`, [cols / place.parts]: a head, say.
  std::span<float> part(size_t i, size_t part) const {
    const size_t size = cols / place.parts;
    return row(i).subspan(part * size, size);
  }
  /// All rows, [rows, cols], one after the other. Of places whose rows lie apart (stride is not cols): nothing.
  std::span<float> values() const;

  /// Ends the step here: no further hook is called, and no further block computed. Nothing is committed: Forward
  /// returns Outputs that are stopped(), and every cache is as it was.
  void Stop() { stops_ = true; }
  /// Whether Stop was called.
  bool stops() const { return stops_; }

  /// Fails the call with this sentence, as an exception would; likewise nothing is committed.
  void Fail(std::string reason);
  /// The failure, if there is one.
  const Result<void>& status() const { return status_; }

 private:
  bool stops_ = false;
  Result<void> status_;
};

/// A function and the place at which it is called: by the thread that called Forward, in the order of computation,
/// several at one place in their order, with denormals flushed to zero as in the model's own arithmetic. An exception
/// fails the call, like an executor's. The function must not use the workspace of the call.
struct Hook {
  /// The name of a place, or a pattern in which each * matches any characters: "block.*.queries".
  std::string place;
  std::function<void(HookRows&)> call;  ///< the function
};

/// Returns the name of the place where the residual stream is about to be read by block `block`.
std::string StreamBefore(size_t block);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/hooks.h"
#endif

#endif  // SKALD_MODEL_HOOKS_H_
