/* A plug-in that computes nothing: the logits of a token are the number of
 * tokens it can see, and its state is nothing but zeros. Shows that the seam is
 * C and enough. Built as a shared object; with FAKE_ABI for another interface, with
 * FAKE_NAME and FAKE_NUMERICS as another backend or another version of this one, with
 * FAKE_ENDLESS as one that is done with a pass only when it is cancelled, with
 * FAKE_NOT_FINITE as one whose logits and states are not numbers. With the environment's
 * FAKE_FAIL as the name of a call, that call fails; with FAKE_REMARK a step says that
 * beside what it computed. */
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

#ifdef FAKE_NOT_FINITE
/* Of a block of the first layer's states, as modules/kv.h packs them. */
static size_t first_layer_block_bytes;
static size_t block_bytes_of(uint32_t kv_type, uint32_t head_dim) {
  if (kv_type == 1) return 64 * (size_t)head_dim;
  if (kv_type == 2) return 32 * (size_t)head_dim;
  if (kv_type == 3) return 64 * (size_t)((head_dim + 63) / 64) + 16 * (size_t)head_dim;
  return 12 * (size_t)head_dim;
}
#endif

struct pc_backend_resident {
  uint32_t n_segments;
  uint32_t n_tokens[16]; /* of each */
};

struct pc_backend_timeline {
  uint32_t vocab_size;
  uint32_t n_attached, attached[64]; /* tokens of each */
  uint32_t n_tokens;                 /* its own */
};

/* Is this the call that is to fail? */
static int32_t fails(const char* call, pc_backend_error* error) {
  const char* name = getenv("FAKE_FAIL");
  if (!name || strcmp(name, call) != 0) return 0;
  strcpy(error->message, "the fake backend fails in ");
  strcat(error->message, call);
  return 10; /* PC_OUT_OF_MEMORY */
}

static int32_t model_open(const pc_model_desc* desc, uint32_t kv_type, uint32_t precision,
                          uint32_t n_threads, const pc_pack_options* pack, pc_backend_model** model,
                          pc_backend_error* error) {
  (void)kv_type, (void)precision, (void)n_threads, (void)pack;
  const int32_t failed = fails("model_open", error);
  if (failed) return failed;
#ifdef FAKE_NOT_FINITE
  first_layer_block_bytes =
      2 * desc->layers[0].n_kv_heads * block_bytes_of(kv_type, desc->layers[0].head_dim);
#endif
  *model = malloc(sizeof **model);
  (*model)->desc = *desc;
  return 0;
}

static void model_close(pc_backend_model* model) {
  free(model);
}

static int32_t resident_create(pc_backend_model* model, const uint8_t* identity,
                               const pc_kv_segment* segments, uint32_t n_segments,
                               pc_backend_resident** resident, pc_backend_error* error) {
  (void)model, (void)identity;
  const int32_t failed = fails("resident_create", error);
  if (failed) return failed;
  *resident = calloc(1, sizeof **resident);
  (*resident)->n_segments = n_segments;
  for (uint32_t i = 0; i < n_segments && i < 16; ++i)
    (*resident)->n_tokens[i] = segments[i].n_tokens;
  return 0;
}

static void resident_prefetch(pc_backend_resident* resident) {
  (void)resident;
}

static void resident_release(pc_backend_resident* resident) {
  free(resident);
}

static int32_t timeline_open(pc_backend_model* model, pc_backend_timeline** timeline,
                             pc_backend_error* error) {
  const int32_t failed = fails("timeline_open", error);
  if (failed) return failed;
  *timeline = calloc(1, sizeof **timeline);
  (*timeline)->vocab_size = model->desc.vocab_size;
  return 0;
}

static void timeline_close(pc_backend_timeline* timeline) {
  free(timeline);
}

static int32_t timeline_attach(pc_backend_timeline* timeline, const pc_backend_resident* resident,
                               const pc_attachment* a, pc_backend_error* error) {
  const int32_t failed = fails("timeline_attach", error);
  if (failed) return failed;
  if (a->segment >= resident->n_segments ||
      a->first + a->n_tokens > resident->n_tokens[a->segment] || timeline->n_attached == 64) {
    strcpy(error->message, "no such segment");
    return 1; /* PC_INVALID_ARGUMENT */
  }
  timeline->attached[timeline->n_attached++] = a->n_tokens;
  return 0;
}

static int32_t timeline_fork(const pc_backend_timeline* timeline, pc_backend_timeline** fork,
                             pc_backend_error* error) {
  const int32_t failed = fails("timeline_fork", error);
  if (failed) return failed;
  *fork = malloc(sizeof **fork);
  **fork = *timeline;
  return 0;
}

static int32_t timeline_rewind(pc_backend_timeline* timeline, uint32_t n_tokens,
                               uint32_t n_attached, uint32_t* n_left, pc_backend_error* error) {
  const int32_t failed = fails("timeline_rewind", error);
  if (failed) return failed;
  if (n_tokens < timeline->n_tokens) timeline->n_tokens = n_tokens;
  if (n_attached < timeline->n_attached) timeline->n_attached = n_attached;
  *n_left = timeline->n_tokens;
  return 0;
}

/* States are zeros, which planes begin as. */
static int32_t timeline_read(const pc_backend_timeline* timeline, uint32_t first, uint32_t n_tokens,
                             const pc_kv_planes* planes, pc_backend_error* error) {
  (void)planes;
  const int32_t failed = fails("timeline_read", error);
  if (failed) return failed;
  if (first > timeline->n_tokens || n_tokens > timeline->n_tokens - first) {
    strcpy(error->message, "no such tokens");
    return 1; /* PC_INVALID_ARGUMENT */
  }
  return 0;
}

#ifdef FAKE_COMPARES_NOTHING
#define timeline_compare NULL
#else
static int32_t timeline_compare(const pc_backend_timeline* timeline, uint32_t first,
                                uint32_t n_tokens, const pc_backend_resident* resident,
                                uint32_t segment, uint32_t first_of_segment, uint32_t layer,
                                float* distances, pc_backend_error* error) {
  (void)resident, (void)segment, (void)first_of_segment, (void)layer;
  const int32_t failed = fails("timeline_compare", error);
  if (failed) return failed;
  if (first > timeline->n_tokens || n_tokens > timeline->n_tokens - first) {
    strcpy(error->message, "no such tokens");
    return 1; /* PC_INVALID_ARGUMENT */
  }
  for (uint32_t i = 0; i < n_tokens; ++i) distances[i] = (float)i;
  return 0;
}
#endif

static uint32_t n_seen(const pc_backend_timeline* timeline) {
  uint32_t n = timeline->n_tokens;
  for (uint32_t i = 0; i < timeline->n_attached; ++i) n += timeline->attached[i];
  return n;
}

static int32_t compute(pc_step_item* item) {
#ifdef FAKE_ENDLESS
  for (int tenths = 0; tenths < 600; ++tenths) { /* a minute: longer than a test waits */
    const struct timespec tenth = {0, 100000000};
    if (item->cancel && __atomic_load_n(item->cancel, __ATOMIC_RELAXED)) {
      strcpy(item->error.message, "cancelled");
      return 12; /* PC_CANCELLED */
    }
    nanosleep(&tenth, NULL);
  }
#endif
  const int32_t failed = fails("step", &item->error);
  if (failed) return failed;
  if (item->ranges) {
    strcpy(item->error.message, "the fake backend does not measure its layers");
    return 5; /* PC_UNSUPPORTED */
  }
  if (item->row) {
    strcpy(item->error.message, "the fake backend hands out no rows");
    return 5; /* PC_UNSUPPORTED */
  }
  const char* remark = getenv("FAKE_REMARK");
  if (remark) strcpy(item->error.message, remark);
  uint32_t n = 0;
  for (uint32_t i = 0; i < item->n_runs; ++i) {
    n += item->runs[i].n_tokens;
#ifdef FAKE_NOT_FINITE
    const pc_kv_planes* planes = item->runs[i].planes;
    const uint32_t nan = 0x7fc07fc0; /* as f32, and as two bf16; of q8 a scale */
    if (planes)                      /* the second layer */
      memcpy((char*)planes->data + planes->plane_blocks * first_layer_block_bytes, &nan,
             sizeof nan);
#endif
  }
  if (n_seen(item->timeline) + n >= item->timeline->vocab_size) {
    strcpy(item->error.message, "the fake backend counts no further");
    return 9; /* PC_CONTEXT_FULL */
  }
  item->timeline->n_tokens += n;
  if (item->logits) {
    memset(item->logits, 0, item->timeline->vocab_size * sizeof *item->logits);
#ifdef FAKE_NOT_FINITE
    item->logits[item->timeline->vocab_size - 1] = INFINITY;
#endif
    item->logits[n_seen(item->timeline)] = 1.0f;
  }
  return 0;
}

static int32_t timeline_recurrent(const pc_backend_timeline* timeline, uint32_t n_tokens,
                                  const float** numbers, pc_backend_error* error) {
  (void)timeline;
  (void)n_tokens;
  *numbers = 0;
  return fails("timeline_recurrent", error);
}

static void step(pc_backend_model* model, pc_step_item* items, uint32_t n_items) {
  (void)model;
  for (uint32_t i = 0; i < n_items; ++i) items[i].status = compute(&items[i]);
}

static const pc_backend_v1 table = {FAKE_ABI,
                                    sizeof(pc_backend_v1),
                                    FAKE_NAME,
                                    FAKE_NUMERICS,
                                    256,
                                    0,
                                    model_open,
                                    model_close,
                                    resident_create,
                                    resident_prefetch,
                                    resident_release,
                                    timeline_open,
                                    timeline_close,
                                    timeline_attach,
                                    timeline_fork,
                                    timeline_rewind,
                                    timeline_read,
                                    timeline_recurrent,
                                    timeline_compare,
                                    step};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const pc_backend_v1*
pc_backend_entry_v1(void) {
  return &table;
}
