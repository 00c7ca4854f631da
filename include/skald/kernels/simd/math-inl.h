// SPDX-License-Identifier: Apache-2.0
//
// exp, tanh, erf, softplus and functions built from them, one register at a time. Each is one sequence of exactly
// rounded operations (add, multiply, divide, fused multiply-add), so every target with FMA returns the same bits (R4).
// Coefficients: minimax fits by Remez exchange, rounded to float one after the other. Largest errors against double,
// over a dense sample of all floats (tests/kernels/math_test.cc): Exp 0.83 ulp, Tanh 1.29 ulp, Erf 0.93 ulp, Sigmoid
// 2.02 ulp, Softplus 1.68 ulp. Results of Exp and Softplus below the normal range are 0.

#if defined(SKALD_KERNELS_SIMD_MATH_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_SIMD_MATH_INL_TOGGLE
#undef SKALD_KERNELS_SIMD_MATH_INL_TOGGLE
#else
#define SKALD_KERNELS_SIMD_MATH_INL_TOGGLE
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "skald/kernels/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skald {
namespace HWY_NAMESPACE {

HWY_INLINE FloatVec Splat(float value) { return hn::Set(FloatTag(), value); }

// The last step of ExpNonPositive: y 2^n, or zero if x is so small that this would be below the normal range; `shifted`
// has n in its low bits. AVX-512 has an instruction that gives the same bits and saves two others.
HWY_INLINE FloatVec ScaledByPower(FloatVec y, FloatVec n, FloatVec shifted, FloatVec x) {
  const FloatVec smallest = Splat(-87.3365402f);
#if HWY_TARGET <= HWY_AVX3
  (void)shifted;
  const __mmask16 normal = _mm512_cmp_ps_mask(x.raw, smallest.raw, _CMP_NLT_UQ);
  return FloatVec{_mm512_maskz_scalef_ps(normal, y.raw, n.raw)};
#else
  (void)n;
  const hn::RebindToUnsigned<FloatTag> bits_tag;
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits_tag, shifted));
  y = hn::BitCast(FloatTag(), hn::Add(hn::BitCast(bits_tag, y), exponent));
  return hn::IfThenElse(hn::Lt(x, smallest), hn::Zero(FloatTag()), y);
#endif
}

// e^x for x <= 0. Argument reduction after Cody and Waite (1980): x = n ln 2 + r with |r| <= ln(2) / 2, ln 2 in two
// parts; then 1 + r + r^2 q(r), scaled by 2^n. Adding 1.5 * 2^23 rounds n to an integer and leaves it in the low bits.
// A NaN stays NaN if its low 9 bits are zero, which holds for all NaNs from arithmetic and from bfloat16.
HWY_INLINE FloatVec ExpNonPositive(FloatVec x) {
  const FloatVec shift = Splat(12582912.0f);
  const FloatVec shifted = hn::MulAdd(x, Splat(1.442695022e+00f), shift);
  const FloatVec n = hn::Sub(shifted, shift);
  FloatVec r = hn::NegMulAdd(n, Splat(0.693359375f), x);
  r = hn::NegMulAdd(n, Splat(-2.121944417e-04f), r);

  FloatVec y = Splat(1.383800292e-03f);
  y = hn::MulAdd(y, r, Splat(8.369165473e-03f));
  y = hn::MulAdd(y, r, Splat(4.166810215e-02f));
  y = hn::MulAdd(y, r, Splat(1.666651666e-01f));
  y = hn::MulAdd(y, r, Splat(4.999999404e-01f));
  y = hn::MulAdd(y, r, Splat(1.0f));
  y = hn::MulAdd(y, r, Splat(1.0f));

  return ScaledByPower(y, n, shifted, x);
}

// e^x.
HWY_INLINE FloatVec Exp(FloatVec x) {
  // Above the range x + inf is inf, and for a NaN it is that NaN.
  const FloatVec infinity = Splat(std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Le(x, Splat(88.7228317f)), ExpNonPositive(x), hn::Add(x, infinity));
}

// tanh x for |x| < kTanhNear: x + x^3 p(x^2).
inline constexpr float kTanhNear = 0.625f;
HWY_INLINE FloatVec TanhNear(FloatVec x) {
  const FloatVec square = hn::Mul(x, x);
  FloatVec p = Splat(-5.692296661e-03f);
  p = hn::MulAdd(p, square, Splat(2.062816732e-02f));
  p = hn::MulAdd(p, square, Splat(-5.373651534e-02f));
  p = hn::MulAdd(p, square, Splat(1.333140582e-01f));
  p = hn::MulAdd(p, square, Splat(-3.333328068e-01f));
  return hn::MulAdd(hn::Mul(p, square), x, x);
}

// tanh x: from kTanhNear on 1 - 2 / (e^(2|x|) + 1) with the sign of x.
HWY_INLINE FloatVec Tanh(FloatVec x) {
  const FloatVec one = Splat(1.0f);
  const FloatVec magnitude = hn::Abs(x);
  const FloatVec power = Exp(hn::Add(magnitude, magnitude));
  const FloatVec beyond = hn::Sub(one, hn::Div(Splat(2.0f), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, Splat(kTanhNear)), TanhNear(x), hn::CopySign(beyond, x));
}

// erf x: x + x p(x^2) up to 0.9, beyond it 1 - e^(-|x| q(|x|)) with the sign of x, with q fitted to -ln(erfc(x)) / x up
// to 4; from 4 on erf is 1 in float.
HWY_INLINE FloatVec Erf(FloatVec x) {
  const FloatVec one = Splat(1.0f);
  const FloatVec square = hn::Mul(x, x);
  FloatVec p = Splat(-6.020798464e-04f);
  p = hn::MulAdd(p, square, Splat(4.998959135e-03f));
  p = hn::MulAdd(p, square, Splat(-2.677049302e-02f));
  p = hn::MulAdd(p, square, Splat(1.128192171e-01f));
  p = hn::MulAdd(p, square, Splat(-3.761250377e-01f));
  p = hn::MulAdd(p, square, Splat(1.283791512e-01f));
  const FloatVec around_zero = hn::MulAdd(p, x, x);

  const FloatVec magnitude = hn::Abs(x);
  const FloatVec limit = Splat(4.0f);
  const FloatVec a = hn::IfThenElse(hn::Gt(magnitude, limit), limit, magnitude);
  FloatVec q = Splat(-2.145906474e-04f);
  q = hn::MulAdd(q, a, Splat(3.219933249e-03f));
  q = hn::MulAdd(q, a, Splat(-2.290587872e-02f));
  q = hn::MulAdd(q, a, Splat(1.052865982e-01f));
  q = hn::MulAdd(q, a, Splat(6.356995702e-01f));
  q = hn::MulAdd(q, a, Splat(1.128519893e+00f));
  const FloatVec beyond = hn::Sub(one, Exp(hn::Neg(hn::Mul(q, a))));
  return hn::IfThenElse(hn::Lt(magnitude, Splat(0.9f)), around_zero, hn::CopySign(beyond, x));
}

// 1 / (1 + e^-x).
HWY_INLINE FloatVec Sigmoid(FloatVec x) { return hn::Div(Splat(1.0f), hn::Add(Splat(1.0f), Exp(hn::Neg(x)))); }

// ln(1 + e^x) = max(x, 0) + ln(1 + e) with e = e^-|x| in [0, 1]; Dugas et al. 2001 (NIPS 13), section 3. With
// s = e / (2 + e), ln(1 + e) = 2 atanh(s) = e - s (e - r), where r = 2 atanh(s) / s - 2 = s^2 p(s^2): the rounding of
// s and of the polynomial reaches only the small second term.
HWY_INLINE FloatVec Softplus(FloatVec x) {
  const FloatVec e = Exp(hn::Neg(hn::Abs(x)));
  const FloatVec s = hn::Div(e, hn::Add(e, Splat(2.0f)));
  const FloatVec square = hn::Mul(s, s);
  FloatVec p = Splat(2.800675333e-01f);
  p = hn::MulAdd(p, square, Splat(2.800302804e-01f));
  p = hn::MulAdd(p, square, Splat(4.002143741e-01f));
  p = hn::MulAdd(p, square, Splat(6.666641831e-01f));
  const FloatVec log = hn::NegMulAdd(s, hn::NegMulAdd(square, p, e), e);
  return hn::Add(hn::Max(x, hn::Zero(FloatTag())), log);
}

// x / (1 + e^-x); Elfwing, Uchibe and Doya 2017 (arXiv:1702.03118).
HWY_INLINE FloatVec Silu(FloatVec x) { return hn::Div(x, hn::Add(Splat(1.0f), Exp(hn::Neg(x)))); }

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
HWY_INLINE FloatVec GeluTanh(FloatVec x) {
  const FloatVec half = hn::Mul(Splat(0.5f), x);
  const FloatVec cubic = hn::MulAdd(Splat(0.044715f), hn::Mul(x, x), Splat(1.0f));
  const FloatVec inner = hn::Mul(hn::Mul(Splat(0.797884561f), x), cubic);
  return hn::MulAdd(half, Tanh(inner), half);
}

// 0.5 x (1 + erf(x / sqrt(2))); same paper.
HWY_INLINE FloatVec GeluErf(FloatVec x) {
  const FloatVec half = hn::Mul(Splat(0.5f), x);
  return hn::MulAdd(half, Erf(hn::Mul(Splat(0.707106769f), x)), half);
}

// max(x, 0). NaN stays NaN.
HWY_INLINE FloatVec Relu(FloatVec x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(FloatTag())), x); }

// max(x, 0)^2; So et al. 2021 (arXiv:2109.08668). NaN stays NaN.
HWY_INLINE FloatVec ReluSquared(FloatVec x) {
  const FloatVec positive = Relu(x);
  return hn::Mul(positive, positive);
}

// min(x, limit). NaN stays NaN.
HWY_INLINE FloatVec AtMost(FloatVec x, FloatVec limit) { return hn::IfThenElse(hn::Gt(x, limit), limit, x); }

// g / (1 + e^(-1.702 g)) * (u + 1) with g = min(gate, 7) and u = up, kept within [-7, 7].
HWY_INLINE FloatVec ClampedSwiglu(FloatVec gate, FloatVec up) {
  const FloatVec limit = Splat(7.0f), one = Splat(1.0f);
  const FloatVec g = AtMost(gate, limit), u = hn::Neg(AtMost(hn::Neg(AtMost(up, limit)), limit));
  const FloatVec swish = hn::Div(g, hn::Add(one, Exp(hn::Mul(Splat(-1.702f), g))));
  return hn::Mul(swish, hn::Add(u, one));
}

// cap * tanh(x / cap); Gemma 2 (arXiv:2408.00118), section 2. Most scores and logits are far below their cap.
HWY_INLINE FloatVec Capped(FloatVec x, FloatVec cap) {
  const FloatVec ratio = hn::Div(x, cap);
  const bool is_small = hn::AllTrue(FloatTag(), hn::Lt(hn::Abs(ratio), Splat(kTanhNear)));
  return hn::Mul(cap, is_small ? TanhNear(ratio) : Tanh(ratio));
}

}  // namespace HWY_NAMESPACE
}  // namespace skald
HWY_AFTER_NAMESPACE();

#endif  // SKALD_KERNELS_SIMD_MATH_INL_TOGGLE
