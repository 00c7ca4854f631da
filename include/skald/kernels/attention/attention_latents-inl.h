// SPDX-License-Identifier: Apache-2.0
//
// Values that are elements of keys, as latent attention has them: cached once, in the order of keys, and brought into
// that of values a few panels at a time, while attention multiplies them.

#if defined(SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Panels of values that are made of keys at a time: as many as stay in the first cache.
inline constexpr size_t kLatentPanels = 4;

// Writes elements [begin, begin + kLanes) of the keys of kLanes positions in the order of values; those from head_dim
// on become zero. `keys` is the panel of these positions, `values` where the panel of these elements has them.
template <class T>
HWY_INLINE void TurnPanel(const T* keys, size_t begin, size_t head_dim, T* values) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const bool is_there = begin + lane < head_dim;
    for (size_t slot = 0; slot < kLanes; ++slot) {
      values[slot * kLanes + lane] = is_there ? keys[(begin + lane) * kLanes + slot] : T{};
    }
  }
}

// The same of bfloat16, two elements of two positions at a time; `begin` is even.
HWY_INLINE void TurnPanel(const bf16* keys, size_t begin, size_t head_dim, bf16* values) {
  for (size_t lane = 0; lane < kLanes; lane += 2) {
    for (size_t slot = 0; slot < kLanes; slot += 2) {
      uint64_t four = 0;
      if (begin + lane < head_dim) hwy::CopyBytes<sizeof(four)>(keys + (begin + lane) * kLanes + 2 * slot, &four);
      four = (four & 0xFFFF00000000FFFFu) | (four >> 16 & 0xFFFF0000u) | (four & 0xFFFF0000u) << 16;
      hwy::CopyBytes<sizeof(four)>(&four, values + slot * kLanes + 2 * lane);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_ATTENTION_LATENTS_INL_TOGGLE
