// SPDX-License-Identifier: Apache-2.0
//
// The gate of a feed-forward layer: activation(gate) * up (Shazeer 2020, arXiv:2002.05202).

#if defined(SKALD_KERNELS_ACTIVATION_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_ACTIVATION_INL_TOGGLE
#undef SKALD_KERNELS_ACTIVATION_INL_TOGGLE
#else
#define SKALD_KERNELS_ACTIVATION_INL_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "skald/kernels/args.h"
#include "skald/kernels/lanes-inl.h"
#include "skald/kernels/math-inl.h"

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

template <class Function>
HWY_INLINE void GateRow(Function activation, const float* gate, const float* up, size_t size, float* output) {
  const FloatTag tag;
  const size_t step = hn::Lanes(tag);
  size_t i = 0;
  for (; i + step <= size; i += step) {
    const FloatVec activated = activation(hn::LoadU(tag, gate + i));
    hn::StoreU(hn::Mul(activated, hn::LoadU(tag, up + i)), tag, output + i);
  }
  if (i < size) {
    const FloatVec activated = activation(hn::LoadN(tag, gate + i, size - i));
    hn::StoreN(hn::Mul(activated, hn::LoadN(tag, up + i, size - i)), tag, output + i, size - i);
  }
}

template <class Function>
void Gate(const GateArgs& args) {
  for (size_t row = args.row_begin; row < args.row_end; ++row) {
    const float* gate = args.gate_up + row * 2 * args.cols;
    GateRow(Function(), gate, gate + args.cols, args.cols, args.output + row * args.cols);
  }
}

inline void GateSilu(const GateArgs& args) { Gate<SiluFunction>(args); }
inline void GateGeluTanh(const GateArgs& args) { Gate<GeluTanhFunction>(args); }
inline void GateGeluErf(const GateArgs& args) { Gate<GeluErfFunction>(args); }

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_ACTIVATION_INL_TOGGLE
