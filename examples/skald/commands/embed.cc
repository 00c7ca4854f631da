// SPDX-License-Identifier: Apache-2.0

#include "commands/embed.h"

#include <algorithm>
#include <string>
#include <vector>

#include "encoding/chosen_encoder.h"
#include "encoding/embedding_writer.h"
#include "skald/open/open_encoder.h"
#include "terminal/interrupt.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

// Texts between two looks at signals and at the progress. The library sorts the texts of a call by their lengths.
constexpr size_t kTextsOfCall = 256;

EmbedOptions EmbedOptionsOf(const EncodingOptions& encoding) {
  return {.prompt_name = encoding.prompt_name,
          .prompt = encoding.prompt,
          .dimension = encoding.dimension,
          .normalise = encoding.normalise,
          .long_text = encoding.long_text};
}

}  // namespace

Result<int> RunEmbed(const Options& options) {
  SKALD_ASSIGN(const auto texts, ReadTexts(options.encoding));
  SKALD_ASSIGN(const auto encoder, OpenChosenEncoder(options));
  if (options.encoding.output.extension() == ".npy" && encoder.facts().pooling == Pooling::kNone) {
    return Fail(ErrorCode::kUnsupported,
                "an array in .npy has one row for each text, but this model has one for each "
                "token; lines of JSON hold them");
  }
  SKALD_ASSIGN(auto writer, EmbeddingWriter::Create(options.encoding, texts.size()));
  SKALD_TRY(CatchSignals());
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const EmbedOptions embed = EmbedOptionsOf(options.encoding);
  const ProgressBar bar("embedding", options.show_progress);
  for (size_t done = 0; done < texts.size();) {
    if (TakeInterrupt()) return ExitCodeOfSignal();
    const size_t count = std::min(kTextsOfCall, texts.size() - done);
    const auto embeddings = encoder.Embed(std::span(texts).subspan(done, count), workspace, embed);
    if (!embeddings && done == 0) return Failure(embeddings.error());
    if (!embeddings) return Annotate("of the texts from number " + std::to_string(done) + " on", embeddings);
    SKALD_TRY(writer.Write(*embeddings));
    done += count;
    bar.DrawCount(done, texts.size(), "texts");
  }
  SKALD_TRY(writer.Finish());
  return 0;
}

}  // namespace skald::program
