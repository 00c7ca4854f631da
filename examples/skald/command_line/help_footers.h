// SPDX-License-Identifier: Apache-2.0
//
// The text below the options in the help of each command.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_HELP_FOOTERS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_HELP_FOOTERS_H_

namespace skald::program {

// Lines short enough for every version of CLI11 to leave them as they are.
inline constexpr const char* kMainFooter = R"(Examples:
  skald generate
  skald generate --model ~/gemma-2-2b --prompt "Once upon a time"
  skald chat --model ~/gemma-2-2b-it
  skald chat --model tinyllama-1.1b-chat.gguf
  skald chat -hf Qwen/Qwen3-0.6B
Without --model there is a small demo model that writes like the King James
Bible. A model is a folder as Hugging Face publishes it: config.json,
model.safetensors (or its parts and their index) and tokenizer.model; such a
safetensors file; a GGUF file; or a file that 'skald pack' made of one of them,
which starts at once. -hf ORG/REPO downloads one from the Hugging Face hub, once.
'skald generate --help' and 'skald chat --help' list all
options; 'skald inspect' tells what a model's files hold; 'skald store' looks
after folders in which conversations were saved.)";

inline constexpr const char* kGenerateFooter = R"(Examples:
  skald generate --prompt "And it came to pass" --max-tokens 100
  skald generate --prompt-file story.txt --temperature 0 --no-echo
  skald generate --prompt-file manual.txt --prompt-cache ~/.cache/skald
  skald generate --model ~/llama-3.2-1b --token-ids 128000,9906
The text goes to stdout, all else to stderr. Ctrl-C ends the text. The closing
line tells the seed: with it, the same model and the same options, the same
text comes again, whatever the number of threads.)";

inline constexpr const char* kChatFooter = R"(Examples:
  skald chat --model ~/gemma-2-2b-it --system "Answer in one sentence."
  skald chat --model ~/tinyllama-chat --chat-template zephyr
  skald chat --session today.skald
  skald chat -hf unsloth/Qwen3-0.6B-GGUF:Q8_0
In the chat, /help lists what else than a message can be typed. Ctrl-C ends an
answer, Ctrl-D the chat. When the context is full the oldest turns are
forgotten, but not the very first. With --session the file is read at the
start and written at the end, also on SIGTERM and SIGHUP; the same model must
be running.)";

inline constexpr const char* kServeFooter = R"(Examples:
  skald serve
  skald serve --model ~/qwen3-4b.gguf --port 8080 --state ~/.local/state/skald
  skald serve --model chat=qwen3-4b.gguf --model embed=qwen3-embedding-0.6b
  skald serve --models-dir ~/models --memory 16GB
  skald serve --model ~/llama-3.2-1b --host 0.0.0.0 --api-keys keys.txt \
      --certificate cert.pem --private-key key.pem
Then a browser finds a chat page at http://127.0.0.1:8080, OpenAI's clients take
http://127.0.0.1:8080/v1 as their base URL, and Anthropic's take
http://127.0.0.1:8080. With --state everything that was said and computed
survives the program, whatever ends it; servers that share a --redis share what
they computed. A line of --api-keys is KEY NAME [admin] [max_requests=N]
[max_tokens=N] [max_priority=N]; each name has conversations and prompts of its
own, and a fair share of the time. A request's "model" chooses one of several
models, or an --adapter, by its name; POST /models/load and /models/unload load
and put away, for keys whose lines say "admin" where there are keys.
GET /health says whether the model is loaded, /metrics is for Prometheus. SIGTERM
lets answers end, for --grace seconds; to mpirun send SIGUSR1.)";

inline constexpr const char* kInspectFooter = R"(Examples:
  skald inspect tinyllama-1.1b-chat.gguf
  skald inspect ~/gemma-2-2b-it
  skald inspect --config ~/gemma-2-2b-it > my_model.h
  skald inspect --ranks 4 --dtype q4_0 qwen3-30b-a3b
It prints the metadata, the Config that the model runs with or why there is
none, and the name, type, shape and size of every tensor; of a packed file also
what it was packed from. No weights are read.)";

inline constexpr const char* kTokenizeFooter = R"(Examples:
  skald tokenize --model ~/llama-3.2-1b "Hello, world"
  skald tokenize --tokenizer tokenizer.json --ids < story.txt
  skald tokenize --model qwen3-0.6b.gguf --parse-special "<|im_start|>user"
  skald tokenize --model ~/gemma-2-2b --token-ids 2,4521
A line for each token: its id, its piece of the text, and whether it is special.
On a terminal pieces are coloured in turns; NO_COLOR=1 leaves them plain.)";

inline constexpr const char* kPackFooter = R"(Examples:
  skald pack ~/gemma-2-2b-it gemma.packed
  skald pack tinyllama-1.1b-chat.gguf tinyllama.packed
  skald chat --model gemma.packed
  skald pack --verify gemma.packed
A packed file holds the weights as they lie in memory, and the tokenizer. It is
not read at the start but mapped, and processes that run it share its memory.
It has to be made again when the model or the version of skald changes.)";

inline constexpr const char* kPullFooter = R"(Examples:
  skald pull Qwen/Qwen3-0.6B
  skald pull unsloth/Qwen3-0.6B-GGUF:Q8_0
The model goes to the cache of Hugging Face's own tools: HF_HUB_CACHE, or hub in
HF_HOME, which is ~/.cache/huggingface. It is what -hf does in other commands.
Only the files that a model needs are downloaded, and only those that the cache
lacks; after a break a download goes on. Without a QUANT a repository of GGUF
files gives Q4_K_M, else Q8_0, else the next that there is. HF_TOKEN is sent to
the hub (HF_ENDPOINT) alone; with HF_HUB_OFFLINE=1 the cache alone is used.
Proxies are those of http_proxy, https_proxy, all_proxy and no_proxy.)";

inline constexpr const char* kModelsFooter = R"(Examples:
  skald models
  skald models --families
After each name: where it is, or the command that gets it. Models that -hf or
another tool has downloaded follow. Any other size of a family runs as well,
from its folder or GGUF file.)";

inline constexpr const char* kBenchFooter = R"(Examples:
  skald bench --shape tinyllama-1.1b
  skald bench --shape tinyllama-1.1b -p 512,2048 -n 64 -d 0,2048 -t 1,2
  skald bench --model ~/gemma-2-2b -p 0 -n 64 -b 1,4,16,32 --json batches.json
  skald bench -m q4.gguf -m q8.gguf -pg 512,64 --cpus 0-7 -o csv > speed.csv
Every combination of the lists is measured, and printed as a Markdown table: pp
is a prompt read at once, tg tokens written one after the other, '@ 2048' after
so many tokens, 'x 16' for so many conversations together. The last column is
the share of what the machine allows: the time to read all weights and caches
once a step, or for all multiplications, at the speed measured beside it. There
is none where that is reading memory and the weights fit the last-level cache.
A warning tells of a machine that is busy. All forms have the machine, build and
model of each row; --record FILE keeps rows for benchmarks/results.py.)";

inline constexpr const char* kStoreFooter = R"(Examples:
  skald store ~/.cache/prompts
  skald store ~/.cache/prompts --verify
  skald store ~/.cache/prompts --prune 10GB
Without an option it lists the chunks, those first that were not used for the
longest time. Their columns: key, kind, bytes in the folder, bytes of content,
codec. A chunk with key abcd... is the file ab/abcd...; a damaged one may be
deleted, and is written again when it is next saved. The folder may be in use
meanwhile. Exit status: 1 if --verify finds damage.)";

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_HELP_FOOTERS_H_
