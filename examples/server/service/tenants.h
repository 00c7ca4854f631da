// SPDX-License-Identifier: Apache-2.0
//
// The tenants of a server, and the API keys by which they may use it. A tenant shares neither prompts nor conversations
// with the others, and has a fair share of the engine and limits of its own.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_TENANTS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_TENANTS_H_

#include <cstdint>
#include <filesystem>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/service/open_answers.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"

namespace skald::serve {

// Of requests, either way; those of a higher one go first where the policy says so.
inline constexpr int32_t kMostPriority = 1000;

struct Tenant {
  std::string name;                                              // empty for the only one of a server without keys
  uint32_t max_requests = std::numeric_limits<uint32_t>::max();  // answers at a time
  uint32_t max_tokens = std::numeric_limits<uint32_t>::max();    // of an answer
  std::shared_ptr<OpenAnswers> open_answers = std::make_shared<OpenAnswers>();
  int32_t max_priority = kMostPriority;  // that a request may have
  bool is_admin = true;                  // may load and unload models
};

// A key alone, kept as its digest.
class SecretKey {
 public:
  static Result<SecretKey> Of(std::string_view key);
  // Reads a file that holds a key and nothing else.
  static Result<SecretKey> Load(const std::filesystem::path& path);

  // Takes as long whatever the other is.
  bool Is(const SecretKey& other) const;

 private:
  Sha256Digest digest_ = {};
};

// Immutable but for the counts; safe for concurrent calls.
class Tenants {
 public:
  // Without keys: every client is the one tenant.
  Tenants();
  // Reads a file with a line for each key: KEY NAME [admin] [max_requests=N] [max_tokens=N] [max_priority=N], whose
  // priority is 0 unless it says so. Several keys may be of one name; its limits and rights are those of its first
  // line. '#' begins a comment.
  // Errors: the file's; a line that is none of these.
  static Result<Tenants> Load(const std::filesystem::path& path);

  bool has_keys() const { return !keys_.empty(); }

  // Goes on with the counts of earlier tenants of the same names. Not safe for concurrent calls.
  void TakeCountsOf(const Tenants& earlier);

  // The tenant of a key, or null. Takes as long whatever the key is.
  Tenant* Find(std::string_view key) const;
  // Of a server without keys.
  Tenant* Everybody() const { return tenants_->empty() ? nullptr : &tenants_->front(); }

 private:
  struct Key {
    SecretKey key;
    Tenant* tenant;
  };

  Result<void> ReadLine(std::string_view line);
  // Checks a limit or a right, and sets it unless `tenant` is null.
  static Result<void> ReadLimit(std::string_view limit, Tenant* tenant);
  Tenant& TenantNamed(std::string_view name, bool& is_new);

  std::unique_ptr<std::list<Tenant>> tenants_;
  std::list<Key> keys_;
};

// All keys of a server.
struct AccessKeys {
  Tenants tenants = {};
  // Opens /metrics, and nothing else. Without it, any of the tenants' keys opens /metrics; a server without keys asks
  // for none.
  std::optional<SecretKey> metrics = {};
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_TENANTS_H_
