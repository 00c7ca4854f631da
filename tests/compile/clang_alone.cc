// SPDX-License-Identifier: Apache-2.0
//
// The library as headers alone, for clang: with Configs whose specs it must make at compile time from lists.

#include "skald/families/deepseek_v3/deepseek_v3.h"
#include "skald/families/gemma4/gemma4.h"
#include "skald/families/gpt_oss/gpt_oss.h"
#include "skald/skald.h"

static_assert(skald::CheckConfig<skald::Glm4_7_Flash>());
static_assert(skald::CheckConfig<skald::Gemma4_E2B>());
static_assert(skald::CheckConfig<skald::GptOss_20B>());
