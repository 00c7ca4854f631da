// SPDX-License-Identifier: Apache-2.0
//
// BodyTaker: puts a request's body where its admission says, as it comes, within its limits.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_BODY_TAKER_H_
#define SKALD_EXAMPLES_SERVER_HTTP_BODY_TAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "server/http/exchange.h"
#include "server/http/limits/byte_budget.h"
#include "server/http/request_head.h"

namespace skald::serve {

// Used by one thread at a time. The objects that its constructor gets must outlive it.
class BodyTaker {
 public:
  // `spool` holds the files; it is null if no admission asks for one. `share` counts bodies in memory.
  BodyTaker(const Admission& admission, Spool* spool, std::shared_ptr<ByteBudget::Share> share, HttpRequest& request)
      : admission_(admission), spool_(spool), share_(std::move(share)), request_(request) {}

  // Before the body comes; `length` is what the client says of it. Returns what is wrong, as Take does: then the rest
  // of the body is not to be read.
  std::optional<HeadError> Begin(std::optional<uint64_t> length);
  std::optional<HeadError> Take(std::string_view bytes);

  uint64_t taken() const { return taken_; }

 private:
  HeadError TooLarge() const;

  const Admission& admission_;
  Spool* const spool_;
  const std::shared_ptr<ByteBudget::Share> share_;
  HttpRequest& request_;
  uint64_t length_ = 0;  // that is expected, or the most that there may be
  uint64_t taken_ = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_BODY_TAKER_H_
