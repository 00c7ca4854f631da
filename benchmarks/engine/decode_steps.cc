// SPDX-License-Identifier: Apache-2.0
//
// Times decode steps of a model with random weights in turns with another program, so that a busy machine is as busy
// for both: examples/python/bench.py is that program.
//
// usage: decode_steps SPEC
//
// SPEC is a file with a ModelSpec as SpecToJson writes it, or "tinyllama", which is written to the standard output and
// nothing else is done. Then each line of the input is a number of steps to compute, with one thread, and the answer a
// line with the nanoseconds of each.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "skald/families/llama/llama.h"
#include "skald/families/spec_json.h"
#include "skald/layers/standard_layers.h"
#include "skald/skald.h"

namespace skald {
namespace {

[[noreturn]] void End(const Error& error) {
  std::cerr << error.message << '\n';
  std::exit(1);
}

template <class T>
T Take(Result<T> result) {
  if (!result) End(result.error());
  return *std::move(result);
}

void AnswerLines(const ModelSpec& spec) {
  using Time = std::chrono::steady_clock;
  const AnyModel model("random", Take(RandomWeights(spec, 1)), StandardLayers::Functions());
  Workspace workspace = Take(CreateWorkspace({.threads = 1}));
  const std::vector<int32_t> prompt = {1, 2, 3}, token = {5};
  std::cout << "ready" << std::endl;
  for (size_t steps; std::cin >> steps;) {
    KVCache cache = Take(CreateKVCache(model.layout()));
    Take(model.Forward(cache, prompt, workspace));
    std::string line;
    for (size_t i = 0; i < steps; ++i) {
      const auto begin = Time::now();
      Take(model.Forward(cache, token, workspace));
      line += std::to_string((Time::now() - begin).count()) + ' ';
    }
    std::cout << line << std::endl;
  }
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) {
  using namespace skald;
  if (argc != 2) End({ErrorCode::kInvalidArgument, "usage: decode_steps SPEC"});
  if (std::string_view(argv[1]) == "tinyllama") {
    std::cout << Take(SpecToJson(SpecOf<TinyLlama_1_1B>())) << '\n';
    return 0;
  }
  std::ifstream file(argv[1]);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  AnswerLines(Take(SpecFromJson(text)));
}
