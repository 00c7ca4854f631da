// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/files/file_facts.h.

#ifndef SKALD_BASE_FILES_DETAIL_FILE_FACTS_H_
#define SKALD_BASE_FILES_DETAIL_FILE_FACTS_H_

#include "skald/base/files/file_facts.h"

#include <chrono>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE FileTime FileTime::Now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::seconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto whole = duration_cast<seconds>(now);
  return {whole.count(), duration_cast<nanoseconds>(now - whole).count()};
}

}  // namespace skald

#endif  // SKALD_BASE_FILES_DETAIL_FILE_FACTS_H_
