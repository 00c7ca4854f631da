#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Trains the tokenizers that the tests use (spm_train of SentencePiece 0.1.97; the text is Genesis 1:1-10 in the
# King James version). Each is built as the tokenizer of a published model is, but tiny.
set -eu
cd "$(dirname "$0")"

space=$(printf '\342\226\201')  # U+2581, as which pieces spell a space

train() {
  spm_train --input=corpus.txt --hard_vocab_limit=false --character_coverage=1.0 --num_threads=1 "$@"
}

# As Gemma's: no space is added in front, markers, a tag and a double space are user-defined pieces.
train --model_prefix=gemma_style --vocab_size=340 --model_type=bpe --byte_fallback=true \
  --normalization_rule_name=identity --add_dummy_prefix=false --remove_extra_whitespaces=false \
  --pad_id=0 --eos_id=1 --bos_id=2 --unk_id=3 --bos_piece='<bos>' --eos_piece='<eos>' \
  --user_defined_symbols="<start_of_turn>,<end_of_turn>,<h1>,$space$space"

# As Mistral's (v0.3): a space is added in front, markers are control pieces.
train --model_prefix=mistral_style --vocab_size=340 --model_type=bpe --byte_fallback=true \
  --normalization_rule_name=identity --add_dummy_prefix=true --remove_extra_whitespaces=false \
  --unk_id=0 --bos_id=1 --eos_id=2 --pad_id=-1 --control_symbols='[INST],[/INST]'

# Markers as user-defined pieces where normalisation changes the text (full-width < and > to ASCII, TAB to space,
# U+200B to nothing), spaces are added and dropped, and there are no byte pieces.
train --model_prefix=normalising --vocab_size=90 --model_type=unigram \
  --normalization_rule_tsv=fullwidth.tsv --add_dummy_prefix=true --remove_extra_whitespaces=true \
  --user_defined_symbols='<start_of_turn>,<end_of_turn>'

rm -f ./*.vocab
