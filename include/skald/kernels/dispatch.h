// SPDX-License-Identifier: Apache-2.0
//
// Drives Highway's target loop over kernels-inl.h and defines Kernels<> and SimilarityKernels<> by a table of targets
// for each kernel.
//
// Highway's loop can run once per translation unit. Include this header before hwy/highway.h. A source with its own
// target loop (foreach_target.h) includes skald/kernels/kernels-inl.h in its per-target part and this header, kernels.h
// or skald.h, within `#if HWY_ONCE`; or keeps the two in separate sources.

#ifndef SKALD_KERNELS_DISPATCH_H_
#define SKALD_KERNELS_DISPATCH_H_

#include <cstdint>
#include <type_traits>

#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"
#include "skald/kernels/shared_targets.h"
#include "skald/kernels/similarity.h"

// clang-format off
#if defined(HIGHWAY_HWY_FOREACH_TARGET_H_)
  #if !defined(SKALD_KERNELS_INL_SEEN) && ((HWY_TARGETS) & ((HWY_TARGETS) - 1)) != 0
    #error "This source has its own Highway target loop: include skald/kernels/kernels-inl.h inside it."
  #endif
#elif defined(HWY_HIGHWAY_INCLUDED)
  #error "Include Skald before hwy/highway.h: kernels.h drives the Highway target loop."
#else
  #undef HWY_TARGET_INCLUDE
  #define HWY_TARGET_INCLUDE "skald/kernels/kernels-inl.h"
  #include "hwy/foreach_target.h"  // IWYU pragma: keep
#endif
#include "skald/kernels/kernels-inl.h"  // must follow foreach_target.h
// clang-format on

namespace skald {

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::Prepare(const PrepareArgs<T>& args) {
  if constexpr (kIsGrouped<T> && !std::is_same_v<T, Q8_0>) {  // activations are quantised alike for all types
    Prepare<Q8_0>({args.input, args.input_stride, args.output, args.rows, args.cols, args.row_begin, args.row_end,
                   args.row_scale});
  } else if constexpr (FloatCoded<T>) {
    Prepare<float>({args.input, args.input_stride, args.output, args.rows, args.cols, args.row_begin, args.row_end});
  } else {
    SKALD_SHARE_ALL
    HWY_EXPORT_T(PrepareTable, Prepare<T>);
    HWY_DYNAMIC_DISPATCH_T(PrepareTable)(args);
  }
}

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::MatMul(const MatMulArgs<T>& args) {
  if constexpr (kIsGrouped<T>) {
    SKALD_SHARE_BYTE_PRODUCTS
    HWY_EXPORT_T(GroupMatMulTable, GroupMatMul<T>);
    HWY_DYNAMIC_DISPATCH_T(GroupMatMulTable)(args);
  } else if constexpr (FloatCoded<T>) {
    SKALD_SHARE_ALL
    HWY_EXPORT_T(CodedMatMulTable, CodedMatMul<T>);
    HWY_DYNAMIC_DISPATCH_T(CodedMatMulTable)(args);
  } else {
    SKALD_SHARE_PRODUCTS
    HWY_EXPORT_T(MatMulTable, MatMul<T>);
    HWY_DYNAMIC_DISPATCH_T(MatMulTable)(args);
  }
}

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::Embed(const EmbedArgs<T>& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(EmbedTable, Embed<T>);
  HWY_DYNAMIC_DISPATCH_T(EmbedTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Norm(const NormArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(NormTable, Norm);
  HWY_DYNAMIC_DISPATCH_T(NormTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::LayerNorm(const LayerNormArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(LayerNormTable, LayerNorm);
  HWY_DYNAMIC_DISPATCH_T(LayerNormTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Add(const AddArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(AddTable, AddInto);
  HWY_DYNAMIC_DISPATCH_T(AddTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Multiply(const MultiplyArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(MultiplyTable, MultiplyBy);
  HWY_DYNAMIC_DISPATCH_T(MultiplyTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Apply(const ApplyArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(ApplyTable, Apply);
  HWY_DYNAMIC_DISPATCH_T(ApplyTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Gate(const GateArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(GateTable, Gate);
  HWY_DYNAMIC_DISPATCH_T(GateTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Activate(const ActivateArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(ActivateTable, Activate);
  HWY_DYNAMIC_DISPATCH_T(ActivateTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Softcap(const SoftcapArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(SoftcapTable, Softcap);
  HWY_DYNAMIC_DISPATCH_T(SoftcapTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::Rope(const RopeArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(RopeTable, Rope);
  HWY_DYNAMIC_DISPATCH_T(RopeTable)(args);
}

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::StoreKV(const StoreKVArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(StoreKVTable, StoreKV<T>);
  HWY_DYNAMIC_DISPATCH_T(StoreKVTable)(args);
}

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::MoveKV(const MoveKVArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(MoveKVTable, MoveKV<T>);
  HWY_DYNAMIC_DISPATCH_T(MoveKVTable)(args);
}

template <int64_t kTargets>
template <class T>
void Kernels<kTargets>::Attention(const AttentionArgs& args) {
  if constexpr (std::is_same_v<T, float>) {
    SKALD_SHARE_ALL
    HWY_EXPORT_T(AttentionF32Table, Attention<T>);
    HWY_DYNAMIC_DISPATCH_T(AttentionF32Table)(args);
  } else {
    SKALD_SHARE_PRODUCTS
    HWY_EXPORT_T(AttentionTable, Attention<T>);
    HWY_DYNAMIC_DISPATCH_T(AttentionTable)(args);
  }
}

template <int64_t kTargets>
void Kernels<kTargets>::Conv(const ConvArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(ConvTable, Conv);
  HWY_DYNAMIC_DISPATCH_T(ConvTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::RgLru(const RgLruArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(RgLruTable, RgLru);
  HWY_DYNAMIC_DISPATCH_T(RgLruTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::SelectiveScan(const SelectiveScanArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(SelectiveScanTable, SelectiveScan);
  HWY_DYNAMIC_DISPATCH_T(SelectiveScanTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::StateSpace(const StateSpaceArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(StateSpaceTable, StateSpace);
  HWY_DYNAMIC_DISPATCH_T(StateSpaceTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::DeltaNet(const DeltaNetArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(DeltaNetTable, DeltaNet);
  HWY_DYNAMIC_DISPATCH_T(DeltaNetTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::KimiDelta(const KimiDeltaArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(KimiDeltaTable, KimiDelta);
  HWY_DYNAMIC_DISPATCH_T(KimiDeltaTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::DecayedSum(const DecayedSumArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(DecayedSumTable, DecayedSum);
  HWY_DYNAMIC_DISPATCH_T(DecayedSumTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::TokenShift(const TokenShiftArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(TokenShiftTable, TokenShift);
  HWY_DYNAMIC_DISPATCH_T(TokenShiftTable)(args);
}

template <int64_t kTargets>
void Kernels<kTargets>::TimeMix(const TimeMixArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(TimeMixTable, TimeMix);
  HWY_DYNAMIC_DISPATCH_T(TimeMixTable)(args);
}

template <int64_t kTargets>
void SimilarityKernels<kTargets>::Dots(const DotArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(DotsTable, Dots);
  HWY_DYNAMIC_DISPATCH_T(DotsTable)(args);
}

template <int64_t kTargets>
void SimilarityKernels<kTargets>::CodeDots(const CodeDotArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(CodeDotsTable, CodeDots);
  HWY_DYNAMIC_DISPATCH_T(CodeDotsTable)(args);
}

template <int64_t kTargets>
void SimilarityKernels<kTargets>::BitDistances(const BitDistanceArgs& args) {
  SKALD_SHARE_ALL
  HWY_EXPORT_T(BitDistancesTable, BitDistances);
  HWY_DYNAMIC_DISPATCH_T(BitDistancesTable)(args);
}

}  // namespace skald

#endif  // SKALD_KERNELS_DISPATCH_H_
