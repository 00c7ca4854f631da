// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/gguf_types.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_GGUF_TYPES_H_
#define SKALD_WEIGHTS_FILES_DETAIL_GGUF_TYPES_H_

#include "skald/weights/files/gguf_types.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE const GgufType* FindGgufType(uint32_t id) {
  for (const GgufType& type : kGgufTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_GGUF_TYPES_H_
