// SPDX-License-Identifier: Apache-2.0
//
// Texts into ids, for comparisons with other libraries:
//   token_ids TOKENIZER < TEXTS         reads a JSON string from each line and writes its ids, with spaces between them
//   token_ids TOKENIZER --inputs < LINES  reads from each line a JSON object with "texts", one or two, and what may be
//                                       of an encoder's input, as compare_encoder_inputs.py writes them; writes ids,
//                                       a bar, type ids
//   token_ids TOKENIZER --time FILE     writes how many seconds it takes to encode the file, at best of five times
// TOKENIZER is a tokenizer.json or tokenizer.model. Special tokens in the texts are parsed.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "skald/tokenizers/encoder_input.h"
#include "skald/tokenizers/tokenizer.h"

namespace {

using skald::ParseSpecial;
using skald::Tokenizer;

double SecondsToEncode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto ids = tokenizer.Encode(text, ParseSpecial::kYes);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (ids) best = std::min(best, seconds.count());
  }
  return best;
}

void EncodeLines(const Tokenizer& tokenizer) {
  for (std::string line, out; std::getline(std::cin, line); out.clear()) {
    const auto ids = tokenizer.Encode(nlohmann::json::parse(line).get<std::string>(), ParseSpecial::kYes);
    if (!ids) out = ids.error().message;
    for (size_t i = 0; ids && i < ids->size(); ++i) out += (i == 0 ? "" : " ") + std::to_string((*ids)[i]);
    std::cout << out << '\n';
  }
}

void EncodeInputs(const Tokenizer& tokenizer) {
  for (std::string line, out; std::getline(std::cin, line); out.clear()) {
    const nlohmann::json request = nlohmann::json::parse(line);
    skald::InputLimit limit;
    limit.most_ids = request.value("most", ~size_t{0});
    const std::string cut = request.value("truncation", "refuse");
    if (cut == "longest_first") limit.truncation = skald::Truncation::kLongestFirst;
    if (cut == "only_first") limit.truncation = skald::Truncation::kOnlyFirst;
    if (cut == "only_second") limit.truncation = skald::Truncation::kOnlySecond;
    if (request.value("left", false)) limit.truncated_end = skald::TruncatedEnd::kLeft;
    const auto texts = request.at("texts").get<std::vector<std::string>>();
    const auto input = texts.size() == 1 ? skald::EncodeInput(tokenizer, texts[0], limit)
                                         : skald::EncodePair(tokenizer, texts[0], texts[1], limit);
    if (!input) out = input.error().message;
    for (size_t i = 0; input && i < input->ids.size(); ++i) out += std::to_string(input->ids[i]) + " ";
    if (input) out += '|';
    for (size_t i = 0; input && i < input->types.size(); ++i) out += " " + std::to_string(input->types[i]);
    std::cout << out << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool inputs = argc == 3 && std::string_view(argv[2]) == "--inputs";
  if (argc != 2 && !inputs && !(argc == 4 && std::string_view(argv[2]) == "--time")) {
    std::cerr << "usage: token_ids TOKENIZER [--inputs | --time FILE]\n";
    return 1;
  }
  const auto tokenizer = Tokenizer::Load(argv[1]);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  if (inputs) {
    EncodeInputs(*tokenizer);
  } else if (argc == 2) {
    EncodeLines(*tokenizer);
  } else {
    std::ifstream file(argv[3], std::ios::binary);
    std::cout << SecondsToEncode(*tokenizer, {std::istreambuf_iterator<char>(file), {}}) << '\n';
  }
}
