// SPDX-License-Identifier: Apache-2.0
//
// The activation of a feed-forward layer, and its gate: activation(gate) * up (Shazeer 2020, arXiv:2002.05202), or a
// function of both.

#if defined(SKALD_KERNELS_ROWS_ACTIVATION_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_ACTIVATION_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_ACTIVATION_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_ACTIVATION_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

struct SiluFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return Silu(x); }
};
struct GeluTanhFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return GeluTanh(x); }
};
struct GeluErfFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return GeluErf(x); }
};
struct ReluSquaredFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return ReluSquared(x); }
};
struct ReluFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return Relu(x); }
};

// Functions of a gate and its gated input.
template <class Function>
struct GateBy {
  HWY_INLINE FloatVec operator()(FloatVec gate, FloatVec up) const { return hn::Mul(Function()(gate), up); }
};
struct ClampedSwigluFunction {
  HWY_INLINE FloatVec operator()(FloatVec gate, FloatVec up) const { return ClampedSwiglu(gate, up); }
};

// Calls `function` with the function of one element named by `activation`.
template <class Function>
HWY_INLINE void VisitActivation(Activation activation, Function function) {
  switch (activation) {
    case Activation::kSilu:
      return function(SiluFunction());
    case Activation::kGeluTanh:
      return function(GeluTanhFunction());
    case Activation::kGeluErf:
      return function(GeluErfFunction());
    case Activation::kReluSquared:
      return function(ReluSquaredFunction());
    case Activation::kRelu:
      return function(ReluFunction());
    case Activation::kClampedSwiglu:
      return;  // a function of two elements; layers without a gate refuse it
    case Activation::kXielu:
      return;  // has parameters: a function of the layer's own
  }
}

// Calls `function` with the function of gate and up.
template <class Function>
HWY_INLINE void VisitGate(Activation gate, Function function) {
  if (gate == Activation::kClampedSwiglu) return function(ClampedSwigluFunction());
  VisitActivation(gate, [&](auto activation) { function(GateBy<decltype(activation)>()); });
}

template <class Function>
HWY_INLINE void GateRow(Function gated, const float* gate, const float* up, size_t size, float* output) {
  const size_t step = hn::Lanes(FloatTag());
  for (size_t i = 0; i < size; i += step) {
    const size_t count = size - i;
    StoreUpTo(gated(LoadUpTo(gate + i, count), LoadUpTo(up + i, count)), output + i, count);
  }
}

inline void Gate(const GateArgs& args) {
  VisitGate(args.gate, [&](auto gated) {
    for (size_t row = args.row_begin; row < args.row_end; ++row) {
      const float* gate = args.gate_up + row * 2 * args.cols;
      GateRow(gated, gate, gate + args.cols, args.cols, args.output + row * args.cols);
    }
  });
}

inline void Activate(const ActivateArgs& args) {
  VisitActivation(args.activation, [&](auto activation) {
    for (size_t i = args.begin; i < args.end; i += hn::Lanes(FloatTag())) {
      StoreUpTo(activation(LoadUpTo(args.values + i, args.end - i)), args.values + i, args.end - i);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_ACTIVATION_INL_TOGGLE
