// SPDX-License-Identifier: Apache-2.0
//
// Corrects the fields before a manifest's lists, which would be refused at once, so that a fuzzer gets past them.

#ifndef SKALD_TESTS_FUZZ_REPAIR_MANIFEST_H_
#define SKALD_TESTS_FUZZ_REPAIR_MANIFEST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/store/snapshots/manifest.h"

namespace skald::testing {

inline void RepairManifest(const StateKind& kind, std::span<std::byte> manifest) {
  Manifest empty;
  empty.kind = kind;
  std::vector<std::byte> front = EncodeManifest(empty);
  // Version, element type, identity, fingerprint: everything up to `lossy`.
  front.resize(2 * sizeof(uint32_t) + sizeof(IdentityDigests) + sizeof(uint64_t));
  std::copy_n(front.begin(), std::min(front.size(), manifest.size()), manifest.begin());
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_FUZZ_REPAIR_MANIFEST_H_
