// SPDX-License-Identifier: Apache-2.0
//
// The four forms of Unicode text in which what looks the same has the same bytes (Unicode Standard, annex 15).

#ifndef SKALD_TOKENIZERS_NORMALIZATION_FORM_H_
#define SKALD_TOKENIZERS_NORMALIZATION_FORM_H_

namespace skald {

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

}  // namespace skald

#endif  // SKALD_TOKENIZERS_NORMALIZATION_FORM_H_
