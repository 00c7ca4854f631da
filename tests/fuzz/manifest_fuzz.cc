// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of manifests. A manifest that is taken must be written as it was read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "skald/store/snapshots/manifest.h"
#include "tests/fuzz/repair_manifest.h"
#include "tests/support/tiny_cache.h"

namespace skald {
namespace {

void ReadManifest(std::span<const std::byte> input, const CacheLayout& layout) {
  const StateKind kind{{}, layout.Fingerprint(), DType::kBF16, false};
  const auto raw = DecodeManifest(input, kind, layout);
  if (!raw && raw.error().message.empty()) std::abort();

  std::vector<std::byte> bytes(input.begin(), input.end());
  testing::RepairManifest(kind, bytes);
  const auto manifest = DecodeManifest(bytes, kind, layout);
  if (!manifest) return;
  const std::vector<std::byte> written = EncodeManifest(*manifest);
  const auto again = DecodeManifest(written, kind, layout);
  if (!again || EncodeManifest(*again) != written || written.size() != bytes.size()) std::abort();
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const skald::CacheLayout layouts[] = {skald::testing::TinyLayout(true), skald::testing::TinyLayout(false)};
  for (const skald::CacheLayout& layout : layouts) skald::ReadManifest(std::as_bytes(std::span(data, size)), layout);
  return 0;
}
