// SPDX-License-Identifier: Apache-2.0

#include "commands/files/write_gguf.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "model_files/known_models.h"
#include "model_files/tensor_parts.h"
#include "skald/base/text/printable.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/open/convert_model.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/writing/gguf_draft.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/importance.h"
#include "skald/weights/writing/mixture.h"
#include "terminal/messages.h"
#include "terminal/progress_bar.h"

namespace skald::program {
namespace {

// A GGUF file is quantised whatever its architecture is; a folder has to be a model that Skald knows.
Result<GgufDraft> DraftFrom(const OpenedModel& model) {
  if (model.gguf() != nullptr) return DraftOf(*model.gguf());
  SKALD_ASSIGN(const auto info, IdentifyModel(model));
  return DraftOfModel(info);
}

Result<const GgufType*> TypeNamed(const std::string& option, const std::string& name) {
  if (name.empty()) return nullptr;
  if (const GgufType* const type = FindGgufTypeByName(name)) return type;
  return Fail(ErrorCode::kInvalidArgument, option + ": unknown type '" + Printable(name) + "'");
}

// Weights that were quantised before keep the errors that they have.
void WarnOfQuantised(const GgufDraft& draft) {
  uint64_t count = 0;
  std::string_view type;
  for (const DraftTensor& tensor : draft.tensors) {
    if (tensor.stored == nullptr || tensor.stored == tensor.type || tensor.stored->block_elements == 1) continue;
    ++count;
    type = tensor.stored->name;
  }
  if (count == 0) return;
  Warn(std::to_string(count) + " tensors were quantised before (" + std::string(type) +
       "): their errors stay; a file with F16, BF16 or F32 gives better ones");
}

// The embedding and the output head have no importance in such files.
Result<void> Weigh(const std::filesystem::path& path, GgufDraft& draft) {
  SKALD_ASSIGN(const auto importance, ReadImportance(path));
  SKALD_ASSIGN(auto missing, WeighByImportance(importance, draft));
  std::erase_if(missing, [](const std::string& name) { return !name.starts_with("blk."); });
  if (!missing.empty()) {
    Warn(Printable(path.native()) + " lacks " + std::to_string(missing.size()) + " matrices of the model, the first " +
         Printable(missing.front()) + ": their columns count alike");
  }
  return {};
}

void PrintSummary(const std::filesystem::path& path, const GgufDraft& draft) {
  std::map<std::string_view, uint64_t> tensors;
  for (const DraftTensor* const tensor : draft.Written()) ++tensors[tensor->type->name];
  std::error_code ignored;
  std::cout << Printable(path.native()) << ": " << std::filesystem::file_size(path, ignored) << " bytes, tensors:";
  for (const auto& [type, count] : tensors) std::cout << ' ' << count << ' ' << type;
  std::cout << '\n';
}

}  // namespace

Result<int> RunWriteGguf(const Options& options) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  SKALD_ASSIGN(auto draft, DraftFrom(model));
  MixtureOptions mixture{.pure = options.gguf.pure};
  SKALD_ASSIGN(mixture.output, TypeNamed("--output-type", options.gguf.output_type));
  SKALD_ASSIGN(mixture.embeddings, TypeNamed("--embedding-type", options.gguf.embedding_type));
  if (!options.gguf.type.empty()) SKALD_TRY(ChooseTypes(options.gguf.type, mixture, draft));
  if (options.gguf.importance) SKALD_TRY(Weigh(*options.gguf.importance, draft));
  WarnOfQuantised(draft);
  WarnOfLeftOut(draft.tensors_left_out);
  for (const std::string& what : draft.left_out) Warn("not in the file: " + Printable(what));
  ThreadPool pool(options.workspace.threads);
  const ProgressBar bar("writing " + Printable(options.packed.filename().native()), options.show_progress);
  SKALD_TRY(WriteGguf(options.packed, draft, ExecutorRef(pool),
                      [&](const WriteProgress& progress) { bar.Draw(progress.bytes_done, progress.bytes_total); }));
  PrintSummary(options.packed, draft);
  return 0;
}

}  // namespace skald::program
