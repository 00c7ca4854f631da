// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/json/json_value.h.

#ifndef SKALD_BASE_JSON_DETAIL_JSON_VALUE_H_
#define SKALD_BASE_JSON_DETAIL_JSON_VALUE_H_

#include "skald/base/json/json_value.h"

#include <nlohmann/json.hpp>

#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"

namespace skald {

struct JsonValue::Tree {
  Tree() = default;
  Tree(const Tree&) = default;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { internal::Dismantle(root); }

  nlohmann::ordered_json root;
};

namespace internal {

struct JsonTreeAccess {
  static nlohmann::ordered_json& Of(JsonValue& value) {
    if (value.tree_ == nullptr) value.tree_ = std::make_unique<JsonValue::Tree>();
    return value.tree_->root;
  }
  static const nlohmann::ordered_json& Of(const JsonValue& value) {
    static const nlohmann::ordered_json null;
    return value.tree_ == nullptr ? null : value.tree_->root;
  }
};

}  // namespace internal

SKALD_INLINE JsonValue::JsonValue() noexcept = default;
SKALD_INLINE JsonValue::JsonValue(const JsonValue& other)
    : tree_(other.tree_ == nullptr ? nullptr : std::make_unique<Tree>(*other.tree_)) {}
SKALD_INLINE JsonValue::JsonValue(JsonValue&& other) noexcept = default;
SKALD_INLINE JsonValue& JsonValue::operator=(const JsonValue& other) { return *this = JsonValue(other); }
SKALD_INLINE JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
SKALD_INLINE JsonValue::~JsonValue() = default;

SKALD_INLINE JsonValue JsonValue::Object() {
  JsonValue value;
  internal::JsonTreeAccess::Of(value) = nlohmann::ordered_json::object();
  return value;
}

SKALD_INLINE JsonValue JsonValue::Array() {
  JsonValue value;
  internal::JsonTreeAccess::Of(value) = nlohmann::ordered_json::array();
  return value;
}

SKALD_INLINE Result<JsonValue> JsonValue::Parse(std::string_view text) {
  return NoThrow("a JSON text", [&]() -> Result<JsonValue> {
    JsonValue value;
    const std::string complaint = internal::ParseJson(text, internal::JsonTreeAccess::Of(value));
    if (!complaint.empty()) return Fail(ErrorCode::kDataLoss, "the text " + complaint);
    return value;
  });
}

SKALD_INLINE std::string JsonValue::Text() const {
  return internal::JsonTreeAccess::Of(*this).dump(-1, ' ', /*ensure_ascii=*/false,
                                                  nlohmann::ordered_json::error_handler_t::replace);
}

SKALD_INLINE bool JsonValue::is_null() const { return internal::JsonTreeAccess::Of(*this).is_null(); }

}  // namespace skald

#endif  // SKALD_BASE_JSON_DETAIL_JSON_VALUE_H_
