// SPDX-License-Identifier: Apache-2.0
//
// All kernels of one SIMD target: the file that the target loop of kernels.h includes once per target. It holds
// no code of its own. Include kernels.h instead, unless you drive a target loop yourself (see there).

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

#include "skald/kernels/activation-inl.h"
#include "skald/kernels/attention-inl.h"
#include "skald/kernels/conv-inl.h"
#include "skald/kernels/elementwise-inl.h"
#include "skald/kernels/embed-inl.h"
#include "skald/kernels/kv-inl.h"
#include "skald/kernels/matmul-inl.h"
#include "skald/kernels/norm-inl.h"
#include "skald/kernels/prepare-inl.h"
#include "skald/kernels/rg_lru-inl.h"
#include "skald/kernels/rope-inl.h"
#include "skald/kernels/selective_scan-inl.h"
#include "skald/kernels/state_space-inl.h"

#endif  // SKALD_KERNELS_KERNELS_INL_TOGGLE
