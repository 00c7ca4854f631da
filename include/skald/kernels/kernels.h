// SPDX-License-Identifier: Apache-2.0
//
// The kernels, dispatched at run time to the best SIMD target of the machine. This is the one header that drives
// Highway's target loop: including it compiles every kernel used for every target the compiler can generate.
//
//   skald::Kernels<>::MatMul<skald::bf16>(args);
//
// One indirect call per kernel call, so give a kernel a whole range of rows. All functions are const in spirit:
// no allocation, no threads, no state; calls whose outputs do not overlap may run concurrently.
//
// Numbers: DESIGN.md, section 6. Targets with FMA (AVX2 and better, NEON, SVE) return identical bits, provided that
// the compiler does not fuse or reassociate on its own (-ffp-contract=off, no -ffast-math; the CMake target sets
// this). SSE2 to SSE4, EMU128 and SCALAR multiply and add separately: close, but not the same bits. Flush-to-zero
// is the caller's business.
//
// Highway's loop can run once per translation unit. Include this header before hwy/highway.h. A source that has
// its own target loop (foreach_target.h) includes skald/kernels/kernels-inl.h in its per-target part and this
// header, or skald.h, within `#if HWY_ONCE`; or keeps the two in separate sources.
//
// HWY_DISABLED_TARGETS (on the command line) leaves targets out and makes compiling faster; -march=... with
// HWY_COMPILE_ONLY_STATIC compiles one target only.

#ifndef SKALD_KERNELS_KERNELS_H_
#define SKALD_KERNELS_KERNELS_H_

#include <cstdint>

#include "skald/base/numeric.h"
#include "skald/kernels/args.h"

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

// Each function is documented at its arguments (args.h). T is float or bf16, the type of weights and cache.
// kTargets only makes the names of instances differ between sources compiled for different sets of targets.
template <int64_t kTargets = HWY_TARGETS>
struct Kernels {
  template <class T>
  static void Prepare(const PrepareArgs<T>& args) {
    HWY_EXPORT_T(PrepareTable, Prepare<T>);
    HWY_DYNAMIC_DISPATCH_T(PrepareTable)(args);
  }

  template <class T>
  static void MatMul(const MatMulArgs<T>& args) {
    HWY_EXPORT_T(MatMulTable, MatMul<T>);
    HWY_DYNAMIC_DISPATCH_T(MatMulTable)(args);
  }

  template <class T>
  static void Embed(const EmbedArgs<T>& args) {
    HWY_EXPORT_T(EmbedTable, Embed<T>);
    HWY_DYNAMIC_DISPATCH_T(EmbedTable)(args);
  }

  static void Norm(const NormArgs& args) {
    HWY_EXPORT_T(NormTable, Norm);
    HWY_DYNAMIC_DISPATCH_T(NormTable)(args);
  }

  static void Add(const AddArgs& args) {
    HWY_EXPORT_T(AddTable, AddInto);
    HWY_DYNAMIC_DISPATCH_T(AddTable)(args);
  }

  static void GateSilu(const GateArgs& args) {
    HWY_EXPORT_T(GateSiluTable, GateSilu);
    HWY_DYNAMIC_DISPATCH_T(GateSiluTable)(args);
  }

  static void GateGeluTanh(const GateArgs& args) {
    HWY_EXPORT_T(GateGeluTanhTable, GateGeluTanh);
    HWY_DYNAMIC_DISPATCH_T(GateGeluTanhTable)(args);
  }

  static void GateGeluErf(const GateArgs& args) {
    HWY_EXPORT_T(GateGeluErfTable, GateGeluErf);
    HWY_DYNAMIC_DISPATCH_T(GateGeluErfTable)(args);
  }

  static void Softcap(const SoftcapArgs& args) {
    HWY_EXPORT_T(SoftcapTable, Softcap);
    HWY_DYNAMIC_DISPATCH_T(SoftcapTable)(args);
  }

  static void Rope(const RopeArgs& args) {
    HWY_EXPORT_T(RopeTable, Rope);
    HWY_DYNAMIC_DISPATCH_T(RopeTable)(args);
  }

  template <class T>
  static void StoreKV(const StoreKVArgs& args) {
    HWY_EXPORT_T(StoreKVTable, StoreKV<T>);
    HWY_DYNAMIC_DISPATCH_T(StoreKVTable)(args);
  }

  template <class T>
  static void MoveKV(const MoveKVArgs& args) {
    HWY_EXPORT_T(MoveKVTable, MoveKV<T>);
    HWY_DYNAMIC_DISPATCH_T(MoveKVTable)(args);
  }

  template <class T, bool kSoftcap>
  static void Attention(const AttentionArgs& args) {
    if constexpr (kSoftcap) {
      HWY_EXPORT_T(AttentionWithSoftcapTable, AttentionWithSoftcap<T>);
      HWY_DYNAMIC_DISPATCH_T(AttentionWithSoftcapTable)(args);
    } else {
      HWY_EXPORT_T(AttentionTable, Attention<T>);
      HWY_DYNAMIC_DISPATCH_T(AttentionTable)(args);
    }
  }
};

}  // namespace skald

#endif  // SKALD_KERNELS_KERNELS_H_
