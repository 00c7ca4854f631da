// SPDX-License-Identifier: Apache-2.0
//
// Packing: from row-major tensors of a file to the layout of base/numbers/packed_layout.h or
// base/numbers/group_types.h. Several tensors with the same number of columns can be stacked into one matrix, so that
// one multiplication computes q, k and v, or gate and up. pack_rows.h and pack_groups.h describe the loss of each
// conversion. The result does not depend on the executor.

#ifndef SKALD_WEIGHTS_PACKING_PACK_H_
#define SKALD_WEIGHTS_PACKING_PACK_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/types/column_inputs.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

using PackFunction = void (*)(std::span<const PackSource> sources, size_t panel_begin, size_t panel_end,
                              Matrix& matrix);

}  // namespace internal

/// Packs matrices of one type.
struct WeightPacker {
  DType type;                          ///< of the matrices
  internal::PackFunction pack_panels;  ///< packs some panels of kLanes rows, from any sources
};

namespace internal {

#ifdef SKALD_COMPILED

/// The packer of a type; compiles all packers.
WeightPacker PackerOf(DType type);

template <class... Ts>
std::span<const WeightPacker> PackersOf(WeightTypeList<Ts...>) {
  static const WeightPacker packers[] = {PackerOf(kDTypeOf<Ts>)...};
  return packers;
}

#else

template <class... Ts>
std::span<const WeightPacker> PackersOf(WeightTypeList<Ts...>);

#endif

}  // namespace internal

/// Returns the packers of the types in a WeightTypeList: of those that a program's matrices may have. With headers
/// alone no others are compiled.
template <class List>
std::span<const WeightPacker> WeightPackersOf() {
  return internal::PackersOf(List{});
}

/// Appends the `count` elements at `source`, converted exactly, to `values`.
void AppendFloats(const std::byte* source, DType dtype, size_t count, std::vector<float>& values);

/// Returns the sources stacked to a packed matrix of the packer's type. Calls `packed(rows)`, if given, from this
/// thread each time that further `rows` rows are done. `inputs` are those of the columns that sources have.
Matrix PackMatrix(std::span<const PackSource> sources, size_t cols, const WeightPacker& packer, ExecutorRef executor,
                  const std::function<void(size_t rows)>& packed = {}, const ColumnInputs& inputs = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packing/detail/pack.h"
#endif

#endif  // SKALD_WEIGHTS_PACKING_PACK_H_
