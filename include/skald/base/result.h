// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. Everything that touches the outside world (files, flags, prompts, sizes chosen by a caller) returns
// Result<T>: either the value, or an Error whose message is a sentence that names the object and states what was
// expected. Nothing in Skald throws across its API or ends the process.

#ifndef SKALD_BASE_RESULT_H_
#define SKALD_BASE_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_expected)
#include <expected>
#else
#include <tl/expected.hpp>
#endif

#include "skald/base/inline.h"

namespace skald {

enum class ErrorCode {
  kInvalidArgument,     ///< the caller's value can never work (token id out of range, zero threads)
  kNotFound,            ///< a file, tensor or field that must be there is not
  kDataLoss,            ///< bytes from outside are damaged, cut short or contradict themselves
  kOutOfRange,          ///< a position or length beyond a limit
  kResourceExhausted,   ///< a byte limit is reached; freeing something makes the same call work
  kUnsupported,         ///< well-formed, but not something Skald can do
  kFailedPrecondition,  ///< the object is in a state in which the call makes no sense
};

/// Facts that a program can act on, as far as they are known where the error arises; the message is for people.
struct ErrorFacts {
  std::optional<size_t> sequence = {};            ///< index in the batch
  std::optional<uint64_t> needed_tokens = {};     ///< tokens requested, and tokens that there was room for
  std::optional<uint64_t> available_tokens = {};  ///< see needed_tokens
  std::optional<uint64_t> needed_bytes = {};      ///< bytes requested, and bytes that there was room for
  std::optional<uint64_t> available_bytes = {};   ///< see needed_bytes
  std::optional<uint32_t> resume_point = {};      ///< the nearest earlier position that Truncate can go to

  friend bool operator==(const ErrorFacts&, const ErrorFacts&) = default;
};

/// Why a call failed.
struct Error {
  ErrorCode code;         ///< the kind of failure, for programs
  std::string message;    ///< a sentence that names the thing and what was expected, for people
  ErrorFacts facts = {};  ///< those that are known
};

#if defined(__cpp_lib_expected)
template <class T>
using Result = std::expected<T, Error>;
using Failure = std::unexpected<Error>;
#else
template <class T>
using Result = tl::expected<T, Error>;
using Failure = tl::unexpected<Error>;
#endif

/// Returns a failure that converts to any Result<T>: `return Fail(ErrorCode::kNotFound, "...")`.
Failure Fail(ErrorCode code, std::string message, const ErrorFacts& facts = {});

/// Returns the failure of `result` with `context` put in front of its sentence, unless that begins with it already.
/// `result` must hold an error.
template <class T>
Failure Annotate(const std::string& context, const Result<T>& result) {
  const std::string prefix = context + ": ";
  const std::string& message = result.error().message;
  return Fail(result.error().code, message.starts_with(prefix) ? message : prefix + message, result.error().facts);
}

/// The same about one sequence of a batch, which becomes a fact too.
Failure OfSequence(size_t index, const Result<void>& result);

// Propagates the failure of a Result: the enclosing function returns it. The value is ignored.
//     SKALD_TRY(cache.Truncate(5));
#define SKALD_TRY(...) SKALD_INTERNAL_TRY(SKALD_INTERNAL_JOIN(skald_result_, __LINE__), __VA_ARGS__)

// The same; on success the value initialises the declaration.
//     SKALD_ASSIGN(KVCache fork, cache.Fork());
#define SKALD_ASSIGN(declaration, ...) \
  SKALD_INTERNAL_ASSIGN(SKALD_INTERNAL_JOIN(skald_result_, __LINE__), declaration, __VA_ARGS__)

#define SKALD_INTERNAL_JOIN(a, b) SKALD_INTERNAL_JOINED(a, b)
#define SKALD_INTERNAL_JOINED(a, b) a##b
#define SKALD_INTERNAL_TRY(result, ...) \
  if (auto result = (__VA_ARGS__); !result) return ::skald::Failure(std::move(result).error())
#define SKALD_INTERNAL_ASSIGN(result, declaration, ...)            \
  auto result = (__VA_ARGS__);                                     \
  if (!result) return ::skald::Failure(std::move(result).error()); \
  declaration = *std::move(result)

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/detail/result.h"
#endif

#endif  // SKALD_BASE_RESULT_H_
