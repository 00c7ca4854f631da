// SPDX-License-Identifier: Apache-2.0
//
// The cost in quality of each type of weights, and of cached keys and values: the perplexity of the demo model on a
// text of one document per line.
//
//   perplexity FILE [FOLDER OF THE MODEL [MODEL.gguf...]]
//
// With GGUF files of the model, made from it by whatever quantises them, those are measured in place of our own types.
//
// The chapters that the demo model was not trained on, every 40th from the 21st, from Debian's package bible-kjv:
//
//   bible -f ge1:1-re22:21 | sed -E 's/^([0-9]?[A-Za-z]+[0-9]+):[0-9]+ +/\1\t/' | awk -F'\t' '
//     $1 != last { if (n % 40 == 21) print text; text = ""; last = $1; ++n }
//     { sub(/ +$/, "", $2); text = text (text == "" ? "" : " ") $2 }
//     END { if (n % 40 == 21) print text }' > held_out.txt

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "examples/demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {
namespace {

// Documents as tokens, cut into windows no longer than those of the training, each begun with <bos>.
Result<std::vector<std::vector<int32_t>>> ReadWindows(const char* path, const Tokenizer& tokenizer) {
  constexpr size_t kWindow = 512;
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, std::string(path) + ": cannot be read");
  std::vector<std::vector<int32_t>> windows;
  for (std::string line; std::getline(file, line);) {
    const auto tokens = tokenizer.Encode(line);
    if (!tokens) return Failure(tokens.error());
    for (size_t begin = 0; begin < tokens->size(); begin += kWindow - 1) {
      windows.push_back({tokenizer.bos_id().value()});
      const size_t end = std::min(begin + kWindow - 1, tokens->size());
      windows.back().insert(windows.back().end(), tokens->begin() + begin, tokens->begin() + end);
    }
  }
  return windows;
}

double NegativeLogLikelihood(std::span<const float> logits, int32_t token) {
  double sum = 0.0;
  const double largest = *std::max_element(logits.begin(), logits.end());
  for (const float logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) + largest - logits[static_cast<size_t>(token)];
}

// The demo model, that may be quantised.
struct AnyDemoModel : DemoModel {
  using WeightTypes = AllWeights;
};

Result<void> Report(const std::filesystem::path& folder, const LoadOptions& options, const std::string& name,
                    DType kv_type, const std::vector<std::vector<int32_t>>& windows) {
  const auto model = LoadModel<AnyDemoModel>(folder, options);
  if (!model) return Failure(model.error());
  auto workspace = CreateWorkspace();
  if (!workspace) return Failure(workspace.error());
  double sum = 0.0;
  size_t count = 0;
  for (const std::vector<int32_t>& tokens : windows) {
    auto cache = CreateKVCache<AnyDemoModel>({.kv_type = kv_type});
    if (!cache) return Failure(cache.error());
    const std::vector<Want> wants(tokens.size(), Want::kLogits);
    const auto outputs = model->Forward(Batch().Add(*cache, tokens, wants), *workspace);
    if (!outputs) return Failure(outputs.error());
    for (size_t i = 0; i + 1 < tokens.size(); ++i, ++count) sum += NegativeLogLikelihood((*outputs)[i], tokens[i + 1]);
  }
  std::cout << name << ", cache " << NameOf(kv_type) << ": perplexity " << std::exp(sum / static_cast<double>(count))
            << " over " << count << " tokens\n";
  return {};
}

Result<void> ReportType(const std::filesystem::path& folder, DType type, DType kv_type,
                        const std::vector<std::vector<int32_t>>& windows) {
  return Report(folder, {.dtype = type}, std::string(NameOf(type)), kv_type, windows);
}

Result<void> ReportAll(const char* text, const std::filesystem::path& folder, std::span<char* const> files) {
  const auto tokenizer = Tokenizer::Load(folder / "tokenizer.model");
  if (!tokenizer) return Failure(tokenizer.error());
  const auto windows = ReadWindows(text, *tokenizer);
  if (!windows) return Failure(windows.error());
  for (const char* const file : files) {
    if (auto reported = Report(file, {}, file, DType::kBF16, *windows); !reported) return reported;
  }
  if (!files.empty()) return {};
  for (const DType type : {DType::kF32, DType::kBF16, DType::kQ8A, DType::kQ8_0, DType::kQ6_K, DType::kQ5_K,
                           DType::kQ5_1, DType::kQ5_0, DType::kQ4_K, DType::kIQ4_XS, DType::kIQ4_NL, DType::kQ4_1,
                           DType::kQ4_0, DType::kMXFP4, DType::kQ3_K, DType::kQ2_K}) {
    if (auto reported = ReportType(folder, type, DType::kBF16, *windows); !reported) return reported;
  }
  for (const DType kv_type : {DType::kF32, DType::kI8}) {
    if (auto reported = ReportType(folder, DType::kBF16, kv_type, *windows); !reported) return reported;
  }
  return {};
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: perplexity FILE [FOLDER OF THE MODEL [MODEL.gguf...]]\n";
    return 2;
  }
  const std::span<char* const> arguments(argv, static_cast<size_t>(argc));
  const auto reported = skald::ReportAll(argv[1], argc > 2 ? argv[2] : "examples/demo_model",
                                         arguments.subspan(std::min<size_t>(arguments.size(), 3)));
  if (!reported) std::cerr << reported.error().message << '\n';
  return reported ? 0 : 1;
}
