// SPDX-License-Identifier: Apache-2.0
//
// OutputFile: a file for results that take minutes. Whether it can be written is known before they are measured, and
// what it held stays there until there is something to replace it.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_REPORT_OUTPUT_FILE_H_
#define SKALD_EXAMPLES_SKALD_BENCH_REPORT_OUTPUT_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "skald/base/files/system_call.h"
#include "skald/base/result.h"

namespace skald::program {

class OutputFile {
 public:
  // Opens or creates a file, and makes sure that there is room for some results. Errors: the system's.
  static Result<OutputFile> Open(const std::filesystem::path& path);

  // Writes after everything that is there. Errors: the system's.
  Result<void> Append(std::string_view text);
  // Writes in place of everything that is there.
  Result<void> Replace(std::string_view text);

 private:
  OutputFile(internal::Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  internal::Descriptor file_;
  std::string name_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_REPORT_OUTPUT_FILE_H_
