// SPDX-License-Identifier: Apache-2.0
//
// How the weights of a Hugging Face folder are quantised, as its config.json says it.

#ifndef SKALD_WEIGHTS_QUANTISED_QUANTISATION_H_
#define SKALD_WEIGHTS_QUANTISED_QUANTISATION_H_

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald {

/// Bits of a weight, how many neighbours in a row have a scale, and what tensors there must be.
struct QuantisedSizes {
  int bits = 4;              ///< of a code
  size_t group = 128;        ///< 0: the whole row
  bool has_zeros = false;    ///< kCompressedTensors: zero points are stored
  bool has_choices = false;  ///< columns choose their groups (act-order), which a tensor tells
  bool are_floats = false;   ///< kMlx: codes are those of MXFP4, NVFP4 or MXFP8
};

/// The programs whose files are read. Other publishers write in one of these ways.
enum class QuantisationMethod {
  kFp8,                ///< transformers' fp8, block by block, and fbgemm's, row by row
  kCompressedTensors,  ///< llm-compressor
  kAwq,                ///< AutoAWQ
  kGptq,               ///< AutoGPTQ, GPTQModel
  kBitsAndBytes,       ///< nf4, fp4 and eight bits
  kBitNet,             ///< transformers' bitnet: weights of -1, 0 and 1
  kMlx,                ///< mlx_lm
  kModelOpt,           ///< NVIDIA's Model Optimizer: FP8, NVFP4, MXFP4, AWQ, whole numbers
};

/// The facts in config.json. Which modules are quantised, and which are not, their tensors say.
struct Quantisation {
  QuantisationMethod method;                                       ///< which reader takes the tensors
  std::string name;                                                ///< as the file calls the method
  QuantisedSizes sizes = {};                                       ///< of modules that `others` does not name
  std::map<std::string, QuantisedSizes, std::less<>> others = {};  ///< by the name of the module
  std::vector<QuantisedSizes> choices = {};  ///< of whole numbers; a weight has those that fit its tensors
  size_t block_rows = 0, block_cols = 0;     ///< of FP8: that have a scale in common; 0: all
  bool also_rows = false;                    ///< of FP8: other weights have a scale for each row or for all
  bool zeros_less_one = false;               ///< kGptq: zero points are stored less one
  bool in_rows = false;                      ///< kAwq: words are along the rows of a weight (versions gemv)
  bool is_fast = false;                      ///< kAwq: words have four rows, and scaled zero points (version gemv_fast)
  bool divides = false;                      ///< kBitNet: by the scale
  bool is_online = false;                    ///< kBitNet: weights are floats, which loading makes -1, 0 and 1
  std::vector<std::string> floats = {};      ///< is_online: beginnings or ends of names of modules that stay

  /// The sizes of one module.
  const QuantisedSizes& Of(std::string_view module) const;
};

/// Returns what the text of a config.json says of quantised weights, or nothing if it says nothing or names MXFP4 as
/// gpt-oss has it, whose tensors have names of their own. Errors, whose sentences name the field: kUnsupported for a
/// method, or a field that may change a number, that Skald does not know; kNotFound and kDataLoss for fields that are
/// missing or cannot be right. Text that is no JSON object gives nothing: readers of the whole file complain of it.
Result<std::optional<Quantisation>> ParseQuantisation(std::string_view config_json);

/// The same of the config.json beside the model at `path`, a folder or a file in one; nothing if there is none.
Result<std::optional<Quantisation>> QuantisationAt(const std::filesystem::path& path);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/quantised/detail/quantisation.h"
#endif

#endif  // SKALD_WEIGHTS_QUANTISED_QUANTISATION_H_
