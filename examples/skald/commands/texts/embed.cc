// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/embed.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "encoding/chosen_encoder.h"
#include "encoding/embedding_writer.h"
#include "encoding/encoding_errors.h"
#include "encoding/text_source.h"
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

// The texts, a part at a time. An array says first how many rows it has: where texts can be read only once, all of them
// are read before.
class Parts {
 public:
  static Result<Parts> Open(const EncodingOptions& encoding) {
    SKALD_ASSIGN(auto source, TextSource::Open(encoding));
    Parts parts(std::move(source));
    SKALD_ASSIGN(const auto count, parts.source_.Count());
    parts.total_ = count.value_or(0);
    if (count && *count == 0) return FailNoText(encoding);
    if (count || encoding.output.extension() != ".npy") return parts;
    SKALD_ASSIGN(parts.kept_, ReadTexts(encoding));
    parts.total_ = parts.kept_.size();
    parts.has_all_ = true;
    return parts;
  }

  // 0 if it is not known.
  size_t total() const { return total_; }

  bool IsAtEnd() const { return has_all_ ? taken_ == kept_.size() : source_.IsAtEnd(); }

  Result<std::vector<std::string>> Next() {
    if (!has_all_) return source_.Next(kTextsOfCall);
    const auto begin = kept_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const size_t count = std::min(kTextsOfCall, kept_.size() - taken_);
    taken_ += count;
    return std::vector<std::string>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

 private:
  explicit Parts(TextSource source) : source_(std::move(source)) {}

  TextSource source_;
  std::vector<std::string> kept_;
  size_t total_ = 0, taken_ = 0;
  bool has_all_ = false;
};

// Writes the embeddings of all parts. Returns whether it came to the end: a signal is the other way out.
Result<bool> EmbedAll(const Encoder& encoder, const Options& options, Parts& parts, EmbeddingWriter& writer) {
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const EmbedOptions embed = EmbedOptionsOf(options.encoding);
  const ProgressBar bar("embedding", options.show_progress);
  for (size_t done = 0; !parts.IsAtEnd();) {
    SKALD_ASSIGN(const auto texts, parts.Next());
    if (TakeInterrupt()) return false;
    if (texts.empty()) continue;
    const auto embeddings = encoder.Embed(texts, workspace, embed);
    if (!embeddings) return Failure(CountedFrom(done, embeddings.error()));
    SKALD_TRY(writer.Write(*embeddings));
    done += texts.size();
    bar.DrawCount(done, parts.total(), "texts");
  }
  return true;
}

}  // namespace

Result<int> RunEmbed(const Options& options) {
  SKALD_ASSIGN(auto parts, Parts::Open(options.encoding));
  SKALD_ASSIGN(const auto encoder, OpenChosenEncoder(options));
  if (options.encoding.output.extension() == ".npy" && encoder.facts().pooling == Pooling::kNone) {
    return Fail(ErrorCode::kUnsupported,
                "an array in .npy has one row for each text, but this model has one for each "
                "token; lines of JSON hold them");
  }
  SKALD_ASSIGN(auto writer, EmbeddingWriter::Create(options.encoding, parts.total()));
  SKALD_TRY(CatchSignals());
  SKALD_ASSIGN(const bool is_whole, EmbedAll(encoder, options, parts, writer));
  if (!is_whole) return ExitCodeOfSignal();
  if (writer.written() == 0) return FailNoText(options.encoding);
  SKALD_TRY(writer.Finish());
  return 0;
}

}  // namespace skald::program
