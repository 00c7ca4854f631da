// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/backends/redis_url.h.

#ifndef SKALD_STORE_BACKENDS_DETAIL_REDIS_URL_H_
#define SKALD_STORE_BACKENDS_DETAIL_REDIS_URL_H_

#include "skald/store/backends/redis_url.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

namespace internal {

// Decodes %XX in a component of a URL; nothing if it is malformed.
inline std::optional<std::string> FromPercent(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

inline std::optional<int> WholeNumber(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return std::nullopt;
  return value;
}

// Removes the scheme before "://", if there is one; false for a scheme that is not one of Redis.
inline bool TakeScheme(std::string_view& text, RedisOptions& options) {
  const size_t end = text.find("://");
  if (end == text.npos) return true;
  const std::string_view scheme = text.substr(0, end);
  text.remove_prefix(end + 3);
  options.tls.is_used = scheme == "rediss";
  return scheme == "redis" || options.tls.is_used;
}

// The same with the user and password before '@'.
inline bool TakeUser(std::string_view& text, RedisOptions& options) {
  const size_t at = text.rfind('@');
  if (at == text.npos) return true;
  const std::string_view both = text.substr(0, at);
  text.remove_prefix(at + 1);
  const size_t colon = both.find(':');
  auto user = FromPercent(both.substr(0, colon));
  auto password = FromPercent(colon == both.npos ? std::string_view() : both.substr(colon + 1));
  if (!user || !password) return false;
  options.user = *std::move(user);
  options.password = *std::move(password);
  return true;
}

// HOST, HOST:PORT, [HOST] or [HOST]:PORT.
inline bool ReadHostAndPort(std::string_view text, RedisOptions& options) {
  const bool is_bracketed = text.starts_with('[');
  const size_t end = is_bracketed ? text.find(']') : text.rfind(':');
  if (is_bracketed && end == text.npos) return false;
  options.host = text.substr(is_bracketed, is_bracketed ? end - 1 : end);
  const std::string_view behind = is_bracketed ? text.substr(end + 1) : text.substr(std::min(end, text.size()));
  if (!behind.empty()) {
    const auto port = WholeNumber(behind.substr(1), 65535);
    if (!behind.starts_with(':') || !port || *port == 0) return false;
    options.port = *port;
  }
  return !options.host.empty();
}

}  // namespace internal

SKALD_INLINE Result<RedisOptions> ParseRedisAddress(std::string_view address, const RedisOptions& base) {
  return NoThrow("the address of Redis", [&]() -> Result<RedisOptions> {
    const auto wrong = [](const char* what) {
      return Fail(ErrorCode::kInvalidArgument,
                  std::string("the address of Redis: ") + what +
                      "; expected HOST, HOST:PORT or redis[s]://USER:PASSWORD@HOST:PORT/DATABASE");
    };
    RedisOptions options = base;
    std::string_view rest = address;
    const bool is_url = rest.find("://") != rest.npos;
    if (!internal::TakeScheme(rest, options)) return wrong("its scheme is neither redis:// nor rediss://");
    if (!is_url && rest.find('@') != rest.npos) return wrong("a user needs redis:// or rediss:// at the front");
    // A password may contain a slash, though it should be encoded.
    const size_t host = rest.rfind('@') == rest.npos ? 0 : rest.rfind('@') + 1;
    if (const size_t slash = rest.find('/', host); is_url && slash != rest.npos) {
      const std::string_view database = rest.substr(slash + 1);
      const auto number = internal::WholeNumber(database, 1'000'000);
      if (!database.empty() && !number) return wrong("its database is not a number");
      options.database = number.value_or(0);
      rest = rest.substr(0, slash);
    }
    if (!internal::TakeUser(rest, options)) return wrong("its user or password has a '%' without two digits");
    if (!internal::ReadHostAndPort(rest, options))
      return wrong("its host is missing, or its port is not a port number");
    return options;
  });
}

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_DETAIL_REDIS_URL_H_
