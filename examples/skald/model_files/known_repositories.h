// SPDX-License-Identifier: Apache-2.0
//
// Where the known models are on the hub, as far as they are there in files that Skald reads. The Configs say the same
// in their comments, and a test compares the two.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_REPOSITORIES_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_REPOSITORIES_H_

#include <algorithm>
#include <iterator>
#include <string_view>

namespace skald::program {

struct KnownRepository {
  std::string_view name;        // of the Config
  std::string_view repository;  // ORG/REPO
};

inline constexpr KnownRepository kKnownRepositories[] = {
    {"deepseek-v3-671b", "deepseek-ai/DeepSeek-V3"},
    {"glm-4.7-flash", "zai-org/GLM-4.7-Flash"},
    {"falcon-h1-0.5b", "tiiuae/Falcon-H1-0.5B-Instruct"},
    {"gemma-2b", "google/gemma-2b"},
    {"gemma-7b", "google/gemma-7b"},
    {"gemma2-2b", "google/gemma-2-2b"},
    {"gemma2-9b", "google/gemma-2-9b"},
    {"gemma2-27b", "google/gemma-2-27b"},
    {"gemma3-270m", "google/gemma-3-270m"},
    {"gemma3-1b", "google/gemma-3-1b-pt"},
    {"gemma3-4b", "google/gemma-3-4b-pt"},
    {"gemma3-12b", "google/gemma-3-12b-pt"},
    {"gemma3-27b", "google/gemma-3-27b-pt"},
    {"gemma-4-e2b", "google/gemma-4-E2B"},
    {"gemma-4-e4b", "google/gemma-4-E4B"},
    {"gemma-4-26b-a4b", "google/gemma-4-26B-A4B"},
    {"gemma-4-31b", "google/gemma-4-31B"},
    {"gpt-oss-20b", "openai/gpt-oss-20b"},
    {"gpt-oss-120b", "openai/gpt-oss-120b"},
    {"lfm2-350m", "LiquidAI/LFM2-350M"},
    {"lfm2-700m", "LiquidAI/LFM2-700M"},
    {"lfm2-1.2b", "LiquidAI/LFM2-1.2B"},
    {"lfm2-8b-a1b", "LiquidAI/LFM2-8B-A1B"},
    {"llama2-7b", "meta-llama/Llama-2-7b-hf"},
    {"llama3.1-8b", "meta-llama/Llama-3.1-8B"},
    {"llama3.2-1b", "meta-llama/Llama-3.2-1B"},
    {"llama3.2-3b", "meta-llama/Llama-3.2-3B"},
    {"tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
    {"mamba-130m", "state-spaces/mamba-130m-hf"},
    {"mamba-370m", "state-spaces/mamba-370m-hf"},
    {"mamba-790m", "state-spaces/mamba-790m-hf"},
    {"mamba-1.4b", "state-spaces/mamba-1.4b-hf"},
    {"mamba-2.8b", "state-spaces/mamba-2.8b-hf"},
    {"mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1"},
    {"mistral-7b-v0.3", "mistralai/Mistral-7B-v0.3"},
    {"mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"},
    {"nemotron-nano-9b-v2", "nvidia/NVIDIA-Nemotron-Nano-9B-v2"},
    {"nemotron-3-nano-30b-a3b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
    {"olmo2-1b", "allenai/OLMo-2-0425-1B"},
    {"olmo2-7b", "allenai/OLMo-2-1124-7B"},
    {"olmo2-13b", "allenai/OLMo-2-1124-13B"},
    {"olmo2-32b", "allenai/OLMo-2-0325-32B"},
    {"phi3-mini-4k", "microsoft/Phi-3-mini-4k-instruct"},
    {"phi4-mini", "microsoft/Phi-4-mini-instruct"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B"},
    {"qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B"},
    {"qwen3-4b", "Qwen/Qwen3-4B"},
    {"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"},
    {"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"},
    {"qwen3.5-0.8b", "Qwen/Qwen3.5-0.8B"},
    {"qwen3.5-2b", "Qwen/Qwen3.5-2B"},
    {"qwen3.5-4b", "Qwen/Qwen3.5-4B"},
    {"qwen3.5-9b", "Qwen/Qwen3.5-9B"},
    {"qwen3.5-27b", "Qwen/Qwen3.5-27B"},
    {"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B"},
    {"recurrentgemma-2b", "google/recurrentgemma-2b"},
    {"recurrentgemma-9b", "google/recurrentgemma-9b"},
    {"rwkv7-0.1b", "fla-hub/rwkv7-191M-world"},
    {"rwkv7-0.4b", "fla-hub/rwkv7-0.4B-world"},
    {"rwkv7-1.5b", "fla-hub/rwkv7-1.5B-world"},
    {"rwkv7-2.9b", "fla-hub/rwkv7-2.9B-world"},
    {"smollm3-3b", "HuggingFaceTB/SmolLM3-3B"},
};

// The repository of a known model, or "".
inline std::string_view RepositoryOf(std::string_view name) {
  const auto* const known = std::ranges::find(kKnownRepositories, name, &KnownRepository::name);
  return known == std::end(kKnownRepositories) ? std::string_view() : known->repository;
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_REPOSITORIES_H_
