// SPDX-License-Identifier: Apache-2.0
//
// The definitions in weights/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_WEIGHTS_H_
#define SKALD_COMPILED_WEIGHTS_H_

#include "skald/weights/adapters/detail/adapter.h"
#include "skald/weights/adapters/detail/adapter_file.h"
#include "skald/weights/detail/load_options.h"
#include "skald/weights/detail/load_plan.h"
#include "skald/weights/detail/parameters.h"
#include "skald/weights/detail/partitioned_parameters.h"
#include "skald/weights/detail/random_weights.h"
#include "skald/weights/detail/tensor_finder.h"
#include "skald/weights/files/detail/checkpoint.h"
#include "skald/weights/files/detail/gguf.h"
#include "skald/weights/files/detail/gguf_cursor.h"
#include "skald/weights/files/detail/gguf_json.h"
#include "skald/weights/files/detail/gguf_metadata.h"
#include "skald/weights/files/detail/gguf_types.h"
#include "skald/weights/files/detail/mapped_file.h"
#include "skald/weights/files/detail/safetensors.h"
#include "skald/weights/files/detail/safetensors_header.h"
#include "skald/weights/files/detail/tensor_names.h"
#include "skald/weights/files/detail/tensor_view.h"
#include "skald/weights/opened/detail/opened_model.h"
#include "skald/weights/packed_files/detail/packed_file.h"
#include "skald/weights/packed_files/detail/packed_format.h"
#include "skald/weights/packed_files/detail/packed_source.h"
#include "skald/weights/packed_files/detail/packed_writer.h"
#include "skald/weights/packing/detail/copy_rows.h"
#include "skald/weights/packing/detail/gather_rows.h"
#include "skald/weights/packing/detail/pack.h"
#include "skald/weights/packing/detail/pack_rows.h"
#include "skald/weights/packing/detail/packers.h"
#include "skald/weights/quantised/detail/quantisation.h"
#include "skald/weights/quantised/detail/quantised_checkpoint.h"
#include "skald/weights/types/detail/code_group.h"
#include "skald/weights/types/detail/matrix.h"
#include "skald/weights/types/detail/matrix_bytes.h"
#include "skald/weights/writing/detail/block_encoder.h"
#include "skald/weights/writing/detail/draft_parameters.h"
#include "skald/weights/writing/detail/gguf_draft.h"
#include "skald/weights/writing/detail/gguf_writer.h"
#include "skald/weights/writing/detail/importance.h"
#include "skald/weights/writing/detail/mixture.h"

#endif  // SKALD_COMPILED_WEIGHTS_H_
