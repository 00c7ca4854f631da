// SPDX-License-Identifier: Apache-2.0
//
// Which of a list of Configs the model in a GGUF file is:
//
//   const Result<size_t> index = IdentifyConfig(PublishedConfigs{}, *checkpoint.gguf());

#ifndef SKALD_FAMILIES_READERS_GGUF_CONFIG_H_
#define SKALD_FAMILIES_READERS_GGUF_CONFIG_H_

#include <cstddef>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/families/config/config_list.h"
#include "skald/families/config/fact_names.h"
#include "skald/families/config/identify.h"
#include "skald/families/config/short_form.h"
#include "skald/weights/files/gguf.h"

namespace skald {

// Returns the models that the one in `file` can be, the likeliest first. Errors: see ParseConfigGguf.
Result<std::vector<DescribedModel>> ModelsOf(const GgufFile& file);

// Returns the index of the first Config of the list that the model in `file` is. Fails as FindConfig and
// ParseConfigGguf do.
template <ModelConfig... Configs>
Result<size_t> IdentifyConfig(ConfigList<Configs...> list, const GgufFile& file) {
  return NoThrow("a GGUF file", [&]() -> Result<size_t> {
    const Result<std::vector<DescribedModel>> models = ModelsOf(file);
    if (!models) return Failure(models.error());
    for (const DescribedModel& model : *models) {
      if (const Result<size_t> index = FindConfig(list, model)) return index;
    }
    return internal::FindConfigOf(list, models->front(), kGgufFacts);  // to say why not
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/families/readers/detail/gguf_config.h"
#endif

#endif  // SKALD_FAMILIES_READERS_GGUF_CONFIG_H_
