// SPDX-License-Identifier: Apache-2.0
//
// Results of kernels and models as hashes, saved in tests/golden/result_hashes.txt, so that machines which never meet
// can be compared: x86 and Arm, this version and the last. Where numbers change on purpose, count up
// SKALD_ARITHMETIC_VERSION, and run kernels_tests, model_tests and adapters_tests, one after the other, with
// SKALD_SAVE_HASHES=1: what differs is then saved instead of reported.

#ifndef SKALD_TESTS_SUPPORT_SAVED_HASHES_H_
#define SKALD_TESTS_SUPPORT_SAVED_HASHES_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <istream>
#include <limits>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/numbers/xxh64.h"
#include "skald/base/version.h"
#include "tests/support/targets.h"
#include "tests/support/test_data.h"

namespace skald::testing {

using SavedHashes = std::map<std::string, uint64_t>;

// Reads lines "<name>: <hash>".
inline SavedHashes ReadSavedHashes(std::istream&& file) {
  SavedHashes hashes;
  for (std::string name, hash; std::getline(file, name, ':') && std::getline(file, hash);) {
    hashes[name] = std::stoull(hash, nullptr, 16);
  }
  return hashes;
}

inline void WriteSavedHashes(const SavedHashes& hashes, std::ostream&& file) {
  for (const auto& [name, hash] : hashes) file << name << ": " << std::hex << hash << '\n';
}

// The bits of all numbers in one. Every NaN counts as the same: processors differ in which one they make.
inline uint64_t HashOf(std::vector<float> results) {
  for (float& x : results) {
    if (std::isnan(x)) x = std::numeric_limits<float>::quiet_NaN();
  }
  return Xxh64(std::as_bytes(std::span(results)));
}

// Returns "" if the hash of `results` is the one saved under these words, else a sentence. Targets without FMA have
// other bits, and nothing to compare.
inline std::string SavedDifference(std::initializer_list<std::string_view> words, const std::vector<float>& results) {
  if (!TargetHasFma()) return "";
  std::string name;
  for (const std::string_view word : words) name.append(name.empty() ? "" : ", ").append(word);
  const auto path = RepositoryPath("tests/golden/result_hashes.txt");
  SavedHashes hashes = ReadSavedHashes(std::ifstream(path));
  uint64_t& version = hashes["version of the arithmetic"];
  uint64_t& saved = hashes[name];
  const uint64_t hash = HashOf(results);
  if (version == SKALD_ARITHMETIC_VERSION && saved == hash) return "";
  if (!std::getenv("SKALD_SAVE_HASHES")) {
    if (version != SKALD_ARITHMETIC_VERSION) return "the saved bits are of another version of the arithmetic";
    return "the bits of \"" + name + "\" are not the saved ones";
  }
  version = SKALD_ARITHMETIC_VERSION, saved = hash;
  WriteSavedHashes(hashes, std::ofstream(path));
  return "";
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_SAVED_HASHES_H_
