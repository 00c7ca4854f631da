// SPDX-License-Identifier: Apache-2.0
//
// Writes keys and values into the blocks of a cache, and moves cached tokens to other positions. KVGeometry describes
// the layout of a block; a token's numbers are scattered in it. Bfloat16 is written in words of 32 bits: pairs of a
// key's numbers are together, and the values of pairs of tokens. A cache of int8_t holds codes with a scale for each
// token and head. If values are elements of keys, only keys are stored.

#if defined(SKALD_KERNELS_ATTENTION_KV_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ATTENTION_KV_INL_TOGGLE
#undef SKALD_KERNELS_ATTENTION_KV_INL_TOGGLE
#else
#define SKALD_KERNELS_ATTENTION_KV_INL_TOGGLE
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "skald/base/aligned_buffer.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/kernels/args.h"
#include "skald/kernels/rows/rope-inl.h"
#include "skald/kernels/simd/bf16-inl.h"
#include "skald/kernels/simd/int8-inl.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

// Returns the packed matrix of one head's keys [block_tokens, RoundUp(head_dim, kTile)] in a block.
template <class T, class Byte>
HWY_INLINE auto KeysOf(Byte* block, const KVGeometry& geometry, size_t kv_head) {
  const size_t size = PackedSize(geometry.block_tokens, geometry.head_dim);
  return reinterpret_cast<hwy::If<std::is_const_v<Byte>, const T, T>*>(block + geometry.key_offset) + kv_head * size;
}

// Returns the packed matrix of one head's values [RoundUp(head_dim, kLanes), block_tokens] in a block.
template <class T, class Byte>
HWY_INLINE auto ValuesOf(Byte* block, const KVGeometry& geometry, size_t kv_head) {
  const size_t size = PackedSize(geometry.head_dim, geometry.block_tokens);
  return reinterpret_cast<hwy::If<std::is_const_v<Byte>, const T, T>*>(block + geometry.value_offset) + kv_head * size;
}

// Returns the scales of one head's codes of keys, [block_tokens], in a block.
template <class Byte>
HWY_INLINE auto KeyScalesOf(Byte* block, const KVGeometry& geometry, size_t kv_head) {
  auto* const end = KeysOf<int8_t>(block, geometry, geometry.kv_heads);
  return reinterpret_cast<hwy::If<std::is_const_v<Byte>, const float, float>*>(end) + kv_head * geometry.block_tokens;
}

// Returns the scales of one head's codes of values, [block_tokens], in a block.
template <class Byte>
HWY_INLINE auto ValueScalesOf(Byte* block, const KVGeometry& geometry, size_t kv_head) {
  auto* const end = ValuesOf<int8_t>(block, geometry, geometry.kv_heads);
  return reinterpret_cast<hwy::If<std::is_const_v<Byte>, const float, float>*>(end) + kv_head * geometry.block_tokens;
}

// Rounds the numbers of one token and head to T, with zeros up to RoundUp(head_dim, kTile).
template <class T>
HWY_INLINE void RoundHead(const float* numbers, size_t head_dim, T* rounded) {
  const FloatTag tag;
  for (size_t d = 0; d < RoundUp(head_dim, kTile); d += hn::Lanes(tag)) {
    StoreRounded(d < head_dim ? LoadUpTo(numbers + d, head_dim - d) : hn::Zero(tag), rounded + d);
  }
}

// The same to codes; returns their scale.
HWY_INLINE float QuantizeHead(const float* numbers, size_t head_dim, int8_t* codes) {
  const size_t padded_dim = RoundUp(head_dim, kTile);
  alignas(kAlignment) float padded[kMaxHeadDim];
  RoundHead(numbers, head_dim, padded);
  const CodeScale scale = CodeScale::Of(padded, padded_dim);
  for (size_t d = 0; d < padded_dim; d += kLanes) {
    if (scale.inverse == 0.0f) {
      hwy::ZeroBytes<kLanes>(codes + d);
    } else {
      StoreCodes(padded + d, scale.inverse, codes + d);
    }
  }
  return scale.scale;
}

// Writes one token's key, rounded to T, with zeros where the packed matrix is padded.
template <class T>
HWY_INLINE void WriteKey(const float* key, const KVGeometry& geometry, size_t kv_head, size_t slot, std::byte* block) {
  const size_t padded = RoundUp(geometry.head_dim, kTile);
  alignas(kAlignment) T rounded[kMaxHeadDim];
  if constexpr (std::is_same_v<T, int8_t>) {
    KeyScalesOf(block, geometry, kv_head)[slot] = QuantizeHead(key, geometry.head_dim, rounded);
  } else {
    RoundHead(key, geometry.head_dim, rounded);
  }
  T* const to = KeysOf<T>(block, geometry, kv_head) + PackedIndex<T>(slot, 0, padded);
  for (size_t d = 0; d < padded; d += kPair<T>) hwy::CopyBytes<kPair<T> * sizeof(T)>(rounded + d, to + d * kLanes);
}

// Writes one token's value, rounded to T.
template <class T>
HWY_INLINE void WriteValue(const float* value, const KVGeometry& geometry, size_t kv_head, size_t slot,
                           std::byte* block) {
  T* const values = ValuesOf<T>(block, geometry, kv_head);
  if constexpr (std::is_same_v<T, int8_t>) {
    alignas(kAlignment) T codes[kMaxHeadDim];
    ValueScalesOf(block, geometry, kv_head)[slot] = QuantizeHead(value, geometry.head_dim, codes);
    for (size_t d = 0; d < geometry.head_dim; d += kLanes) {
      hwy::CopyBytes<kLanes>(codes + d, values + PackedIndex<T>(d, slot, geometry.block_tokens));
    }
  } else {
    for (size_t d = 0; d < geometry.head_dim; ++d) {
      values[PackedIndex<T>(d, slot, geometry.block_tokens)] = FromFloat<T>(value[d]);
    }
  }
}

// Writes the values of two tokens at once, the first in an even slot, as whole words. Padding of the last panel becomes
// zero.
HWY_INLINE void WriteValuePair(const float* even, const float* odd, const KVGeometry& geometry, size_t slot,
                               bf16* values) {
  const FloatTag tag;
  const BitsTag bits_tag;
  const size_t head_dim = geometry.head_dim;
  for (size_t d = 0; d < head_dim; d += hn::Lanes(tag)) {
    const BitsVec low = hn::ShiftRight<16>(RoundedBits(LoadUpTo(even + d, head_dim - d)));
    const BitsVec high = hn::And(RoundedBits(LoadUpTo(odd + d, head_dim - d)), hn::Set(bits_tag, 0xFFFF0000u));
    bf16* const to = values + PackedIndex<bf16>(d, slot, geometry.block_tokens);
    hn::StoreU(hn::Or(low, high), bits_tag, reinterpret_cast<uint32_t*>(to));
  }
}

// Whether rows `row` and row + 1 are neighbouring tokens that share the words of their values.
template <class T>
HWY_INLINE bool IsPair(const StoreKVArgs& args, size_t row) {
  return std::is_same_v<T, bf16> && row + 1 < args.row_end && args.positions[row] % 2 == 0 &&
         args.positions[row + 1] == args.positions[row] + 1 && args.sequences[row + 1] == args.sequences[row];
}

// A token's neighbour may be another thread's, so only pairs of one call are written as words.
template <class T>
void StoreKV(const StoreKVArgs& args) {
  const KVGeometry& geometry = args.geometry;
  for (size_t row = args.row_begin, rows; row < args.row_end; row += rows) {
    rows = IsPair<T>(args, row) ? 2 : 1;
    const KVBlocks& table = args.tables[args.sequences[row]];
    std::byte* block = table.blocks[args.positions[row] / geometry.block_tokens - table.first_block];
    const size_t slot = args.positions[row] % geometry.block_tokens;
    for (size_t head = 0; head < geometry.kv_heads; ++head) {
      const size_t offset = row * args.stride + head * geometry.head_dim;
      for (size_t i = 0; i < rows; ++i) {
        WriteKey<T>(args.keys + offset + i * args.stride, geometry, head, slot + i, block);
      }
      if (geometry.latent_dim != 0) continue;
      if constexpr (std::is_same_v<T, bf16>) {
        if (rows == 2) {
          WriteValuePair(args.values + offset, args.values + offset + args.stride, geometry, slot,
                         ValuesOf<T>(block, geometry, head));
          continue;
        }
      }
      WriteValue<T>(args.values + offset, geometry, head, slot, block);
    }
  }
}

template <class T>
HWY_INLINE void MoveToken(const MoveKVArgs& args, size_t head, size_t source_slot, size_t target_slot) {
  const KVGeometry& geometry = args.geometry;
  const size_t padded = RoundUp(geometry.head_dim, kTile);
  alignas(kAlignment) float key[kMaxHeadDim];
  const T* source_keys = KeysOf<T>(args.source, geometry, head);
  for (size_t d = 0; d < geometry.head_dim; ++d) {
    key[d] = ToFloat(source_keys[PackedIndex<T>(source_slot, d, padded)]);
  }
  if constexpr (std::is_same_v<T, int8_t>) {
    const float scale = KeyScalesOf(args.source, geometry, head)[source_slot];
    for (size_t d = 0; d < geometry.head_dim; ++d) key[d] *= scale;
  }
  RotateHead(key, args.cos, args.sin, args.rotary_dim / 2);
  WriteKey<T>(key, geometry, head, target_slot, args.target);
  if (geometry.latent_dim != 0) return;
  if constexpr (std::is_same_v<T, int8_t>) {
    ValueScalesOf(args.target, geometry, head)[target_slot] = ValueScalesOf(args.source, geometry, head)[source_slot];
  }

  const T* source = ValuesOf<T>(args.source, geometry, head);
  T* target = ValuesOf<T>(args.target, geometry, head);
  for (size_t d = 0; d < geometry.head_dim; ++d) {
    target[PackedIndex<T>(d, target_slot, geometry.block_tokens)] =
        source[PackedIndex<T>(d, source_slot, geometry.block_tokens)];
  }
}

// Within one block the ranges may overlap: tokens are moved in an order that reads each before it is overwritten.
template <class T>
void MoveKV(const MoveKVArgs& args) {
  const bool backwards = args.target_slot > args.source_slot;
  for (size_t i = 0; i < args.count; ++i) {
    const size_t token = backwards ? args.count - 1 - i : i;
    for (size_t head = 0; head < args.geometry.kv_heads; ++head) {
      MoveToken<T>(args, head, args.source_slot + token, args.target_slot + token);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ATTENTION_KV_INL_TOGGLE
