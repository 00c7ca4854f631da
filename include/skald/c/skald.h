// SPDX-License-Identifier: Apache-2.0
//
// Skald for other languages: a C interface of handles, in one shared library (skald_c). It opens models, turns text
// into token ids, computes with caches that fork and rewind, samples, and holds conversations.
//
// - A function that can fail returns null or a negative number, and describes the failure in its last argument, which
//   may be null. Nothing throws, and nothing ends the process. A call that fails changes nothing.
// - A handle belongs to the caller, which frees it once; null is freed without effect. A model must outlive what was
// made
//   of it. Models may be used by any number of threads at once, every other handle by one thread at a time.
// - Structs begin with their size in bytes, which the caller sets (SKALD_INIT): a later version of the library takes
//   those of an earlier one.

#ifndef SKALD_C_SKALD_H_
#define SKALD_C_SKALD_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SKALD_C_BUILD)
#define SKALD_API __declspec(dllexport)
#elif defined(_WIN32)
#define SKALD_API __declspec(dllimport)
#elif defined(__GNUC__)
#define SKALD_API __attribute__((visibility("default")))
#else
#define SKALD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Raised when functions are added. Functions and members of structs are never removed or changed.
#define SKALD_C_VERSION 1

/// A struct that says its size, and is zero otherwise: `skald_error error = SKALD_INIT(skald_error);`.
#ifdef __cplusplus
#define SKALD_INIT(type) \
  { sizeof(type) }
#else
#define SKALD_INIT(type) \
  { .size = sizeof(type) }
#endif

/// Kinds of failures; they are those of ErrorCode in base/result.h.
typedef enum skald_code {
  SKALD_OK = 0,                  ///< no failure
  SKALD_INVALID_ARGUMENT = 1,    ///< the caller's value can never work
  SKALD_NOT_FOUND = 2,           ///< a file or field that must be there is not
  SKALD_DATA_LOSS = 3,           ///< bytes from outside are damaged
  SKALD_OUT_OF_RANGE = 4,        ///< a position or length beyond a limit
  SKALD_RESOURCE_EXHAUSTED = 5,  ///< a limit is reached; freeing something makes the same call work
  SKALD_UNSUPPORTED = 6,         ///< well-formed, but not something Skald can do
  SKALD_FAILED_PRECONDITION = 7  ///< the handle is in a state in which the call makes no sense
} skald_code;

/// Why a call failed.
typedef struct skald_error {
  size_t size;         ///< of the struct in bytes; set by the caller
  int32_t code;        ///< a skald_code
  uint32_t has_facts;  ///< whether needed and available are known
  uint64_t needed;     ///< tokens, else bytes, that were requested
  uint64_t available;  ///< those that there was room for
  char message[1000];  ///< a sentence in UTF-8, ended by a zero; cut at whole bytes where it is longer
} skald_error;

/// A model with its tokenizer, chat template and advice for sampling; immutable.
typedef struct skald_model skald_model;
/// Memory and threads of one caller that computes.
typedef struct skald_workspace skald_workspace;
/// The whole state of one sequence of tokens.
typedef struct skald_cache skald_cache;
/// A chat, answer by answer.
typedef struct skald_conversation skald_conversation;

/// Limits of a cache; zeros mean the library's defaults.
typedef struct skald_runtime {
  size_t size;                  ///< of the struct in bytes; set by the caller
  uint32_t max_tokens;          ///< that the cache may hold
  uint32_t resume_point_every;  ///< tokens between places that recurrent layers and windows can go back to
  uint64_t cache_bytes;         ///< most bytes of the state
} skald_runtime;

/// How tokens are drawn. A struct of zeros but for its size is greedy.
typedef struct skald_sampler {
  size_t size;        ///< of the struct in bytes; set by the caller
  float temperature;  ///< divides the logits; 0 is greedy
  uint32_t top_k;     ///< most likely tokens that are kept; 0 keeps all
  float top_p;        ///< probability of those that are kept; 0 keeps all
  float min_p;        ///< least probability, as a part of the largest; 0 keeps all
  uint64_t seed;      ///< of the draws
  uint64_t stream;    ///< of the draws of one seed: one for each text
} skald_sampler;

/// The outputs that a token of a batch gives; they are those of Want in cache/steps/step_plan.h.
typedef enum skald_want {
  SKALD_NOTHING = 0,  ///< only its effect on the cache
  SKALD_LOGITS = 1,   ///< [vocab_size], for the token that follows it
  SKALD_HIDDEN = 2    ///< [dim], from which the logits are computed
} skald_want;

/// Tokens to append to one cache.
typedef struct skald_request {
  skald_cache* cache;     ///< not null, and not twice in a batch
  const int32_t* tokens;  ///< [count]
  size_t count;           ///< of tokens
  const uint8_t* wants;   ///< [count], a skald_want of each; null: the last one gives logits
} skald_request;

/// Takes a piece of an answer, in UTF-8 without a zero at its end. Returns 0 to end the answer.
typedef int (*skald_sink)(const char* piece, size_t bytes, void* user);

/// Returns SKALD_C_VERSION of the library.
SKALD_API uint32_t skald_c_version(void);
/// Returns the version of Skald, such as "0.1.0".
SKALD_API const char* skald_version(void);

/// Opens a folder of Hugging Face, a GGUF file or a packed file. `path` is UTF-8. Failures: those of OpenModel.
SKALD_API skald_model* skald_model_open(const char* path, skald_error* error);
/// Frees a model, which nothing may use any more.
SKALD_API void skald_model_free(skald_model* model);
/// Returns the number of logits.
SKALD_API int32_t skald_model_vocab_size(const skald_model* model);
/// Returns the number of floats of a hidden state.
SKALD_API int32_t skald_model_dim(const skald_model* model);
/// Returns whether a token ends the model's turn.
SKALD_API int skald_model_is_stop(const skald_model* model, int32_t token);

/// Writes the ids of a text to `ids`, as many as `capacity` allows, and returns how many there are. The ids that the
/// model's publisher puts around a text are added where `add_special` is not 0. Failures: those of Tokenizer::Encode.
SKALD_API int64_t skald_encode(const skald_model* model, const char* text, size_t bytes, int add_special, int32_t* ids,
                               size_t capacity, skald_error* error);
/// Writes the text of ids to `text`, as many bytes as `capacity` allows, without a zero, and returns how many there
/// are. Failures: those of Tokenizer::Decode.
SKALD_API int64_t skald_decode(const skald_model* model, const int32_t* ids, size_t count, char* text, size_t capacity,
                               skald_error* error);

/// Returns a workspace with so many threads, the calling one included; 0: as many as the machine has.
SKALD_API skald_workspace* skald_workspace_create(uint32_t threads, skald_error* error);
/// Frees a workspace, and the outputs of its last call.
SKALD_API void skald_workspace_free(skald_workspace* workspace);

/// Returns an empty cache for a model. `runtime` may be null. Failures: those of CreateKVCache.
SKALD_API skald_cache* skald_cache_create(const skald_model* model, const skald_runtime* runtime, skald_error* error);
/// Frees a cache. Its forks stay.
SKALD_API void skald_cache_free(skald_cache* cache);
/// Returns the number of its tokens.
SKALD_API uint32_t skald_cache_size(const skald_cache* cache);
/// Returns a second cache with the same past, which shares its memory until one of the two goes on.
SKALD_API skald_cache* skald_cache_fork(const skald_cache* cache, skald_error* error);
/// Goes back to the first `tokens` tokens. Returns 0. Failures: those of KVCache::Truncate.
SKALD_API int skald_cache_truncate(skald_cache* cache, uint32_t tokens, skald_error* error);

/// Appends tokens to caches and returns how many outputs there are: of each token that wants one, in their order.
/// `rows` gets a pointer to each, as many as `capacity` allows: logits [vocab_size] or a hidden state [dim], valid
/// until the workspace is used again or freed. Failures: those of AnyModel::Forward.
SKALD_API int64_t skald_forward(const skald_model* model, const skald_request* requests, size_t count,
                                skald_workspace* workspace, const float** rows, size_t capacity, skald_error* error);
/// Returns the token that follows, drawn from logits [count]; `position` is its own in its sequence, and decides the
/// draw. Failures: those of Sample.
SKALD_API int32_t skald_sample(const float* logits, size_t count, const skald_sampler* sampler, uint64_t position,
                               skald_error* error);

/// Returns a conversation. `system` is the system's message in UTF-8, or null; `sampler` null: as the model's publisher
/// advises; `max_tokens` of an answer, 0: the model ends it. Failures: those of Conversation::Create.
SKALD_API skald_conversation* skald_conversation_create(const skald_model* model, const char* system,
                                                        const skald_sampler* sampler, uint64_t max_tokens,
                                                        skald_error* error);
/// Frees a conversation. Its forks stay.
SKALD_API void skald_conversation_free(skald_conversation* conversation);
/// Adds a message of the user's and the answer to it, whose pieces go to `sink` (which may be null) with `user`.
/// Returns the tokens of the answer. Failures: those of Conversation::Say.
SKALD_API int64_t skald_conversation_say(skald_conversation* conversation, const char* message, size_t bytes,
                                         skald_sink sink, void* user, skald_error* error);
/// Returns a second conversation with the same past. It and the first one are used by one thread at a time.
SKALD_API skald_conversation* skald_conversation_fork(const skald_conversation* conversation, skald_error* error);
/// Takes back the last turns. Returns 0. Failures: those of Conversation::TakeBack.
SKALD_API int skald_conversation_take_back(skald_conversation* conversation, size_t turns, skald_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SKALD_C_SKALD_H_
