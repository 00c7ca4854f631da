// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/rank.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "encoding/chosen_encoder.h"
#include "encoding/encoding_errors.h"
#include "encoding/text_source.h"
#include "skald/base/text/printable.h"
#include "skald/open/encoders/ranking.h"
#include "skald/open/open_encoder.h"
#include "terminal/interrupt.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

constexpr size_t kDocumentsOfCall = 256;

void PrintDocument(size_t index, float score, const std::string& text, bool json) {
  if (!json) {
    std::cout << score << '\t' << index << '\t' << Printable(text) << '\n';
    return;
  }
  const nlohmann::ordered_json line = {{"index", index}, {"score", score}, {"text", text}};
  std::cout << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

Result<int> RunRank(const Options& options) {
  const EncodingOptions& encoding = options.encoding;
  SKALD_ASSIGN(const auto documents, ReadTexts(encoding));
  SKALD_ASSIGN(const auto encoder, OpenChosenEncoder(options));
  SKALD_TRY(CatchSignals());
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const RankOptions rank = {
      .instruction = encoding.instruction, .raw = encoding.raw_scores, .long_text = encoding.long_text};
  std::vector<float> scores;
  {
    const ProgressBar bar("ranking", options.show_progress);
    while (scores.size() < documents.size()) {
      if (TakeInterrupt()) return ExitCodeOfSignal();
      const size_t done = scores.size(), count = std::min(kDocumentsOfCall, documents.size() - done);
      const auto some = encoder.Rank(encoding.query, std::span(documents).subspan(done, count), workspace, rank);
      if (!some) return Failure(CountedFrom(done, some.error()));
      scores.insert(scores.end(), some->begin(), some->end());
      bar.DrawCount(scores.size(), documents.size(), "documents");
    }
  }
  for (const size_t index : OrderOfScores(scores, encoding.most_documents)) {
    PrintDocument(index, scores[index], documents[index], encoding.json);
  }
  return 0;
}

}  // namespace skald::program
