/* A plug-in that computes nothing: the logits of a token are the number of
 * tokens it can see, and its state is that token's id. Shows that the seam is
 * C and enough. Built as a shared object; with FAKE_ABI for another interface, with
 * FAKE_NAME and FAKE_NUMERICS as another backend or another version of this one, with
 * FAKE_ENDLESS as one that is done with a pass only when it is cancelled, with
 * FAKE_NOT_FINITE as one whose logits and states are not numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/backend/backend.h"

#ifndef FAKE_ABI
#define FAKE_ABI PC_BACKEND_ABI
#endif

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif

#ifndef FAKE_NUMERICS
#define FAKE_NUMERICS 1
#endif

struct pc_backend_model {
  pc_model_desc desc;
};

struct pc_backend_session {
  uint32_t vocab_size;
  uint32_t n_seen; /* attached and own tokens */
};

static int32_t model_open(const pc_model_desc* desc, uint32_t kv_type, uint32_t precision,
                          uint32_t n_threads, const pc_pack_options* pack, pc_backend_model** model,
                          pc_backend_error* error) {
  (void)kv_type, (void)precision, (void)n_threads, (void)pack, (void)error;
  *model = malloc(sizeof **model);
  (*model)->desc = *desc;
  return 0;
}

static void model_close(pc_backend_model* model) {
  free(model);
}

static int32_t session_open(pc_backend_model* model, uint32_t tail_tokens, uint32_t tail_segments,
                            uint32_t max_segments, pc_backend_session** session,
                            pc_backend_error* error) {
  (void)tail_tokens, (void)tail_segments, (void)max_segments, (void)error;
  *session = malloc(sizeof **session);
  (*session)->vocab_size = model->desc.vocab_size;
  (*session)->n_seen = 0;
  return 0;
}

static void session_close(pc_backend_session* session) {
  free(session);
}

static int32_t attach(pc_backend_session* session, const pc_kv_segment* segments,
                      uint32_t n_segments, pc_backend_error* error) {
  (void)error;
  for (uint32_t i = 0; i < n_segments; ++i) session->n_seen += segments[i].n_tokens;
  return 0;
}

static int32_t forward(pc_backend_session* session, const pc_run* runs, uint32_t n_runs,
                       const volatile int32_t* cancel, float* logits, pc_backend_error* error) {
#ifdef FAKE_ENDLESS
  for (int tenths = 0; tenths < 600; ++tenths) { /* a minute: longer than a test waits */
    const struct timespec tenth = {0, 100000000};
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      strcpy(error->message, "cancelled");
      return 12; /* PC_CANCELLED */
    }
    nanosleep(&tenth, NULL);
  }
#else
  (void)cancel;
#endif
  for (uint32_t i = 0; i < n_runs; ++i) session->n_seen += runs[i].n_tokens;
  if (session->n_seen >= session->vocab_size) {
    strcpy(error->message, "the fake backend counts no further");
    return 9; /* PC_CONTEXT_FULL */
  }
  if (logits) {
    memset(logits, 0, session->vocab_size * sizeof *logits);
#ifdef FAKE_NOT_FINITE
    logits[session->vocab_size - 1] = INFINITY;
#endif
    logits[session->n_seen] = 1.0f;
  }
  return 0;
}

static int32_t read_segment(pc_backend_session* session, uint32_t index, const pc_kv_segment* dst,
                            pc_backend_error* error) {
#ifdef FAKE_NOT_FINITE
  const uint32_t nan = 0x7fc07fc0; /* as f32, and as two bf16; of q8 a scale */
  memcpy((char*)dst->data + dst->layer_stride_bytes, &nan, sizeof nan); /* the second layer */
#endif
  (void)session, (void)index, (void)dst, (void)error;
  return 0;
}

static int32_t rewind_to(pc_backend_session* session, uint32_t n_segments,
                         pc_backend_error* error) {
  (void)session, (void)n_segments, (void)error;
  return 0;
}

static const pc_backend_v1 table = {
    FAKE_ABI,     sizeof(pc_backend_v1), FAKE_NAME, FAKE_NUMERICS, model_open,   model_close,
    session_open, session_close,         attach,    forward,       read_segment, rewind_to,
    NULL};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const pc_backend_v1*
pc_backend_entry_v1(void) {
  return &table;
}
