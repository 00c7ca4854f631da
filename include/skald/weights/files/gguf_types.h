// SPDX-License-Identifier: Apache-2.0
//
// The element types of tensors in GGUF files: their numbers, names and sizes, as ggml defines them
// (https://github.com/ggml-org/ggml, ggml.h and ggml-common.h).

#ifndef SKALD_WEIGHTS_FILES_GGUF_TYPES_H_
#define SKALD_WEIGHTS_FILES_GGUF_TYPES_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace skald {

/// A row of a tensor is a sequence of blocks, each so many elements in so many bytes.
struct GgufType {
  uint32_t id;            ///< ggml's number
  std::string_view name;  ///< ggml's, in capitals
  /// Elements and bytes of a block.
  uint32_t block_elements, block_bytes;
};

inline constexpr std::array kGgufTypes = {
    GgufType{0, "F32", 1, 4},         GgufType{1, "F16", 1, 2},         GgufType{2, "Q4_0", 32, 18},
    GgufType{3, "Q4_1", 32, 20},      GgufType{6, "Q5_0", 32, 22},      GgufType{7, "Q5_1", 32, 24},
    GgufType{8, "Q8_0", 32, 34},      GgufType{9, "Q8_1", 32, 36},      GgufType{10, "Q2_K", 256, 84},
    GgufType{11, "Q3_K", 256, 110},   GgufType{12, "Q4_K", 256, 144},   GgufType{13, "Q5_K", 256, 176},
    GgufType{14, "Q6_K", 256, 210},   GgufType{15, "Q8_K", 256, 292},   GgufType{16, "IQ2_XXS", 256, 66},
    GgufType{17, "IQ2_XS", 256, 74},  GgufType{18, "IQ3_XXS", 256, 98}, GgufType{19, "IQ1_S", 256, 50},
    GgufType{20, "IQ4_NL", 32, 18},   GgufType{21, "IQ3_S", 256, 110},  GgufType{22, "IQ2_S", 256, 82},
    GgufType{23, "IQ4_XS", 256, 136}, GgufType{24, "I8", 1, 1},         GgufType{25, "I16", 1, 2},
    GgufType{26, "I32", 1, 4},        GgufType{27, "I64", 1, 8},        GgufType{28, "F64", 1, 8},
    GgufType{29, "IQ1_M", 256, 56},   GgufType{30, "BF16", 1, 2},       GgufType{34, "TQ1_0", 256, 54},
    GgufType{35, "TQ2_0", 256, 66},   GgufType{39, "MXFP4", 32, 17},    GgufType{40, "NVFP4", 64, 36},
    GgufType{41, "Q1_0", 128, 18},    GgufType{42, "Q2_0", 64, 18}};

/// Returns the type of that number, or null.
const GgufType* FindGgufType(uint32_t id);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/gguf_types.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_GGUF_TYPES_H_
