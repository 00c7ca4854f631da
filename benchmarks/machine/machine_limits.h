// SPDX-License-Identifier: Apache-2.0
//
// The limits of a computation on this machine, measured rather than looked up: reading memory, and multiplying and
// adding in registers.

#ifndef SKALD_BENCHMARKS_MACHINE_MACHINE_LIMITS_H_
#define SKALD_BENCHMARKS_MACHINE_MACHINE_LIMITS_H_

#include "skald/base/threads/executor.h"

namespace skald {

// Per second, of all workers of an executor together, on the SIMD target that dispatch picks.
struct MachineLimits {
  double read_bytes = 0;  // from memory, not from caches
  double f32_flops = 0;   // a multiplication and an addition are two
  double bf16_flops = 0;  // of the matrix unit (AMX), else f32_flops: bfloat16 is then widened first
  double int8_ops = 0;    // the same for int8, of the matrix unit or the target's dot instruction
};

// Takes about a second and 1 GiB. The best of several tries: what disturbs a measurement only makes it slower.
MachineLimits MeasureLimits(const ExecutorRef& executor);

// The same for the read bandwidth alone.
double MeasureReadBytes(const ExecutorRef& executor);

}  // namespace skald

#endif  // SKALD_BENCHMARKS_MACHINE_MACHINE_LIMITS_H_
