// SPDX-License-Identifier: Apache-2.0
//
// LayerRun: all that a layer is given to compute its part of a pass: rows to read and to write, operations, memory, and
// the state that it keeps in the cache.

#ifndef SKALD_LAYERS_RUN_LAYER_RUN_H_
#define SKALD_LAYERS_RUN_LAYER_RUN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/place_watcher.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/run/scratch.h"

namespace skald {

/// The rows that a pass computes, side by side whatever sequence they belong to.
struct PassRows {
  std::vector<int32_t> tokens;      ///< [rows]
  std::vector<uint32_t> positions;  ///< [rows], within the sequence
  std::vector<uint32_t> sequences;  ///< [rows], index into the step's sequences
  std::vector<int32_t> types;       ///< [rows], of models whose tokens have types (ModelSpec::token_types)
  size_t visible_tokens = 0;        ///< the longest past among the rows

  size_t size() const { return tokens.size(); }
};

/// Keys and values of an attention layer, this pass's included once they are stored. Those of layers that see both ways
/// are of this pass alone, which has whole sequences.
struct LayerCache {
  DType kv_type;                      ///< of cached keys and values
  KVGeometry geometry;                ///< of the layer's blocks
  const KVBlocks* tables;             ///< [sequences]
  const float* cos;                   ///< [rows, rotary_dim / 2]
  const float* sin;                   ///< as cos
  const uint32_t* lengths = nullptr;  ///< [sequences], positions of each, of layers that see both ways; else null
  /// Added to scores by the distance of positions, of models that have it (AttentionArgs::bias); else null.
  const float* bias = nullptr;
  size_t bias_reach = 0;  ///< see bias
};

/// A row, and the block for what it gives to the states of layers.
struct InputRow {
  size_t row;        ///< of the pass
  std::byte* block;  ///< not owned
};

/// The fixed-size state of a layer: in each block at `offset` bytes, as many floats as its type says.
struct LayerState {
  std::span<const RecurrentRun> runs;     ///< of the pass, all its rows in order
  size_t offset;                          ///< in each block, in bytes
  std::span<const InputRow> inputs = {};  ///< to be kept by Run, or to be replayed: then of all rows
  size_t input_offset = 0;                ///< in each of their blocks, in bytes

  /// Rows of the pass.
  size_t rows() const { return runs.back().row_end; }
};

/// Walks through the rows of a pass in the order of time, for layers whose state is `memory`: calls step(row, memory)
/// for each, with the state before it in memory, which it moves on; keeps the state wherever the step needs it.
template <class Step>
void ForEachRow(const LayerState& state, std::span<float> memory, Step step) {
  for (const RecurrentRun& run : state.runs) {
    if (run.input == nullptr) {
      std::memset(memory.data(), 0, memory.size_bytes());
    } else {
      std::memcpy(memory.data(), run.input + state.offset, memory.size_bytes());
    }
    size_t row = run.row_begin;
    for (const StateOutput& output : std::span(run.outputs, run.num_outputs)) {
      for (; row < output.row_end; ++row) step(row, memory);
      std::memcpy(output.block + state.offset, memory.data(), memory.size_bytes());
    }
  }
}

/// Keeps the last `count` rows of `input`, of `cols` floats each, wherever the runs keep state: `offset` bytes into
/// each block, the oldest first. Rows from before a run are taken over from its state, those before the first token are
/// zeros.
void KeepLastRows(std::span<const RecurrentRun> runs, size_t offset, Rows input, size_t count, size_t cols);

/// Keeps `cols` floats of the rows whose inputs are to be kept, as those from number `first` on of the layer's inputs.
void KeepInputs(const LayerState& state, Rows rows, size_t cols, size_t first = 0);

/// Fills in the rows to be replayed with what KeepInputs kept.
void TakeInputs(const LayerState& state, Rows rows, size_t cols, size_t first = 0);

struct LayerRun {
  Operations& ops;                  ///< the arithmetic, with its threads and adapters
  Scratch& scratch;                 ///< the pieces of memory that ScratchFloats asked for
  const PassRows& rows;             ///< of the pass
  size_t model_dim;                 ///< width of the residual stream
  Rows input;                       ///< [rows, model_dim], normalised; to be left as it is
  Rows output;                      ///< [rows, model_dim], to be written whole
  LayerCache cache;                 ///< of layers that keep keys and values
  LayerState state;                 ///< of layers that keep a fixed number of floats
  Rows per_layer;                   ///< [rows, per_layer_dim], of models whose embeddings give each layer something
  Rows carried;                     ///< [rows, carried width], in models whose layers give rows to later ones
  PlaceWatcher* watcher = nullptr;  ///< of the places inside the layer; null if none is watched

  /// Shows the values of all rows at a place inside the layer (Layer::Places), to go on with what comes back.
  void Watch(std::string_view place, Rows values) const {
    if (watcher != nullptr) watcher->Show(place, values);
  }
  /// Whether a hook is at the place: for values that are made only then.
  bool IsWatched(std::string_view place) const { return watcher != nullptr && watcher->IsWatched(place); }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/layer_run.h"
#endif

#endif  // SKALD_LAYERS_RUN_LAYER_RUN_H_
