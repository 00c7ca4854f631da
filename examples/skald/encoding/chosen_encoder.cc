// SPDX-License-Identifier: Apache-2.0

#include "encoding/chosen_encoder.h"

#include "setup.h"
#include "skald/open/encoders/encoder_facts.h"
#include "terminal/progress_bar.h"

namespace skald::program {

Result<Encoder> OpenChosenEncoder(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  const ProgressBar bar("loading " + info.name, options.show_progress);
  EncoderOptions encoder = {.weight_type = options.weight_type, .load = LoadOptionsOf(options, info, bar)};
  if (!options.encoding.pooling.empty()) {
    SKALD_ASSIGN(encoder.pooling, PoolingNamed(options.encoding.pooling));
  }
  if (options.encoding.by_yes_or_no) encoder.kind = EncoderKind::kDecoderReranker;
  return OpenEncoder(info, encoder);
}

}  // namespace skald::program
