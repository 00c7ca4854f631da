// SPDX-License-Identifier: Apache-2.0

#include "commands/files/importance.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>

#include "model_files/known_models.h"
#include "skald/base/text/printable.h"
#include "skald/open/measure_importance.h"
#include "skald/open/open_model.h"
#include "terminal/interrupt.h"
#include "terminal/progress_bar.h"
#include "terminal/standard_streams.h"

namespace skald::program {

Result<int> RunImportance(const Options& options) {
  const ImportanceText& text = options.importance_text;
  SKALD_ASSIGN(const auto opened, OpenedModel::Open(options.model));
  SKALD_ASSIGN(const auto info, IdentifyModel(opened));
  SKALD_ASSIGN(const auto words, ReadFileOrStandardInput(text.file, kMaxPromptBytes));
  SKALD_ASSIGN(const auto model, OpenModel(info, {.load = {.threads = options.workspace.threads}}));
  const Tokenizer& tokenizer = model.text.tokenizer;
  SKALD_ASSIGN(const auto ids, tokenizer.Encode(words, ParseSpecial::kNo, AddSpecial::kYes));
  std::span<const int32_t> tokens = ids;
  if (text.chunks) tokens = tokens.first(std::min(ids.size(), size_t{*text.chunks} * text.chunk_tokens));
  const bool begins_with_bos = tokenizer.bos_id() && !ids.empty() && ids[0] == *tokenizer.bos_id();

  SKALD_TRY(CatchSignals());
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options.workspace));
  const ProgressBar bar("reading " + Printable(text.file), options.show_progress);
  bool is_interrupted = false;
  const auto progress = [&](size_t done, size_t all) {
    bar.Draw(done, all);
    is_interrupted = TakeInterrupt();
    return !is_interrupted;
  };
  const auto bos = begins_with_bos ? tokenizer.bos_id() : std::nullopt;
  auto measured = MeasureImportance(info, model.model, tokens, workspace, {text.chunk_tokens, bos, progress});
  if (!measured) return Failure(measured.error());
  if (is_interrupted) return ExitCodeOfSignal();
  measured->texts.push_back(std::filesystem::path(text.file).filename().string());
  SKALD_TRY(WriteImportance(options.packed, *measured, workspace.executor()));
  std::cout << Printable(options.packed.native()) << ": " << measured->tensors.size() << " matrices, "
            << measured->chunks << " pieces of " << measured->chunk_tokens << " tokens\n";
  return 0;
}

}  // namespace skald::program
