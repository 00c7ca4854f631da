// SPDX-License-Identifier: Apache-2.0
//
// A model that is open is read from that opening, whatever lies at its path by then.

#include <filesystem>
#include <string>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/packed_files/packed_file.h"
#include "skald/weights/packed_files/packed_source.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace opened_model_test {

std::string TinyGguf() {
  return GgufImage(GgufValues().String("general.architecture", "of-a-user"),
                   GgufTensors<TinyModel>(TinyTensors<TinyModel>(), "llama"));
}

// Puts another file in the place of one, as programs that write whole files do.
void Replace(const std::filesystem::path& path, const std::string& content) {
  WriteFile(path.string() + ".new", content);
  std::filesystem::rename(path.string() + ".new", path);
}

TEST_CASE("All that is read of a GGUF file is of one opening") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "weights.bin";
  WriteFile(path, TinyGguf());
  const ModelSpec spec = SpecOf<TinyModel>();
  const auto expected = LoadWeights(path, spec, "tiny");
  const auto opened = OpenedModel::Open(path);
  REQUIRE(opened);
  REQUIRE(opened->gguf() != nullptr);
  CHECK(opened->is_whole());
  CHECK(opened->packed() == nullptr);
  CHECK(opened->folder() == path);
  CHECK(*opened->DescribeSource() == *DescribeSource(path));

  Replace(path, "no model");
  CHECK_FALSE(OpenedModel::Open(path)->is_whole());
  const OpenedModel copy = *opened;
  CHECK(*copy.gguf()->metadata().Get<std::string>("general.architecture") == "of-a-user");
  CHECK((*copy.checkpoint())->tensors().size() == (*opened->checkpoint())->tensors().size());
  const auto weights = LoadWeights(copy, spec, "tiny");
  REQUIRE(weights);
  CHECK(SameWeights(*weights, *expected));
  // A cache must not keep them as the weights of what lies there now.
  CheckError(copy.DescribeSource(), ErrorCode::kFailedPrecondition, "weights.bin: it changed while it was read");
  LoadOptions options;
  options.cache_folder = folder.path() / "cache";
  CheckError(LoadWeights(copy, spec, "tiny", options), ErrorCode::kFailedPrecondition, "it changed");
}

TEST_CASE("Of a folder nothing is read before it is asked for") {
  const TemporaryFolder folder;
  const auto opened = OpenedModel::Open(folder.path());
  REQUIRE(opened);
  CHECK_FALSE(opened->is_whole());
  CHECK(opened->folder() == folder.path());
  CHECK(opened->checkpoint().error().code == ErrorCode::kNotFound);
  CheckError(OpenedModel::Open(folder.path() / "none"), ErrorCode::kNotFound,
             "none: no such folder or file, expected one with a model");
}

TEST_CASE("A file that begins as a GGUF or packed file does is one, and says what is wrong with it") {
  const TemporaryFolder folder;
  for (const std::string beginning : {"GGUF", "SkaldPkd"}) {
    WriteFile(folder.path() / "cut", beginning);
    CheckError(OpenedModel::Open(folder.path() / "cut"), ErrorCode::kDataLoss, "cut: ");
  }
}

}  // namespace opened_model_test
}  // namespace skald::testing
