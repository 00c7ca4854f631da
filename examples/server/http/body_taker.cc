// SPDX-License-Identifier: Apache-2.0

#include "server/http/body_taker.h"

#include <algorithm>
#include <span>
#include <string>

namespace skald::serve {

HeadError BodyTaker::TooLarge() const {
  return {413, "the request's body is larger than " + std::to_string(admission_.body_bytes) + " bytes"};
}

std::optional<HeadError> BodyTaker::Begin(std::optional<uint64_t> length) {
  length_ = length.value_or(admission_.body_bytes);
  if (length_ > admission_.body_bytes) return TooLarge();
  if (admission_.body == Admission::Body::kInMemory) {
    request_.counted = share_;
    return std::nullopt;
  }
  auto file = spool_->Create();
  if (!file) return HeadError{503, file.error().message};
  request_.file = *std::move(file);
  return std::nullopt;
}

std::optional<HeadError> BodyTaker::Take(std::string_view bytes) {
  taken_ += bytes.size();
  if (taken_ > admission_.body_bytes) return TooLarge();
  if (request_.file != nullptr) {
    if (auto written = request_.file->Write(std::as_bytes(std::span(bytes))); !written) {
      return HeadError{503, written.error().message};
    }
    return std::nullopt;
  }
  if (!share_->GrowTo(taken_)) return HeadError{503, "the requests of others take all memory that there is for bodies"};
  std::string& body = request_.body;
  // As much memory as came, at most twice: a length alone costs nothing.
  if (body.capacity() < taken_) {
    body.reserve(static_cast<size_t>(std::max(taken_, std::min<uint64_t>(2 * body.capacity(), length_))));
  }
  body += bytes;
  return std::nullopt;
}

}  // namespace skald::serve
