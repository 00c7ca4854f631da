// SPDX-License-Identifier: Apache-2.0
//
// Families that are known by their files alone, as llama.cpp's converter writes them, give the recorded answers of
// their original implementations.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/model/load_any.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/golden_folders.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {
namespace attention_gguf_test {

using nlohmann::json;

// A folder of tests/golden/data, and what its gguf.json says of its converted file (tests/golden/data/README.md).
struct Family {
  std::string folder;
  json converted;

  bool Is(const char* fact) const { return converted.value(fact, false); }
};

std::vector<Family> Families() {
  std::vector<Family> families;
  for (const std::string& folder : GoldenFolders()) {
    const auto text = ReadSmallFile(GoldenPath(folder + "/gguf.json"), 1 << 20);
    if (text) families.push_back({folder, json::parse(*text)});
  }
  return families;
}

// Queries of all heads, then keys, then values, of `heads` in `groups`, each of which has the three in turn.
std::string WithGroupsApart(const std::string& bytes, size_t heads, size_t groups) {
  const size_t queries = heads / groups, head = bytes.size() / (heads + 2 * groups), group = (queries + 2) * head;
  std::string apart;
  for (size_t i = 0; i < groups; ++i) apart += bytes.substr(i * group, queries * head);
  for (size_t part = queries; part < queries + 2; ++part) {
    for (size_t i = 0; i < groups; ++i) apart += bytes.substr(i * group + part * head, head);
  }
  return apart;
}

// The bytes of a matrix of floats, transposed.
std::string Transposed(const std::string& bytes, size_t rows) {
  const size_t row_bytes = bytes.size() / rows;
  std::string turned;
  for (size_t col = 0; col < row_bytes; col += sizeof(float)) {
    for (size_t row = 0; row < rows; ++row) turned += bytes.substr(row * row_bytes + col, sizeof(float));
  }
  return turned;
}

// Adds stacked experts whose matrices are transposed: gates and the others side by side, or the last ones.
void AddTurnedExperts(const std::string& name, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const size_t experts = tensor.shape[0], rows = tensor.shape[1], bytes = tensor.bytes.size() / experts;
  const std::string blocks = GgufName(name.substr(0, name.find("feed_forward.")), false);
  const bool is_last = name.ends_with("down_proj");
  std::string parts[2];
  for (size_t e = 0; e < experts; ++e) {
    const std::string turned = Transposed(tensor.bytes.substr(e * bytes, bytes), rows);
    parts[0] += is_last ? turned : turned.substr(0, bytes / 2);
    parts[1] += turned.substr(bytes / 2);
  }
  const uint64_t cols = is_last ? tensor.shape[2] : tensor.shape[2] / 2;
  if (is_last) return converted.push_back({blocks + "ffn_down_exps.weight", 0, {experts, cols, rows}, parts[0]});
  converted.push_back({blocks + "ffn_gate_exps.weight", 0, {experts, cols, rows}, parts[0]});
  converted.push_back({blocks + "ffn_up_exps.weight", 0, {experts, cols, rows}, parts[1]});
}

// Adds the factors of one head to those of all.
void AddHeadFactors(const std::string& name, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const std::string stacked = name.substr(0, name.find("_layernorm.norms.")) + "_norm.weight";
  NewGgufTensor& last = converted.back();
  if (last.name != stacked) return converted.push_back({stacked, 0, {1, tensor.shape[0]}, tensor.bytes});
  ++last.shape[0];
  last.bytes += tensor.bytes;
}

// Adds the gates and the others of stacked experts, whose matrices are one above the other.
void AddHalves(const std::string& layer, const NewTensor& tensor, std::vector<NewGgufTensor>& converted) {
  const size_t experts = tensor.shape[0], half = tensor.bytes.size() / experts / 2;
  const std::string blocks = GgufName(layer, false);
  for (size_t i = 0; i < 2; ++i) {
    std::string bytes;
    for (size_t e = 0; e < experts; ++e) bytes += tensor.bytes.substr((2 * e + i) * half, half);
    converted.push_back({blocks + (i == 0 ? "ffn_gate_exps.weight" : "ffn_up_exps.weight"),
                         0,
                         {experts, tensor.shape[1] / 2, tensor.shape[2]},
                         bytes});
  }
}

constexpr size_t kHeadDim = 10;

// Adds the queries, the keys and the values of a tensor that has them one after the other, `kv_rows` of the latter two.
void AddQueriesKeysValues(const std::string& name, const NewTensor& tensor, size_t kv_rows, bool has_rope_pairs,
                          std::vector<NewGgufTensor>& converted) {
  const size_t row = tensor.bytes.size() / tensor.shape[0];
  size_t begin = 0;
  for (const char* const part : {"attn_q.", "attn_k.", "attn_v."}) {
    const size_t rows = begin == 0 ? tensor.shape[0] - 2 * kv_rows : kv_rows;
    std::string bytes = tensor.bytes.substr(begin * row, rows * row);
    if (has_rope_pairs && part[5] != 'v') bytes = WithPairsAdjacent(bytes, rows, kHeadDim);
    std::string named = name;
    converted.push_back(
        {named.replace(named.find("attn_qkv."), 9, part), 0, {rows, tensor.shape[1]}, std::move(bytes)});
    begin += rows;
  }
}

// The converter's tensors of a checkpoint. An encoder of images is a file of its own.
std::vector<NewGgufTensor> ConvertedTensors(const Family& family) {
  const json names = family.converted.value("names", json::array());
  const bool has_rope_pairs = family.Is("has_rope_pairs"), as_columns = family.Is("as_columns");
  const size_t groups = family.converted.value("groups", size_t{0});        // of heads, joined in one tensor; 0: none
  const size_t key_heads = family.converted.value("key_heads", size_t{0});  // where the three are apart in files
  std::vector<NewGgufTensor> converted;
  for (const NewTensor& tensor : RawFile(GoldenPath(family.folder + "/model.safetensors")).Tensors()) {
    std::string name = tensor.name, bytes = tensor.bytes;
    if (name.starts_with("model.visual.") || name.find(".act_fn.") != std::string::npos) continue;
    for (const json& renamed : names) {
      const std::string from = renamed[0], to = renamed[1];
      if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    }
    const bool is_turned = name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight");
    if (has_rope_pairs && is_turned) bytes = WithPairsAdjacent(bytes, tensor.shape[0], kHeadDim);
    if (name.ends_with("mlp.experts.gate_up_proj")) {
      AddHalves(name.substr(0, name.size() - 24), tensor, converted);
      continue;
    }
    if (name.find("feed_forward.experts.") != std::string::npos) {
      AddTurnedExperts(name, tensor, converted);
      continue;
    }
    if (name.find("_layernorm.norms.") != std::string::npos) {
      AddHeadFactors(GgufName(name, false), tensor, converted);
      continue;
    }
    std::vector<uint64_t> shape = tensor.shape;
    if (as_columns && shape.size() == 2 && name.starts_with("model.layers.")) {
      bytes = Transposed(bytes, shape[0]);
      std::swap(shape[0], shape[1]);
    }
    const bool is_of_all = name.find("attn_qkv.") != std::string::npos;
    if (is_of_all && key_heads > 0) {
      AddQueriesKeysValues(GgufName(name, false), tensor, key_heads * kHeadDim, has_rope_pairs, converted);
      continue;
    }
    const bool is_joined = groups > 0 && is_of_all;
    if (is_joined) bytes = WithGroupsApart(bytes, tensor.shape[0] / kHeadDim - 2 * groups, groups);
    if (is_joined && has_rope_pairs) {
      const size_t turned = tensor.shape[0] - groups * kHeadDim, end = bytes.size() / tensor.shape[0] * turned;
      bytes = WithPairsAdjacent(bytes.substr(0, end), turned, kHeadDim) + bytes.substr(end);
    }
    AddConverted({GgufName(name, family.Is("has_post_norms")), 0, std::move(shape), bytes}, converted);
  }
  return converted;
}

json MetadataOf(const Family& family) {
  json metadata = family.converted["metadata"];
  // Parameters of each layer that are numbers are metadata.
  for (const NewTensor& tensor : RawFile(GoldenPath(family.folder + "/model.safetensors")).Tensors()) {
    const size_t at = tensor.name.find(".act_fn.");
    if (at == std::string::npos) continue;
    float value;
    std::memcpy(&value, tensor.bytes.data(), sizeof(value));
    metadata["xielu." + tensor.name.substr(at + 8)].push_back(value);
  }
  return metadata;
}

std::string ImageOf(const Family& family) {
  return GgufImage(GgufValuesOf(MetadataOf(family)), ConvertedTensors(family));
}

void CheckRecorded(const Family& family) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, Kept(family.folder, ImageOf(family)));
  const auto model = LoadAnyModel(path, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  const ReferenceTensors reference(GoldenPath(family.folder + "/golden.safetensors"));
  for (size_t row = 0; row < 2; ++row) {
    CheckRows(*model, reference.Tokens("input_ids", row), Want::kLogits, reference.Floats("logits", row), kExact,
              2.0f);  // as in tests/golden
  }
}

// Files of some families imply what a config.json says: the answers are those of the folder with other fields.
void CheckImplied(const Family& family, const json& fields) {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "model.gguf", ImageOf(family));
  const auto from_gguf = LoadAnyModel(folder.path() / "model.gguf", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(from_gguf.has_value(), from_gguf.error().message);
  json config = json::parse(*ReadSmallFile(GoldenPath(family.folder + "/config.json"), 1 << 20));
  config.update(fields);
  WriteFile(folder.path() / "config.json", config.dump());
  std::filesystem::copy(GoldenPath(family.folder + "/model.safetensors"), folder.path());
  const auto from_folder = LoadAnyModel(folder.path(), {.dtype = DType::kF32});
  REQUIRE_MESSAGE(from_folder.has_value(), from_folder.error().message);
  CHECK(from_gguf->spec() == from_folder->spec());
  const ReferenceTensors reference(GoldenPath(family.folder + "/golden.safetensors"));
  const std::vector<int32_t> prompt = reference.Tokens("input_ids", 0);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(from_folder->layout(), kExact);
  CheckRows(*from_gguf, prompt, Want::kLogits, *from_folder->Forward(cache, prompt, workspace));
}

TEST_CASE("GGUF files of families without a Config give the recorded answers, or those of what they imply") {
  const std::vector<Family> families = Families();
  CHECK(families.size() >= 33);
  for (const Family& family : families) {
    CAPTURE(family.folder);
    const auto fields = family.converted.find("config");
    fields == family.converted.end() ? CheckRecorded(family) : CheckImplied(family, *fields);
  }
}

}  // namespace attention_gguf_test
}  // namespace skald::testing
