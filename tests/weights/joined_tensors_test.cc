// SPDX-License-Identifier: Apache-2.0
//
// Tensors that hold several parts of a matrix: queries, keys and values, or gate and up projections.

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "tests/support/check_error.h"
#include "tests/weights/load_tensors.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace joined_tensors_test {

// Replaces those of the tensors whose names end in `parts`, of each layer, by one of them all.
std::vector<NewTensor> Joined(std::vector<NewTensor> tensors, const std::vector<std::string>& parts,
                              const std::string& whole) {
  for (const char* const layer : {"model.layers.0.", "model.layers.1."}) {
    NewTensor joined = {layer + whole, "F32", {}, ""};
    for (const std::string& part : parts) {
      const NewTensor& tensor = TensorNamed(tensors, layer + part);
      joined.bytes += tensor.bytes;
      if (joined.shape.empty()) {
        joined.shape = tensor.shape;
      } else {
        joined.shape[0] += tensor.shape[0];
      }
    }
    tensors.push_back(joined);
    for (const std::string& part : parts) {
      std::erase_if(tensors, [&](const NewTensor& tensor) { return tensor.name == layer + part; });
    }
  }
  return tensors;
}

std::vector<NewTensor> JoinedQkv(const std::vector<NewTensor>& tensors, const std::string& what) {
  return Joined(tensors, {"self_attn.q_proj." + what, "self_attn.k_proj." + what, "self_attn.v_proj." + what},
                "self_attn.qkv_proj." + what);
}
std::vector<NewTensor> JoinedGateUp(const std::vector<NewTensor>& tensors) {
  return Joined(tensors, {"mlp.gate_proj.weight", "mlp.up_proj.weight"}, "mlp.gate_up_proj.weight");
}

TEST_CASE("Joined tensors give the weights that tensors by themselves give") {
  const std::vector<NewTensor> apart = TinyTensors<TinyFull>();
  const std::vector<NewTensor> joined = JoinedGateUp(JoinedQkv(JoinedQkv(apart, "weight"), "bias"));
  CHECK(joined.size() == apart.size() - 2 * 5);
  uint64_t loaded = 0, total = 0, all = 0;
  for (const NewTensor& tensor : apart) all += tensor.bytes.size();
  const auto weights = LoadTensors<TinyFull>(joined, {.progress = [&](const LoadProgress& progress) {
                                               loaded = progress.bytes_done;
                                               total = progress.bytes_total;
                                             }});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadTensors<TinyFull>(apart)));
  CHECK(loaded == all);
  CHECK(total == all);
}

TEST_CASE("Joined tensors of another size are refused by their own name") {
  const std::vector<NewTensor> joined = JoinedGateUp(JoinedQkv(TinyTensors<TinyModel>(), "weight"));
  CHECK(ErrorOf<TinyModel>(joined) == "accepted");
  auto changed = joined;
  NewTensor& qkv = TensorNamed(changed, "model.layers.1.self_attn.qkv_proj.weight");
  qkv.shape[0] -= 2;
  qkv.bytes.resize(qkv.bytes.size() - 2 * qkv.shape[1] * sizeof(float));
  CHECK(ErrorOf<TinyModel>(changed) ==
        "model.layers.1.self_attn.qkv_proj.weight: expected shape [16, 6], found [14, 6]");
  changed = joined;
  std::erase_if(changed, [](const NewTensor& t) { return t.name == "model.layers.1.mlp.gate_up_proj.weight"; });
  CHECK(ErrorOf<TinyModel>(changed) ==
        "model.layers.1.mlp.gate_up_proj.weight: expected a tensor of shape [20, 6], found none");
}

TEST_CASE("A part that is missing where parts are by themselves is called by its own name") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  std::erase_if(tensors, [](const NewTensor& t) { return t.name.ends_with("self_attn.k_proj.weight"); });
  CHECK(ErrorOf<TinyModel>(tensors) ==
        "model.layers.0.self_attn.k_proj.weight: expected a tensor of shape [4, 6], found none");
}

}  // namespace joined_tensors_test
}  // namespace skald::testing
