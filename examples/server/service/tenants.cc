// SPDX-License-Identifier: Apache-2.0

#include "server/service/tenants.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "skald/base/files/small_file.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"

namespace skald::serve {
namespace {

constexpr size_t kMostKeyFileBytes = size_t{16} << 20;

}  // namespace

Result<SecretKey> SecretKey::Of(std::string_view key) {
  SKALD_ASSIGN(const auto digest, Sha256().Update(key).Finish());
  SecretKey secret;
  secret.digest_ = digest;
  return secret;
}

Result<SecretKey> SecretKey::Load(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<SecretKey> {
    SKALD_ASSIGN(const auto text, ReadSmallFile(path, kMostKeyFileBytes));
    std::istringstream words(text);
    std::string key, more;
    if (!(words >> key) || (words >> more)) {
      return Fail(ErrorCode::kInvalidArgument, path.string() + ": expected one key and nothing else");
    }
    return Of(key);
  });
}

bool SecretKey::Is(const SecretKey& other) const {
  return CRYPTO_memcmp(digest_.data(), other.digest_.data(), digest_.size()) == 0;
}

Tenants::Tenants() : tenants_(std::make_unique<std::list<Tenant>>()) { tenants_->emplace_back(); }

Result<Tenants> Tenants::Load(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&]() -> Result<Tenants> {
    SKALD_ASSIGN(const auto text, ReadSmallFile(path, kMostKeyFileBytes));
    Tenants tenants;
    tenants.tenants_->clear();
    std::istringstream lines(text);
    std::string line;
    for (size_t number = 1; std::getline(lines, line); ++number) {
      if (auto read = tenants.ReadLine(line); !read) {
        return Annotate(path.string() + ": line " + std::to_string(number), read);
      }
    }
    if (tenants.keys_.empty()) return Fail(ErrorCode::kInvalidArgument, path.string() + ": there is no key in it");
    return tenants;
  });
}

void Tenants::TakeCountsOf(const Tenants& earlier) {
  for (Tenant& tenant : *tenants_) {
    const auto same = std::ranges::find(*earlier.tenants_, tenant.name, &Tenant::name);
    if (same != earlier.tenants_->end()) tenant.open_answers = same->open_answers;
  }
}

Tenant& Tenants::TenantNamed(std::string_view name, bool& is_new) {
  const auto found = std::ranges::find(*tenants_, name, &Tenant::name);
  is_new = found == tenants_->end();
  if (!is_new) return *found;
  Tenant& tenant = tenants_->emplace_back();
  tenant.name = name;
  tenant.max_priority = 0;
  tenant.is_admin = false;
  return tenant;
}

Result<void> Tenants::ReadLine(std::string_view line) {
  std::istringstream words{std::string(line.substr(0, line.find('#')))};
  std::string key, name, limit;
  if (!(words >> key)) return {};
  if (!(words >> name) || name.find('=') != name.npos) {
    return Fail(ErrorCode::kInvalidArgument, "expected a key and a name");
  }
  bool is_new = false;
  Tenant& tenant = TenantNamed(name, is_new);
  while (words >> limit) {
    SKALD_TRY(ReadLimit(limit, is_new ? &tenant : nullptr));
  }
  SKALD_ASSIGN(const auto secret, SecretKey::Of(key));
  keys_.push_back({secret, &tenant});
  return {};
}

Result<void> Tenants::ReadLimit(std::string_view limit, Tenant* tenant) {
  if (limit == "admin") {
    if (tenant != nullptr) tenant->is_admin = true;
    return {};
  }
  const size_t equals = limit.find('=');
  const std::string_view what = limit.substr(0, equals);
  const std::string_view digits = equals == limit.npos ? std::string_view() : limit.substr(equals + 1);
  uint32_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  const bool is_priority = what == "max_priority" && std::cmp_less_equal(value, kMostPriority);
  const bool is_count = (what == "max_requests" || what == "max_tokens") && value > 0;
  if (!is_number || (!is_priority && !is_count)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "'" + std::string(limit) + "' is no limit; expected max_requests=N, max_tokens=N, max_priority=N or admin");
  }
  if (tenant == nullptr) return {};
  if (is_priority) {
    tenant->max_priority = static_cast<int32_t>(value);
  } else {
    (what == "max_requests" ? tenant->max_requests : tenant->max_tokens) = value;
  }
  return {};
}

Tenant* Tenants::Find(std::string_view key) const {
  const auto secret = SecretKey::Of(key);
  if (!secret) return nullptr;
  Tenant* found = nullptr;
  for (const Key& known : keys_) {
    if (known.key.Is(*secret)) found = known.tenant;
  }
  return found;
}

}  // namespace skald::serve
