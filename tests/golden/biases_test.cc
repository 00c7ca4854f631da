// SPDX-License-Identifier: Apache-2.0
//
// A Llama with the biases that its config.json can ask for, attention_bias and mlp_bias, against the definition in
// double precision.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "tests/support/biased_llama.h"
#include "tests/support/compare_logits.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace biases_test {

using Vector = std::vector<double>;

class NaiveLlama {
 public:
  explicit NaiveLlama(const std::vector<NewTensor>& tensors) {
    for (const NewTensor& tensor : tensors) {
      const std::vector<float> values = FloatsOf(tensor);
      tensors_[tensor.name] = Vector(values.begin(), values.end());
    }
  }

  // Returns the logits after the last token.
  Vector Logits(const std::vector<int32_t>& tokens) const {
    std::vector<Vector> rows;
    for (const int32_t token : tokens) {
      const auto begin = tensors_.at("model.embed_tokens.weight").begin() + token * Biased::kModelDim;
      rows.emplace_back(begin, begin + Biased::kModelDim);
    }
    for (size_t layer = 0; layer < Biased::kLayers.size(); ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      Attend(prefix, rows);
      for (Vector& row : rows) Add(row, FeedForward(prefix, Norm(row, prefix + "post_attention_layernorm")));
    }
    return Linear(Norm(rows.back(), "model.norm"), "lm_head");
  }

 private:
  static constexpr size_t kHeadDim = Biased::kHeadDim;

  static void Add(Vector& to, const Vector& what) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += what[i];
  }

  Vector Linear(const Vector& x, const std::string& name) const {
    const Vector& weights = tensors_.at(name + ".weight");
    const auto bias = tensors_.find(name + ".bias");
    Vector y = bias == tensors_.end() ? Vector(weights.size() / x.size()) : bias->second;
    for (size_t i = 0; i < weights.size(); ++i) y[i / x.size()] += weights[i] * x[i % x.size()];
    return y;
  }

  Vector Norm(Vector x, const std::string& name) const {
    double squares = 0.0;
    for (const double value : x) squares += value * value;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + double{Biased::kNormEpsilon});
    for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * tensors_.at(name + ".weight")[i];
    return x;
  }

  static void Rotate(Vector& heads, size_t position) {
    for (size_t i = 0; i < heads.size(); ++i) {
      const size_t pair = i % kHeadDim;
      if (pair >= kHeadDim / 2) continue;
      const double angle = static_cast<double>(position) * RopeFrequency(Biased::kRope, pair, kHeadDim);
      const double a = heads[i], b = heads[i + kHeadDim / 2];
      heads[i] = a * std::cos(angle) - b * std::sin(angle);
      heads[i + kHeadDim / 2] = a * std::sin(angle) + b * std::cos(angle);
    }
  }

  void Attend(const std::string& prefix, std::vector<Vector>& rows) const {
    std::vector<Vector> keys, values;
    for (size_t position = 0; position < rows.size(); ++position) {
      const Vector x = Norm(rows[position], prefix + "input_layernorm");
      Vector query = Linear(x, prefix + "self_attn.q_proj"), mixed(query.size());
      keys.push_back(Linear(x, prefix + "self_attn.k_proj"));
      values.push_back(Linear(x, prefix + "self_attn.v_proj"));
      Rotate(query, position);
      Rotate(keys.back(), position);
      for (size_t head = 0; head < Biased::kHeads; ++head) {
        const size_t q = head * kHeadDim, kv = head / (Biased::kHeads / Biased::kKVHeads) * kHeadDim;
        double sum = 0.0;
        for (size_t p = 0; p <= position; ++p) {
          double score = 0.0;
          for (size_t d = 0; d < kHeadDim; ++d) score += query[q + d] * keys[p][kv + d];
          const double weight = std::exp(score / std::sqrt(double{kHeadDim}));
          sum += weight;
          for (size_t d = 0; d < kHeadDim; ++d) mixed[q + d] += weight * values[p][kv + d];
        }
        for (size_t d = 0; d < kHeadDim; ++d) mixed[q + d] /= sum;
      }
      Add(rows[position], Linear(mixed, prefix + "self_attn.o_proj"));
    }
  }

  Vector FeedForward(const std::string& prefix, const Vector& x) const {
    Vector hidden = Linear(x, prefix + "mlp.gate_proj");
    const Vector up = Linear(x, prefix + "mlp.up_proj");
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] *= up[i] / (1.0 + std::exp(-hidden[i]));
    return Linear(hidden, prefix + "mlp.down_proj");
  }

  std::map<std::string, Vector> tensors_;
};

TEST_CASE("the biases that config.json asks for are loaded and added") {
  const std::vector<NewTensor> tensors = TinyTensors<Biased>();
  const TemporaryFolder folder;
  WriteFile(folder.path() / "config.json", kBiasedConfigJson);
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
  const auto model = LoadAnyModel(folder.path(), {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CHECK(model->spec() == SpecOf<Biased>());

  const std::vector<int32_t> tokens = {3, 18, 0, 7, 7, 11};
  KVCache cache = *CreateKVCache(LayoutOf(model->spec()), kExact);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto logits = model->Forward(cache, tokens, workspace);
  REQUIRE(logits);
  const Vector exact = NaiveLlama(tensors).Logits(tokens);
  const std::vector<float> expected(exact.begin(), exact.end());
  CHECK(LargestDifference(*logits, expected) <= Tolerance(model->spec(), expected));

  // The same as llama.cpp's converter writes it, which turns rows of biases too.
  const nlohmann::json metadata = {{"general.architecture", "llama"},
                                   {"llama.block_count", 2},
                                   {"llama.embedding_length", 6},
                                   {"llama.feed_forward_length", 10},
                                   {"llama.attention.head_count", 4},
                                   {"llama.attention.head_count_kv", 2},
                                   {"llama.attention.key_length", 4},
                                   {"llama.attention.value_length", 4},
                                   {"llama.attention.layer_norm_rms_epsilon", 1e-5}};
  WriteFile(folder.path() / "theirs.gguf", GgufImage(GgufValuesOf(metadata), GgufTensors<Biased>(tensors, "llama")));
  const auto read = LoadAnyModel(folder.path() / "theirs.gguf", {.dtype = DType::kF32});
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  CHECK(read->spec() == model->spec());
  CheckRows(*read, tokens, Want::kLogits, expected);
}

}  // namespace biases_test
}  // namespace skald::testing
