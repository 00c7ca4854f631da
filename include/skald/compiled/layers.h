// SPDX-License-Identifier: Apache-2.0
//
// The definitions in layers/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_LAYERS_H_
#define SKALD_COMPILED_LAYERS_H_

#include "skald/layers/detail/model_cost.h"
#include "skald/layers/detail/model_spec.h"
#include "skald/layers/detail/model_weights.h"
#include "skald/layers/detail/standard_layers.h"
#include "skald/layers/kinds/altup/detail/streams.h"
#include "skald/layers/kinds/detail/attention.h"
#include "skald/layers/kinds/detail/expert_router.h"
#include "skald/layers/kinds/detail/feed_forward.h"
#include "skald/layers/kinds/detail/gated_feed_forward.h"
#include "skald/layers/kinds/detail/latent_attention.h"
#include "skald/layers/kinds/detail/mixture_of_experts.h"
#include "skald/layers/kinds/detail/normed_feed_forward.h"
#include "skald/layers/kinds/detail/per_layer_input.h"
#include "skald/layers/kinds/detail/query_growth.h"
#include "skald/layers/kinds/detail/wide_attention.h"
#include "skald/layers/kinds/recurrent/detail/causal_conv.h"
#include "skald/layers/kinds/recurrent/detail/gated_delta_net.h"
#include "skald/layers/kinds/recurrent/detail/kimi_delta.h"
#include "skald/layers/kinds/recurrent/detail/mamba.h"
#include "skald/layers/kinds/recurrent/detail/mamba2.h"
#include "skald/layers/kinds/recurrent/detail/rg_lru.h"
#include "skald/layers/kinds/recurrent/detail/short_conv.h"
#include "skald/layers/kinds/recurrent/detail/unit_keys.h"
#include "skald/layers/kinds/recurrent/rwkv/detail/channel_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/detail/decayed_time_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/detail/time_mix.h"
#include "skald/layers/kinds/recurrent/rwkv/detail/token_shift.h"
#include "skald/layers/norms/detail/layer_norm.h"
#include "skald/layers/norms/detail/rms_norm.h"
#include "skald/layers/run/detail/adapted_rows.h"
#include "skald/layers/run/detail/layer_run.h"
#include "skald/layers/run/detail/multiplications.h"
#include "skald/layers/run/detail/operations.h"
#include "skald/layers/run/detail/prepared_rows.h"
#include "skald/layers/run/detail/rank_gathers.h"
#include "skald/layers/run/detail/scratch.h"
#include "skald/layers/run/detail/weight_kernels.h"
#include "skald/layers/spec/detail/layer_spec.h"
#include "skald/layers/spec/detail/norm.h"

#endif  // SKALD_COMPILED_LAYERS_H_
