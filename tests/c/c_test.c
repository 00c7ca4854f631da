/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface from C: what its functions compute, what handles share, and what wrong use gets.
 *
 * usage: c_test MODEL */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skald/c/skald.h"

static int failures = 0;

static void expect(int is_true, int line, const char* what) {
  if (is_true) return;
  fprintf(stderr, "c_test.c:%d: not so: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect((condition) != 0, __LINE__, #condition)

/* Ends the test where it cannot go on. */
static void need(skald_code code, const skald_error* error, int line) {
  if (code == SKALD_OK) return;
  fprintf(stderr, "c_test.c:%d: %d: %s\n", line, (int)error->code, error->message);
  exit(1);
}
#define NEED(call) need((call), &error, __LINE__)

static const char kText[] = "Once upon a time";

static int32_t ids[64];
static size_t id_count;

/* Tokens that greedy sampling writes after those in `cache`, whose last logits are `logits`. */
static void write_tokens(const skald_model* model, skald_cache* cache, skald_workspace* workspace, const float* logits,
                         int32_t* tokens, size_t count) {
  skald_error error;
  skald_sampling greedy;
  skald_sampling_init(&greedy);
  greedy.temperature = 0;
  skald_sampler* sampler;
  NEED(skald_sampler_create(&greedy, &sampler, &error));
  for (size_t i = 0; i < count; ++i) {
    NEED(skald_sample(sampler, logits, skald_model_vocab_size(model), skald_cache_size(cache), &tokens[i], &error));
    const skald_sequence one = {cache, &tokens[i], 1, NULL};
    skald_rows rows;
    NEED(skald_forward(model, &one, 1, workspace, &rows, &error));
    logits = rows.rows[0];
  }
  skald_sampler_free(sampler);
}

static void test_text(const skald_model* model) {
  skald_error error;
  size_t bytes;
  char text[64];
  NEED(skald_encode(model, kText, strlen(kText), SKALD_ADD_SPECIAL, NULL, 0, &id_count, &error));
  EXPECT(id_count > 1 && id_count <= 64);
  NEED(skald_encode(model, kText, strlen(kText), SKALD_ADD_SPECIAL, ids, 64, &id_count, &error));
  NEED(skald_decode(model, ids, id_count, text, sizeof(text), &bytes, &error));
  EXPECT(bytes == strlen(kText) && memcmp(text, kText, bytes) == 0);
  EXPECT(skald_encode(model, kText, 1, 4, ids, 0, &bytes, &error) == SKALD_INVALID_ARGUMENT);
  const int32_t none = -1;
  EXPECT(skald_decode(model, &none, 1, text, 0, &bytes, &error) != SKALD_OK);
}

/* Forks, snapshots and batches go on with the same tokens. */
static void test_state(const skald_model* model) {
  skald_error error;
  skald_runtime runtime;
  skald_runtime_init(&runtime);
  runtime.max_tokens = 200;
  skald_pool* pool;
  skald_workspace* workspace;
  skald_cache *cache, *fork, *loaded;
  NEED(skald_pool_create(model, &runtime, &pool, &error));
  NEED(skald_workspace_create(1, &workspace, &error));
  NEED(skald_cache_create(pool, &cache, &error));
  skald_sequence prompt = {cache, ids, id_count, NULL};
  skald_rows rows;
  NEED(skald_forward(model, &prompt, 1, workspace, &rows, &error));
  EXPECT(rows.count == 1 && rows.floats[0] == skald_model_vocab_size(model));
  const size_t row_bytes = rows.floats[0] * sizeof(float);
  float* const logits = malloc(row_bytes);
  memcpy(logits, rows.rows[0], row_bytes);

  NEED(skald_cache_fork(cache, &fork, &error));
  size_t bytes;
  NEED(skald_cache_save(cache, model, NULL, 0, &bytes, &error));
  void* const snapshot = malloc(bytes);
  NEED(skald_cache_save(cache, model, snapshot, bytes, &bytes, &error));
  NEED(skald_cache_load(snapshot, bytes, model, pool, &loaded, &error));
  EXPECT(skald_cache_size(loaded) == id_count);
  EXPECT(memcmp(skald_cache_tokens(loaded), ids, id_count * sizeof(int32_t)) == 0);
  ((char*)snapshot)[bytes / 2] ^= 1;
  skald_cache* damaged = NULL;
  EXPECT(skald_cache_load(snapshot, bytes, model, pool, &damaged, &error) == SKALD_DATA_LOSS && damaged == NULL);

  int32_t first[12], second[12], third[12];
  write_tokens(model, cache, workspace, logits, first, 12);
  write_tokens(model, fork, workspace, logits, second, 12);
  write_tokens(model, loaded, workspace, logits, third, 12);
  EXPECT(memcmp(first, second, sizeof(first)) == 0);
  EXPECT(memcmp(first, third, sizeof(first)) == 0);

  /* The same prompt again, beside another conversation and with its hidden rows. */
  NEED(skald_cache_truncate(fork, 0, &error));
  uint8_t wants[64];
  memset(wants, SKALD_WANT_HIDDEN, sizeof(wants));
  wants[id_count - 1] = SKALD_WANT_LOGITS;
  const skald_sequence both[2] = {{loaded, first, 3, NULL}, {fork, ids, id_count, wants}};
  NEED(skald_forward(model, both, 2, workspace, &rows, &error));
  EXPECT(rows.count == 1 + id_count);
  EXPECT(rows.floats[1] == skald_model_dim(model));
  EXPECT(memcmp(rows.rows[id_count], logits, row_bytes) == 0);

  /* A step that fails changes nothing, and says which sequence it was. */
  const int32_t wrong = 1 << 30;
  const skald_sequence bad[2] = {{cache, first, 1, NULL}, {fork, &wrong, 1, NULL}};
  const uint32_t before = skald_cache_size(cache);
  EXPECT(skald_forward(model, bad, 2, workspace, &rows, &error) == SKALD_INVALID_ARGUMENT);
  EXPECT(error.sequence == 1 && error.needed_bytes == SKALD_UNKNOWN && strlen(error.message) > 0);
  EXPECT(skald_cache_size(cache) == before);

  /* In any order: the caches keep the pool. */
  skald_pool_free(pool);
  EXPECT(skald_cache_erase(cache, 1, 3, &error) == SKALD_OK);
  skald_cache_free(cache);
  skald_cache_free(fork);
  skald_cache_free(loaded);
  skald_workspace_free(workspace);
  free(snapshot);
  free(logits);
}

static int count_bytes(const char* piece, size_t bytes, void* user) {
  (void)piece;
  *(size_t*)user += bytes;
  return 1;
}

static void test_conversation(skald_model* model) {
  skald_error error;
  skald_sampling greedy;
  NEED(skald_sampling_advised(model, &greedy, &error));
  greedy.temperature = 0;
  skald_conversation_options options;
  skald_conversation_options_init(&options);
  options.sampling = &greedy;
  options.max_tokens = 12;
  options.threads = 1;
  skald_conversation *talk, *fork;
  NEED(skald_conversation_create(model, &options, &talk, &error));
  skald_model_free(model); /* the conversation keeps it */
  EXPECT(strcmp(skald_conversation_answer(talk, NULL), "") == 0);
  NEED(skald_conversation_fork(talk, &fork, &error));
  size_t streamed = 0, bytes;
  NEED(skald_conversation_say(talk, "Tell me a story.", 16, count_bytes, &streamed, &error));
  const char* const answer = skald_conversation_answer(talk, &bytes);
  EXPECT(bytes > 0 && bytes == streamed && answer[bytes] == 0);
  NEED(skald_conversation_say(fork, "Tell me a story.", 16, NULL, NULL, &error));
  EXPECT(strcmp(answer, skald_conversation_answer(fork, NULL)) == 0);
  EXPECT(skald_conversation_size(talk) > 12);
  NEED(skald_conversation_take_back(talk, 1, &error));
  EXPECT(skald_conversation_take_back(talk, 1, NULL) == SKALD_FAILED_PRECONDITION);
  skald_conversation_free(talk);
  skald_conversation_free(fork);
}

static void test_wrong_use(const char* path) {
  skald_error error;
  skald_model* model = NULL;
  EXPECT(skald_model_open(NULL, NULL, &model, &error) == SKALD_INVALID_ARGUMENT);
  EXPECT(skald_model_open("/no such model", NULL, &model, &error) == SKALD_NOT_FOUND);
  EXPECT(error.code == SKALD_NOT_FOUND && strstr(error.message, "/no such model") != NULL);
  EXPECT(skald_model_open("/no such model", NULL, &model, NULL) == SKALD_NOT_FOUND && model == NULL);
  skald_model_options options;
  skald_model_options_init(&options);
  options.weight_type = "q1";
  EXPECT(skald_model_open(path, &options, &model, &error) == SKALD_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "q1") != NULL);
  options.size = 9999;
  EXPECT(skald_model_open(path, &options, &model, &error) == SKALD_INVALID_ARGUMENT);
  skald_sampling sampling;
  skald_sampling_init(&sampling);
  sampling.top_p = 2;
  skald_sampler* sampler = NULL;
  EXPECT(skald_sampler_create(&sampling, &sampler, &error) == SKALD_INVALID_ARGUMENT && sampler == NULL);
  skald_model_free(NULL);
  skald_pool_free(NULL);
  skald_cache_free(NULL);
  skald_cache_clear(NULL);
  EXPECT(skald_model_dim(NULL) == 0 && skald_cache_size(NULL) == 0);
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  EXPECT(skald_c_api() == SKALD_C_API);
  EXPECT(strlen(skald_version()) >= 5);
  test_wrong_use(arguments[1]);
  skald_error error;
  skald_model* model;
  NEED(skald_model_open(arguments[1], NULL, &model, &error));
  EXPECT(skald_model_vocab_size(model) > 0 && strlen(skald_model_name(model)) > 0);
  test_text(model);
  test_state(model);
  test_conversation(model);
  return failures == 0 ? 0 : 1;
}
