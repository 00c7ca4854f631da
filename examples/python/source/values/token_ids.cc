// SPDX-License-Identifier: Apache-2.0

#include "values/token_ids.h"

#include <limits>
#include <string>

#include "values/errors.h"

namespace skald::python {

namespace {

int32_t Checked(int64_t id, size_t index) {
  if (id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max()) {
    Raise(ErrorCode::kInvalidArgument,
          "token id " + std::to_string(id) + " at index " + std::to_string(index) + " does not fit into 32 bits");
  }
  return static_cast<int32_t>(id);
}

template <class T>
bool ReadArray(nb::handle given, std::vector<int32_t>& ids) {
  nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> array;
  if (!nb::try_cast(given, array, /*convert=*/false)) return false;
  ids.resize(array.shape(0));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = Checked(static_cast<int64_t>(array.data()[static_cast<int64_t>(i) * array.stride(0)]), i);
  }
  return true;
}

}  // namespace

std::vector<int32_t> TokenIds::Read() const {
  std::vector<int32_t> ids;
  if (nb::ndarray_check(given)) {
    if (ReadArray<int32_t>(given, ids) || ReadArray<int64_t>(given, ids)) return ids;
    throw nb::type_error("token ids: expected an array of int32 or int64 with one dimension, in the CPU's memory");
  }
  ids.reserve(nb::len(given));
  for (nb::handle item : given) {
    const Py_ssize_t id = PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
    if (id == -1 && PyErr_Occurred()) nb::raise_python_error();
    ids.push_back(Checked(id, ids.size()));
  }
  return ids;
}

}  // namespace skald::python
