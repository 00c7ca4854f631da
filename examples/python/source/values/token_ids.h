// SPDX-License-Identifier: Apache-2.0
//
// Token ids and rows of floats as arguments: sequences of int, or arrays of any library that knows DLPack.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_TOKEN_IDS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_TOKEN_IDS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace skald::python {

namespace nb = nanobind;

/// An argument of token ids, not yet read.
struct TokenIds {
  nb::handle given;

  /// Reads them. Throws TypeError for what are no whole numbers in one row, skald.Error for one of more than 32 bits.
  std::vector<int32_t> Read() const;
};

/// Logits or rows of the residual stream: float32, in order, never converted, so that no call copies in silence.
using FloatVector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

}  // namespace skald::python

template <>
struct nanobind::detail::type_caster<skald::python::TokenIds> {
  NB_TYPE_CASTER(skald::python::TokenIds,
                 const_name("collections.abc.Sequence[int] | numpy.typing.NDArray[numpy.integer]"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (PyUnicode_Check(source.ptr()) || source.is_none() || !PySequence_Check(source.ptr())) {
      if (!ndarray_check(source)) return false;
    }
    value.given = source;
    return true;
  }
};

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_TOKEN_IDS_H_
