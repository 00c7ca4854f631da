// SPDX-License-Identifier: Apache-2.0

#include "server/http/request_head.h"

#include <algorithm>

namespace skald::serve {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::optional<HeadError> CheckFraming(const HttpRequest& head) {
  const size_t codings = head.CountOf("transfer-encoding"), lengths = head.CountOf("content-length");
  const std::string_view length = head.Header("content-length");
  const bool is_number = std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; });
  if (lengths > 1 || !is_number) return HeadError{400, "Content-Length is to be one number"};
  if (codings == 0) return std::nullopt;
  if (lengths > 0) return HeadError{400, "a request has a Content-Length or a Transfer-Encoding, not both"};
  if (head.is_http_1_0) return HeadError{400, "HTTP/1.0 knows no Transfer-Encoding"};
  if (codings > 1) return HeadError{400, "there is more than one Transfer-Encoding"};
  if (SameButCase(head.Header("transfer-encoding"), "chunked")) return std::nullopt;
  return HeadError{501, "this server knows no Transfer-Encoding but 'chunked'"};
}

std::optional<HeadError> CheckCoding(const HttpRequest& head) {
  for (const auto& [name, value] : head.headers) {
    if (name != "content-encoding" || value.empty() || SameButCase(value, "identity")) continue;
    return HeadError{415, "the body has the Content-Encoding '" + value.substr(0, 64) +
                              "'; send it as it is, this server decodes none"};
  }
  return std::nullopt;
}

}  // namespace

bool SameButCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, LowerAscii, LowerAscii);
}

std::optional<HeadError> SetTarget(std::string_view target, HttpRequest& head) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!SameButCase(target.substr(0, scheme.size()), scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const auto host = std::ranges::find(head.headers, "host", &HeaderList::value_type::first);
    if (host != head.headers.end()) host->second = rest.substr(0, end);
    target = rest.substr(end);
    if (target.empty()) target = "/";
  }
  if (!target.starts_with('/') && target != "*") {
    return HeadError{400, "the request's target is '" + std::string(target.substr(0, 64)) + "', expected a path"};
  }
  const size_t question = target.find('?');
  head.path = target.substr(0, question);
  if (question != target.npos) head.query = target.substr(question + 1);
  return std::nullopt;
}

std::optional<HeadError> CheckHead(const HttpRequest& head) {
  if (auto wrong = CheckFraming(head)) return wrong;
  const size_t hosts = head.CountOf("host");
  if (hosts > 1) return HeadError{400, "there is more than one Host"};
  if (hosts == 0 && !head.is_http_1_0) return HeadError{400, "there is no Host, which HTTP/1.1 needs"};
  const std::string_view expected = head.Header("expect");
  if (!expected.empty() && !SameButCase(expected, "100-continue")) {
    return HeadError{417, "this server knows no Expect but '100-continue'"};
  }
  return CheckCoding(head);
}

}  // namespace skald::serve
