// SPDX-License-Identifier: Apache-2.0
//
// ResponseWriter: answers of HTTP/1.1 and 1.0 on a stream of Boost's. Internal to http/. A client has its time for each
// piece of a body, not for the whole: however large that is, one that keeps on reading gets all of it.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_RESPONSE_WRITER_H_
#define SKALD_EXAMPLES_SERVER_HTTP_RESPONSE_WRITER_H_

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/connection.h"
#include "server/http/exchange.h"

namespace skald::serve {

namespace http = boost::beast::http;

// Each function returns whether the client took it. Arguments of coroutines are values and never temporaries with
// references to them: g++ 12 destroys such twice.
template <class Stream>
class ResponseWriter {
 public:
  ResponseWriter(Stream& stream, std::chrono::milliseconds timeout) : stream_(stream), timeout_(timeout) {}

  // Of the request that is answered. `keeps`: another one may follow.
  void SetRequest(bool is_http_1_0, bool is_head, bool keeps) {
    is_http_1_0_ = is_http_1_0;
    is_head_ = is_head;
    keeps_ = keeps;
  }
  // No other request will follow.
  void EndConnection() { keeps_ = false; }
  bool keeps() const { return keeps_; }

  Awaitable<bool> WriteContinue() {
    http::response<http::empty_body> message(http::status::continue_, kVersion);
    Error error;
    Patience();
    co_await http::async_write(stream_, message, Quiet(error));
    co_return !error;
  }

  Awaitable<bool> WriteWhole(HttpHead head, std::string body) {
    http::response<http::string_body> message;
    FillHead(message, head);
    if (is_head_) {
      message.content_length(body.size());
    } else {
      message.body() = std::move(body);
      message.prepare_payload();
    }
    http::response_serializer<http::string_body> serializer(message);
    serializer.limit(kPiece);
    Error error;
    while (!error && !serializer.is_done()) {
      Patience();
      co_await http::async_write_some(stream_, serializer, Quiet(error));
    }
    co_return !error;
  }

  Awaitable<bool> BeginStream(HttpHead head) {
    http::response<http::empty_body> message;
    // A client of HTTP/1.0 reads to the connection's end if it knows no length.
    is_chunked_ = !head.length && !is_http_1_0_;
    keeps_ = keeps_ && (head.length || is_chunked_);
    FillHead(message, head);
    message.set(http::field::cache_control, "no-store");
    left_ = head.length.value_or(0);
    if (head.length) message.content_length(*head.length);
    if (is_chunked_) message.chunked(true);
    http::response_serializer<http::empty_body> serializer(message);
    Error error;
    Patience();
    co_await http::async_write_header(stream_, serializer, Quiet(error));
    co_return !error;
  }

  // `bytes` must not be empty, and stay until this is done.
  Awaitable<bool> WritePiece(std::string_view bytes) {
    Error error;
    while (!error && !bytes.empty() && !is_head_) {
      const asio::const_buffer piece(bytes.data(), std::min(bytes.size(), kPiece));
      bytes.remove_prefix(piece.size());
      left_ -= std::min<uint64_t>(left_, piece.size());
      Patience();
      if (is_chunked_) {
        co_await asio::async_write(stream_, http::make_chunk(piece), Quiet(error));
      } else {
        co_await asio::async_write(stream_, piece, Quiet(error));
      }
    }
    co_return !error;
  }

  // Returns false if the body is shorter than its head said. The connection then ends, so that the client sees it.
  Awaitable<bool> EndStream() {
    Error error;
    if (is_head_) co_return true;
    if (!is_chunked_) co_return left_ == 0;
    Patience();
    co_await asio::async_write(stream_, http::make_chunk_last(), Quiet(error));
    co_return !error;
  }

 private:
  using Error = boost::system::error_code;
  static constexpr size_t kPiece = size_t{64} << 10;
  static constexpr unsigned kVersion = 11;

  void Patience() { boost::beast::get_lowest_layer(stream_).expires_after(timeout_); }

  template <class Message>
  void FillHead(Message& message, const HttpHead& head) {
    message.version(is_http_1_0_ ? 10 : kVersion);
    message.result(static_cast<unsigned>(head.status));
    message.set(http::field::content_type, head.content_type);
    for (const auto& [name, value] : head.headers) message.set(name, value);
    message.keep_alive(keeps_);
  }

  Stream& stream_;
  const std::chrono::milliseconds timeout_;
  bool is_http_1_0_ = false, is_head_ = false, keeps_ = false, is_chunked_ = false;
  uint64_t left_ = 0;  // bytes of a stream whose length is known
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_RESPONSE_WRITER_H_
