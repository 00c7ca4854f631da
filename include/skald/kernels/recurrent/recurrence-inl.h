// SPDX-License-Identifier: Apache-2.0
//
// Shared by the kernels of recurrent layers: finding a layer's floats in a block of cached state, and splitting units
// into neighbouring channels of one run.

#if defined(SKALD_KERNELS_RECURRENT_RECURRENCE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_RECURRENT_RECURRENCE_INL_TOGGLE
#undef SKALD_KERNELS_RECURRENT_RECURRENCE_INL_TOGGLE
#else
#define SKALD_KERNELS_RECURRENT_RECURRENCE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the state `offset` bytes into a block; null if there is no block.
HWY_INLINE const float* StateIn(const std::byte* block, size_t offset) {
  return block ? reinterpret_cast<const float*>(block + offset) : nullptr;
}
HWY_INLINE float* StateIn(std::byte* block, size_t offset) { return reinterpret_cast<float*>(block + offset); }

// Calls advance(row, old_state, state) for each row of a run in order, with a state of `size` floats `offset` bytes
// into each block; old_state may be state. Each output block takes the state over from the one before, in the first row
// that it covers.
template <class Advance>
HWY_INLINE void AdvanceInPlace(const RecurrentRun& run, size_t offset, size_t size, Advance advance) {
  const float* old_state = StateIn(run.input, offset);
  size_t row = run.row_begin;
  for (size_t i = 0; i < run.num_outputs; ++i) {
    float* state = StateIn(run.outputs[i].block, offset);
    if (!old_state) {
      hwy::ZeroBytes(state, size * sizeof(float));
      old_state = state;
    }
    for (; row < run.outputs[i].row_end; ++row) {
      advance(row, old_state, state);
      old_state = state;
    }
  }
}

// Calls advance(row, head, old_state, state) for the units of `args`, each a head of a run: one head after the other,
// and its rows in order. `size` is the number of floats of a head's state.
template <class Args, class Advance>
HWY_INLINE void AdvanceHeads(const Args& args, size_t heads, size_t size, Advance advance) {
  for (size_t unit = args.unit_begin; unit < args.unit_end; ++unit) {
    const size_t head = unit % heads;
    AdvanceInPlace(args.runs[unit / heads], args.state_offset + head * size * sizeof(float), size,
                   [&](size_t row, const float* old_state, float* state) { advance(row, head, old_state, state); });
  }
}

// Neighbouring channels of one run. If units are groups of kLanes channels: those of a few consecutive units.
struct Strip {
  const RecurrentRun* run;
  size_t begin, end;  // channels
  size_t units;
};

// Returns the strip that begins with `unit` and holds at most `max_units`, all of one run and before `unit_end`.
HWY_INLINE Strip StripAt(const RecurrentRun* runs, size_t width, size_t unit, size_t unit_end, size_t max_units) {
  const size_t groups = RoundUp(width, kLanes) / kLanes;
  const size_t run = unit / groups, group = unit % groups;
  const size_t units = HWY_MIN(max_units, HWY_MIN(groups - group, unit_end - unit));
  return {.run = runs + run, .begin = group * kLanes, .end = HWY_MIN((group + units) * kLanes, width), .units = units};
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_RECURRENT_RECURRENCE_INL_TOGGLE
