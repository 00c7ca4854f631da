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
  if (!visible_) return;
  constexpr size_t kWidth = 40;
  const double share = static_cast<double>(bytes_done) / static_cast<double>(std::max<uint64_t>(bytes_total, 1));
  const auto filled = static_cast<size_t>(share * kWidth);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %3.0f%% of %.0f MB", title_.c_str(), bar.c_str(), share * 100,
               static_cast<double>(bytes_total) * 1e-6);
}

}  // namespace skald::program
