// SPDX-License-Identifier: Apache-2.0
//
// One token of the recurrences, one channel at a time: in the order that the kernels follow, and as the papers define
// them, in double precision, to hold that order against.

#ifndef SKALD_TESTS_REFERENCE_RECURRENT_H_
#define SKALD_TESTS_REFERENCE_RECURRENT_H_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tests/reference/math.h"

namespace skald::reference {

// input(k) is what tap k multiplies.
template <class Input>
float ConvElement(size_t taps, const float* weights, size_t stride, float bias, Input input) {
  float sum = bias;
  for (size_t k = 0; k < taps; ++k) sum = std::fma(weights[k * stride], input(k), sum);
  return sum;
}

template <class Input>
double ConvElementInDouble(size_t taps, const float* weights, size_t stride, float bias, Input input) {
  double sum = bias;
  for (size_t k = 0; k < taps; ++k) sum += double{weights[k * stride]} * input(k);
  return sum;
}

// The inputs of one channel of the RG-LRU in one row.
struct RgLruTerms {
  bool first;  // of its sequence
  float x, input_gate, recurrence_gate, gate, decay;
};

// Advances the state `h` and returns the output.
inline float RgLru(const RgLruTerms& t, float& h) {
  const float a = t.first ? 0.0f : Exp(t.decay * Sigmoid(t.recurrence_gate));
  const float root = std::sqrt(std::fma(-a, a, 1.0f));
  h = std::fma(a, h, root * (Sigmoid(t.input_gate) * t.x));
  return h * GeluTanh(t.gate);
}

inline double RgLruInDouble(const RgLruTerms& t, double& h) {
  const double log_a = t.decay * SigmoidInDouble(t.recurrence_gate);
  const double x = SigmoidInDouble(t.input_gate) * t.x;
  h = t.first ? x : std::exp(log_a) * h + std::sqrt(1 - std::exp(2 * log_a)) * x;
  return h * GeluTanhInDouble(t.gate);
}

// The inputs of one channel of Mamba or Mamba-2 in one row. decay and state h: [state_dim], `stride` floats apart.
struct ScanTerms {
  float x, time_step, gate, skip;
  const float* b;  // [state_dim]
  const float* c;  // [state_dim]
  const float* decay;
  size_t decay_stride;  // 0: the same for all
  size_t stride, state_dim;
  float time_step_min, time_step_max;
};

inline float Scan(const ScanTerms& t, float* h) {
  const float d = std::min(std::max(Softplus(t.time_step), t.time_step_min), t.time_step_max);
  const float u = d * t.x;
  float sum = 0.0f;
  for (size_t n = 0; n < t.state_dim; ++n) {
    float& state = h[n * t.stride];
    state = std::fma(Exp(d * t.decay[n * t.decay_stride]), state, u * t.b[n]);
    sum = std::fma(t.c[n], state, sum);
  }
  return std::fma(t.skip, t.x, sum) * Silu(t.gate);
}

inline double ScanInDouble(const ScanTerms& t, double* h) {
  const double d = std::clamp<double>(SoftplusInDouble(t.time_step), t.time_step_min, t.time_step_max);
  double y = double{t.skip} * t.x;
  for (size_t n = 0; n < t.state_dim; ++n) {
    double& state = h[n * t.stride];
    state = std::exp(d * t.decay[n * t.decay_stride]) * state + d * t.b[n] * t.x;
    y += t.c[n] * state;
  }
  return y * SiluInDouble(t.gate);
}

// The inputs of one channel of a gated delta net in one row. State h: [key_dim], `stride` floats apart.
struct DeltaTerms {
  const float* query;  // [key_dim]
  const float* key;    // [key_dim]
  float value, beta, time_step, decay;
  size_t stride, key_dim;
};

inline float Delta(const DeltaTerms& t, float* h) {
  const float a = Exp(Softplus(t.time_step) * t.decay);
  float remembered = 0.0f, output = 0.0f;
  for (size_t n = 0; n < t.key_dim; ++n) remembered = std::fma(t.key[n], h[n * t.stride], remembered);
  const float u = std::fma(-a, remembered, t.value) * Sigmoid(t.beta);
  for (size_t n = 0; n < t.key_dim; ++n) {
    float& state = h[n * t.stride];
    state = std::fma(a, state, u * t.key[n]);
    output = std::fma(t.query[n], state, output);
  }
  return output;
}

inline double DeltaInDouble(const DeltaTerms& t, double* h) {
  double remembered = 0.0, output = 0.0;
  for (size_t n = 0; n < t.key_dim; ++n) {
    double& state = h[n * t.stride];
    state *= std::exp(t.decay * SoftplusInDouble(t.time_step));
    remembered += t.key[n] * state;
  }
  for (size_t n = 0; n < t.key_dim; ++n) {
    double& state = h[n * t.stride];
    state += t.key[n] * SigmoidInDouble(t.beta) * (t.value - remembered);
    output += t.query[n] * state;
  }
  return output;
}

// The inputs of one channel of Kimi delta attention in one row; time steps have their biases. State h: [size], `stride`
// floats apart.
struct KimiTerms {
  const float *query, *key, *time_step;  // [size]
  float value, rate, decay;
  size_t stride, size;
};

inline float KimiDelta(const KimiTerms& t, float* h) {
  float remembered = 0.0f, output = 0.0f;
  const auto decay = [&](size_t n) { return Exp(Softplus(t.time_step[n]) * t.decay); };
  for (size_t n = 0; n < t.size; ++n) remembered = std::fma(t.key[n] * decay(n), h[n * t.stride], remembered);
  const float u = (t.value - remembered) * Sigmoid(t.rate);
  for (size_t n = 0; n < t.size; ++n) {
    float& state = h[n * t.stride];
    state = std::fma(decay(n), state, u * t.key[n]);
    output = std::fma(t.query[n], state, output);
  }
  return output;
}

inline double KimiDeltaInDouble(const KimiTerms& t, double* h) {
  double remembered = 0.0, output = 0.0;
  for (size_t n = 0; n < t.size; ++n) {
    double& state = h[n * t.stride];
    state *= std::exp(t.decay * SoftplusInDouble(t.time_step[n]));
    remembered += t.key[n] * state;
  }
  for (size_t n = 0; n < t.size; ++n) {
    double& state = h[n * t.stride];
    state += t.key[n] * SigmoidInDouble(t.rate) * (t.value - remembered);
    output += t.query[n] * state;
  }
  return output;
}

// The inputs of one channel of the time mix of RWKV-6 in one row. State h: [size], `stride` floats apart.
struct DecayedSumTerms {
  const float *receptance, *exponent, *key, *bonus;  // [size]
  float value;
  size_t stride, size;
};

inline float DecayedSum(const DecayedSumTerms& t, float* h) {
  float output = 0.0f;
  for (size_t n = 0; n < t.size; ++n) {
    float& state = h[n * t.stride];
    output = std::fma(t.receptance[n], std::fma(t.key[n] * t.bonus[n], t.value, state), output);
    state = std::fma(Exp(-Exp(t.exponent[n])), state, t.value * t.key[n]);
  }
  return output;
}

inline double DecayedSumInDouble(const DecayedSumTerms& t, double* h) {
  double output = 0.0;
  for (size_t n = 0; n < t.size; ++n) {
    double& state = h[n * t.stride];
    output += t.receptance[n] * (double{t.key[n]} * t.bonus[n] * t.value + state);
    state = std::exp(-std::exp(double{t.exponent[n]})) * state + double{t.key[n]} * t.value;
  }
  return output;
}

}  // namespace skald::reference

#endif  // SKALD_TESTS_REFERENCE_RECURRENT_H_
