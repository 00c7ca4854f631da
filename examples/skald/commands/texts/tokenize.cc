// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/tokenize.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_files/model_text.h"
#include "skald/base/text/printable.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

// Backgrounds that take turns, so that one sees where a piece ends. None if output is no terminal, or the
// user wants none (no-color.org).
class Colours {
 public:
  std::string_view Begin(size_t piece) const { return on_ ? kBackgrounds[piece % std::size(kBackgrounds)] : ""; }
  std::string_view End() const { return on_ ? "\x1b[0m" : ""; }

 private:
  static constexpr std::string_view kBackgrounds[] = {"\x1b[30;46m", "\x1b[30;43m", "\x1b[30;42m", "\x1b[30;45m"};

  static bool AreWanted() {
    const char* const no = std::getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0');
  }

  const bool on_ = AreWanted();
};

// A line for each id: the id, what kind of piece it is where that is not plain, and its spelling.
Result<void> PrintPieces(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  const Colours colours;
  for (size_t i = 0; i < ids.size(); ++i) {
    SKALD_ASSIGN(const auto piece, tokenizer.IdToPiece(ids[i]));
    const bool is_special = tokenizer.KindOf(ids[i]) == PieceKind::kControl;
    std::cout << ids[i] << '\t' << colours.Begin(i) << Printable(piece) << colours.End()
              << (is_special ? "\tspecial\n" : "\n");
  }
  return {};
}

void PrintIds(std::span<const int32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i) std::cout << (i == 0 ? "" : ",") << ids[i];
  std::cout << '\n';
}

}  // namespace

Result<int> RunTokenize(const Options& options) {
  SKALD_ASSIGN(const auto tokenizer, LoadTokenizerAlone(options));
  std::vector<int32_t> ids = options.token_ids;
  if (ids.empty()) {
    SKALD_ASSIGN(const auto text, options.prompt
                                      ? Result<std::string>(*options.prompt)
                                      : ReadFileOrStandardInput(options.prompt_file.value_or("-"), kMaxPromptBytes));
    SKALD_ASSIGN(auto encoded, tokenizer.Encode(text, options.parse_special ? ParseSpecial::kYes : ParseSpecial::kNo,
                                                options.add_special ? AddSpecial::kYes : AddSpecial::kNo));
    ids = std::move(encoded);
  }
  if (options.only_ids) {
    PrintIds(ids);
  } else if (auto printed = PrintPieces(tokenizer, ids); !printed) {
    return Failure(printed.error());
  }
  return 0;
}

}  // namespace skald::program
