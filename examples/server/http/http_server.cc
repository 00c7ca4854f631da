// SPDX-License-Identifier: Apache-2.0

#include "server/http/http_server.h"

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "server/http/connection.h"
#include "server/http/limits/network.h"
#include "skald/base/no_throw.h"

namespace skald::serve {
namespace {

// A connection for which there was no memory ends; the others go on.
constexpr auto kEnd = [](const std::exception_ptr&) {};

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpOptions& options, Handler handler)
      : shared_(options, std::move(handler)), acceptor_(asio::make_strand(io_)) {}
  ~BeastServer() override { Stop(std::chrono::milliseconds(0)); }

  Result<void> Open() {
    const HttpOptions& options = shared_.options;
    if (!options.certificate.empty() || !options.private_key.empty()) {
      SKALD_ASSIGN(tls_, MakeTls());
    }
    boost::system::error_code error;
    const auto address = asio::ip::make_address(options.host, error);
    if (error) {
      return Fail(ErrorCode::kInvalidArgument,
                  "'" + options.host + "' is no address to listen at; expected one such as 127.0.0.1, 0.0.0.0 or ::1");
    }
    const Tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return Fail(ErrorCode::kFailedPrecondition, "cannot listen at " + options.host + " port " +
                                                      std::to_string(options.port) + ": " + error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(acceptor_.get_executor(), Accept(), kEnd);
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { io_.run(); });
    return {};
  }

  Result<void> ReloadCertificate() override {
    if (options().certificate.empty()) return {};
    SKALD_ASSIGN(auto tls, MakeTls());
    asio::post(acceptor_.get_executor(), [this, tls = std::move(tls)] { tls_ = tls; });
    return {};
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override { return shared_.places.size(); }

  void Stop(std::chrono::milliseconds grace) override {
    if (threads_.empty()) return;
    shared_.is_stopping = true;
    asio::post(acceptor_.get_executor(), [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
    });
    shared_.places.ClearWaiting();
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while (shared_.places.size() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  // Reads the certificate and its key.
  Result<std::shared_ptr<asio::ssl::context>> MakeTls() const {
    const HttpOptions& options = shared_.options;
    boost::system::error_code error;
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                         asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression,
                     error);
    tls->use_certificate_chain_file(options.certificate.string(), error);
    if (error) return RefuseFile(options.certificate, "a certificate chain", error);
    tls->use_private_key_file(options.private_key.string(), asio::ssl::context::pem, error);
    if (error) return RefuseFile(options.private_key, "the certificate's private key", error);
    return tls;
  }
  static Failure RefuseFile(const std::filesystem::path& path, const char* expected,
                            const boost::system::error_code& error) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + path.string() + "': expected " + expected + " as PEM: " + error.message());
  }

  Awaitable<void> Accept() {
    while (acceptor_.is_open()) {
      boost::system::error_code error;
      Tcp::socket socket = co_await acceptor_.async_accept(asio::make_strand(io_), Quiet(error));
      if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
      if (error) {  // no descriptors are left, perhaps: others will end
        if (options().warn && !std::exchange(has_warned_, true)) {
          options().warn("a connection could not be accepted: " + error.message() + "; this is said once");
        }
        asio::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(50));
        co_await pause.async_wait(Quiet(error));
        continue;
      }
      Begin(std::move(socket));
    }
  }

  // Serves a connection, or closes it if there is no place for it.
  void Begin(Tcp::socket socket) {
    boost::system::error_code error;
    const auto address = ParseAddress(socket.remote_endpoint(error).address().to_string(error));
    if (!address) return;  // it has gone
    Peer peer = {address->Text(), ClientOf(*address), nullptr};
    if (options().is_proxy && options().is_proxy(peer.address)) peer.client.clear();
    peer.place = shared_.places.Take(peer.client);
    if (peer.place == nullptr) return;
    socket.set_option(Tcp::no_delay(true), error);
    const auto executor = socket.get_executor();
    boost::beast::tcp_stream stream(std::move(socket));
    if (tls_) {
      asio::co_spawn(executor, ServeTls(shared_, std::move(stream), std::move(peer), tls_), kEnd);
    } else {
      asio::co_spawn(executor, ServePlain(shared_, std::move(stream), std::move(peer)), kEnd);
    }
  }

  const HttpOptions& options() const { return shared_.options; }

  ServerShared shared_;  // outlives io_, whose coroutines refer to it
  asio::io_context io_;
  std::shared_ptr<asio::ssl::context> tls_;  // null: without TLS; of the acceptor's strand once it accepts
  Tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  bool has_warned_ = false;  // of the acceptor's strand
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options, Handler handler) {
  return NoThrow("the HTTP server", [&]() -> Result<std::unique_ptr<HttpServer>> {
    if (options.certificate.empty() != options.private_key.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "a certificate needs its private key, and the key its certificate");
    }
    auto server = std::make_unique<BeastServer>(options, std::move(handler));
    SKALD_TRY(server->Open());
    return server;
  });
}

}  // namespace skald::serve
