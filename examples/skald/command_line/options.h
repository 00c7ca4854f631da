// SPDX-License-Identifier: Apache-2.0
//
// The command line of the program, as plain values.

#ifndef SKALD_EXAMPLES_SKALD_COMMAND_LINE_OPTIONS_H_
#define SKALD_EXAMPLES_SKALD_COMMAND_LINE_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hub/hub_name.h"
#include "skald/base/numbers/numeric.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/model/workspace.h"
#include "skald/open/open_encoder.h"
#include "skald/sampling/settings.h"

namespace skald::program {

inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;

// More text than any model's context takes: prompts, lines of a chat.
inline constexpr size_t kMaxPromptBytes = size_t{64} << 20;

class RankJob;

enum class Command {
  kGenerate,
  kChat,
  kModels,
  kInspect,
  kTokenize,
  kEmbed,
  kRank,
  kPack,
  kWriteGguf,
  kImportance,
  kPull,
  kBench,
  kStore,
  kServe
};

// How skald quantize writes a GGUF file. Names of types; empty: as they are, or as the mixture says.
struct GgufOptions {
  std::string type;  // a mixture
  std::string output_type, embedding_type;
  bool pure = false;
  std::optional<std::filesystem::path> importance;
};

// The text that skald imatrix reads.
struct ImportanceText {
  std::string file;  // "-": standard input
  uint32_t chunk_tokens = 512;
  std::optional<uint32_t> chunks;  // unset: all
};

// The forms of skald bench's results.
enum class BenchOutput { kMarkdown, kCsv, kJson, kJsonLines, kSql };

// The cases to measure: every combination of these.
struct BenchOptions {
  std::vector<std::string> shapes;            // random weights for the Configs of these names, instead of models
  std::vector<std::filesystem::path> models;  // none, and no shapes: that of the other options
  std::vector<uint32_t> prompts = {512}, generated = {64};  // tokens; 0 for none
  std::vector<std::pair<uint32_t, uint32_t>> both;          // a prompt and then tokens, in one measurement
  std::vector<uint32_t> depths = {0};                       // tokens before them
  std::vector<uint32_t> sequences = {1};                    // decoded together
  std::vector<uint32_t> threads = {WorkspaceOptions().threads};
  std::vector<DType> weight_types;  // empty: Options::weight_type
  DType kv_type = RuntimeConfig().kv_type;
  std::vector<std::string> simd;  // targets, or "all"; empty: the best
  std::vector<uint32_t> users;    // of an engine, instead of all else; empty: no engine
  uint32_t arrival = 0;           // tokens of a prompt that comes while they write; 0: none does
  double step_ms = 0;             // most milliseconds of an engine's step; 0: no limit
  size_t repetitions = 5;
  double delay = 0;                   // seconds before each measurement
  std::vector<int> cpus, numa_nodes;  // that threads keep to; none: all
  BenchOutput output = BenchOutput::kMarkdown;
  std::filesystem::path json, record;  // files; empty: none. Of the latter rows are added to
};

// The choice of something that guesses tokens for a model; at most one member is set.
struct DraftOptions {
  bool mtp = false;                  // the model's own layers for further tokens
  std::filesystem::path model = {};  // a smaller model, or a head of EAGLE-3

  // Whether one is.
  bool any() const { return mtp || !model.empty(); }
};

// How a model is served.
struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  std::vector<std::pair<std::string, std::filesystem::path>> models;    // names and models; empty: Options::model
  std::filesystem::path models_dir;                                     // folder of more models; empty: none
  std::optional<uint64_t> memory;                                       // bytes of all models
  std::string model_name;                                               // of the first one; empty: its own
  std::vector<std::pair<std::string, std::string>> aliases;             // other names of models
  std::string log_format;                                               // of the access log; empty: none
  std::filesystem::path trace_file;                                     // gets spans; empty: none
  bool has_strict_names = false;                                        // others are refused, if it is alone too
  bool has_strict_fields = false;                                       // unknown fields of requests are refused
  std::vector<std::pair<std::string, std::filesystem::path>> adapters;  // that clients may ask for by name
  std::filesystem::path certificate, private_key;                       // for TLS; both or none
  std::filesystem::path api_keys;                                       // empty: any client may use it
  std::filesystem::path metrics_key;                                    // of /metrics alone; empty: any key
  uint32_t failed_keys = 10;                                            // of an address in a minute
  std::vector<std::string> origins;                                     // pages of other servers that may
  std::vector<std::string> hosts;                                       // names it is called by; "*": all
  std::string public_url;                                               // that clients know; empty: none
  std::vector<std::string> proxies;                                     // whose X-Forwarded headers are believed
  std::filesystem::path state;            // folder of conversations and prompts; empty: in memory
  uint64_t state_bytes = 20'000'000'000;  // that prompts may take there
  // Bytes of what was said that a key may keep. Unset: 1 GB, without a folder 100 MB.
  std::optional<uint64_t> conversation_bytes, response_bytes;
  // Seconds after the last change; 0: for ever.
  uint64_t conversation_seconds = 0, response_seconds = 30 * 86400;
  std::filesystem::path store_key;  // file of the key that chunks in stores are authenticated with; empty: they are not
  std::string redis;                // HOST, HOST:PORT or a URL; empty: none
  std::filesystem::path redis_password;                                  // file; empty: that of the URL, if any
  std::filesystem::path redis_ca, redis_certificate, redis_private_key;  // of TLS; empty: the system's, none
  uint32_t users = 64;                                                   // answers that are computed at a time
  uint32_t queue = 8192;                                                 // answers that may wait for it
  double step_ms = 250;  // most milliseconds of an engine's step; 0: no limit
  std::string policy = "fair";
  bool prompt_lookup = false;
  uint64_t body_bytes = 32'000'000;
  uint64_t bodies_bytes = 256'000'000;    // of all requests that are being received or prepared
  uint64_t import_bytes = 4'000'000'000;  // on disk, of conversations that travel
  uint32_t connections = 1024;
  std::optional<uint32_t> connections_per_address;  // unset: a quarter of them
  uint32_t stall_seconds = 60;                      // without a step, while there is work, after which /health says so
  uint32_t grace_seconds = 30;                      // that answers have to end when the server shall
};

// Control vectors: they are added to the residual stream of the model.
struct SteeringOptions {
  std::vector<std::pair<std::filesystem::path, float>> vectors;  // files, and their scales
  uint64_t first_layer = 0;
  std::optional<uint64_t> last_layer;  // unset: the last one
};

// Texts that 'skald generate' writes with an engine.
struct TextOptions {
  std::optional<std::filesystem::path> prompts;     // file with many, which are computed together
  uint32_t samples = 1;                             // texts for each prompt
  std::vector<std::string> stop;                    // texts that end one
  std::optional<std::filesystem::path> grammar;     // file in GBNF that texts are held to
  std::optional<std::filesystem::path> schema;      // the same of a JSON Schema
  std::optional<uint32_t> logprobs;                 // most likely tokens that are told beside each token
  bool json = false;                                // a line of JSON for each text
  std::string embedding;                            // "last" or "mean": the vector of each prompt, and no text
  std::optional<std::filesystem::path> perplexity;  // file with a text that is measured, and nothing written

  // Whether any is set.
  bool any() const {
    return prompts || samples > 1 || !stop.empty() || grammar || schema || logprobs || json || !embedding.empty() ||
           perplexity;
  }
};

// The forms of embeddings in what 'skald embed' writes.
enum class EmbeddingForm { kFloat, kInt8, kBinary };

// Texts that an encoder reads, and what is written of them.
struct EncodingOptions {
  std::vector<std::filesystem::path> files;  // a text in each line; none: standard input
  bool whole_files = false;                  // each file is one text
  std::string pooling;                       // by its name; empty: the model's
  std::string prompt_name;                   // of the model's prompts; empty: its default
  std::optional<std::string> prompt;         // before each text, in place of a named one
  std::optional<size_t> dimension;           // the first so many elements; unset: all
  std::optional<bool> normalise;             // unset: as the model's files say
  LongText long_text = LongText::kRefuse;
  EmbeddingForm form = EmbeddingForm::kFloat;
  std::filesystem::path output;  // empty: standard output; .npy: an array
  std::string query;             // to rank for
  std::string instruction;       // of rerankers that read one; empty: the model's
  size_t most_documents = 0;     // that are told; 0: all
  bool raw_scores = false;       // not brought between 0 and 1
  bool by_yes_or_no = false;     // the model is a decoder that ranks by these words
  bool json = false;             // a line of JSON for each document
};

// Sets one of the sampler's settings.
using SamplerChoice = std::function<void(SamplerSettings&)>;

struct Options {
  Command command = Command::kGenerate;

  std::filesystem::path model = SKALD_DEMO_MODEL;
  std::optional<HubName> hub;  // the model by its name on the hub, instead; `model` is where it is, once it is located
  std::optional<std::filesystem::path> tokenizer;           // unset: the model's own
  std::optional<std::filesystem::path> adapter;             // unset: the model alone
  SteeringOptions steering;                                 // nothing: the model as it is
  std::optional<std::string> chat_template;                 // a built-in; unset: none to generate, the model's to chat
  std::optional<std::filesystem::path> chat_template_file;  // in its place
  std::optional<std::string> tool_format;                   // of calls of tools; unset: as the template tells
  bool show_progress = false;
  bool show_families = false;  // instead of names

  // One of three to generate: text, a file with text ("-" is stdin), or ids.
  std::optional<std::string> prompt;
  std::optional<std::filesystem::path> prompt_file;
  std::vector<int32_t> token_ids;
  bool echo = true;                                            // the prompt comes first in the output
  std::string system;                                          // message before the first one of a chat
  std::vector<std::pair<std::string, std::string>> variables;  // of the chat template, as JSON

  std::optional<std::filesystem::path> prompt_cache;  // folder with prompts computed before
  std::optional<std::filesystem::path> session;       // file with the chat to go on with, and to keep it in

  std::optional<size_t> max_tokens;     // of one text or answer
  std::vector<SamplerChoice> sampling;  // what the user chose, over what the model's publisher advises
  uint64_t seed = 0;
  bool chose_seed = false;  // else it is a random one

  std::optional<uint32_t> max_context;  // unset: what the model was trained on, as ConversationRuntime bounds it
  std::optional<DType> weight_type;     // unset: that of a packed file, else BF16
  RuntimeConfig runtime;                // but for max_tokens
  WorkspaceOptions workspace;
  bool chose_threads = false;  // by --threads
  bool use_ranks = false;      // all processes of an MPI job compute together
  std::chrono::milliseconds rank_patience = std::chrono::seconds(30);
  std::shared_ptr<RankJob> ranks;  // set once the options are read, if they are used

  std::filesystem::path packed_cache;            // folder with weights packed by earlier runs; empty: none
  uint64_t packed_cache_bytes = 20'000'000'000;  // that it may take
  std::filesystem::path packed;                  // the file to pack into, or to verify; the GGUF file to write
  GgufOptions gguf;
  ImportanceText importance_text;

  bool only_config = false;        // inspect: print the Config, and nothing else
  uint32_t inspect_ranks = 0;      // inspect: tell what each of so many ranks takes, and nothing else; 0: no
  uint32_t inspect_tokens = 8192;  // of a conversation there

  // tokenize: names of special tokens in the text become these tokens; those that go around a text do; no pieces.
  bool parse_special = false, add_special = false, only_ids = false;

  DraftOptions draft;
  TextOptions texts;
  EncodingOptions encoding;
  BenchOptions bench;
  ServeOptions serve;

  std::filesystem::path store;          // the folder of chunks to look into
  bool verify = false;                  // read and check all of them, or of a packed file
  std::optional<uint64_t> prune_bytes;  // unset: drop none of them
};

// Returns what `argv` asks for, or the program's exit code when there is nothing more to do: help was asked
// for, or something is wrong and was reported.
std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMAND_LINE_OPTIONS_H_
