/* SPDX-License-Identifier: Apache-2.0
 *
 * Skald for other languages: models, text, caches, steps, sampling, snapshots and conversations as C functions on
 * handles, in the shared library skald_c. C11 and C++ read it. What each function computes is what the C++ function
 * that its comment names computes, to the bit.
 *
 * Rules. Functions that can fail return a skald_code and fill in `error`, which may be NULL; results are written only
 * on success, unless the comment says otherwise. No exception leaves a function, nothing aborts on bad input, and NULL
 * for a handle or a result is SKALD_INVALID_ARGUMENT; the functions that free take NULL. Texts are UTF-8: with a
 * length, or up to a 0 where none is given. A handle is used by one thread at a time, but for skald_model and
 * skald_pool, which any number of threads may use. Handles may be freed in any order: what is still needed lives on.
 *
 * Versions. Structs of options begin with their size, which their init function sets: programs compiled against an
 * older header run with a newer library of the same SKALD_C_API. */

#ifndef SKALD_C_SKALD_H_
#define SKALD_C_SKALD_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#if defined(SKALD_C_BUILDING)
#define SKALD_C_PUBLIC __declspec(dllexport)
#else
#define SKALD_C_PUBLIC __declspec(dllimport)
#endif
#else
#define SKALD_C_PUBLIC __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface; a library of another one must not be used with this header. */
#define SKALD_C_API 1

/** Returns the SKALD_C_API that the library was compiled with. */
SKALD_C_PUBLIC uint32_t skald_c_api(void);
/** Returns the library's version, such as "0.1.0". */
SKALD_C_PUBLIC const char* skald_version(void);

/* --- Errors ------------------------------------------------------------------------------------------------------ */

/** Why a call failed: the values of skald::ErrorCode (base/result.h), which says what each means. */
typedef enum skald_code {
  SKALD_OK = 0,
  SKALD_INVALID_ARGUMENT = 1,
  SKALD_NOT_FOUND = 2,
  SKALD_DATA_LOSS = 3,
  SKALD_OUT_OF_RANGE = 4,
  SKALD_RESOURCE_EXHAUSTED = 5,
  SKALD_UNSUPPORTED = 6,
  SKALD_FAILED_PRECONDITION = 7
} skald_code;

/** A fact of a skald_error that is not known. */
#define SKALD_UNKNOWN UINT64_MAX

/** What a call that failed says. The facts are those of skald::ErrorFacts. */
typedef struct skald_error {
  skald_code code;           /**< the kind of failure */
  char message[1024];        /**< a sentence that ends with 0; a longer one is cut */
  uint64_t sequence;         /**< index in the batch */
  uint64_t needed_tokens;    /**< requested */
  uint64_t available_tokens; /**< that there was room for */
  uint64_t needed_bytes;     /**< requested */
  uint64_t available_bytes;  /**< that there was room for */
  uint64_t resume_point;     /**< the nearest earlier position that a truncation can go to */
} skald_error;

/* --- Models ------------------------------------------------------------------------------------------------------ */

/** Weights, tokenizer and chat template of one model (skald::LanguageModel). Immutable. */
typedef struct skald_model skald_model;

/** How a model is opened. */
typedef struct skald_model_options {
  size_t size;             /**< of the struct */
  const char* weight_type; /**< to hold weights as: "bf16", "f32", "q8_0", "q4_0"; NULL: as the files suggest */
  uint32_t threads;        /**< that load; 0: as many as the machine has */
} skald_model_options;

SKALD_C_PUBLIC void skald_model_options_init(skald_model_options* options);

/** Opens the model at `path`, a folder of Hugging Face, a GGUF file or a packed file (skald::OpenModel). `options` may
 * be NULL. */
SKALD_C_PUBLIC skald_code skald_model_open(const char* path, const skald_model_options* options, skald_model** model,
                                           skald_error* error);
SKALD_C_PUBLIC void skald_model_free(skald_model* model);

/** What a model is. 0 for NULL. */
SKALD_C_PUBLIC size_t skald_model_vocab_size(const skald_model* model);      /**< logits of a row */
SKALD_C_PUBLIC size_t skald_model_dim(const skald_model* model);             /**< floats of a hidden row */
SKALD_C_PUBLIC size_t skald_model_trained_context(const skald_model* model); /**< tokens; 0: no file says */
/** Whether a token ends the model's turn. */
SKALD_C_PUBLIC int skald_model_is_stop(const skald_model* model, int32_t id);
/** Its name, valid as long as the model; "" for NULL. */
SKALD_C_PUBLIC const char* skald_model_name(const skald_model* model);

/* --- Text -------------------------------------------------------------------------------------------------------- */

/** Flags of skald_encode. */
enum {
  SKALD_ADD_SPECIAL = 1,  /**< put around the ids what the model's publisher says, most often BOS before them */
  SKALD_PARSE_SPECIAL = 2 /**< names of special pieces are those pieces: never for a user's text */
};

/** Encodes `bytes` bytes of text (skald::Tokenizer::Encode). `*count` is the number of ids; at most `capacity` of them
 * are written, so that a call with 0 tells how many there are. */
SKALD_C_PUBLIC skald_code skald_encode(const skald_model* model, const char* text, size_t bytes, unsigned flags,
                                       int32_t* ids, size_t capacity, size_t* count, skald_error* error);

/** Decodes ids (skald::Tokenizer::Decode). `*bytes` is the length of the text; at most `capacity` bytes of it are
 * written, without a 0 at the end. */
SKALD_C_PUBLIC skald_code skald_decode(const skald_model* model, const int32_t* ids, size_t count, char* text,
                                       size_t capacity, size_t* bytes, skald_error* error);

/* --- Caches ------------------------------------------------------------------------------------------------------ */

/** Storage of any number of conversations (skald::BlockPool). */
typedef struct skald_pool skald_pool;
/** One conversation's whole state (skald::KVCache). */
typedef struct skald_cache skald_cache;

/** Choices for a pool; the fields are those of skald::RuntimeConfig. */
typedef struct skald_runtime {
  size_t size;                 /**< of the struct */
  uint32_t max_tokens;         /**< of one conversation */
  uint64_t cache_bytes;        /**< of all; UINT64_MAX: no limit */
  const char* kv_type;         /**< "bf16", "f32" or "i8" */
  uint32_t block_tokens;       /**< a multiple of 32 */
  uint32_t resume_point_every; /**< tokens; 0: none are kept */
  uint32_t max_resume_points;  /**< kept of a conversation */
  uint32_t rewind_tokens;      /**< that can always be taken back */
} skald_runtime;

SKALD_C_PUBLIC void skald_runtime_init(skald_runtime* runtime);

/** Makes storage for conversations with a model. `runtime` may be NULL. */
SKALD_C_PUBLIC skald_code skald_pool_create(const skald_model* model, const skald_runtime* runtime, skald_pool** pool,
                                            skald_error* error);
SKALD_C_PUBLIC void skald_pool_free(skald_pool* pool);
SKALD_C_PUBLIC uint64_t skald_pool_used_bytes(const skald_pool* pool);

/** Makes an empty conversation with blocks of `pool`. */
SKALD_C_PUBLIC skald_code skald_cache_create(skald_pool* pool, skald_cache** cache, skald_error* error);
SKALD_C_PUBLIC void skald_cache_free(skald_cache* cache);

/** Makes a second conversation with the same past, which shares its blocks. */
SKALD_C_PUBLIC skald_code skald_cache_fork(const skald_cache* cache, skald_cache** fork, skald_error* error);
/** Rewinds to the first `tokens` tokens. */
SKALD_C_PUBLIC skald_code skald_cache_truncate(skald_cache* cache, uint32_t tokens, skald_error* error);
/** Removes tokens [begin, end); later ones move down. */
SKALD_C_PUBLIC skald_code skald_cache_erase(skald_cache* cache, uint32_t begin, uint32_t end, skald_error* error);
SKALD_C_PUBLIC void skald_cache_clear(skald_cache* cache);
/** The number of tokens, and the tokens, valid until the cache changes. */
SKALD_C_PUBLIC uint32_t skald_cache_size(const skald_cache* cache);
SKALD_C_PUBLIC const int32_t* skald_cache_tokens(const skald_cache* cache);

/* --- Steps ------------------------------------------------------------------------------------------------------- */

/** Threads and activations of one caller (skald::Workspace). */
typedef struct skald_workspace skald_workspace;

/** `threads`: that compute, the calling one included; 0: as many as the machine has. */
SKALD_C_PUBLIC skald_code skald_workspace_create(uint32_t threads, skald_workspace** workspace, skald_error* error);
SKALD_C_PUBLIC void skald_workspace_free(skald_workspace* workspace);

/** What a token gives (skald::Want). */
typedef enum skald_want { SKALD_WANT_NOTHING = 0, SKALD_WANT_LOGITS = 1, SKALD_WANT_HIDDEN = 2 } skald_want;

/** Tokens to append to one cache. */
typedef struct skald_sequence {
  skald_cache* cache;    /**< that grows */
  const int32_t* tokens; /**< [count] ids */
  size_t count;          /**< of tokens, at least 1 */
  const uint8_t* wants;  /**< [count] values of skald_want; NULL: the last token gives logits, the others nothing */
} skald_sequence;

/** Rows that a step gives, in the order of the batch. Valid until the next call with the workspace. */
typedef struct skald_rows {
  size_t count;             /**< of rows */
  const float* const* rows; /**< [count], each of logits [vocab_size] or a hidden state [dim] */
  const size_t* floats;     /**< [count] */
} skald_rows;

/** Computes one step of any number of conversations (skald::AnyModel::Forward): a transaction, which leaves all caches
 * as they were when it fails. `rows` may be NULL. */
SKALD_C_PUBLIC skald_code skald_forward(const skald_model* model, const skald_sequence* sequences, size_t count,
                                        skald_workspace* workspace, skald_rows* rows, skald_error* error);

/* --- Sampling ---------------------------------------------------------------------------------------------------- */

/** How tokens are drawn; the fields are those of skald::SamplerSettings. */
typedef struct skald_sampling {
  size_t size;              /**< of the struct */
  float temperature;        /**< 0: greedy */
  size_t top_k;             /**< 0: all */
  float top_p;              /**< 1: all */
  float min_p;              /**< 0: all */
  size_t penalty_window;    /**< tokens that penalties look at */
  float repetition_penalty; /**< 1: none */
  float presence_penalty;   /**< 0: none */
  float frequency_penalty;  /**< 0: none */
  uint64_t seed;            /**< of the draws */
  uint64_t stream;          /**< one for each continuation of a prompt */
} skald_sampling;

SKALD_C_PUBLIC void skald_sampling_init(skald_sampling* sampling);
/** The same as the model's publisher advises. */
SKALD_C_PUBLIC skald_code skald_sampling_advised(const skald_model* model, skald_sampling* sampling,
                                                 skald_error* error);

/** Settings and the tokens that penalties look at. */
typedef struct skald_sampler skald_sampler;

SKALD_C_PUBLIC skald_code skald_sampler_create(const skald_sampling* sampling, skald_sampler** sampler,
                                               skald_error* error);
SKALD_C_PUBLIC void skald_sampler_free(skald_sampler* sampler);
/** Draws the token at `position` of its sequence from logits [floats], and counts it for penalties (skald::Sample). */
SKALD_C_PUBLIC skald_code skald_sample(skald_sampler* sampler, const float* logits, size_t floats, uint64_t position,
                                       int32_t* id, skald_error* error);
/** Counts a token for penalties that was not drawn here, of a prompt say. */
SKALD_C_PUBLIC skald_code skald_sampler_observe(skald_sampler* sampler, int32_t id, skald_error* error);

/* --- Snapshots --------------------------------------------------------------------------------------------------- */

/** Writes a cache of `model` to `buffer` (skald::SaveSnapshot). `*bytes` is its length; nothing is written where that
 * is more than `capacity`, so that a call with 0 tells it. The first call reads the model's files once. */
SKALD_C_PUBLIC skald_code skald_cache_save(const skald_cache* cache, const skald_model* model, void* buffer,
                                           size_t capacity, size_t* bytes, skald_error* error);
/** Makes a cache of a snapshot of the same model, in blocks of `pool` (skald::LoadSnapshot). */
SKALD_C_PUBLIC skald_code skald_cache_load(const void* snapshot, size_t bytes, const skald_model* model,
                                           skald_pool* pool, skald_cache** cache, skald_error* error);

/* --- Conversations ----------------------------------------------------------------------------------------------- */

/** A chat as turns (skald::Conversation). */
typedef struct skald_conversation skald_conversation;

/** How a conversation is held. */
typedef struct skald_conversation_options {
  size_t size;                    /**< of the struct */
  const char* system;             /**< the system's message; NULL: none */
  const skald_sampling* sampling; /**< NULL: as the model's publisher advises */
  size_t max_tokens;              /**< of an answer; 0: the model ends it, or the context */
  uint32_t threads;               /**< that compute; 0: as many as the machine has */
  const skald_runtime* runtime;   /**< NULL: as suits the model */
} skald_conversation_options;

SKALD_C_PUBLIC void skald_conversation_options_init(skald_conversation_options* options);

SKALD_C_PUBLIC skald_code skald_conversation_create(const skald_model* model, const skald_conversation_options* options,
                                                    skald_conversation** conversation, skald_error* error);
SKALD_C_PUBLIC void skald_conversation_free(skald_conversation* conversation);

/** Gets a piece of an answer as it comes; 0 ends the answer. */
typedef int (*skald_piece_sink)(const char* piece, size_t bytes, void* user);

/** Adds a message and the answer to it, whose pieces go to `sink`, which may be NULL. */
SKALD_C_PUBLIC skald_code skald_conversation_say(skald_conversation* conversation, const char* message, size_t bytes,
                                                 skald_piece_sink sink, void* user, skald_error* error);
/** The last answer, with a 0 after its `*bytes` bytes (`bytes` may be NULL); "" before the first. Valid until the next
 * call with the conversation. */
SKALD_C_PUBLIC const char* skald_conversation_answer(const skald_conversation* conversation, size_t* bytes);
/** Takes back the last turns. */
SKALD_C_PUBLIC skald_code skald_conversation_take_back(skald_conversation* conversation, size_t turns,
                                                       skald_error* error);
/** Makes a second conversation with the same past. Both are used by one thread at a time. */
SKALD_C_PUBLIC skald_code skald_conversation_fork(const skald_conversation* conversation, skald_conversation** fork,
                                                  skald_error* error);
/** The tokens of the conversation. */
SKALD_C_PUBLIC uint32_t skald_conversation_size(const skald_conversation* conversation);

#ifdef __cplusplus
}
#endif

#endif /* SKALD_C_SKALD_H_ */
