// SPDX-License-Identifier: Apache-2.0
//
// Addition of one vector to another, products of rows, functions of them, and the soft cap on logits.

#if defined(SKALD_KERNELS_ROWS_ELEMENTWISE_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ROWS_ELEMENTWISE_INL_TOGGLE
#undef SKALD_KERNELS_ROWS_ELEMENTWISE_INL_TOGGLE
#else
#define SKALD_KERNELS_ROWS_ELEMENTWISE_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/rows/activation-inl.h"
#include "skald/kernels/simd/lanes-inl.h"
#include "skald/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

inline void AddInto(const AddArgs& args) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  size_t i = args.begin;
  for (; i + step <= args.end; i += step) {
    const FloatVec sum = hn::Add(hn::LoadU(tag, args.accumulator + i), hn::LoadU(tag, args.addend + i));
    hn::StoreU(sum, tag, args.accumulator + i);
  }
  for (; i < args.end; ++i) args.accumulator[i] += args.addend[i];
}

template <class Function>
HWY_INLINE void MultiplyRows(const MultiplyArgs& args, Function function) {
  const size_t step = hn::Lanes(FloatTag());
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    float* const values = args.values + row * args.value_stride;
    const float* const factors = args.factors + row * args.factor_stride;
    for (size_t i = 0; i < args.cols; i += step) {
      const FloatVec factor = function(LoadUpTo(factors + i, args.cols - i));
      StoreUpTo(hn::Mul(LoadUpTo(values + i, args.cols - i), factor), values + i, args.cols - i);
    }
  }
}

struct IdentityFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return x; }
};
struct SigmoidFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return Sigmoid(x); }
};
struct TanhFunction {
  HWY_INLINE FloatVec operator()(FloatVec x) const { return Tanh(x); }
};

// Calls `function` with the function of one element named by `name`.
template <class Function>
HWY_INLINE void VisitFactorFunction(FactorFunction name, Function function) {
  switch (name) {
    case FactorFunction::kNone:
      return function(IdentityFunction());
    case FactorFunction::kSigmoid:
      return function(SigmoidFunction());
    case FactorFunction::kSilu:
      return function(SiluFunction());
    case FactorFunction::kTanh:
      return function(TanhFunction());
  }
}

inline void MultiplyBy(const MultiplyArgs& args) {
  VisitFactorFunction(args.function, [&](auto function) { MultiplyRows(args, function); });
}

inline void Apply(const ApplyArgs& args) {
  VisitFactorFunction(args.function, [&](auto function) {
    for (size_t i = args.begin; i < args.end; i += hn::Lanes(FloatTag())) {
      StoreUpTo(function(LoadUpTo(args.values + i, args.end - i)), args.values + i, args.end - i);
    }
  });
}

inline void Softcap(const SoftcapArgs& args) {
  const FloatTag tag;
  const FloatVec cap = hn::Set(tag, args.cap);
  const size_t step = hn::Lanes(tag);
  size_t i = args.begin;
  for (; i + step <= args.end; i += step) {
    hn::StoreU(Capped(hn::LoadU(tag, args.values + i), cap), tag, args.values + i);
  }
  if (i < args.end) {
    const size_t count = args.end - i;
    hn::StoreN(Capped(hn::LoadN(tag, args.values + i, count), cap), tag, args.values + i, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ROWS_ELEMENTWISE_INL_TOGGLE
