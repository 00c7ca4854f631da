// SPDX-License-Identifier: Apache-2.0

#include "commands/files/pack.h"

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "model_files/known_models.h"
#include "model_files/tensor_parts.h"
#include "setup.h"
#include "skald/base/text/printable.h"
#include "skald/model/load.h"
#include "skald/open/pack_model.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald::program {
namespace {

Result<int> Verify(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto file, PackedFile::Open(path));
  SKALD_TRY(file->Verify());
  const PackedTable& table = file->table();
  std::cout << Printable(path.native()) << ": whole; " << Printable(table.name) << " as " << NameOf(table.dtype)
            << '\n';
  return 0;
}

// Names what the model's files have and the packed one has not.
Result<void> WarnOfUnpacked(const ModelInfo& info) {
  if (info.model.packed() != nullptr) return {};
  SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
  SKALD_ASSIGN(const auto left, TensorsLeftOut(*checkpoint, info.spec));
  std::vector<std::string_view> names;
  for (const TensorView* const tensor : left) names.push_back(tensor->name);
  WarnOfLeftOut(names);
  return {};
}

Result<void> PackShown(const ModelInfo& info, const Options& options) {
  const ProgressBar bar("packing " + std::string(info.name), options.show_progress);
  return PackModel(info, LoadOptionsOf(options, info, bar), options.packed);
}

Result<int> Pack(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  SKALD_TRY(PackShown(info, options));
  SKALD_TRY(WarnOfUnpacked(info));
  std::error_code ignored;
  std::cout << Printable(options.packed.native()) << ": " << info.name << ", "
            << std::filesystem::file_size(options.packed, ignored) << " bytes\n";
  return 0;
}

}  // namespace

Result<int> RunPack(const Options& options) { return options.verify ? Verify(options.packed) : Pack(options); }

}  // namespace skald::program
