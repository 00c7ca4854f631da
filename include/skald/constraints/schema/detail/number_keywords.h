// SPDX-License-Identifier: Apache-2.0
//
// Keywords of a schema that are about numbers: bounds, and multiples.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_NUMBER_KEYWORDS_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_NUMBER_KEYWORDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "skald/constraints/schema/detail/decimal_ranges.h"
#include "skald/constraints/schema/detail/schema_value.h"

namespace skald::internal {

// A keyword whose value is wrong, or, if it `is_unsupported`, right and not supported.
struct WrongKeyword {
  std::string_view keyword, expected;
  bool is_unsupported = false;
};

inline std::optional<WrongKeyword> ReadBounds(const SchemaValue& schema, DecimalRange& range) {
  using Side = DecimalBound::Side;
  struct {
    std::string_view keyword;
    Side side;
    bool is_strict;
  } static constexpr kBounds[] = {{"minimum", Side::kAtLeast, false},
                                  {"exclusiveMinimum", Side::kAtLeast, true},
                                  {"maximum", Side::kAtMost, false},
                                  {"exclusiveMaximum", Side::kAtMost, true}};
  for (const auto& bound : kBounds) {
    const SchemaValue* const value = schema.Find(bound.keyword);
    if (value == nullptr) continue;
    const std::optional<Decimal> number = value->IsNumber() ? Decimal::Parse(value->text) : std::nullopt;
    if (!number) return WrongKeyword{bound.keyword, "expected a number of at most 64 digits"};
    range.bounds.push_back({bound.side, bound.is_strict, *number});
  }
  return std::nullopt;
}

inline std::optional<WrongKeyword> ReadMultiple(const SchemaValue& schema, DecimalRange& range) {
  constexpr size_t kMostDigits = 6;
  const SchemaValue* const value = schema.Find("multipleOf");
  if (value == nullptr) return std::nullopt;
  const std::optional<Decimal> number = value->IsNumber() ? Decimal::Parse(value->text) : std::nullopt;
  if (!number || number->is_negative || number->IsZero() ||
      number->whole.size() + number->fraction.size() > kMostDigits) {
    return WrongKeyword{"multipleOf", "expected a number above 0 of at most 6 digits", /*is_unsupported=*/true};
  }
  range.multiple_of = std::stoull(number->whole + number->fraction);
  range.places = number->fraction.size();
  return std::nullopt;
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_NUMBER_KEYWORDS_H_
