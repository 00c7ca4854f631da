// SPDX-License-Identifier: Apache-2.0
//
// WithHeaders: an answer with the headers that all answers have, which tells what became of it.

#ifndef SKALD_EXAMPLES_SERVER_API_ROUTING_WITH_HEADERS_H_
#define SKALD_EXAMPLES_SERVER_API_ROUTING_WITH_HEADERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/http/exchange.h"

namespace skald::serve {

// Facts of an answer that is at its end.
struct AnswerFacts {
  int status = 0;      // 0: there was no head
  uint64_t bytes = 0;  // of the body
  bool is_whole = false;
  std::string target = {};  // HttpHead::target
};

// Adds headers to the answer of another exchange, and counts it.
class WithHeaders final : public Exchange {
 public:
  // `on_end` must not throw.
  WithHeaders(std::unique_ptr<Exchange> inner, HeaderList headers, std::function<void(int)> on_head,
              std::function<void(const AnswerFacts&)> on_end)
      : inner_(std::move(inner)),
        headers_(std::move(headers)),
        on_head_(std::move(on_head)),
        on_end_(std::move(on_end)) {}
  ~WithHeaders() override { on_end_(facts_); }

  HttpPiece Next() override {
    HttpPiece piece = inner_->Next();
    facts_.bytes += piece.body.size();
    if (piece.is_last) facts_.is_whole = true;
    if (!piece.head) return piece;
    facts_.status = piece.head->status;
    facts_.target = piece.head->target;
    on_head_(piece.head->status);
    piece.head->headers.insert(piece.head->headers.end(), headers_.begin(), headers_.end());
    return piece;
  }

 private:
  const std::unique_ptr<Exchange> inner_;
  const HeaderList headers_;
  const std::function<void(int)> on_head_;
  const std::function<void(const AnswerFacts&)> on_end_;
  AnswerFacts facts_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ROUTING_WITH_HEADERS_H_
