// SPDX-License-Identifier: Apache-2.0
//
// A model's folder written as a GGUF file, as `skald convert` does it.

#ifndef SKALD_TESTS_CONVERSATIONS_CONVERT_FOLDER_H_
#define SKALD_TESTS_CONVERSATIONS_CONVERT_FOLDER_H_

#include <filesystem>

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/open/convert_model.h"
#include "skald/open/model_info.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"

namespace skald::testing {

inline Result<void> Convert(const std::filesystem::path& folder, const std::filesystem::path& file,
                            const char* type = nullptr) {
  SKALD_ASSIGN(const auto info, IdentifyModel(folder));
  SKALD_ASSIGN(auto draft, DraftOfModel(info));
  if (type != nullptr) SKALD_TRY(ChooseTypes(type, {}, draft));
  ThreadPool pool(2);
  return WriteGguf(file, draft, ExecutorRef(pool));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_CONVERSATIONS_CONVERT_FOLDER_H_
