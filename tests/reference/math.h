// SPDX-License-Identifier: Apache-2.0
//
// Scalar forms of the elementwise functions, one rounding per written operation, so that vector code on any
// target with FMA must return the same bits. Their accuracy is tested against double precision.

#ifndef SKALD_TESTS_REFERENCE_MATH_H_
#define SKALD_TESTS_REFERENCE_MATH_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace skald::reference {

// Returns the polynomial with these coefficients, highest power first, by Horner's rule.
inline float Polynomial(float x, std::initializer_list<float> coefficients) {
  float sum = 0.0f;
  for (const float c : coefficients) sum = std::fma(sum, x, c);
  return sum;
}

inline float Exp(float x) {
  if (std::isnan(x) || x > 88.7228317f) return x + std::numeric_limits<float>::infinity();
  if (x < -87.3365402f) return 0.0f;
  const float shifted = std::fma(x, 1.442695022e+00f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  float r = std::fma(-n, 0.693359375f, x);
  r = std::fma(-n, -2.121944417e-04f, r);
  const float y = Polynomial(
      r, {1.383800292e-03f, 8.369165473e-03f, 4.166810215e-02f, 1.666651666e-01f, 4.999999404e-01f, 1.0f, 1.0f});
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) + (static_cast<uint32_t>(static_cast<int32_t>(n)) << 23));
}

inline float Tanh(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 0.625f) {
    const float square = x * x;
    const float p = Polynomial(
        square, {-5.692296661e-03f, 2.062816732e-02f, -5.373651534e-02f, 1.333140582e-01f, -3.333328068e-01f});
    return std::fma(p * square, x, x);
  }
  return std::copysign(1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f), x);
}

inline float Erf(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 0.9f) {
    const float p = Polynomial(x * x, {-6.020798464e-04f, 4.998959135e-03f, -2.677049302e-02f, 1.128192171e-01f,
                                       -3.761250377e-01f, 1.283791512e-01f});
    return std::fma(p, x, x);
  }
  const float a = magnitude > 4.0f ? 4.0f : magnitude;
  const float q = Polynomial(a, {-2.145906474e-04f, 3.219933249e-03f, -2.290587872e-02f, 1.052865982e-01f,
                                 6.356995702e-01f, 1.128519893e+00f});
  return std::copysign(1.0f - Exp(-(q * a)), x);
}

inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

inline float Softplus(float x) {
  const float e = Exp(-std::fabs(x));
  const float s = e / (e + 2.0f);
  const float square = s * s;
  const float p = Polynomial(square, {2.800675333e-01f, 2.800302804e-01f, 4.002143741e-01f, 6.666641831e-01f});
  const float log = std::fma(-s, std::fma(-square, p, e), e);
  return (x > 0.0f ? x : 0.0f) + log;
}

inline float Silu(float x) { return x / (1.0f + Exp(-x)); }

inline float GeluTanh(float x) {
  const float half = 0.5f * x;
  const float cubic = std::fma(0.044715f, x * x, 1.0f);
  return std::fma(half, Tanh((0.797884561f * x) * cubic), half);
}

inline float GeluErf(float x) {
  const float half = 0.5f * x;
  return std::fma(half, Erf(0.707106769f * x), half);
}

inline float Relu(float x) { return x < 0.0f ? 0.0f : x; }

inline float ReluSquared(float x) {
  const float positive = Relu(x);
  return positive * positive;
}

inline float ClampedSwiglu(float gate, float up) {
  const float g = gate > 7.0f ? 7.0f : gate, u = up > 7.0f ? 7.0f : up < -7.0f ? -7.0f : up;
  return g / (1.0f + Exp(-1.702f * g)) * (u + 1.0f);
}

inline float Capped(float x, float cap) { return cap * Tanh(x / cap); }

// The definitions of some of them.
inline double SigmoidInDouble(double x) { return 1 / (1 + std::exp(-x)); }
inline double SoftplusInDouble(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
inline double SiluInDouble(double x) { return x * SigmoidInDouble(x); }
inline double GeluTanhInDouble(double x) {
  const double pi = std::acos(-1.0);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_MATH_H_
