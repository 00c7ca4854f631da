// SPDX-License-Identifier: Apache-2.0
//
// A chat with a model: a folder of Hugging Face, a GGUF file or a packed file. Each line is a message. The demo model
// has no chat template: it goes on with the text.
//
//   build/release/examples/01_chat [MODEL]

#include <iostream>

#include "skald/open/conversation.h"

int main(int argc, char** argv) {
  const auto model = skald::OpenModel(argc > 1 ? argv[1] : "examples/demo_model");  // immutable, shared by all
  if (!model) return std::cerr << model.error().message << '\n', 1;
  auto chat = skald::Conversation::Create(*model, {.seed = 1});  // everything that this conversation changes
  if (!chat) return std::cerr << chat.error().message << '\n', 1;
  for (std::string line; std::cout << "> " << std::flush, std::getline(std::cin, line);) {
    const auto reply = chat->Say(line, [](std::string_view piece) { std::cout << piece << std::flush; });
    std::cout << (reply ? "" : reply.error().message) << '\n';
  }
}
