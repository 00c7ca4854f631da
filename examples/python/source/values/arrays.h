// SPDX-License-Identifier: Apache-2.0
//
// numpy arrays that show memory of the library without a copy. An array keeps alive what it shows.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ARRAYS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace skald::python {

namespace nb = nanobind;

/// An array that a function returns; `T` is for the stub.
template <class T>
struct Array {
  nb::object value;
};

/// Returns an object that keeps `owner` alive.
inline nb::capsule CapsuleOf(std::shared_ptr<void> owner) {
  auto* kept = new std::shared_ptr<void>(std::move(owner));
  return nb::capsule(kept, [](void* pointer) noexcept { delete static_cast<std::shared_ptr<void>*>(pointer); });
}

/// Returns an array of `data`, [shape], in memory that `owner` keeps.
template <class T>
Array<T> ArrayOf(T* data, std::initializer_list<size_t> shape, std::shared_ptr<void> owner, bool is_writable = false) {
  const nb::capsule capsule = CapsuleOf(std::move(owner));
  if (is_writable) return {nb::cast(nb::ndarray<nb::numpy, T>(data, shape, capsule))};
  return {nb::cast(nb::ndarray<nb::numpy, const T>(data, shape, capsule))};
}

/// The same with the floats from one element of each axis to the next.
template <class T>
Array<T> StridedArrayOf(T* data, const std::vector<size_t>& shape, const std::vector<int64_t>& strides,
                        std::shared_ptr<void> owner, bool is_writable = false) {
  const nb::capsule capsule = CapsuleOf(std::move(owner));
  if (is_writable) {
    return {nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), capsule, strides.data()))};
  }
  return {nb::cast(nb::ndarray<nb::numpy, const T>(data, shape.size(), shape.data(), capsule, strides.data()))};
}

/// Returns an array of its own.
template <class T>
Array<T> ArrayOf(std::vector<T> values, bool is_writable = true) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return ArrayOf<T>(kept->data(), {kept->size()}, kept, is_writable);
}

}  // namespace skald::python

template <class T>
struct nanobind::detail::type_caster<skald::python::Array<T>> {
  static constexpr auto Element = const_name<std::is_same_v<T, float>>(
      const_name("numpy.float32"), const_name<std::is_same_v<T, int32_t>>("numpy.int32", "numpy.uint64"));

  NB_TYPE_CASTER(skald::python::Array<T>, const_name("numpy.typing.NDArray[") + Element + const_name("]"))

  bool from_python(handle, uint8_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const skald::python::Array<T>& array, rv_policy, cleanup_list*) noexcept {
    return array.value.inc_ref();
  }
};

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_VALUES_ARRAYS_H_
