// SPDX-License-Identifier: Apache-2.0

#include "encoding/chosen_encoder.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "setup.h"
#include "skald/open/encoders/encoder_facts.h"
#include "terminal/progress_bar.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

void AddLines(std::string_view text, std::vector<std::string>& texts) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) texts.emplace_back(line);
  }
}

}  // namespace

Result<Encoder> OpenChosenEncoder(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  const ProgressBar bar("loading " + info.name, options.show_progress);
  EncoderOptions encoder = {.weight_type = options.weight_type, .load = LoadOptionsOf(options, info, bar)};
  if (!options.encoding.pooling.empty()) {
    SKALD_ASSIGN(encoder.pooling, PoolingNamed(options.encoding.pooling));
  }
  if (options.encoding.by_yes_or_no) encoder.kind = EncoderKind::kDecoderReranker;
  return OpenEncoder(info, encoder);
}

Result<std::vector<std::string>> ReadTexts(const EncodingOptions& encoding) {
  std::vector<std::filesystem::path> files = encoding.files;
  if (files.empty()) files.emplace_back("-");
  std::vector<std::string> texts;
  for (const std::filesystem::path& file : files) {
    SKALD_ASSIGN(auto text, ReadFileOrStandardInput(file, kMaxPromptBytes));
    if (!encoding.whole_files) {
      AddLines(text, texts);
    } else {
      texts.push_back(std::move(text));
    }
  }
  if (texts.empty()) return Fail(ErrorCode::kInvalidArgument, files.front().string() + ": there is no text in it");
  return texts;
}

}  // namespace skald::program
