// SPDX-License-Identifier: Apache-2.0

#include "serve/service/tenants.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "skald/base/files/small_file.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/sha256.h"

namespace skald::serve {
namespace {

Result<Sha256Digest> DigestOf(std::string_view text) { return Sha256().Update(text).Finish(); }

}  // namespace

Tenants::Tenants() : tenants_(std::make_unique<std::list<Tenant>>()) { tenants_->emplace_back(); }

Result<Tenants> Tenants::Load(const std::filesystem::path& path) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  return NoThrow(path.native(), [&]() -> Result<Tenants> {
    const auto text = ReadSmallFile(path, kMostBytes);
    if (!text) return Failure(text.error());
    Tenants tenants;
    tenants.tenants_->clear();
    std::istringstream lines(*text);
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

Tenant& Tenants::TenantNamed(std::string_view name, bool& is_new) {
  const auto found = std::ranges::find(*tenants_, name, &Tenant::name);
  is_new = found == tenants_->end();
  if (!is_new) return *found;
  tenants_->emplace_back().name = name;
  return tenants_->back();
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
    const size_t equals = std::min(limit.find('='), limit.size());
    const std::string_view what = std::string_view(limit).substr(0, equals);
    uint32_t value = 0;
    const char* const end = limit.data() + limit.size();
    const auto parsed = std::from_chars(limit.data() + std::min(equals + 1, limit.size()), end, value);
    if ((what != "max_requests" && what != "max_tokens") || parsed.ec != std::errc() || parsed.ptr != end ||
        value == 0) {
      return Fail(ErrorCode::kInvalidArgument, "'" + limit + "' is no limit; expected max_requests=N or max_tokens=N");
    }
    if (is_new) (what == "max_requests" ? tenant.max_requests : tenant.max_tokens) = value;
  }
  const auto digest = DigestOf(key);
  if (!digest) return Failure(digest.error());
  keys_.push_back({*digest, &tenant});
  return {};
}

Tenant* Tenants::Find(std::string_view key) const {
  const auto digest = DigestOf(key);
  if (!digest) return nullptr;
  Tenant* found = nullptr;
  for (const Key& known : keys_) {
    if (CRYPTO_memcmp(known.digest.data(), digest->data(), digest->size()) == 0) found = known.tenant;
  }
  return found;
}

}  // namespace skald::serve
