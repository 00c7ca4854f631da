// SPDX-License-Identifier: Apache-2.0

#include "terminal/progress_bar.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace skald::program {

ProgressBar::ProgressBar(std::string title, bool visible) : title_(std::move(title)), visible_(visible) {}

ProgressBar::~ProgressBar() {
  if (visible_) std::fputs("\r\033[K", stderr);  // to the start of the line, then clear it
}

void ProgressBar::Draw(uint64_t bytes_done, uint64_t bytes_total) const {
  char megabytes[32];
  std::snprintf(megabytes, sizeof(megabytes), "%.0f MB", static_cast<double>(bytes_total) * 1e-6);
  DrawShare(bytes_done, bytes_total, megabytes);
}

void ProgressBar::DrawCount(uint64_t done, uint64_t total, std::string_view things) const {
  if (visible_ && total == 0) {
    std::fprintf(stderr, "\r%s: %s %s", title_.c_str(), std::to_string(done).c_str(), std::string(things).c_str());
    return;
  }
  DrawShare(done, total, std::to_string(total) + " " + std::string(things));
}

void ProgressBar::DrawShare(uint64_t done, uint64_t total, const std::string& of) const {
  if (!visible_) return;
  constexpr size_t kWidth = 40;
  const double share = static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1));
  const auto filled = static_cast<size_t>(share * kWidth);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %3.0f%% of %s", title_.c_str(), bar.c_str(), share * 100, of.c_str());
}

}  // namespace skald::program
