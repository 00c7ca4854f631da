// SPDX-License-Identifier: Apache-2.0

#include "server/api/log/trace_context.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <random>

namespace skald::serve {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kTraceDigits = 32, kSpanDigits = 16;

std::string RandomDigits(size_t count) {
  std::random_device random;
  std::string digits;
  while (digits.size() < count) digits += kDigits[random() % kDigits.size()];
  return digits;
}

// Takes so many digits from the front, or nothing if there are fewer.
std::string_view TakeDigits(size_t count, std::string_view& text) {
  const std::string_view taken = text.substr(0, count);
  if (taken.size() < count || taken.find_first_not_of(kDigits) != taken.npos) return {};
  text.remove_prefix(count);
  return taken;
}

bool TakeDash(std::string_view& text) {
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  return true;
}

// An id of zeros is none.
bool IsId(std::string_view digits) { return digits.find_first_not_of('0') != digits.npos; }

// Fills in what the header says. Returns whether it is valid; versions after 00 may have more at their ends.
bool ReadParent(std::string_view header, TraceContext& context) {
  const std::string_view version = TakeDigits(2, header);
  if (version.empty() || version == "ff" || !TakeDash(header)) return false;
  const std::string_view trace = TakeDigits(kTraceDigits, header);
  if (!IsId(trace) || !TakeDash(header)) return false;
  const std::string_view parent = TakeDigits(kSpanDigits, header);
  if (!IsId(parent) || !TakeDash(header)) return false;
  const std::string_view flags = TakeDigits(2, header);
  if (flags.empty() || !(header.empty() || (version != "00" && header.starts_with('-')))) return false;
  context.trace_id = trace;
  context.parent_id = parent;
  std::from_chars(flags.data(), flags.data() + flags.size(), context.flags, 16);
  return true;
}

}  // namespace

TraceContext TraceContextOf(std::string_view traceparent) {
  TraceContext context;
  if (!ReadParent(traceparent, context)) context.trace_id = RandomDigits(kTraceDigits);
  context.span_id = RandomDigits(kSpanDigits);
  return context;
}

std::string TraceResponseOf(const TraceContext& context) {
  return "00-" + context.trace_id + "-" + context.span_id + "-" + kDigits[context.flags >> 4] +
         kDigits[context.flags & 15];
}

}  // namespace skald::serve
