// SPDX-License-Identifier: Apache-2.0
//
// The registry: one row for each family. Readers, names of tensors, checks and tables follow from it. To add a family,
// write its folder and add its row here.

#ifndef SKALD_FAMILIES_DETAIL_FAMILY_ROWS_H_
#define SKALD_FAMILIES_DETAIL_FAMILY_ROWS_H_

#include <array>

#include "skald/families/apertus/detail/family.h"
#include "skald/families/arcee/detail/family.h"
#include "skald/families/bailing_moe/detail/family.h"
#include "skald/families/bert/detail/family.h"
#include "skald/families/bitnet/detail/family.h"
#include "skald/families/cohere/detail/family.h"
#include "skald/families/deepseek_v3/detail/family.h"
#include "skald/families/dots1/detail/family.h"
#include "skald/families/ernie4_5/detail/family.h"
#include "skald/families/eurobert/detail/family.h"
#include "skald/families/exaone4/detail/family.h"
#include "skald/families/falcon/detail/family.h"
#include "skald/families/falcon_h1/detail/family.h"
#include "skald/families/gemma/detail/family.h"
#include "skald/families/gemma2/detail/family.h"
#include "skald/families/gemma3/detail/family.h"
#include "skald/families/gemma3n/detail/family.h"
#include "skald/families/gemma4/detail/family.h"
#include "skald/families/glm4/detail/family.h"
#include "skald/families/glm4_moe/detail/family.h"
#include "skald/families/gpt2/detail/family.h"
#include "skald/families/gpt_neox/detail/family.h"
#include "skald/families/gpt_oss/detail/family.h"
#include "skald/families/granite4/detail/family.h"
#include "skald/families/gte/detail/family.h"
#include "skald/families/hunyuan/detail/family.h"
#include "skald/families/internlm2/detail/family.h"
#include "skald/families/jamba/detail/family.h"
#include "skald/families/kimi_linear/detail/family.h"
#include "skald/families/lfm2/detail/family.h"
#include "skald/families/llama/detail/family.h"
#include "skald/families/llama4/detail/family.h"
#include "skald/families/mamba/detail/family.h"
#include "skald/families/mamba2/detail/family.h"
#include "skald/families/minimax/detail/family.h"
#include "skald/families/minimax_m2/detail/family.h"
#include "skald/families/ministral3/detail/family.h"
#include "skald/families/mistral/detail/family.h"
#include "skald/families/mistral4/detail/family.h"
#include "skald/families/modernbert/detail/family.h"
#include "skald/families/mpnet/detail/family.h"
#include "skald/families/nemotron_h/detail/family.h"
#include "skald/families/nomic_bert/detail/family.h"
#include "skald/families/olmo2/detail/family.h"
#include "skald/families/olmo3/detail/family.h"
#include "skald/families/olmoe/detail/family.h"
#include "skald/families/phi/detail/family.h"
#include "skald/families/phi3/detail/family.h"
#include "skald/families/phi_moe/detail/family.h"
#include "skald/families/plamo2/detail/family.h"
#include "skald/families/qwen2/detail/family.h"
#include "skald/families/qwen3/detail/family.h"
#include "skald/families/qwen3_next/detail/family.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/recurrent_gemma/detail/family.h"
#include "skald/families/rwkv6/detail/family.h"
#include "skald/families/rwkv7/detail/family.h"
#include "skald/families/seed_oss/detail/family.h"
#include "skald/families/smallthinker/detail/family.h"
#include "skald/families/smollm3/detail/family.h"
#include "skald/families/stablelm/detail/family.h"
#include "skald/families/starcoder2/detail/family.h"
#include "skald/families/t5_encoder/detail/family.h"

namespace skald::internal {

template <class... Rows>
struct RowTypes {
  static constexpr std::array<FamilyRow, sizeof...(Rows)> kRows = {Rows::kRow...};
};

// In the order in which errors name them.
using FamilyRows =
    RowTypes<LlamaRow, MistralRow, Ministral3Row, Qwen2Row, Qwen3Row, Olmo2Row, Olmo3Row, OlmoeRow, SmolLM3Row, Phi3Row,
             SeedOssRow, Exaone4Row, ArceeRow, GemmaRow, Gemma2Row, Gemma3Row, RecurrentGemmaRow, MambaRow, Mamba2Row,
             Granite4Row, Lfm2Row, Qwen3NextRow, NemotronHRow, FalconH1Row, Gemma4Row, GptOssRow, Rwkv7Row,
             DeepSeekV3Row, Glm4MoeRow, Glm4Row, Ernie45Row, CohereRow, StarCoder2Row, StableLmRow, MiniMaxM2Row,
             Dots1Row, HunyuanRow, Mistral4Row, PhiRow, GptNeoXRow, FalconRow, BailingMoeRow, InternLm2Row, JambaRow,
             KimiLinearRow, Rwkv6Row, Gpt2Row, PhiMoeRow, ApertusRow, BitNetRow, SmallThinkerRow, Llama4Row, Gemma3nRow,
             MiniMaxRow, Plamo2Row, BertRow, MpnetRow, NomicBertRow, ModernBertRow, EuroBertRow, GteRow, T5EncoderRow>;

inline constexpr const auto& kFamilies = FamilyRows::kRows;

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_DETAIL_FAMILY_ROWS_H_
