// SPDX-License-Identifier: Apache-2.0
//
// A small interface to the matrix unit of x86 processors (AMX). One TDPBF16PS adds one tile of 32 terms to each of 16 x
// 16 sums as R1 says, (even + odd) onto the total, so the bits are those of the other targets. Highway 1.2 has no tile
// operations, hence the intrinsics.

#if defined(SKALD_KERNELS_SIMD_AMX_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_AMX_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_AMX_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_AMX_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/simd/amx_support.h"

#if HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#include <immintrin.h>

// For g++ these are added to the target's own features; clang takes them in place of those, so all are given.
#undef SKALD_AMX_FEATURES
#if HWY_COMPILER_CLANG && defined(HWY_TARGET_STR)
#define SKALD_AMX_FEATURES target(HWY_TARGET_STR ",amx-tile,amx-bf16,amx-int8")
#else
#define SKALD_AMX_FEATURES target("amx-tile,amx-bf16,amx-int8")
#endif
#undef SKALD_AMX
#define SKALD_AMX __attribute__((SKALD_AMX_FEATURES)) inline
// The same for parts of a loop, whose sums must stay in registers.
#undef SKALD_AMX_ALWAYS
#define SKALD_AMX_ALWAYS __attribute__((SKALD_AMX_FEATURES, always_inline)) inline

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// A tile has 16 rows of 64 bytes: 16 sums of a row, 32 terms of a row of activations, or 2 terms of 16 outputs.
inline constexpr size_t kTileHeight = 16, kTileRowBytes = 64;

// The operand of LDTILECFG: eight tiles of full size. By convention, tiles 0 to 3 hold sums [row half][panel half], 4
// and 5 activations of the two halves of the rows, 6 and 7 weights of two panels.
struct alignas(kAlignment) TileShapes {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t heights[16] = {};

  TileShapes() {
    for (size_t i = 0; i < 8; ++i) {
      row_bytes[i] = kTileRowBytes;
      heights[i] = kTileHeight;
    }
  }
};

// g++ does not know that the tile operations read memory: all their data must have been stored before.
HWY_INLINE void FinishStores() { __asm__ volatile("" : : : "memory"); }

// Before the first tile operation of a kernel; ReleaseTiles after the last.
SKALD_AMX void SetTileShapes() {
  const TileShapes shapes;
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

SKALD_AMX void ReleaseTiles() { _tile_release(); }

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3_SPR && SKALD_HAS_AMX

#endif  // SKALD_KERNELS_SIMD_AMX_INL_TOGGLE
