// SPDX-License-Identifier: Apache-2.0
//
// Where a Redis server is, who we are to it, and how long it is waited for.

#ifndef SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_
#define SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_

#include <chrono>
#include <filesystem>
#include <string>

namespace skald {

/// TLS of a client.
struct TlsOptions {
  bool is_used = false;
  /// PEM files. The certificates that the server's own must be signed with; empty: those that the system trusts.
  std::filesystem::path ca_file = {};
  /// Our own, where the server wants one: a chain and its key.
  std::filesystem::path certificate = {}, private_key = {};
};

struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  /// For connecting, on top of what looking up the host's name takes; and the longest silence while a command is sent
  /// and answered.
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds answer_timeout{5000};
  /// For all of a call, however many commands it takes: for a server that is never silent and never done. List walks
  /// through all keys of the server, which of a hundred million takes a minute or two.
  std::chrono::milliseconds call_timeout{120'000};
  /// Before each key, so that one server can be shared. Stores with different prefixes see nothing of each other,
  /// unless one prefix begins with the other.
  std::string key_prefix = "skald:";
  /// Sent with AUTH when connecting, unless the password is empty; no user is Redis' default one. No error shows it.
  std::string password = {};
  std::string user = {};
  /// Chosen with SELECT when connecting, unless it is 0.
  int database = 0;
  /// Needs a build with SKALD_HAS_TLS.
  TlsOptions tls = {};
};

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_
