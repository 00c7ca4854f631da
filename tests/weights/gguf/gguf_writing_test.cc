// SPDX-License-Identifier: Apache-2.0
//
// Writing GGUF files: blocks against their decoders, files against those that they are copies of, mixtures against the
// types that are known of published files.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "skald/base/threads/thread_pool.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/packing/detail/quantize_blocks.h"
#include "skald/weights/types/gguf_blocks.h"
#include "skald/weights/writing/block_encoder.h"
#include "skald/weights/writing/gguf_draft.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"

namespace skald {
namespace {

using testing::GgufImage;
using testing::GgufValues;
using testing::NewGgufTensor;

std::vector<float> RandomRow(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.5f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> Decoded(const GgufType& type, const std::vector<std::byte>& bytes, size_t count) {
  const GroupFormat* const format = FindGroupFormat(type.name);
  REQUIRE(format != nullptr);
  const TensorView view{"", "", {}, {}, bytes, format};
  std::vector<float> values(count);
  internal::ReadRow(view, 0, values);
  return values;
}

std::vector<std::byte> Encoded(const GgufType& type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() / type.block_elements * type.block_bytes);
  FindBlockEncoder(type)(values, nullptr, bytes.data());
  return bytes;
}

TEST_CASE("every type that is written is read back with the error of its bits, and again without any") {
  struct Bound {
    const char* type;
    double error;  // root of the mean square, as part of that of the values
  };
  for (const auto& [name, bound] : {Bound{"Q8_0", 0.006},
                                    {"Q4_0", 0.1},
                                    {"Q4_1", 0.09},
                                    {"Q5_0", 0.05},
                                    {"Q5_1", 0.05},
                                    {"IQ4_NL", 0.09},
                                    {"MXFP4", 0.15},
                                    {"Q2_K", 0.33},
                                    {"Q3_K", 0.17},
                                    {"Q4_K", 0.08},
                                    {"Q5_K", 0.04},
                                    {"Q6_K", 0.02},
                                    {"IQ4_XS", 0.09}}) {
    CAPTURE(name);
    const GgufType& type = *FindGgufTypeByName(name);
    const std::vector<float> values = RandomRow(2048, 1);
    const std::vector<float> read = Decoded(type, Encoded(type, values), values.size());
    double error = 0, square = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      error += std::pow(values[i] - read[i], 2), square += std::pow(values[i], 2);
    }
    CHECK(std::sqrt(error / square) < bound);
    CHECK(std::sqrt(error / square) > bound / 3);
    CHECK(Decoded(type, Encoded(type, std::vector<float>(256, 0.0f)), 256) == std::vector<float>(256, 0.0f));
  }
}

template <NestedScales T>
void CheckBlocks(const char* name) {
  CAPTURE(name);
  const GgufType& type = *FindGgufTypeByName(name);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<float> values = RandomRow(256, seed);
    for (size_t i = 0; i < 256; ++i) values[i] *= std::exp(static_cast<float>(seed % 5) * static_cast<float>(i / 64));
    const CodeBlock block = internal::QuantizeBlock<T>(values.data());
    CodeGroup expected[16], found[16];
    WriteGroups(block, expected);
    FindGroupFormat(name)->decode(Encoded(type, values).data(), found);
    for (size_t g = 0; g < 16; ++g) {
      CAPTURE(g);
      for (size_t i = 0; i < kCodeGroup; ++i) {
        CHECK(found[g].scale * found[g].codes[i] + found[g].offset ==
              expected[g].scale * expected[g].codes[i] + expected[g].offset);
      }
    }
  }
}

TEST_CASE("a written block holds the numbers that packing would choose") {
  CheckBlocks<Q2_K>("Q2_K");
  CheckBlocks<Q3_K>("Q3_K");
  CheckBlocks<Q4_K>("Q4_K");
  CheckBlocks<Q5_K>("Q5_K");
  CheckBlocks<Q6_K>("Q6_K");
  CheckBlocks<IQ4_XS>("IQ4_XS");
}

// A file with values of every type, floats, groups, and integers.
std::string SmallImage() {
  GgufValues values;
  values.String("general.architecture", "llama").U32("llama.block_count", 2).F32("a", 0.5f).Bool("b", true);
  values.Strings("words", {"one", "", "three"}).Numbers("numbers", 5, std::vector<int32_t>{-1, 2});
  values.Add("long", 10, testing::Raw(uint64_t{1} << 40));
  std::vector<NewGgufTensor> tensors;
  tensors.push_back({"token_embd.weight", 0, {3, 256}, testing::BytesOf(RandomRow(3 * 256, 1))});
  tensors.push_back({"output_norm.weight", 0, {5}, testing::BytesOf(RandomRow(5, 2))});
  const std::vector<std::byte> groups = Encoded(*FindGgufTypeByName("Q4_0"), RandomRow(64, 3));
  tensors.push_back(
      {"blk.0.attn_v.weight", 2, {2, 32}, std::string(reinterpret_cast<const char*>(groups.data()), groups.size())});
  tensors.push_back({"table", 26, {2}, testing::BytesOf(std::vector<int32_t>{7, 8})});
  return GgufImage(values, tensors);
}

struct Files {
  testing::TemporaryFolder folder;
  std::filesystem::path source = folder.path() / "source.gguf", target = folder.path() / "target.gguf";

  explicit Files(const std::string& image) { testing::WriteFile(source, image); }
  std::string Target() const {
    std::ifstream file(target, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_CASE("a copy has the bytes of its source, with any number of threads") {
  const Files files(SmallImage());
  const auto file = GgufFile::Open(files.source);
  REQUIRE(file);
  const auto draft = DraftOf(*file);
  REQUIRE(draft);
  for (const size_t threads : {1, 3}) {
    ThreadPool pool(threads);
    uint64_t done = 0, total = 0;
    REQUIRE(WriteGguf(files.target, *draft, ExecutorRef(pool), [&](const WriteProgress& progress) {
      done = progress.bytes_done, total = progress.bytes_total;
    }));
    std::string written = files.Target(), expected = SmallImage();
    expected.resize((expected.size() + 31) / 32 * 32);  // the last tensor is padded, too
    CHECK(written == expected);
    CHECK(done == total);
  }
}

TEST_CASE("what cannot be written is named, and the file that was there stays") {
  const Files files(SmallImage());
  const auto file = GgufFile::Open(files.source);
  testing::WriteFile(files.target, "before");
  ThreadPool pool(1);
  const auto error_of = [&](auto change) {
    GgufDraft draft = *DraftOf(*file);
    change(draft);
    const auto written = WriteGguf(files.target, draft, ExecutorRef(pool));
    CHECK(files.Target() == "before");
    return written ? std::string() : written.error().message;
  };
  const auto with_type = [](size_t tensor, const char* type) {
    return [=](GgufDraft& draft) { draft.tensors[tensor].type = FindGgufTypeByName(type); };
  };
  CHECK(error_of(with_type(0, "IQ1_S")).find("'token_embd.weight': cannot be written as IQ1_S") != std::string::npos);
  CHECK(error_of(with_type(3, "F32")).find("'table': cannot be written as F32") != std::string::npos);
  CHECK(error_of(with_type(2, "Q4_K")).find("rows of 32 elements, expected for Q4_K a multiple of 256") !=
        std::string::npos);
  const auto with_value = [](float value, const char* type) {
    return [=](GgufDraft& draft) {
      draft.tensors[0].type = FindGgufTypeByName(type);
      draft.tensors[0].read_row = [value](uint64_t, std::span<float> row) { row[7] = value; };
    };
  };
  CHECK(error_of(with_value(70000.0f, "F16")).find("F16 cannot hold") != std::string::npos);
  CHECK(error_of(with_value(std::numeric_limits<float>::infinity(), "Q8_0")).find("Q8_0 cannot hold") !=
        std::string::npos);
  CHECK(error_of(with_value(std::nanf(""), "Q4_K")).find("Q4_K cannot hold") != std::string::npos);
}

// Two experts of NVFP4 with a factor each, how activations are rounded, and a matrix with one factor.
std::string FactorsImage(const std::string& blocks) {
  std::vector<NewGgufTensor> tensors;
  tensors.push_back({"blk.0.ffn_up_exps.weight", 40, {2, 1, 64}, blocks + blocks});
  tensors.push_back({"blk.0.ffn_up_exps.scale", 0, {2}, testing::BytesOf(std::vector<float>{0.25f, 3.0f})});
  tensors.push_back({"blk.0.ffn_up_exps.input_scale", 0, {1}, testing::BytesOf(std::vector<float>{5.0f})});
  tensors.push_back({"blk.0.ffn_up.weight", 40, {2, 64}, blocks + blocks});
  tensors.push_back({"blk.0.ffn_up.scale", 0, {1}, testing::BytesOf(std::vector<float>{0.5f})});
  return GgufImage(GgufValues(), tensors);
}

TEST_CASE("Factors of NVFP4 are multiplied into weights that become another type, and kept beside others") {
  std::string blocks;
  for (int i = 0; i < 36; ++i) blocks.push_back(static_cast<char>(i < 4 ? 60 + i : 7 * i));
  const Files files(FactorsImage(blocks));
  const auto file = GgufFile::Open(files.source);
  REQUIRE(file);
  const GgufType& type = *FindGgufTypeByName("NVFP4");
  const std::span<const std::byte> block = std::as_bytes(std::span(blocks));
  const std::vector<float> plain = Decoded(type, {block.begin(), block.end()}, 64);
  ThreadPool pool(1);
  GgufDraft draft = *DraftOf(*file);
  draft.tensors[0].type = FindGgufTypeByName("F32");
  REQUIRE(WriteGguf(files.target, draft, ExecutorRef(pool)));
  const auto written = GgufFile::Open(files.target);
  REQUIRE(written);
  REQUIRE(written->size() == 3);
  CHECK((*written)[1].name == "blk.0.ffn_up.weight");
  CHECK((*written)[1].dtype_name == "NVFP4");
  CHECK((*written)[2].name == "blk.0.ffn_up.scale");
  for (size_t row = 0; row < 2; ++row) {
    std::vector<float> values(64), expected = plain;
    internal::ReadRow((*written)[0], row, values);
    for (float& value : expected) value *= row == 0 ? 0.25f : 3.0f;
    CHECK(values == expected);
  }
  draft.tensors[3].type = FindGgufTypeByName("F32");
  REQUIRE(WriteGguf(files.target, draft, ExecutorRef(pool)));
  CHECK(GgufFile::Open(files.target)->size() == 2);
}

// The tensors of a Llama of that many layers, with an output head.
GgufDraft LlamaOf(uint32_t layers, uint32_t heads, uint32_t kv_heads, uint64_t cols, bool has_head, uint32_t experts) {
  GgufDraft draft;
  draft.Set(GgufText("general.architecture", "llama"));
  draft.Set(GgufNumber("llama.block_count", layers));
  draft.Set(GgufNumber("llama.attention.head_count", heads));
  draft.Set(GgufNumber("llama.attention.head_count_kv", kv_heads));
  if (experts > 0) draft.Set(GgufNumber("llama.expert_count", experts));
  const auto add = [&](std::string name, std::vector<uint64_t> shape, const char* type) {
    draft.tensors.push_back(
        {std::move(name), std::move(shape), FindGgufTypeByName(type), [](uint64_t, std::span<float>) {}});
  };
  add("token_embd.weight", {1000, cols}, "BF16");
  if (has_head) add("output.weight", {1000, cols}, "BF16");
  for (uint32_t i = 0; i < layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    for (const char* matrix : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      add(layer + matrix + ".weight", {64, cols}, "BF16");
    }
    add(layer + "attn_norm.weight", {cols}, "F32");
    if (experts > 0) add(layer + "ffn_gate_inp.weight", {experts, cols}, "F32");
    add(layer + (experts > 0 ? "ffn_down_exps.weight" : "ffn_down.weight"),
        experts > 0 ? std::vector<uint64_t>{experts, 64, cols} : std::vector<uint64_t>{64, cols}, "BF16");
  }
  return draft;
}

std::string_view TypeOf(const GgufDraft& draft, const std::string& name) {
  for (const DraftTensor& tensor : draft.tensors) {
    if (tensor.name == name) return tensor.type->name;
  }
  return "missing";
}

// The layers whose tensor of this name has the type.
std::set<int> LayersWith(const GgufDraft& draft, int layers, const std::string& part, std::string_view type) {
  std::set<int> found;
  for (int i = 0; i < layers; ++i) {
    if (TypeOf(draft, "blk." + std::to_string(i) + "." + part) == type) found.insert(i);
  }
  return found;
}

TEST_CASE("mixtures choose the types of llama.cpp's files") {
  GgufDraft draft = LlamaOf(32, 32, 32, 4096, true, 0);
  REQUIRE(ChooseTypes("q4_k_m", {}, draft));
  const std::set<int> more = {0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31};
  CHECK(LayersWith(draft, 32, "attn_v.weight", "Q6_K") == more);
  CHECK(LayersWith(draft, 32, "ffn_down.weight", "Q6_K") == more);
  CHECK(LayersWith(draft, 32, "attn_q.weight", "Q4_K").size() == 32);
  CHECK(LayersWith(draft, 32, "attn_norm.weight", "F32").size() == 32);
  CHECK(TypeOf(draft, "output.weight") == "Q6_K");
  CHECK(TypeOf(draft, "token_embd.weight") == "Q4_K");
  CHECK(draft.Find("general.file_type")->bytes == testing::Raw(uint32_t{15}));

  REQUIRE(ChooseTypes("q3_k_m", {}, draft));
  CHECK(LayersWith(draft, 32, "attn_v.weight", "Q5_K") == std::set<int>{0, 1});
  CHECK(LayersWith(draft, 32, "ffn_down.weight", "Q5_K") == std::set<int>{0, 1});
  CHECK(LayersWith(draft, 32, "attn_output.weight", "Q4_K").size() == 32);
  REQUIRE(ChooseTypes("q8_0", {}, draft));
  CHECK(TypeOf(draft, "output.weight") == "Q8_0");
  REQUIRE(ChooseTypes("f16", {}, draft));
  CHECK(TypeOf(draft, "blk.0.attn_q.weight") == "F16");
  REQUIRE(ChooseTypes("q4_k_m", {.pure = true}, draft));
  CHECK(TypeOf(draft, "output.weight") == "Q4_K");
  CHECK(LayersWith(draft, 32, "attn_v.weight", "Q4_K").size() == 32);

  GgufDraft shared = LlamaOf(16, 32, 8, 4096, false, 0);
  REQUIRE(ChooseTypes("q2_k", {}, shared));
  CHECK(LayersWith(shared, 16, "attn_v.weight", "Q4_K").size() == 16);
  CHECK(TypeOf(shared, "token_embd.weight") == "Q6_K");  // the head

  GgufDraft mixtral = LlamaOf(32, 32, 8, 4096, true, 8);
  REQUIRE(ChooseTypes("q4_k_s", {}, mixtral));
  CHECK(TypeOf(mixtral, "blk.5.attn_v.weight") == "Q8_0");
  CHECK(TypeOf(mixtral, "blk.5.attn_k.weight") == "Q8_0");
  CHECK(TypeOf(mixtral, "blk.5.attn_output.weight") == "Q5_K");
  CHECK(TypeOf(mixtral, "blk.5.ffn_gate_inp.weight") == "F32");
  CHECK(TypeOf(mixtral, "blk.3.ffn_down_exps.weight") == "Q5_K");
  REQUIRE(ChooseTypes("mxfp4_moe", {}, mixtral));
  CHECK(TypeOf(mixtral, "blk.5.ffn_down_exps.weight") == "MXFP4");
  CHECK(TypeOf(mixtral, "blk.5.attn_q.weight") == "Q8_0");

  const GgufType* const q8 = FindGgufTypeByName("q8_0");
  REQUIRE(ChooseTypes("q4_k_m", {.output = q8, .embeddings = q8}, mixtral));
  CHECK(TypeOf(mixtral, "output.weight") == "Q8_0");
  CHECK(TypeOf(mixtral, "token_embd.weight") == "Q8_0");
}

TEST_CASE("rows that fit no block of a type get another, and names are checked") {
  GgufDraft narrow = LlamaOf(2, 4, 4, 288, true, 0);
  REQUIRE(ChooseTypes("q4_k_m", {}, narrow));
  CHECK(TypeOf(narrow, "blk.0.attn_q.weight") == "Q5_0");
  CHECK(TypeOf(narrow, "blk.1.attn_v.weight") == "Q8_0");
  CHECK(TypeOf(narrow, "output.weight") == "Q8_0");
  GgufDraft odd = LlamaOf(2, 4, 4, 40, true, 0);
  REQUIRE(ChooseTypes("q4_0", {}, odd));
  CHECK(TypeOf(odd, "blk.0.attn_q.weight") == "F16");
  const auto unknown = ChooseTypes("q9", {}, odd);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message.find("type 'q9': expected one of q2_k_s, q2_k") != std::string::npos);
}

}  // namespace
}  // namespace skald
