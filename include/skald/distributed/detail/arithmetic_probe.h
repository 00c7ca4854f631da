// SPDX-License-Identifier: Apache-2.0
//
// Whether two machines compute the same bits. A few sums show possible differences: SIMD targets with FMA agree, and
// those without (SSE2 to SSE4) round each product (kernels/ARITHMETIC.md); a compiler that may fuse or reorder
// operations changes the angles of rotary embeddings and the decays of recurrent layers.

#ifndef SKALD_DISTRIBUTED_DETAIL_ARITHMETIC_PROBE_H_
#define SKALD_DISTRIBUTED_DETAIL_ARITHMETIC_PROBE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/mathematics/portable_sin_cos.h"
#include "skald/base/numbers/fingerprint.h"
#include "skald/base/threads/float_environment.h"
#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"

namespace skald::internal {

// Norms of rows (R3): their sums are chains of fused multiply-adds where the target has them.
inline void AddSums(Fingerprint64& print) {
  constexpr size_t kRows = 64, kCols = 64;
  std::array<float, kRows * kCols> rows;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = 1.0f / static_cast<float>(i + 3);
  Kernels<>::Norm({rows.data(), kCols, nullptr, rows.data(), kCols, kCols, 1e-6f, 0, kRows});
  for (const float value : rows) print.Add(value);
}

inline void AddFunctions(Fingerprint64& print) {
  for (int i = 1; i <= 1000; ++i) {
    const double x = i * 0.7310585786300049;
    const SinAndCos turned = PortableSinCos(x);
    print.Add(turned.sin).Add(turned.cos).Add(PortableLog(x)).Add(PortableLog1p(1.0 / x));
    print.Add(PortableExp(-0.01 * x)).Add(PortablePow(10000.0, -0.001 * x));
  }
}

// Returns what is the same on two machines that agree, and all but surely another number on two that do not.
inline uint64_t ProbeArithmetic() {
  const FloatEnvironment contract;
  Fingerprint64 print;
  AddSums(print);
  AddFunctions(print);
  return print.value();
}

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DETAIL_ARITHMETIC_PROBE_H_
