// SPDX-License-Identifier: Apache-2.0

#include "terminal/messages.h"

#include <exception>
#include <iostream>
#include <string>

#include "skald/base/text/printable.h"

namespace skald::program {
namespace {

// A message must not fail for want of memory when that is what it is about.
void PrintLine(std::string_view begin, std::string_view text, std::string_view end) noexcept {
  try {
    std::cerr << std::string(begin).append(Printable(text)).append(end).append("\n");
  } catch (const std::exception&) {
    std::cerr << "skald: out of memory\n";
  }
}

}  // namespace

void Report(std::string_view sentence) noexcept { PrintLine("skald: ", sentence, ""); }
void Warn(std::string_view sentence) noexcept { PrintLine("skald: warning: ", sentence, ""); }
void Note(std::string_view text) noexcept { PrintLine("[", text, "]"); }

}  // namespace skald::program
