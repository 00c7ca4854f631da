// SPDX-License-Identifier: Apache-2.0
//
// One connection of the HTTP server, as a coroutine. Internal to http/: the only places that know Boost.

#ifndef SKALD_EXAMPLES_SKALD_SERVE_HTTP_CONNECTION_H_
#define SKALD_EXAMPLES_SKALD_SERVE_HTTP_CONNECTION_H_

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "serve/http/exchange.h"
#include "serve/http/http_server.h"

namespace skald::serve {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
template <class T>
using Awaitable = asio::awaitable<T>;

// What a call gives back by `error` rather than by an exception.
inline auto Quiet(boost::system::error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// What a server's connections share.
struct ServerShared {
  const HttpOptions options;
  const Handler handler;
  std::atomic<size_t> connections = 0;
  std::atomic<bool> is_stopping = false;

  // Connections that wait for a request, by number, and how each is closed from another thread.
  uint64_t AddIdle(std::function<void()> close) {
    const std::lock_guard lock(mutex);
    idle[next] = std::move(close);
    return next++;
  }
  void RemoveIdle(uint64_t number) {
    const std::lock_guard lock(mutex);
    idle.erase(number);
  }
  void CloseIdle() {
    const std::lock_guard lock(mutex);
    for (const auto& [number, close] : idle) close();
  }

  std::mutex mutex = {};
  std::map<uint64_t, std::function<void()>> idle = {};  // guarded by mutex, as next is
  uint64_t next = 0;
};

// Serve a connection to its end.
Awaitable<void> ServePlain(ServerShared& shared, boost::beast::tcp_stream stream);
Awaitable<void> ServeTls(ServerShared& shared, boost::beast::tcp_stream stream, asio::ssl::context& context);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SKALD_SERVE_HTTP_CONNECTION_H_
