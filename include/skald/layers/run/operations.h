// SPDX-License-Identifier: Apache-2.0
//
// Operations: all kernels, each shared among the threads of one caller: multiplications by weights, and what lies
// between them. Chooses the kernel by the type of the cache; knows nothing of models. One per Forward, used by one
// thread.

#ifndef SKALD_LAYERS_RUN_OPERATIONS_H_
#define SKALD_LAYERS_RUN_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/numeric.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/multiplications.h"
#include "skald/layers/run/rows.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Calls `function.template operator()<T>()` with the C++ type of a cache's elements: kF32, kBF16 or kI8.
template <class Function>
decltype(auto) VisitCacheType(DType type, Function&& function) {
  if (type == DType::kF32) return function.template operator()<float>();
  if (type == DType::kI8) return function.template operator()<int8_t>();
  return function.template operator()<bf16>();
}

class Operations : public Multiplications {
 public:
  using Multiplications::Multiplications;

  /// output = down * (Gate(first half) * second half of gate_up * input), with the biases of both; `scratch` has room
  /// for [rows, gate_up.outputs()] floats and `gated` for [RoundUp(rows, kRowBlock), half as many].
  void FeedForward(const ActivationRef& gate, const Matrix& gate_up, const std::vector<float>& gate_up_bias,
                   const Matrix& down, const std::vector<float>& down_bias, Rows input, size_t rows, float* scratch,
                   float* gated, Rows output);

  /// RMSNorm of each row of `size` elements; no weight where it is empty. `output` may be `input`.
  void Norm(Rows input, size_t rows, size_t size, std::span<const float> weight, float epsilon, Rows output);

  /// RMSNorm of each of `parts` equal parts of each row of `size` elements, in place.
  void NormParts(Rows values, size_t rows, size_t size, size_t parts, std::span<const float> weight, float epsilon);

  /// MatMul of the RMSNorm of each of `parts` of each row, all of it if ranks have parts of the rows. The content of
  /// `input` is then unspecified.
  void NormMatMul(const Matrix& weights, std::span<const float> norm, size_t parts, float epsilon, Rows input,
                  size_t rows, const std::vector<float>& bias, Rows output);

  /// LayerNorm of each row of `size` elements; no weight and no bias where those are empty. `output` may be `input`.
  void LayerNorm(Rows input, size_t rows, size_t size, const std::vector<float>& weight, const std::vector<float>& bias,
                 float epsilon, Rows output);
  /// The same of each of `parts` equal parts of a row by itself, in place; `weight` and `bias` are of the whole row.
  void LayerNormParts(Rows values, size_t rows, size_t size, size_t parts, std::span<const float> weight,
                      std::span<const float> bias, float epsilon);

  /// output = input, [rows, cols] each.
  void Copy(Rows input, size_t rows, size_t cols, Rows output);

  /// values *= factor.
  void Scale(float* values, size_t size, float factor);

  /// The same for [rows, cols].
  void Scale(Rows values, size_t rows, size_t cols, float factor);

  /// accumulator += addend.
  void Add(float* accumulator, const float* addend, size_t size);

  /// values *= function(factors), [rows, cols] each.
  void Multiply(Rows values, Rows factors, size_t rows, size_t cols, FactorFunction function = FactorFunction::kNone);

  /// values = function(values).
  void Apply(FactorFunction function, float* values, size_t size);

  /// output[rows, cols] = Gate(gate) * up, of [rows, 2 * cols] gate_up.
  void Gate(const ActivationRef& gate, const float* gate_up, size_t rows, size_t cols, float* output);

  /// values = activation(values).
  void Activate(const ActivationRef& activation, float* values, size_t size);

  /// values = cap * tanh(values / cap).
  void Softcap(float* values, size_t size, float cap);

  /// For operations whose arguments the caller fills in: `args` but its range, which is [row_begin, row_end).
  void Rope(const RopeArgs& args, size_t rows);

  /// Writes keys and values to the cache's blocks (StoreKVArgs).
  void StoreKV(DType type, const StoreKVArgs& args, size_t rows);

  /// `visible_tokens` is about how many positions a row sees.
  void Attention(DType type, AttentionArgs args, size_t visible_tokens);

  /// A causal depthwise convolution (ConvArgs).
  void Conv(const ConvArgs& args, size_t rows);

  /// Mixes of each row with the one before (TokenShiftArgs).
  void TokenShift(const TokenShiftArgs& args, size_t rows);

  /// Scans over time. `units` and `work`, elements touched by each unit, are for all runs together.
  void RgLru(RgLruArgs args, size_t units, size_t work);
  /// See RgLru and SelectiveScanArgs.
  void SelectiveScan(SelectiveScanArgs args, size_t units, size_t work);
  /// See RgLru and StateSpaceArgs.
  void StateSpace(StateSpaceArgs args, size_t units, size_t work);
  /// See RgLru and DeltaNetArgs.
  void DeltaNet(DeltaNetArgs args, size_t units, size_t work);
  /// See RgLru and KimiDeltaArgs.
  void KimiDelta(KimiDeltaArgs args, size_t units, size_t work);
  /// See RgLru and DecayedSumArgs.
  void DecayedSum(DecayedSumArgs args, size_t units, size_t work);
  /// See RgLru and TimeMixArgs.
  void TimeMix(TimeMixArgs args, size_t units, size_t work);

 private:
  // FeedForward whose gate is applied while the first sums are still in registers.
  void FusedFeedForward(Activation gate, const Matrix& gate_up, const std::vector<float>& gate_up_bias,
                        const Matrix& down, const std::vector<float>& down_bias, Rows input, size_t rows, float* gated,
                        Rows output);

  /// Calls the kernel with `args` and a range of rows or units, each of which touches `work` elements.
  template <class Args, class Kernel>
  void ForRows(const Args& args, size_t rows, size_t work, Kernel kernel);
  template <class Args, class Kernel>
  void ForUnits(const Args& args, size_t units, size_t work, Kernel kernel);

  /// About how many elements are touched in the time that a function of a user's own takes, one element at a time.
  static constexpr size_t kOwnActivationWork = 16;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/run/detail/operations.h"
#endif

#endif  // SKALD_LAYERS_RUN_OPERATIONS_H_
