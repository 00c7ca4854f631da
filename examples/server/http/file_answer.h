// SPDX-License-Identifier: Apache-2.0
//
// FileAnswer: an answer whose body lies in a file, of which no more than a piece is in memory.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_FILE_ANSWER_H_
#define SKALD_EXAMPLES_SERVER_HTTP_FILE_ANSWER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "server/http/exchange.h"
#include "server/http/spool.h"

namespace skald::serve {

class FileAnswer final : public Exchange {
 public:
  FileAnswer(std::shared_ptr<const SpooledFile> file, HttpHead head) : file_(std::move(file)), head_(std::move(head)) {
    head_->is_stream = true;
    head_->length = file_->size();
  }

  // A file that cannot be read ends the answer before its length, which the client sees.
  HttpPiece Next() override {
    HttpPiece piece = {std::exchange(head_, std::nullopt), {}, false};
    piece.body.resize(static_cast<size_t>(std::min<uint64_t>(kPiece, file_->size() - place_)));
    const auto read = file_->ReadAt(place_, std::as_writable_bytes(std::span(piece.body)));
    if (!read) piece.body.clear();
    place_ += piece.body.size();
    piece.is_last = !read || place_ == file_->size();
    return piece;
  }

 private:
  static constexpr uint64_t kPiece = uint64_t{256} << 10;

  const std::shared_ptr<const SpooledFile> file_;
  std::optional<HttpHead> head_;
  uint64_t place_ = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_FILE_ANSWER_H_
