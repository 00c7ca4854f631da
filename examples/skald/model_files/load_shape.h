// SPDX-License-Identifier: Apache-2.0
//
// LoadShape: what a load puts into memory, told before anything is loaded.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_LOAD_SHAPE_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_LOAD_SHAPE_H_

#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/opened/opened_model.h"
#include "skald/weights/types/planned_matrix.h"

namespace skald::program {

struct LoadShape {
  ModelSpec spec;
  std::vector<PlannedMatrix> matrices;  // as MemoryOfRank takes them
};

// Of the model, loaded as `type` where its file does not say otherwise. Errors: those of DescribeModel; a packed file
// with other parameters than those of its model.
Result<LoadShape> ShapeOfLoad(const OpenedModel& model, DType type);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_LOAD_SHAPE_H_
