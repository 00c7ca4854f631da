/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface as a program in C uses it, wrong use included.
 *
 * usage: skald_test MODEL
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skald/c/skald.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "line %d: " #condition "\n", __LINE__);         \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

static size_t pieces = 0;

static int count(const char* piece, size_t bytes, void* user) {
  CHECK(piece != NULL && bytes > 0 && user == &pieces);
  return ++pieces < 1000;
}

static void check_failures(const skald_model* model, skald_workspace* workspace) {
  skald_error error = SKALD_INIT(skald_error);
  CHECK(skald_model_open("no/such/model", &error) == NULL);
  CHECK(error.code == SKALD_NOT_FOUND && strstr(error.message, "no/such/model") != NULL);
  CHECK(skald_model_open(NULL, NULL) == NULL);
  CHECK(skald_forward(NULL, NULL, 0, NULL, NULL, 0, &error) == -1 && error.code == SKALD_INVALID_ARGUMENT);

  skald_runtime runtime = SKALD_INIT(skald_runtime);
  runtime.max_tokens = 4;
  skald_cache* cache = skald_cache_create(model, &runtime, &error);
  const int32_t tokens[] = {2, 3, 4, 5, 6}, wrong[] = {-1};
  skald_request request = {cache, tokens, 5, NULL};
  CHECK(skald_forward(model, &request, 1, workspace, NULL, 0, &error) == -1);
  CHECK(error.code == SKALD_OUT_OF_RANGE && error.has_facts && error.needed == 5 && error.available == 4);
  request.tokens = wrong;
  request.count = 1;
  CHECK(skald_forward(model, &request, 1, workspace, NULL, 0, &error) == -1 && error.code == SKALD_INVALID_ARGUMENT);
  const uint8_t wants[] = {9};
  request.tokens = tokens;
  request.wants = wants;
  CHECK(skald_forward(model, &request, 1, workspace, NULL, 0, NULL) == -1);
  CHECK(skald_cache_size(cache) == 0 && skald_cache_truncate(cache, 1, &error) == -1);
  skald_cache_free(cache);
  skald_cache_free(NULL);

  /* An older program knows a smaller struct. */
  struct {
    skald_error known;
    char after[8];
  } older = {SKALD_INIT(skald_error), "after"};
  older.known.size = offsetof(skald_error, message) + 16;
  CHECK(skald_model_open("no/such/model", &older.known) == NULL);
  CHECK(strlen(older.known.message) == 15 && strcmp(older.after, "after") == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2 && skald_c_version() == SKALD_C_VERSION && strlen(skald_version()) >= 5);
  skald_error error = SKALD_INIT(skald_error);
  skald_model* model = skald_model_open(argv[1], &error);
  if (model == NULL) return fprintf(stderr, "%s\n", error.message), 1;
  skald_workspace* workspace = skald_workspace_create(1, &error);
  check_failures(model, workspace);

  int32_t ids[64];
  const char text[] = "And the king said";
  const int64_t n = skald_encode(model, text, strlen(text), 1, ids, 64, &error);
  CHECK(n > 1 && skald_encode(model, text, strlen(text), 1, NULL, 0, &error) == n);
  char back[64];
  const int64_t bytes = skald_decode(model, ids, (size_t)n, back, sizeof back, &error);
  CHECK(bytes == (int64_t)strlen(text) && memcmp(back, text, (size_t)bytes) == 0);

  /* A prompt, two forks in one batch, and the same again after going back. */
  skald_cache* cache = skald_cache_create(model, NULL, &error);
  skald_request request = {cache, ids, (size_t)n, NULL};
  const float* rows[4];
  CHECK(skald_forward(model, &request, 1, workspace, rows, 4, &error) == 1);
  skald_sampler sampler = SKALD_INIT(skald_sampler);
  const size_t vocab = (size_t)skald_model_vocab_size(model);
  const int32_t token = skald_sample(rows[0], vocab, &sampler, (uint64_t)n, &error);
  CHECK(token >= 0 && !skald_model_is_stop(model, token) && skald_model_dim(model) > 0);
  skald_cache* fork = skald_cache_fork(cache, &error);
  const skald_request both[] = {{cache, &token, 1, NULL}, {fork, &token, 1, NULL}};
  CHECK(skald_forward(model, both, 2, workspace, rows, 4, &error) == 2);
  CHECK(memcmp(rows[0], rows[1], vocab * sizeof(float)) == 0);
  float* before = malloc(vocab * sizeof(float));
  memcpy(before, rows[0], vocab * sizeof(float));
  CHECK(skald_cache_truncate(cache, (uint32_t)n, &error) == 0);
  CHECK(skald_forward(model, both, 1, workspace, rows, 4, &error) == 1);
  CHECK(memcmp(rows[0], before, vocab * sizeof(float)) == 0);
  free(before);

  skald_conversation* chat = skald_conversation_create(model, NULL, &sampler, 12, &error);
  CHECK(skald_conversation_say(chat, text, strlen(text), count, &pieces, &error) == 12 && pieces > 0);
  skald_conversation* other = skald_conversation_fork(chat, &error);
  CHECK(skald_conversation_take_back(other, 1, &error) == 0);
  CHECK(skald_conversation_take_back(other, 1, &error) == -1 && error.code == SKALD_FAILED_PRECONDITION);
  skald_conversation_free(other);
  skald_conversation_free(chat);
  skald_cache_free(fork);
  skald_cache_free(cache);
  skald_workspace_free(workspace);
  skald_model_free(model);
  puts("all as expected");
  return 0;
}
