// SPDX-License-Identifier: Apache-2.0

#include "server/http/connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/body_taker.h"
#include "server/http/request_head.h"
#include "server/http/response_writer.h"

namespace skald::serve {
namespace {

namespace beast = boost::beast;
using ErrorCode = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

// Wakes a coroutine from another thread. Raised before anyone waits, the next wait ends at once.
class Signal : public std::enable_shared_from_this<Signal> {
 public:
  explicit Signal(asio::any_io_executor executor) : timer_(std::move(executor)) {}

  void Raise() {
    asio::post(timer_.get_executor(), [self = shared_from_this()] {
      self->is_raised_ = true;
      self->timer_.cancel();
    });
  }

  // Waits until it is raised, or for `most`.
  Awaitable<void> Wait(std::chrono::milliseconds most) {
    if (!is_raised_) {
      timer_.expires_after(most);
      ErrorCode ignored;
      co_await timer_.async_wait(Quiet(ignored));
    }
    is_raised_ = false;
  }

 private:
  asio::steady_timer timer_;
  bool is_raised_ = false;  // of the connection's strand
};

HttpRequest HeadOf(const http::request<http::buffer_body>& message) {
  HttpRequest head;
  head.method = std::string(message.method_string());
  head.is_http_1_0 = message.version() < 11;
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    head.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  return head;
}

template <class Stream>
class Connection {
 public:
  Connection(ServerShared& shared, Stream stream, Peer peer)
      : shared_(shared),
        stream_(std::move(stream)),
        writer_(stream_, shared.options.write_timeout),
        peer_(std::move(peer)) {}
  ~Connection() { *self_ = nullptr; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Awaitable<void> Run() {
    signal_ = std::make_shared<Signal>(stream_.get_executor());
    MayLeave(SteadyClock::now());
    bool goes_on = co_await Greet();
    if (!goes_on) co_return;
    while (goes_on) goes_on = co_await ServeOne();
    if (!has_left_) co_await Close();
  }

 private:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;
  using Parser = http::request_parser<http::buffer_body>;

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  const HttpOptions& options() const { return shared_.options; }

  // How long a client may be silent.
  std::chrono::milliseconds Patience(std::chrono::milliseconds usual) const {
    const bool is_short = shared_.places.is_scarce() || peer_.place->is_urgent();
    return is_short ? std::min(usual, options().scarce_timeout) : usual;
  }

  // From `since` on others may have this connection's place.
  void MayLeave(SteadyClock::time_point since) {
    peer_.place->MayLeave(since, [self = self_, executor = stream_.get_executor()] {
      asio::post(executor, [self] {
        if (*self == nullptr) return;
        (*self)->has_left_ = true;
        (*self)->tcp().close();
      });
    });
  }

  Awaitable<bool> Greet() {
    ErrorCode error;
    if constexpr (kIsTls) {
      tcp().expires_after(Patience(options().header_timeout));
      co_await stream_.async_handshake(asio::ssl::stream_base::server, Quiet(error));
    }
    co_return !error;
  }

  // Reads a request and answers it. Returns whether another one may follow.
  Awaitable<bool> ServeOne() {
    writer_.SetRequest(/*is_http_1_0=*/false, /*is_head=*/false, /*keeps=*/false);
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(options().header_bytes));
    parser.body_limit(boost::none);  // BodyTaker's matter
    const bool has_head = co_await ReadHead(parser);
    if (!has_head) co_return false;
    HttpRequest request = HeadOf(parser.get());
    request.peer = peer_.address;
    request.is_tls = kIsTls;
    request.is_crowded = peer_.place->is_urgent();
    const bool keeps = parser.get().keep_alive() && !shared_.is_stopping && !peer_.place->is_urgent();
    writer_.SetRequest(request.is_http_1_0, request.method == "HEAD", keeps);
    auto wrong = SetTarget(parser.get().target(), request);
    if (!wrong) wrong = CheckHead(request);
    if (wrong) co_return co_await Refuse(wrong->status, wrong->message);
    const Admission admission = shared_.handler(request);
    if (admission.answer != nullptr) {
      if (!parser.is_done()) writer_.EndConnection();  // its body is not read
      co_return co_await Answer(*admission.answer);
    }
    wrong = co_await ReadBody(parser, admission, request);
    if (wrong) {
      if (wrong->status == 0) co_return false;
      writer_.EndConnection();
      const std::unique_ptr<Exchange> refusal = admission.refuse(wrong->status, wrong->message);
      co_return co_await Answer(*refusal);
    }
    Wake wake = [signal = signal_] { signal->Raise(); };
    const std::unique_ptr<Exchange> exchange = admission.begin(std::move(request), std::move(wake));
    co_return co_await Answer(*exchange);
  }

  // Returns whether there is a head to be answered.
  Awaitable<bool> ReadHead(Parser& parser) {
    ErrorCode error;
    MayLeave(SteadyClock::now());
    if (shared_.is_stopping) co_return false;
    if (buffer_.size() == 0) {
      tcp().expires_after(Patience(options().idle_timeout));
      const size_t size = co_await stream_.async_read_some(buffer_.prepare(4096), Quiet(error));
      buffer_.commit(size);
      if (error) co_return false;
    }
    tcp().expires_after(Patience(options().header_timeout));
    co_await http::async_read_header(stream_, buffer_, parser, Quiet(error));
    if (!peer_.place->Stays()) co_return false;
    if (!error) co_return true;
    const HeadError wrong = ReadingError(error);
    if (wrong.status != 0) co_await Refuse(wrong.status, wrong.message);
    co_return false;
  }

  // Returns the error, if there is one. Its status is 0 if no client is left to be told.
  Awaitable<std::optional<HeadError>> ReadBody(Parser& parser, const Admission& admission, HttpRequest& request) {
    auto share = std::make_shared<ByteBudget::Share>(shared_.bodies, peer_.client);
    BodyTaker taker(admission, options().spool, std::move(share), request);
    std::optional<uint64_t> length;
    if (const auto said = parser.content_length()) length = *said;
    std::optional<HeadError> wrong = taker.Begin(length);
    if (wrong || parser.is_done()) co_return wrong;
    if (!request.Header("expect").empty()) {
      const bool is_there = co_await writer_.WriteContinue();
      if (!is_there) co_return HeadError{0, ""};
    }
    const auto begin = SteadyClock::now();
    MayLeave(begin + kBodyPatience);
    parser.eager(true);
    std::vector<char> piece(kBodyPiece);
    while (!wrong && !parser.is_done()) {
      parser.get().body() = {piece.data(), piece.size(), true};
      tcp().expires_at(begin + options().body_timeout + std::chrono::seconds(taker.taken() / kLeastRate));
      ErrorCode error;
      co_await http::async_read_some(stream_, buffer_, parser, Quiet(error));
      if (error && error != http::error::need_buffer) co_return ReadingError(error);
      wrong = taker.Take({piece.data(), piece.size() - parser.get().body().size});
    }
    if (!peer_.place->Stays()) co_return HeadError{0, ""};
    co_return wrong;
  }
  static constexpr size_t kBodyPiece = size_t{16} << 10;
  static constexpr uint64_t kLeastRate = uint64_t{64} << 10;         // bytes of a body in a second
  static constexpr std::chrono::milliseconds kBodyPatience{10'000};  // before a body's place may be another's

  // The answer to the client for an error in reading; status 0 if the client is told nothing.
  HeadError ReadingError(const ErrorCode& error) const {
    if (error == http::error::header_limit) {
      return {431, "the request's headers are larger than " + std::to_string(options().header_bytes) + " bytes"};
    }
    if (error == beast::error::timeout) return {408, "the request did not come in time"};
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return {400, "this is no request of HTTP/1.1: " + error.message()};
    }
    return {0, ""};
  }

  // Answers without an Exchange, and ends the connection.
  Awaitable<bool> Refuse(int status, std::string message) {
    writer_.EndConnection();
    HttpHead head;
    head.status = status;
    if (status == 415) head.headers.emplace_back("Accept-Encoding", "identity");
    if (status == 503) head.headers.emplace_back("Retry-After", "1");
    if (options().error_body) message = options().error_body(status, message);
    co_await writer_.WriteWhole(std::move(head), std::move(message));
    co_return false;
  }

  // Returns whether another request may follow.
  Awaitable<bool> Answer(Exchange& exchange) {
    std::optional<HttpHead> head;
    std::string body;
    auto last_write = SteadyClock::now();
    for (;;) {
      HttpPiece piece = exchange.Next();
      const bool is_new = piece.head.has_value();
      if (is_new) head = std::move(piece.head);
      if (!head || !head->is_stream) {
        body += piece.body;
        if (piece.is_last) {
          HttpHead known = head.value_or(HttpHead{500});
          const bool is_there = co_await writer_.WriteWhole(std::move(known), std::move(body));
          co_return is_there&& writer_.keeps();
        }
      } else {
        bool is_there = true;
        if (is_new) is_there = co_await writer_.BeginStream(*head);
        if (is_there && !piece.body.empty()) is_there = co_await writer_.WritePiece(piece.body);
        if (is_there && piece.is_last) is_there = co_await writer_.EndStream();
        if (!is_there) co_return false;
        if (piece.is_last) co_return writer_.keeps();
        if (!piece.body.empty()) last_write = SteadyClock::now();
      }
      if (!piece.body.empty()) continue;
      co_await signal_->Wait(std::min(options().keep_alive, kLook));
      if (HasGone()) co_return false;
      const bool is_silent = SteadyClock::now() - last_write >= options().keep_alive;
      if (head && head->is_stream && head->content_type == "text/event-stream" && is_silent) {
        last_write = SteadyClock::now();
        const bool is_there = co_await writer_.WritePiece(": keep-alive\n\n");
        if (!is_there) co_return false;
      }
    }
  }

  // How often a silent connection is looked at.
  static constexpr std::chrono::milliseconds kLook{250};

  // Whether the client has closed its side, even if bytes that it sent earlier are still unread.
  bool HasGone() {
    pollfd socket = {tcp().socket().native_handle(), POLLRDHUP, 0};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
  }

  // Says that nothing follows, and takes what the client still sends for a moment: closing with unread bytes would
  // take the answer away from it.
  Awaitable<void> Close() {
    ErrorCode error;
    tcp().expires_after(std::chrono::seconds(2));
    if constexpr (kIsTls) {
      co_await stream_.async_shutdown(Quiet(error));
    } else {
      tcp().socket().shutdown(Tcp::socket::shutdown_send, error);
      for (size_t taken = 0; !error && taken < kMostDrained;) {
        buffer_.clear();
        taken += co_await tcp().async_read_some(buffer_.prepare(4096), Quiet(error));
      }
    }
  }
  static constexpr size_t kMostDrained = size_t{8} << 20;

  ServerShared& shared_;
  Stream stream_;
  ResponseWriter<Stream> writer_;
  Peer peer_;
  beast::flat_buffer buffer_;
  std::shared_ptr<Signal> signal_;
  std::shared_ptr<Connection*> self_ = std::make_shared<Connection*>(this);  // null when it is gone; of the strand
  bool has_left_ = false;                                                    // for others
};

}  // namespace

Awaitable<void> ServePlain(ServerShared& shared, beast::tcp_stream stream, Peer peer) {
  Connection<beast::tcp_stream> connection(shared, std::move(stream), std::move(peer));
  co_await connection.Run();
}

Awaitable<void> ServeTls(ServerShared& shared, beast::tcp_stream stream, Peer peer,
                         std::shared_ptr<asio::ssl::context> context) {
  Connection<beast::ssl_stream<beast::tcp_stream>> connection(
      shared, beast::ssl_stream<beast::tcp_stream>(std::move(stream), *context), std::move(peer));
  co_await connection.Run();
}

}  // namespace skald::serve
