// SPDX-License-Identifier: Apache-2.0

#include "commands/files/pack.h"

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include "model_files/known_models.h"
#include "setup.h"
#include "skald/base/text/printable.h"
#include "skald/open/pack_model.h"
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

Result<int> Pack(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  const ProgressBar bar("packing " + std::string(info.name), options.show_progress);
  SKALD_TRY(PackModel(info, LoadOptionsOf(options, info, bar), options.packed));
  std::error_code ignored;
  std::cout << Printable(options.packed.native()) << ": " << info.name << ", "
            << std::filesystem::file_size(options.packed, ignored) << " bytes\n";
  return 0;
}

}  // namespace

Result<int> RunPack(const Options& options) { return options.verify ? Verify(options.packed) : Pack(options); }

}  // namespace skald::program
