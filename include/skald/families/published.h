// SPDX-License-Identifier: Apache-2.0
//
// All published models that Skald has a Config for. A program names fewer where it can: each one it may have
// to run costs compile time.

#ifndef SKALD_FAMILIES_PUBLISHED_H_
#define SKALD_FAMILIES_PUBLISHED_H_

#include "skald/families/config/config_list.h"
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
#include "skald/families/qwen2/qwen2.h"
#include "skald/families/qwen3/qwen3.h"
#include "skald/families/qwen3/qwen3_moe.h"
#include "skald/families/qwen3_next/qwen3_next.h"
#include "skald/families/recurrent_gemma/recurrent_gemma.h"
#include "skald/families/rwkv7/rwkv7.h"
#include "skald/families/smollm3/smollm3.h"

namespace skald {

using PublishedConfigs = ConfigList<Stories15M, TinyLlama_1_1B, Llama2_7B, Llama3_2_1B, Llama3_2_3B, Llama3_1_8B,   //
                                    Mistral_7B_V0_1, Mistral_7B_V0_3, Mixtral_8x7B,                                 //
                                    Olmo2_1B, Olmo2_7B, Olmo2_13B, Olmo2_32B, SmolLM3_3B, Phi3_Mini_4K, Phi4_Mini,  //
                                    Qwen2_5_0_5B, Qwen2_5_1_5B, Qwen3_0_6B, Qwen3_4B, Qwen3_30B_A3B,                //
                                    Qwen3Next_80B_A3B, Qwen3_5_0_8B, Qwen3_5_2B, Qwen3_5_4B, Qwen3_5_9B,            //
                                    Qwen3_5_27B, Qwen3_5_35B_A3B,                                                   //
                                    Gemma_2B, Gemma_7B, Gemma2_2B, Gemma2_9B, Gemma2_27B,                           //
                                    Gemma3_270M, Gemma3_1B, Gemma3_4B, Gemma3_12B, Gemma3_27B,                      //
                                    Gemma4_E2B, Gemma4_E4B, Gemma4_26B_A4B, Gemma4_31B,                             //
                                    GptOss_20B, GptOss_120B, DeepSeekV3_671B, Glm4_7_Flash,                         //
                                    RecurrentGemma_2B, RecurrentGemma_9B, FalconH1_0_5B,                            //
                                    NemotronNano_9B_V2, Nemotron3Nano_30B_A3B,                                      //
                                    Granite4_H_350M, Granite4_1B,                                                   //
                                    Rwkv7_0_1B, Rwkv7_0_4B, Rwkv7_1_5B, Rwkv7_2_9B,                                 //
                                    LFM2_350M, LFM2_700M, LFM2_1_2B, LFM2_8B_A1B,                                   //
                                    Mamba_130M, Mamba_370M, Mamba_790M, Mamba_1_4B, Mamba_2_8B,                     //
                                    Mamba2_130M, Mamba2_370M, Mamba2_780M, Mamba2_1_3B, Mamba2_2_7B>;

}  // namespace skald

#endif  // SKALD_FAMILIES_PUBLISHED_H_
