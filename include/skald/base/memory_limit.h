// SPDX-License-Identifier: Apache-2.0
//
// Turns running out of the system's memory into an error, at the few calls of the API that allocate much.

#ifndef SKALD_BASE_MEMORY_LIMIT_H_
#define SKALD_BASE_MEMORY_LIMIT_H_

#include <new>
#include <stdexcept>
#include <string>

#include "skald/base/result.h"

namespace skald {

// Returns function(), a Result; or kResourceExhausted, naming `what`, where an allocation in it fails. The function
// must leave things as they were when it is left that way.
template <class Function>
auto CatchOutOfMemory(const std::string& what, Function&& function) -> decltype(function()) {
#if defined(__cpp_exceptions)
  try {
    return function();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // a vector's way of saying the same
  }
  return Fail(ErrorCode::kResourceExhausted, what + ": the system has not enough memory");
#else
  return function();
#endif
}

}  // namespace skald

#endif  // SKALD_BASE_MEMORY_LIMIT_H_
