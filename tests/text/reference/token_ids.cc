// SPDX-License-Identifier: Apache-2.0
//
// Texts into ids, for comparisons with other libraries:
//   token_ids TOKENIZER < TEXTS         reads a JSON string from each line and writes its ids, with spaces between them
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && !(argc == 4 && std::string_view(argv[2]) == "--time")) {
    std::cerr << "usage: token_ids TOKENIZER [--time FILE]\n";
    return 1;
  }
  const auto tokenizer = Tokenizer::Load(argv[1]);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  if (argc == 2) {
    EncodeLines(*tokenizer);
  } else {
    std::ifstream file(argv[3], std::ios::binary);
    std::cout << SecondsToEncode(*tokenizer, {std::istreambuf_iterator<char>(file), {}}) << '\n';
  }
}
