// SPDX-License-Identifier: Apache-2.0
//
// JsonValue: a JSON value of any content, for interfaces that take what callers have as JSON. Programs that build such
// values with nlohmann-json find the tree inside by TreeOf (json_value_tree.h); others parse a text.

#ifndef SKALD_BASE_JSON_JSON_VALUE_H_
#define SKALD_BASE_JSON_JSON_VALUE_H_

#include <memory>
#include <string>
#include <string_view>

#include "skald/base/result.h"

namespace skald {

namespace internal {
struct JsonTreeAccess;
}  // namespace internal

/// Objects keep the order of their names. Safe for concurrent reads.
class JsonValue {
 public:
  /// Null.
  JsonValue() noexcept;
  /// A copy of all content. Throws std::bad_alloc.
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  /// Returns an object without members. Throws std::bad_alloc.
  static JsonValue Object();
  /// Returns an array without elements. Throws std::bad_alloc.
  static JsonValue Array();

  /// Returns the value of a text (RFC 8259). Of a name that an object gives twice, the last value counts. Errors:
  /// kDataLoss for what is not JSON, with the place, or is nested too deeply; kResourceExhausted.
  static Result<JsonValue> Parse(std::string_view text);

  /// Returns the value as a text; bytes that are not UTF-8 are replaced in it.
  std::string Text() const;

  /// Whether it is null.
  bool is_null() const;

 private:
  struct Tree;
  friend struct internal::JsonTreeAccess;

  std::unique_ptr<Tree> tree_;  ///< null: the value is null
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/json/detail/json_value.h"
#endif

#endif  // SKALD_BASE_JSON_JSON_VALUE_H_
