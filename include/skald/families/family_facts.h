// SPDX-License-Identifier: Apache-2.0
//
// What people want to know of the families that Skald reads: README's table is made of it (`skald models --families`).

#ifndef SKALD_FAMILIES_FAMILY_FACTS_H_
#define SKALD_FAMILIES_FAMILY_FACTS_H_

#include <array>
#include <string_view>

#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/falcon_h1/falcon_h1.h"
#include "skald/families/gemma/gemma.h"
#include "skald/families/gemma2/gemma2.h"
#include "skald/families/gemma3/gemma3.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/gpt_oss/gpt_oss.h"
#include "skald/families/granite4/granite4.h"
#include "skald/families/lfm2/lfm2.h"
#include "skald/families/llama/llama.h"
#include "skald/families/mamba/mamba.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/mistral/mistral.h"
#include "skald/families/mistral/mixtral.h"
#include "skald/families/nemotron_h/nemotron_h.h"
#include "skald/families/olmo2/olmo2.h"
#include "skald/families/phi3/phi3.h"
#include "skald/families/published.h"
#include "skald/families/qwen2/qwen2.h"
#include "skald/families/qwen3/qwen3.h"
#include "skald/families/qwen3/qwen3_moe.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "skald/families/smollm3/smollm3.h"

namespace skald {

// Every family is compared with recorded logits, hidden states and greedy text of its original implementation, hybrids
// and recurrent ones with its states too (tests/golden/data).
struct FamilyFacts {
  std::string_view name;
  std::array<std::string_view, 3> model_types;  // in config.json; fewer where the last ones are empty
  std::string_view special;
  std::string_view original = "transformers";  // what it is compared with
};

inline constexpr FamilyFacts kFamilyFacts[] = {
    {"Llama 2, 3, TinyLlama", {LlamaFamily::kModelType}, "RoPE scaling of Llama 3"},
    {"Mistral", {MistralFamily::kModelType}, "sliding window (v0.1)"},
    {"Qwen2, Qwen3", {Qwen2Family::kModelType, Qwen3Family::kModelType}, "QKV bias; QK-norm"},
    {"Mixtral, Qwen3-MoE", {MixtralFamily::kModelType, Qwen3MoeFamily::kModelType}, "mixtures of experts"},
    {"OLMo 2", {Olmo2Family::kModelType}, "norms behind layers alone, QK-norm over whole projections"},
    {"SmolLM3", {SmolLM3Family::kModelType}, "each fourth layer without RoPE"},
    {"Phi-3, Phi-4-mini", {Phi3Family::kModelType}, "joined tensors, LongRoPE of a part of each head"},
    {"Granite 4", {Granite4Family::kModelType}, "Mamba-2 beside attention without RoPE, multipliers, shared experts"},
    {"gpt-oss",
     {GptOssFamily::kModelType},
     "attention sinks, YaRN, experts with biases and a clamped gate; MXFP4 as published",
     "transformers, the authors' code"},
    {"DeepSeek-V3, GLM-4.7-Flash",
     {DeepSeekV3Family::kModelType, Glm4MoeLiteFamily::kModelType},
     "latent attention: the cache keeps one compressed vector for each token; experts chosen in groups, YaRN",
     "transformers, the authors' code"},
    {"Qwen3-Next, Qwen 3.5 (text)",
     {Qwen3NextFamily::kModelType, Qwen3_5Family::kModelType, Qwen3_5MoeFamily::kModelType},
     "gated delta nets, attention with output gates, a shared expert behind a gate"},
    {"LFM2, LFM2-MoE",
     {Lfm2Family::kModelType, Lfm2MoeFamily::kModelType},
     "gated short convolutions, attention in a few layers; experts weighed by sigmoids"},
    {"Nemotron-H, Nemotron 3",
     {NemotronHFamily::kModelType},
     "one mixer a layer: Mamba-2, attention without RoPE, ReLU squared, experts"},
    {"Falcon-H1", {FalconH1Family::kModelType}, "attention and Mamba-2 side by side, multipliers"},
    {"RWKV-7",
     {Rwkv7Family::kModelType},
     "a delta rule with decays by keys, token shift, LayerNorm, values carried from the first layer to the others",
     "the authors' code"},
    {"Gemma, Gemma 2",
     {GemmaFamily::kModelType, Gemma2Family::kModelType},
     "alternating window, two softcaps, pre- and post-norms"},
    {"Gemma 3 (text)", {Gemma3Family::kModelType}, "QK-norm, five sliding layers to one full, two RoPE bases"},
    {"Gemma 4 (text)",
     {Gemma4Family::kModelType},
     "layers that share keys and values, inputs of each layer from the embeddings, heads of two sizes, keys used as "
     "values, proportional RoPE"},
    {"RecurrentGemma",
     {RecurrentGemmaFamily::kModelType},
     "two RG-LRU layers to one of local attention",
     "the authors' code"},
    {"Mamba", {MambaFamily::kModelType}, "selective state spaces alone: no attention"},
    {"Mamba-2", {Mamba2Family::kModelType}, "the same by heads"},
};

// Whether GGUF files of a model_type are read.
bool ReadsGguf(std::string_view model_type);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/detail/family_facts.h"
#endif

#endif  // SKALD_FAMILIES_FAMILY_FACTS_H_
