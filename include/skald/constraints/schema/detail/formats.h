// SPDX-License-Identifier: Apache-2.0
//
// The formats of strings that a JSON Schema may name, as patterns. Each allows only what the format does, and of what
// it does all that is written in practice: no leap seconds, no quoted parts of e-mail addresses, no host names of more
// than seven parts or 31 letters in one.

#ifndef SKALD_CONSTRAINTS_SCHEMA_DETAIL_FORMATS_H_
#define SKALD_CONSTRAINTS_SCHEMA_DETAIL_FORMATS_H_

#include <optional>
#include <string>
#include <string_view>

#include "skald/base/text/message.h"

namespace skald::internal {

// Source: RFC 3339, sections 5.6 and 5.7; years from 1 on.
inline std::string DatePattern() {
  constexpr std::string_view kYear = "(\\d{3}[1-9]|\\d{2}[1-9]0|\\d[1-9]00|[1-9]000)";
  constexpr std::string_view kLeapYear = "(\\d\\d(0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26]|0[48])00)";
  return Concat({"(", kYear, "-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|",
                 "02-(0[1-9]|1\\d|2[0-8]))|", kLeapYear, "-02-29)"});
}
inline std::string TimePattern() {
  constexpr std::string_view kHoursMinutes = "([01]\\d|2[0-3]):[0-5]\\d";
  return Concat({kHoursMinutes, ":[0-5]\\d(\\.\\d{1,6})?(Z|[+-]", kHoursMinutes, ")"});
}

// Source: RFC 3339, appendix A.
inline std::string DurationPattern() {
  constexpr std::string_view kSeconds = "\\d{1,9}S", kMinutes = "\\d{1,9}M(\\d{1,9}S)?";
  const std::string time = Concat({"T(\\d{1,9}H(", kMinutes, ")?|", kMinutes, "|", kSeconds, ")"});
  const std::string days = "\\d{1,9}D", months = Concat({"\\d{1,9}M(", days, ")?"});
  return Concat({"P((", days, "|", months, "|\\d{1,9}Y(", months, ")?)(", time, ")?|", time, "|\\d{1,9}W)"});
}

// Source: RFC 1123, section 2.1.
inline std::string HostnamePattern(std::string_view more_parts) {
  constexpr std::string_view kPart = "[A-Za-z0-9]([A-Za-z0-9-]{0,29}[A-Za-z0-9])?";
  return Concat({kPart, "(\\.", kPart, ")", more_parts});
}

// Source: RFC 4291, section 2.2: at most one :: replaces groups of zeros.
inline std::string Ipv6Pattern() {
  constexpr std::string_view kGroup = "[0-9A-Fa-f]{1,4}";
  std::string pattern = Concat({"((", kGroup, ":){7}", kGroup});
  for (int before = 0; before <= 7; ++before) {  // groups before the ::
    const std::string rest = std::to_string(6 - before), more = std::to_string(before - 1);
    const std::string front = before == 0 ? "" : Concat({kGroup, "(:", kGroup, "){", more, "}"});
    const std::string back = before == 7 ? "" : Concat({"(", kGroup, "(:", kGroup, "){0,", rest, "})?"});
    pattern += Concat({"|", front, "::", back});
  }
  return pattern + ")";
}

// Returns the pattern of the whole string, or nothing for a format that is not known.
inline std::optional<std::string> PatternOfFormat(std::string_view format) {
  const auto whole = [](std::string_view pattern) { return Concat({"^", pattern, "$"}); };
  if (format == "date") return whole(DatePattern());
  if (format == "time") return whole(TimePattern());
  if (format == "date-time") return whole(Concat({DatePattern(), "T", TimePattern()}));
  if (format == "duration") return whole(DurationPattern());
  if (format == "hostname") return whole(HostnamePattern("{0,6}"));
  if (format == "email") {
    constexpr std::string_view kWord = "[A-Za-z0-9_+-]{1,32}";
    return whole(Concat({kWord, "(\\.", kWord, ")?@", HostnamePattern("{1,6}")}));
  }
  if (format == "ipv4")
    return whole("((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)");
  if (format == "ipv6") return whole(Ipv6Pattern());
  if (format == "uuid") return whole("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  return std::nullopt;
}

}  // namespace skald::internal

#endif  // SKALD_CONSTRAINTS_SCHEMA_DETAIL_FORMATS_H_
