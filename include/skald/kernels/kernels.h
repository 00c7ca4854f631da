// SPDX-License-Identifier: Apache-2.0
//
// The kernels, dispatched at run time to the best SIMD target of the machine.
//
//   skald::Kernels<>::MatMul<skald::bf16>(args);
//
// Each call costs one indirect call, so give a kernel a whole range of rows. Functions do not allocate, start no
// threads and have no state; calls whose outputs do not overlap may run concurrently.
//
// Arithmetic: ARITHMETIC.md. Targets with FMA (AVX2 and better, NEON, SVE) return identical bits, provided that the
// compiler does not fuse or reassociate on its own (-ffp-contract=off, no -ffast-math; the CMake target sets this).
// SSE2 to SSE4, EMU128 and SCALAR multiply and add separately: close, but not the same bits. The caller sets
// flush-to-zero.
//
// Including this compiles every kernel for every target that the compiler can generate (dispatch.h), except kernels
// whose code would equal an older target's (shared_targets.h). A program of many sources can compile the kernels once,
// with the rest of Skald: see skald/compiled.h.
//
// HWY_DISABLED_TARGETS (on the command line) leaves targets out and makes compiling faster; -march=... with
// HWY_COMPILE_ONLY_STATIC compiles one target only. In both cases all sources of a program must agree.

#ifndef SKALD_KERNELS_KERNELS_H_
#define SKALD_KERNELS_KERNELS_H_

#include <cstdint>

#include "hwy/detect_targets.h"
#include "skald/base/highway.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"

namespace skald {

/// Each function is documented at its arguments (args.h). T is the type of weights (float, bf16 or one of
/// base/numbers/group_types.h) or of the cache (float, bf16 or int8_t).
/// kTargets only makes the names of instances differ between sources compiled for different sets of targets.
template <int64_t kTargets = HWY_TARGETS>
struct Kernels {
  template <class T>
  static void Prepare(const PrepareArgs<T>& args);

  template <class T>
  static void MatMul(const MatMulArgs<T>& args);

  template <class T>
  static void Embed(const EmbedArgs<T>& args);

  static void Norm(const NormArgs& args);

  static void LayerNorm(const LayerNormArgs& args);

  static void Add(const AddArgs& args);

  static void Multiply(const MultiplyArgs& args);

  static void Apply(const ApplyArgs& args);

  static void Gate(const GateArgs& args);

  static void Activate(const ActivateArgs& args);

  static void Softcap(const SoftcapArgs& args);

  static void Rope(const RopeArgs& args);

  template <class T>
  static void StoreKV(const StoreKVArgs& args);

  template <class T>
  static void MoveKV(const MoveKVArgs& args);

  template <class T>
  static void Attention(const AttentionArgs& args);

  static void Conv(const ConvArgs& args);

  static void RgLru(const RgLruArgs& args);

  static void SelectiveScan(const SelectiveScanArgs& args);

  static void StateSpace(const StateSpaceArgs& args);

  static void DeltaNet(const DeltaNetArgs& args);

  static void KimiDelta(const KimiDeltaArgs& args);

  static void DecayedSum(const DecayedSumArgs& args);

  static void TokenShift(const TokenShiftArgs& args);

  static void TimeMix(const TimeMixArgs& args);
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/kernels/dispatch.h"
#endif

#endif  // SKALD_KERNELS_KERNELS_H_
