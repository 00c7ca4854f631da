// SPDX-License-Identifier: Apache-2.0
//
// The address of a Redis server, the credentials for it, and its time limits.

#ifndef SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_
#define SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_

#include <chrono>
#include <filesystem>
#include <string>

namespace skald {

/// TLS of a client.
struct TlsOptions {
  bool is_used = false;  ///< else the connection is plain TCP
  /// PEM files. The certificates that the server's own must be signed with; empty: those that the system trusts.
  std::filesystem::path ca_file = {};
  /// The client's own, if the server requires one: a chain and its key.
  std::filesystem::path certificate = {}, private_key = {};
};

/// Settings of a RedisStore.
struct RedisOptions {
  std::string host = "127.0.0.1";  ///< name or address
  int port = 6379;                 ///< TCP
  /// Limit for connecting, in addition to the look-up of the host's name; and the longest silence while a command is
  /// sent and answered.
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds answer_timeout{5000};  ///< see connect_timeout
  /// Limit for a whole call, with any number of commands: for a server that keeps sending and never ends. List visits
  /// all keys of the server; a hundred million take a minute or two.
  std::chrono::milliseconds call_timeout{120'000};
  /// Put before each key, so that one server can be shared. Stores with different prefixes do not see each other's
  /// keys, unless one prefix begins with the other.
  std::string key_prefix = "skald:";
  /// Sent with AUTH on connecting, unless the password is empty; an empty user is Redis' default one. Errors never show
  /// the password.
  std::string password = {};
  std::string user = {};  ///< see password
  /// Chosen with SELECT on connecting, unless it is 0.
  int database = 0;
  /// Needs a build with SKALD_HAS_TLS.
  TlsOptions tls = {};
};

}  // namespace skald

#endif  // SKALD_STORE_BACKENDS_REDIS_OPTIONS_H_
