// SPDX-License-Identifier: Apache-2.0

#include "serve/http/connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace skald::serve {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
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

HttpRequest TakeRequest(http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != target.npos) request.query = target.substr(question + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

template <class Stream>
class Connection {
 public:
  Connection(ServerShared& shared, Stream stream) : shared_(shared), stream_(std::move(stream)) {
    ++shared.connections;
  }
  ~Connection() {
    *self_ = nullptr;
    --shared_.connections;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Awaitable<void> Run() {
    signal_ = std::make_shared<Signal>(stream_.get_executor());
    bool goes_on = co_await Greet();
    if (!goes_on) co_return;
    if (shared_.connections > shared_.options.connections) {
      goes_on = co_await Refuse(503, "there are as many connections as this server takes");
    }
    while (goes_on) goes_on = co_await ServeOne();
    co_await Close();
  }

 private:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;
  using Parser = http::request_parser<http::string_body>;

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  const HttpOptions& options() const { return shared_.options; }

  Awaitable<bool> Greet() {
    ErrorCode error;
    if constexpr (kIsTls) {
      tcp().expires_after(options().header_timeout);
      co_await stream_.async_handshake(asio::ssl::stream_base::server, Quiet(error));
    }
    co_return !error;
  }

  // Reads a request and answers it. Returns whether another one may follow.
  Awaitable<bool> ServeOne() {
    const bool has_begun = co_await WaitForRequest();
    if (!has_begun) co_return false;
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(options().header_bytes));
    parser.body_limit(options().body_bytes);
    ErrorCode error;
    tcp().expires_after(options().header_timeout);
    co_await http::async_read_header(stream_, buffer_, parser, Quiet(error));
    if (error) co_return co_await RefuseRead(error);
    const bool expects_word = beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done();
    if (expects_word) {
      http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
      co_await http::async_write(stream_, go_on, Quiet(error));
      if (error) co_return false;
    }
    tcp().expires_after(options().body_timeout);
    co_await http::async_read(stream_, buffer_, parser, Quiet(error));
    if (error) co_return co_await RefuseRead(error);
    auto message = parser.release();
    version_ = message.version();
    const bool keeps = message.keep_alive() && !shared_.is_stopping;
    is_head_ = message.method() == http::verb::head;
    Wake wake = [signal = signal_] { signal->Raise(); };
    HttpRequest request = TakeRequest(message);
    const std::unique_ptr<Exchange> exchange = shared_.handler(std::move(request), std::move(wake));
    co_return co_await Answer(*exchange, keeps);
  }

  // For the first byte of the next request.
  Awaitable<bool> WaitForRequest() {
    if (buffer_.size() > 0) co_return !shared_.is_stopping;
    const uint64_t number = shared_.AddIdle([self = self_, executor = stream_.get_executor()] {
      asio::post(executor, [self] {
        if (*self != nullptr && (*self)->is_idle_) (*self)->tcp().cancel();
      });
    });
    is_idle_ = true;
    ErrorCode error = shared_.is_stopping ? ErrorCode(asio::error::operation_aborted) : ErrorCode();
    if (!error) {
      tcp().expires_after(options().idle_timeout);
      const size_t size = co_await stream_.async_read_some(buffer_.prepare(4096), Quiet(error));
      buffer_.commit(size);
    }
    is_idle_ = false;
    shared_.RemoveIdle(number);
    co_return !error;
  }

  Awaitable<bool> RefuseRead(const ErrorCode& error) {
    int status = 0;
    std::string message;
    if (error == http::error::header_limit) {
      status = 431;
      message = "the request's headers are larger than " + std::to_string(options().header_bytes) + " bytes";
    } else if (error == http::error::body_limit) {
      status = 413;
      message = "the request's body is larger than " + std::to_string(options().body_bytes) + " bytes";
    } else if (error == beast::error::timeout) {
      status = 408;
      message = "the request did not come in time";
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      status = 400;
      message = "this is no request of HTTP/1.1: " + error.message();
    }
    if (status == 0) co_return false;
    co_return co_await Refuse(status, std::move(message));
  }

  // Answers without anybody's help, and ends the connection.
  Awaitable<bool> Refuse(int status, std::string message) {
    HttpHead head;
    head.status = status;
    if (options().error_body) message = options().error_body(status, message);
    co_await WriteWhole(std::move(head), std::move(message), /*keeps=*/false);
    co_return false;
  }

  Awaitable<bool> Answer(Exchange& exchange, bool keeps) {
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
          co_return co_await WriteWhole(std::move(known), std::move(body), keeps);
        }
      } else {
        bool is_there = true;
        if (is_new) is_there = co_await BeginStream(*head, keeps);
        if (is_there && !piece.body.empty()) is_there = co_await WriteChunk(piece.body);
        if (is_there && piece.is_last) is_there = co_await EndStream();
        if (!is_there) co_return false;
        if (piece.is_last) co_return keeps&& version_ >= 11;
        if (!piece.body.empty()) last_write = SteadyClock::now();
      }
      if (!piece.body.empty()) continue;
      co_await signal_->Wait(std::min(options().keep_alive, kLook));
      if (HasGone()) co_return false;
      if (head && head->is_stream && SteadyClock::now() - last_write >= options().keep_alive) {
        last_write = SteadyClock::now();
        const bool is_there = co_await WriteChunk(": keep-alive\n\n");
        if (!is_there) co_return false;
      }
    }
  }

  // How often a silent connection is looked at.
  static constexpr std::chrono::milliseconds kLook{250};

  // Whether the client has closed its side, even if it sent something before that nobody has read.
  bool HasGone() {
    pollfd socket = {tcp().socket().native_handle(), POLLRDHUP, 0};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
  }

  template <class Message>
  void FillHead(Message& message, const HttpHead& head, bool keeps) {
    message.version(version_);
    message.result(static_cast<unsigned>(head.status));
    message.set(http::field::content_type, head.content_type);
    for (const auto& [name, value] : head.headers) message.set(name, value);
    message.keep_alive(keeps);
  }

  // Arguments of coroutines are values and never temporaries with references to them: g++ 12 destroys such twice.
  Awaitable<bool> WriteWhole(HttpHead head, std::string body, bool keeps) {
    http::response<http::string_body> message;
    FillHead(message, head, keeps);
    if (is_head_) {
      message.content_length(body.size());
    } else {
      message.body() = std::move(body);
      message.prepare_payload();
    }
    ErrorCode error;
    tcp().expires_after(options().write_timeout);
    co_await http::async_write(stream_, message, Quiet(error));
    co_return !error && keeps;
  }

  Awaitable<bool> BeginStream(const HttpHead& head, bool keeps) {
    http::response<http::empty_body> message;
    FillHead(message, head, keeps && version_ >= 11);
    message.set(http::field::cache_control, "no-store");
    if (version_ >= 11) message.chunked(true);  // HTTP/1.0 reads to the connection's end
    http::response_serializer<http::empty_body> serializer(message);
    ErrorCode error;
    tcp().expires_after(options().write_timeout);
    co_await http::async_write_header(stream_, serializer, Quiet(error));
    co_return !error;
  }
  Awaitable<bool> WriteChunk(std::string_view bytes) {
    ErrorCode error;
    tcp().expires_after(options().write_timeout);
    const asio::const_buffer body(bytes.data(), bytes.size());
    if (version_ >= 11) {
      co_await asio::async_write(stream_, http::make_chunk(body), Quiet(error));
    } else {
      co_await asio::async_write(stream_, body, Quiet(error));
    }
    co_return !error;
  }
  Awaitable<bool> EndStream() {
    if (version_ < 11) co_return true;
    ErrorCode error;
    tcp().expires_after(options().write_timeout);
    co_await asio::async_write(stream_, http::make_chunk_last(), Quiet(error));
    co_return !error;
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
  beast::flat_buffer buffer_;
  std::shared_ptr<Signal> signal_;
  std::shared_ptr<Connection*> self_ = std::make_shared<Connection*>(this);  // null when it is gone; of the strand
  unsigned version_ = 11;
  bool is_idle_ = false, is_head_ = false;
};

}  // namespace

Awaitable<void> ServePlain(ServerShared& shared, beast::tcp_stream stream) {
  Connection<beast::tcp_stream> connection(shared, std::move(stream));
  co_await connection.Run();
}

Awaitable<void> ServeTls(ServerShared& shared, beast::tcp_stream stream, asio::ssl::context& context) {
  Connection<beast::ssl_stream<beast::tcp_stream>> connection(
      shared, beast::ssl_stream<beast::tcp_stream>(std::move(stream), context));
  co_await connection.Run();
}

}  // namespace skald::serve
