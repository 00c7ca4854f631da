// SPDX-License-Identifier: Apache-2.0

#include "bench/report/build_facts.h"

#include "skald/base/version.h"
#include "skald_commit.h"  // made by commit.cmake

namespace skald::program {
namespace {

std::string Dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

std::string VersionText() { return Dotted(SKALD_VERSION_MAJOR, SKALD_VERSION_MINOR, SKALD_VERSION_PATCH); }

std::string CommitText() { return SKALD_COMMIT; }

std::string CompilerText() {
#if defined(__apple_build_version__)
  return "Apple clang " + Dotted(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__clang__)
  return "clang++ " + Dotted(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return "g++ " + Dotted(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace skald::program
