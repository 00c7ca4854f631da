// SPDX-License-Identifier: Apache-2.0
//
// The folder of a model whose safetensors file is damaged at one tensor.

#ifndef SKALD_TESTS_GOLDEN_DAMAGED_FOLDER_H_
#define SKALD_TESTS_GOLDEN_DAMAGED_FOLDER_H_

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/load_any.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {

inline Result<ModelWeights> LoadFolder(const std::filesystem::path& folder, DType dtype = DType::kBF16) {
  SKALD_ASSIGN(const auto text, ReadSmallFile(folder / "config.json", kMaxConfigJson));
  SKALD_ASSIGN(const auto described, ParseConfigJson(text));
  return LoadWeights(folder, described.spec, "folder", {.dtype = dtype});
}

// The ways to damage one tensor.
enum class Damage { kRemoved, kDoubled, kOtherType, kOtherAxes, kOtherRows };
inline constexpr Damage kDamages[] = {Damage::kRemoved, Damage::kDoubled, Damage::kOtherType, Damage::kOtherAxes,
                                      Damage::kOtherRows};

// Another type of the same width, which no program means by these bytes.
inline std::string OtherType(const std::string& dtype) {
  if (dtype == "F32") return "I32";
  if (dtype == "F16" || dtype == "BF16") return "U16";
  if (dtype == "U8") return "I8";
  if (dtype == "I64") return "F64";
  return dtype.ends_with("32") ? "F32" : "U8";
}

// Returns the tensors with damage to one of them.
inline std::vector<NewTensor> WithDamage(std::vector<NewTensor> tensors, size_t i, Damage damage) {
  NewTensor& tensor = tensors[i];
  switch (damage) {
    case Damage::kRemoved:
      tensors.erase(tensors.begin() + static_cast<ptrdiff_t>(i));
      break;
    case Damage::kDoubled:
      tensors.push_back(tensor), tensors.back().name += "_2";
      break;
    case Damage::kOtherType:
      tensor.dtype = OtherType(tensor.dtype);
      break;
    case Damage::kOtherAxes:
      std::ranges::reverse(tensor.shape);
      tensor.shape.insert(tensor.shape.begin(), 1);
      break;
    case Damage::kOtherRows:
      if (tensor.shape.size() < 2 || tensor.shape[0] % 2 != 0) break;
      tensor.shape[0] /= 2, tensor.shape[1] *= 2;
      break;
  }
  return tensors;
}

// A copy of a folder of tests/golden/data, whose tensors may be others.
class ChangedFolder {
 public:
  explicit ChangedFolder(const std::filesystem::path& original)
      : tensors(RawFile(original / "model.safetensors").Tensors()) {
    for (const char* const file : {"config.json", "hf_quant_config.json"}) {
      if (std::filesystem::exists(original / file)) std::filesystem::copy_file(original / file, folder_.path() / file);
    }
  }

  void ReplaceConfig(const std::string& text) {
    std::filesystem::remove(folder_.path() / "config.json");
    WriteFile(folder_.path() / "config.json", text);
  }

  Result<ModelWeights> Load(const std::vector<NewTensor>& changed) {
    const auto path = folder_.path() / "model.safetensors";
    std::filesystem::remove(path);
    WriteFile(path, SafetensorsImage(changed));
    return LoadFolder(folder_.path());
  }

  const std::vector<NewTensor> tensors;

 private:
  TemporaryFolder folder_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_GOLDEN_DAMAGED_FOLDER_H_
