// SPDX-License-Identifier: Apache-2.0
//
// The state that all parts of a rendering share: its limits, its first error and its heap. After an error, requested
// values are harmless and every loop ends, so that only loops have to check.

#ifndef SKALD_TEMPLATES_VALUES_MACHINE_H_
#define SKALD_TEMPLATES_VALUES_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/marked_text.h"
#include "skald/templates/values/value.h"

namespace skald {

/// A date and a time of day, as a clock on the wall shows them.
struct WallTime {
  int year = 1970;  ///< of the Gregorian calendar
  int month = 1;    ///< from 1
  int day = 1;      ///< of the month, from 1
  int hour = 0;     ///< 0 to 23
  int minute = 0;   ///< 0 to 59
  int second = 0;   ///< 0 to 60
};

/// The limits of a template. No published one comes near the defaults with a chat of a million words.
struct TemplateLimits {
  uint64_t steps = 20'000'000;             ///< parts of the program, elements of lists, stretches of 64 bytes of text
  size_t depth = 600;                      ///< of expressions and statements inside each other, calls included
  size_t output_bytes = size_t{64} << 20;  ///< of the rendering
  size_t memory_bytes = size_t{1} << 30;   ///< of all values at one time
};

namespace internal::jinja {

/// Where to look up names that enclosing scopes define. Null if there is none.
struct Finders {
  const Builtin* (*method)(const Value& value, std::string_view name);  ///< of the value's type
  const Builtin* (*filter)(std::string_view name);
  const Builtin* (*test)(std::string_view name);
};

class Machine {
 public:
  Machine(const TemplateLimits& limits, const Finders& finders) : find(finders), limits_(limits) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool ok() const { return !error_; }
  const std::optional<Error>& error() const { return error_; }
  const TemplateLimits& limits() const { return limits_; }

  /// Where the program stands, for errors.
  void SetLine(size_t line) { line_ = line; }
  size_t line() const { return line_; }

  /// Notes an error unless there is one, and returns a harmless value.
  Value Fail(std::string_view what, ErrorCode code = ErrorCode::kInvalidArgument);

  /// Counts work. Returns whether to go on.
  bool Step(uint64_t steps = 1);
  bool StepOver(size_t bytes) { return Step(1 + bytes / 64); }

  /// Whether there is room for so many bytes more; to be asked before they are made.
  bool HasRoom(size_t bytes);

  size_t FreeBytes() const;

  bool CheckOutput(size_t bytes);

  void FailLimit(std::string_view what, uint64_t limit);

  /// One more level of recursion while it lives; false where that is too deep.
  class Level {
   public:
    explicit Level(Machine& machine);
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --machine_.depth_; }
    explicit operator bool() const { return machine_.ok(); }

   private:
    Machine& machine_;
  };

  // New values.

  Value NewText(MarkedText text, bool is_markup = false, Type type = Type::kText);
  /// Text that the template writes, or that is the same for any author.
  Value NewText(std::string_view text) { return NewText(MarkedText(text, Author::kTemplate)); }

  Value NewUndefined(std::string_view why);

  Value NewSequence(Type type, std::vector<Value> items, std::string_view shown = {});
  Value NewList(std::vector<Value> items) { return NewSequence(Type::kList, std::move(items)); }
  Value NewTuple(std::vector<Value> items) { return NewSequence(Type::kTuple, std::move(items)); }
  Value NewGenerator(std::vector<Value> items, std::string_view shown);

  /// Adds to a list or dictionary that may have other owners already.
  void Append(Sequence& sequence, Value value);
  void Append(Dict& dict, Value key, Value value);

  Value NewDict() { return Value::Of(Type::kDict, heap_.New<Dict>()); }

  Value NewFunction(const Builtin* builtin, const Value& subject = {});

  Heap& heap() { return heap_; }

  const Finders& find;

  /// The time for strftime_now.
  std::optional<WallTime> now;

 private:
  TemplateLimits limits_;
  Heap heap_;
  std::optional<Error> error_;
  uint64_t steps_ = 0;
  size_t depth_ = 0, line_ = 1;
};

}  // namespace internal::jinja
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/templates/values/detail/machine.h"
#endif

#endif  // SKALD_TEMPLATES_VALUES_MACHINE_H_
