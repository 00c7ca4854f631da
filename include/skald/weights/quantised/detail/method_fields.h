// SPDX-License-Identifier: Apache-2.0
//
// The fields by which each method of quantisation is described. A field is read, or only says how the file was made or
// how the original computes, or is refused. Sources: utils/quantization_config.py of
// https://github.com/huggingface/transformers 5.24, quantization/ of compressed-tensors 0.20, config.py of
// GPTQModel 7.7 and of AutoAWQ 0.2, export/ of AutoRound 0.16 and of ModelOpt 0.47, and published files.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_METHOD_FIELDS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_METHOD_FIELDS_H_

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/json/detail/json_fields.h"
#include "skald/weights/quantised/detail/quantisation_fields.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

inline void SetBlock(const QuantisationFields& fields, const char* name, size_t rows, size_t cols,
                     Quantisation& quantisation) {
  const bool is_other =
      quantisation.block_rows != 0 && (quantisation.block_rows != rows || quantisation.block_cols != cols);
  if (is_other) fields->Unsupported(name, nlohmann::json({rows, cols}), "one size of blocks of FP8");
  quantisation.block_rows = rows, quantisation.block_cols = cols;
}

// Two sizes of a block, or nothing.
inline void ReadBlock(const QuantisationFields& fields, const char* name, Quantisation& quantisation) {
  const nlohmann::json* const block = fields->Find(name);
  if (block == nullptr) return;
  const auto is_size = [](const nlohmann::json& one) {
    return one.is_number_integer() && one.get<int64_t>() > 0 && one.get<int64_t>() <= 1 << 20;
  };
  if (!block->is_array() || block->size() != 2 || !is_size((*block)[0]) || !is_size((*block)[1])) {
    return fields->WrongValue(name, *block, "two numbers of rows and columns");
  }
  SetBlock(fields, name, (*block)[0].get<size_t>(), (*block)[1].get<size_t>(), quantisation);
}

inline void ReadFp8(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kFp8;
  fields->Expect("fmt", "e4m3");
  fields->Expect("expert_dtype", "fp8");
  // A field that is missing means blocks, one that is null a scale of the whole matrix.
  if (!fields->Contains("weight_block_size")) SetBlock(fields, "weight_block_size", 128, 128, quantisation);
  ReadBlock(fields, "weight_block_size", quantisation);
  fields.RefuseOthers(
      "quant_method activation_scheme scale_fmt dequantize modules_to_not_convert modules_to_convert ignored_layers "
      "kv_cache_scheme",
      quantisation.name);
}

inline void ReadFbgemmFp8(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kFp8;
  fields.RefuseOthers("quant_method activation_scale_ub modules_to_not_convert", quantisation.name);
}

inline void ReadAwq(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kAwq;
  quantisation.sizes = {ReadBits(fields, {4}), ReadGroup(fields, 128)};
  fields->Expect("zero_point", true);
  for (const char* const name : {"version", "format"}) {
    const std::string version = fields->String(name, "gemm");
    const bool is_gemv = version == "gemv" || version == "GEMV";
    const bool is_fast = version == "gemv_fast" || version == "GEMV_FAST";
    if (!is_gemv && !is_fast && version != "gemm" && version != "GEMM") {
      fields->Unsupported(name, nlohmann::json(version), "gemm, gemv and gemv_fast");
    }
    quantisation.in_rows |= is_gemv;
    quantisation.is_fast |= is_fast;
  }
  const std::string backend = fields->String("backend", "auto");
  if (backend == "llm-awq") fields->Unsupported("backend", nlohmann::json(backend), "files that AutoAWQ packs");
  fields.RefuseOthers(
      "quant_method modules_to_not_convert do_fuse fuse_max_seq_len modules_to_fuse exllama_config "
      "checkpoint_format",
      quantisation.name);
}

inline constexpr std::string_view kPassedGptq =
    "quant_method desc_act act_group_aware sym static_groups true_sequential damp_percent damp_auto_increment mse "
    "dataset "
    "tokenizer model_name_or_path model_file_base_name cache_block_outputs block_name_to_quantize "
    "module_name_preceding_first_block modules_in_block_to_quantize batch_size pad_token_id use_exllama "
    "disable_exllama "
    "use_cuda_fp16 exllama_config max_input_length model_seqlen backend meta lm_head parallel_packing offload_to_disk "
    "offload_to_disk_path quantizer gptaq";

// GPTQModel's sizes of modules whose names match: tensors say which these are, and which are not quantised.
inline void ReadDynamic(const QuantisationFields& fields, Quantisation& quantisation) {
  const nlohmann::json* const dynamic = fields->Find("dynamic");
  if (dynamic == nullptr) return;
  if (!dynamic->is_object()) return fields->WrongValue("dynamic", *dynamic, "an object");
  QuantisationFields(*dynamic, fields.NameOf("dynamic"), fields.error())
      .ForEachObject([&](const std::string& modules, const QuantisationFields& other) {
        if (modules.starts_with("-")) return;
        QuantisedSizes sizes = quantisation.sizes;
        if (other->Contains("bits")) sizes.bits = ReadBits(other, {2, 3, 4, 8});
        if (other->Contains("group_size")) sizes.group = ReadGroup(other);
        sizes.has_choices = other->Flag("desc_act", sizes.has_choices);
        quantisation.choices.push_back(sizes);
        other.RefuseOthers(kPassedGptq, quantisation.name);
      });
  if (!quantisation.choices.empty()) quantisation.choices.insert(quantisation.choices.begin(), quantisation.sizes);
}

inline void ReadGptq(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kGptq;
  quantisation.sizes = {ReadBits(fields, {2, 3, 4, 8}), ReadGroup(fields, 128)};
  quantisation.sizes.has_choices = fields->Flag("desc_act", false);
  fields->Expect("pack_dtype", "int32");
  fields->Expect("is_marlin_format", false);
  quantisation.zeros_less_one = true;
  for (const char* const name : {"checkpoint_format", "format"}) {
    const std::string format = fields->String(name, "gptq");
    if (format != "gptq" && format != "gptq_v2") fields->Unsupported(name, nlohmann::json(format), "gptq and gptq_v2");
    quantisation.zeros_less_one &= format == "gptq";
  }
  ReadDynamic(fields, quantisation);
  fields.RefuseOthers(kPassedGptq, quantisation.name);
}

// AutoRound's sizes of single modules.
inline void ReadOtherModules(const QuantisationFields& fields, Quantisation& quantisation) {
  const nlohmann::json* const others = fields->Find("extra_config");
  if (others == nullptr) return;
  if (!others->is_object()) return fields->WrongValue("extra_config", *others, "an object");
  QuantisationFields(*others, fields.NameOf("extra_config"), fields.error())
      .ForEachObject([&](const std::string& module, const QuantisationFields& other) {
        const int bits = other->Integer("bits", 1, 32, quantisation.sizes.bits);
        const size_t group =
            ReadGroup(other, quantisation.sizes.group == 0 ? -1 : static_cast<int>(quantisation.sizes.group));
        if (bits >= 16) return;  // its weight is not quantised
        if (module.find_first_of("*\\^$+?()[]|") != module.npos) {
          fields->Unsupported("extra_config", nlohmann::json(module), "names of modules");
        }
        quantisation.others[module] = {ReadBits(other, {2, 3, 4, 5, 6, 7, 8}), group};
        other.RefuseOthers("sym act_bits act_group_size act_sym act_dynamic act_data_type super_bits super_group_size",
                           quantisation.name);
        other->Expect("data_type", "int");
      });
}

// AutoRound 0.3 and 0.4 tell their packing by a kernel. Only with GPTQ in its name are zero points stored less one.
inline std::string_view AutoRoundPacking(const std::string& kernel) {
  const auto has = [&](const char* part) { return kernel.find(part) != kernel.npos; };
  if (has("awq")) return "auto_round:auto_awq";
  return !has("gptq") && (has("exllamav2") || has("triton")) ? "auto_round" : "auto_round:auto_gptq";
}

inline void ReadAutoRound(const QuantisationFields& fields, Quantisation& quantisation) {
  const std::string packing = fields->String("packing_format", AutoRoundPacking(fields->String("backend", "auto")));
  const bool is_awq = packing == "auto_round:auto_awq" || packing == "auto_round:awq";
  const bool is_gptq = packing == "auto_round:auto_gptq" || packing == "auto_round:gptq";
  if (!is_awq && !is_gptq && packing != "auto_round" && packing != "auto_round:gptqmodel") {
    fields->Unsupported("packing_format", nlohmann::json(packing),
                        "auto_round and its auto_gptq, gptqmodel and auto_awq");
  }
  quantisation.method = is_awq ? QuantisationMethod::kAwq : QuantisationMethod::kGptq;
  quantisation.zeros_less_one = is_gptq;
  quantisation.sizes = {is_awq ? ReadBits(fields, {4}) : ReadBits(fields, {2, 3, 4, 5, 6, 7, 8}),
                        ReadGroup(fields, 128)};
  fields->Expect("data_type", "int");
  fields->Expect("act_bits", 16);
  ReadOtherModules(fields, quantisation);
  fields.RefuseOthers(
      "quant_method sym autoround_version block_name_to_quantize quant_block_list to_quant_block_names iters nsamples "
      "seqlen lr minmax_lr batch_size gradient_accumulate_steps enable_quanted_input enable_minmax_tuning "
      "enable_norm_bias_tuning low_gpu_mem_usage low_cpu_mem_usage scale_dtype amp amp_dtype dataset "
      "act_dynamic "
      "act_group_size act_sym act_data_type super_bits super_group_size static_kv_dtype quant_lm_head sampler seed "
      "modules_to_not_convert supported_types not_use_best_mse dynamic_max_gap lr_scheduler momentum",
      quantisation.name);
}

// The weights of a group of modules; which modules these are, tensors say.
inline void ReadWeightsOfGroup(const QuantisationFields& weights, Quantisation& quantisation) {
  const std::string type = weights->String("type", "int"), strategy = weights->String("strategy", "");
  const bool has_blocks = weights->Find("block_structure") != nullptr;
  const size_t group = ReadGroup(weights, -1);
  weights->Expect("dynamic", false);
  if (type == "int") {
    const nlohmann::json* const order = weights->Find("actorder");
    const bool chooses = order != nullptr && (*order == "group" || *order == "dynamic" || *order == true);
    if (has_blocks)
      weights->Unsupported("strategy", nlohmann::json(strategy), "tensor, channel and group of whole numbers");
    quantisation.choices.push_back(
        {ReadBits(weights, {2, 3, 4, 5, 6, 7, 8}, "num_bits"), group, !weights->Flag("symmetric", true), chooses});
  } else if (type != "float") {
    weights->Unsupported("type", nlohmann::json(type), "int and float");
  } else if (ReadBits(weights, {4, 8}, "num_bits") == 8 && has_blocks) {
    ReadBlock(weights, "block_structure", quantisation);
  } else if (group != 0) {
    const int bits = weights->Integer("num_bits", 4, 8);
    if (bits == 8) SetBlock(weights, "group_size", 1, group, quantisation);
    const bool is_known = bits == 8 || group == 16 || group == 32;
    if (!is_known) weights->Unsupported("group_size", nlohmann::json(group), "16 and 32 for floats of 4 bits");
  } else {
    quantisation.also_rows = true;
  }
  weights.RefuseOthers("symmetric actorder observer observer_kwargs scale_dtype zp_dtype", "compressed-tensors");
}

inline void CheckFormat(const QuantisationFields& fields) {
  constexpr std::string_view kKnown =
      "dense int-quantized float-quantized naive-quantized pack-quantized mixed-precision nvfp4-pack-quantized "
      "mxfp4-pack-quantized mxfp8-quantized";
  const std::string format = fields->String("format", "dense");
  if (!*fields.error() && !IsOneOf(kKnown, format)) {
    fields->Unsupported("format", nlohmann::json(format), std::string(kKnown));
  }
}

inline void ReadCompressedTensors(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kCompressedTensors;
  CheckFormat(fields);
  const nlohmann::json* const groups = fields->Find("config_groups");
  if (groups == nullptr) return fields->Missing("config_groups");
  if (!groups->is_object()) return fields->WrongValue("config_groups", *groups, "an object");
  QuantisationFields(*groups, fields.NameOf("config_groups"), fields.error())
      .ForEachObject([&](const std::string&, const QuantisationFields& group) {
        const nlohmann::json* const weights = group->Find("weights");
        if (weights != nullptr && !weights->is_object()) return group->WrongValue("weights", *weights, "an object");
        if (weights != nullptr) {
          ReadWeightsOfGroup(QuantisationFields(*weights, group.NameOf("weights"), group.error()), quantisation);
        }
        CheckFormat(group);
        group.RefuseOthers("targets input_activations output_activations", quantisation.name);
      });
  const auto is_empty = [&](const char* name) {
    const nlohmann::json* const value = fields->Find(name);
    if (value == nullptr || (value->is_object() && value->empty())) return;
    const bool is_dense = value->is_object() && value->contains("format") && (*value)["format"] == "dense";
    if (!is_dense) fields->Unsupported(name, *value, "an empty object");
  };
  is_empty("sparsity_config");
  is_empty("transform_config");
  fields.RefuseOthers(
      "quant_method global_compression_ratio ignore kv_cache_scheme quantization_status version run_compressed",
      quantisation.name);
}

inline void ReadBitsAndBytes(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kBitsAndBytes;
  const std::string storage = fields->String("bnb_4bit_quant_storage", "uint8");
  if (!IsOneOf("uint8 int8 float16 bfloat16 float32", storage)) {
    fields->Unsupported("bnb_4bit_quant_storage", nlohmann::json(storage),
                        "uint8, int8, float16, bfloat16 and float32");
  }
  fields->Expect("llm_int8_has_fp16_weight", false);
  fields.RefuseOthers(
      "quant_method load_in_4bit load_in_8bit _load_in_4bit _load_in_8bit bnb_4bit_compute_dtype bnb_4bit_quant_type "
      "bnb_4bit_use_double_quant llm_int8_threshold llm_int8_skip_modules llm_int8_enable_fp32_cpu_offload",
      quantisation.name);
}

inline void ReadBitNet(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kBitNet;
  const std::string linear = fields->String("linear_class", "bitlinear");
  quantisation.divides = linear == "bitlinear";
  if (!quantisation.divides) fields->Expect("linear_class", "autobitlinear");
  const std::string mode = fields->String("quantization_mode", "offline");
  quantisation.is_online = mode == "online" && !quantisation.divides;
  if (!quantisation.is_online) fields->Expect("quantization_mode", "offline");
  const nlohmann::json* const floats = fields->Find("modules_to_not_convert");
  if (floats != nullptr && !floats->is_array()) fields->WrongValue("modules_to_not_convert", *floats, "a list");
  for (const nlohmann::json& name : floats == nullptr ? nlohmann::json::array() : *floats) {
    const auto* const text = name.get_ptr<const std::string*>();
    if (text == nullptr) return fields->WrongValue("modules_to_not_convert", name, "a list of names");
    if (quantisation.is_online && text->find_first_of("*\\^$+?()[]|") != text->npos) {
      fields->Unsupported("modules_to_not_convert", name, "names of modules");
    }
    quantisation.floats.push_back(*text);
  }
  fields->Expect("use_rms_norm", false);
  fields.RefuseOthers("quant_method rms_norm_eps", quantisation.name);
}

inline void CheckModelOptKind(const QuantisationFields& fields) {
  const std::string kind = fields->String("quant_algo");
  constexpr std::string_view kKnown =
      "FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO fp8_pb_wo MXFP8 NVFP4 NVFP4_AWQ W4A16_NVFP4 W4A8_NVFP4_FP8 mxfp4 "
      "W4A8_MXFP4_FP8 W4A16_AWQ W4A8_AWQ W8A16 W8A8_SQ_PER_CHANNEL";
  if (!*fields.error() && !IsOneOf(kKnown, kind)) {
    fields->Unsupported("quant_algo", nlohmann::json(kind), std::string(kKnown) + " and MIXED_PRECISION");
  }
}

// Which modules are quantised, and how, their tensors say.
inline void ReadModelOpt(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kModelOpt;
  const nlohmann::json* const layers = fields->Find("quantized_layers");
  if (layers != nullptr && !layers->is_object()) fields->WrongValue("quantized_layers", *layers, "an object");
  if (fields->String("quant_algo") != "MIXED_PRECISION") CheckModelOptKind(fields);
  if (layers != nullptr && layers->is_object()) {
    QuantisationFields(*layers, fields.NameOf("quantized_layers"), fields.error())
        .ForEachObject([&](const std::string&, const QuantisationFields& layer) {
          CheckModelOptKind(layer);
          layer->Expect("has_zero_point", false);
          layer.RefuseOthers("group_size pre_quant_scale", quantisation.name);
        });
  }
  fields->Expect("has_zero_point", false);
  fields.RefuseOthers(
      "quant_method producer config_groups ignore exclude_modules group_size pre_quant_scale weights "
      "input_activations kv_cache_scheme kv_cache_quant_algo",
      quantisation.name);
}

inline QuantisedSizes ReadMlxSizes(const QuantisationFields& fields) {
  struct Mode {
    std::string_view name;
    int bits, group;
  };
  static constexpr Mode kFloats[] = {{"mxfp4", 4, 32}, {"nvfp4", 4, 16}, {"mxfp8", 8, 32}};
  const std::string name = fields->String("mode", "affine");
  const int group = fields->Integer("group_size", 1, 1 << 20);
  QuantisedSizes sizes = {.bits = 8, .group = static_cast<size_t>(group)};
  for (const Mode& mode : kFloats) {
    if (mode.name != name) continue;
    sizes.bits = ReadBits(fields, {mode.bits});
    if (group != mode.group) fields->Unsupported("group_size", nlohmann::json(group), std::to_string(mode.group));
    sizes.are_floats = true;
    return sizes;
  }
  if (name != "affine") fields->Unsupported("mode", nlohmann::json(name), "affine, mxfp4, nvfp4 and mxfp8");
  sizes.bits = ReadBits(fields, {2, 3, 4, 5, 6, 8});
  return sizes;
}

// Members that are objects are modules; those that are false are modules that are not quantised.
inline void ReadMlx(const QuantisationFields& fields, Quantisation& quantisation) {
  quantisation.method = QuantisationMethod::kMlx;
  quantisation.sizes = ReadMlxSizes(fields);
  fields.ForEachObject([&](const std::string& module, const QuantisationFields& other) {
    quantisation.others[module] = ReadMlxSizes(other);
    other.RefuseOthers("", quantisation.name);
    fields->Find(module.c_str());
  });
  for (const auto& [name, value] : fields.object().items()) {
    if (value == nlohmann::json(false)) fields->Find(name.c_str());
  }
  fields.RefuseOthers("quant_method", quantisation.name);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_METHOD_FIELDS_H_
