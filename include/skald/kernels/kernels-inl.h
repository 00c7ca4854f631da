// SPDX-License-Identifier: Apache-2.0
//
// All kernels of one SIMD target: the file that the target loop of kernels.h includes once per target. It holds no code
// of its own. Include kernels.h instead, unless you write a target loop yourself (see there).

#if defined(SKALD_KERNELS_KERNELS_INL_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef SKALD_KERNELS_KERNELS_INL_TOGGLE
#undef SKALD_KERNELS_KERNELS_INL_TOGGLE
#else
#define SKALD_KERNELS_KERNELS_INL_TOGGLE
#endif

// Tells kernels.h that a target loop has passed through here.
#ifndef SKALD_KERNELS_INL_SEEN
#define SKALD_KERNELS_INL_SEEN
#endif

#include "skald/kernels/attention/attention-inl.h"
#include "skald/kernels/attention/kv-inl.h"
#include "skald/kernels/matmul/coded_matmul-inl.h"
#include "skald/kernels/matmul/group_matmul-inl.h"
#include "skald/kernels/matmul/matmul-inl.h"
#include "skald/kernels/matmul/prepare-inl.h"
#include "skald/kernels/recurrent/conv-inl.h"
#include "skald/kernels/recurrent/decayed_sum-inl.h"
#include "skald/kernels/recurrent/delta_net-inl.h"
#include "skald/kernels/recurrent/kimi_delta-inl.h"
#include "skald/kernels/recurrent/rg_lru-inl.h"
#include "skald/kernels/recurrent/selective_scan-inl.h"
#include "skald/kernels/recurrent/state_space-inl.h"
#include "skald/kernels/recurrent/time_mix-inl.h"
#include "skald/kernels/recurrent/token_shift-inl.h"
#include "skald/kernels/rows/activation-inl.h"
#include "skald/kernels/rows/elementwise-inl.h"
#include "skald/kernels/rows/embed-inl.h"
#include "skald/kernels/rows/norm-inl.h"
#include "skald/kernels/rows/rope-inl.h"
#include "skald/kernels/rows/similarity-inl.h"

#endif  // SKALD_KERNELS_KERNELS_INL_TOGGLE
