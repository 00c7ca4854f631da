// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/open_encoder.h.

#ifndef SKALD_OPEN_DETAIL_OPEN_ENCODER_H_
#define SKALD_OPEN_DETAIL_OPEN_ENCODER_H_

#include "skald/open/open_encoder.h"

#endif  // SKALD_OPEN_DETAIL_OPEN_ENCODER_H_
