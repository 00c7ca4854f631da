// SPDX-License-Identifier: Apache-2.0
//
// A bar on stderr that fills while weights are read, and then vanishes.

#ifndef SKALD_EXAMPLES_SKALD_TERMINAL_PROGRESS_BAR_H_
#define SKALD_EXAMPLES_SKALD_TERMINAL_PROGRESS_BAR_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace skald::program {

class ProgressBar {
 public:
  // Draws nothing unless `visible`.
  ProgressBar(std::string title, bool visible);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Draw(uint64_t bytes_done, uint64_t bytes_total) const;

  // The same where things are counted, of a name like "texts"; a total of 0 is not known.
  void DrawCount(uint64_t done, uint64_t total, std::string_view things) const;

 private:
  void DrawShare(uint64_t done, uint64_t total, const std::string& of) const;

  std::string title_;
  bool visible_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_TERMINAL_PROGRESS_BAR_H_
