/* The backend seam: what computes a transformer's forward pass.
 *
 * A backend is a C vtable. The CPU implements it (runtime/cpu/cpu_backend.cc);
 * others come as shared objects that export
 *     const pc_backend_v1* pc_backend_entry_v1(void);
 * and are loaded by absolute path (runtime/engine/backend_loader.h). Nothing but C
 * types crosses the seam.
 *
 * Conventions: calls return 0, or a pc_status number with a sentence in
 * `error` (which may be NULL). Out-parameters are untouched on failure. All
 * memory handed in is borrowed: the model's for the model's life, a resident's segments
 * for the resident's, the planes of a run as long as its tokens are in a timeline, the
 * rest for the call.
 *
 * A timeline is what one conversation has seen: state alone. A step computes tokens of
 * many timelines at once (docs/adr/0020-timeline-and-executor.md). Threads: a model's
 * calls from any, but one step() at a time; calls on one timeline one at a time, step()
 * included; timelines that were forked from each other are two. */
#ifndef PROMPTCACHE_RUNTIME_BACKEND_H_
#define PROMPTCACHE_RUNTIME_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/backend/model_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PC_BACKEND_ABI 18u

/* The numbers of pc::Precision. */
typedef enum pc_backend_precision {
  PC_BACKEND_FAST = 0,         /* activations may be rounded to 8 bits or bf16 */
  PC_BACKEND_EXACT = 1,        /* products of f32 with weights widened exactly */
  PC_BACKEND_DETERMINISTIC = 2 /* as fast; what a token gets does not depend on the step's others */
} pc_backend_precision;

/* KvSegment of modules/kv.h, field by field. Its layers are those that have wk, in order. */
typedef struct pc_kv_segment {
  const void* data;
  uint32_t plane_blocks;
  uint32_t first_block;
  uint32_t begin;
  uint32_t n_tokens;
  int32_t position;
  int32_t key_position;
  /* NULL, or numbers of recurrent layers: the map of the tokens (runtime/backend/state_map.h), or
   * where maps_states is 0 the states behind the last token, layer after layer, what they are in
   * every timeline that this token is attached to, behind it. */
  const float* recurrent;
  uint32_t maps_states;
} pc_kv_segment;

/* KvPlanes of modules/kv.h, but for the room, which is that of the run. */
typedef struct pc_kv_planes {
  void* data;
  uint32_t plane_blocks;
  uint32_t first_block;
} pc_kv_planes;

/* Where the map goes that n_tokens tokens make of recurrent layers' states, as
 * runtime/backend/state_map.h has it: written when the last of them is computed. */
typedef struct pc_state_map {
  float* numbers;
  uint32_t n_tokens;
} pc_state_map;

/* Fresh tokens, contiguous in position. Their keys are rotated from
 * key_position on. A run continues the timeline's last one where its
 * position and key_position do and `extend` is set; otherwise it starts
 * on a block boundary. planes: NULL, and the backend keeps the states; or where they are
 * to be, and where attention may read them from: all zeros, with room for the run (none where
 * fresh tokens have another type than modules).
 * positions: NULL, or [n_tokens], increasing, the first of them `position`, where they have gaps
 * (not with ALiBi: PC_UNSUPPORTED); keys are rotated by as much less as the first one is. Such a
 * run continues none and brings no planes. */
typedef struct pc_run {
  const int32_t* tokens;
  uint32_t n_tokens;
  int32_t position;
  int32_t key_position;
  uint32_t extend;
  const pc_kv_planes* planes;
  const int32_t* positions;
  uint32_t keeps_recurrent;      /* 1: timeline_recurrent may be asked for the place behind its last
                                    token, as long as not many such places came behind it */
  const pc_state_map* state_map; /* NULL, or of what the run is a piece: pieces come in order, one
                                    a step, with no other token between them, the first without
                                    `extend` */
} pc_run;

/* Tokens of a resident's segment, as a timeline has them. */
typedef struct pc_attachment {
  uint32_t segment;
  uint32_t first;         /* token of the segment */
  uint32_t n_tokens;      /* from there on */
  int32_t position;       /* of the first */
  const uint32_t* hidden; /* NULL, or [(n_tokens + 31) / 32]: token i is not seen where bit i % 32
                             of word i / 32 is set; copied */
} pc_attachment;

/* What an item hands out of each of its tokens. */
typedef enum pc_row_kind {
  PC_ROW_LOGITS = 0, /* [vocab_size] f32, as of the last token */
  PC_ROW_HIDDEN = 1  /* [d_model] f32, behind the final norm */
} pc_row_kind;

/* token: its number among the item's. values: borrowed for the call, which must not throw, nor call
 * the backend. */
typedef void (*pc_row_sink)(void* user, uint64_t token, const float* values);

/* What takes long while packed weights are opened. */
typedef enum pc_pack_step {
  PC_PACK_WRITE = 0, /* making the file */
  PC_PACK_SUM = 1    /* verifying its checksums */
} pc_pack_step;

/* Of the residual stream: the numbers of all tokens of an item behind one layer. */
typedef struct pc_layer_range {
  float largest;         /* max |x| of those that are finite */
  uint64_t n_not_finite; /* NaN and infinities */
} pc_layer_range;

/* Where a backend may keep the weights as its kernels want them, in a file of its own. */
typedef struct pc_pack_options {
  const char* cache_dir; /* exists; files go into a folder of theirs in it */
  uint32_t writable;     /* 0: a file that is there may be used, none is made */
  uint8_t weights[32]; /* SHA-256 over all that desc describes, every byte of its tensors included:
                          what tells the files of two models apart */
  /* NULL, or to be called on the calling thread as the work goes on, a few times a second at
     least; non-zero: stop, leave nothing half made, and return PC_CANCELLED. step: pc_pack_step. */
  int32_t (*progress)(void* user, uint32_t step, uint64_t done_bytes, uint64_t total_bytes);
  void* user;
} pc_pack_options;

typedef struct pc_backend_error {
  char message[244];
} pc_backend_error;

typedef struct pc_backend_model pc_backend_model;
typedef struct pc_backend_resident pc_backend_resident; /* a module as the backend holds it */
typedef struct pc_backend_timeline pc_backend_timeline;

/* What pc_step_item::weights counts in: 2^40. */
#define PC_WEIGHT_UNIT 1099511627776.0f

/* What a step computes for one timeline: the runs' tokens, which the timeline has afterwards.
 * A token sees every row of its timeline, attached or computed, at a logical position not
 * larger than its own. Runs come in order of position. An item that fails leaves its timeline
 * as it was; the others go on. */
typedef struct pc_step_item {
  pc_backend_timeline* timeline; /* no other item's */
  const pc_run* runs;
  uint32_t n_runs;
  float* logits;                  /* NULL, or [vocab_size] f32 of the last run's last token */
  const volatile int32_t* cancel; /* NULL, or polled between layers: non-zero ends the item with
                                     PC_CANCELLED */
  uint32_t n_layers; /* 0: all; else so many layers' keys and values alone, of those that have some,
                        and no logits: all that the timeline is good for then is more of the same,
                        timeline_compare and being closed */
  /* NULL, or [n_layers + 1], behind the embedding and behind each layer: what each layer made is
   * joined to what is in them, and numbers that are not finite are no failure. PC_UNSUPPORTED
   * where the backend does not measure. */
  pc_layer_range* ranges;
  /* NULL, or added to: the squares of the attention weights of the item's tokens, in all layers and
   * heads, on each token of the timeline's attachments, from number first_weighted on, one behind
   * the other. Each square is a whole number of 1 / PC_WEIGHT_UNIT, so that a sum does not depend
   * on its order, nor on the pieces in which tokens are computed; 2^24 squares (tokens x layers x
   * heads) can be added to one number. PC_UNSUPPORTED where the backend does not measure. */
  uint64_t* weights;
  uint32_t first_weighted;
  /* NULL, or called before step() returns, on its thread, for the item's tokens from number
   * first_row on, in order; of an item that fails, maybe for some. Never all at once: a backend
   * keeps memory for some rows. Not with n_layers. PC_UNSUPPORTED where hands_out_rows is 0. */
  pc_row_sink row;
  void* row_user;
  uint64_t first_row;
  uint32_t row_kind; /* pc_row_kind */

  /* Out. States that are not finite are PC_NOT_FINITE, and a sentence that names the layer. The
   * caller looks at the logits, and at the states of modules; but logits that are not finite
   * before logit_softcap hides it fail as well. PC_OUT_OF_MEMORY: the timeline is as it was, and
   * other items, or the same one later, may fit. A sentence beside status 0 says what the item cost
   * more than it should. */
  int32_t status;
  pc_backend_error error;
} pc_step_item;

typedef struct pc_backend_v1 {
  uint32_t abi;         /* PC_BACKEND_ABI */
  uint32_t struct_size; /* sizeof(pc_backend_v1) */

  /* Who computes, and by which arithmetic: both are in the key of every module that is
   * stored, so that no backend is ever given the states of another. */
  const char* name;          /* "cpu"; 1 to 31 of a-z, 0-9, '.', '_' and '-', and nobody else's */
  uint32_t numerics_version; /* from 1; raised when states change by more than rounding */

  /* From 1: tokens of a step from which on more of them make none of them cheaper. Whoever has more
   * to compute takes steps of about so many; larger ones are computed, too. */
  uint32_t step_tokens;

  uint32_t hands_out_rows; /* 1: items may ask for what each of their tokens made */

  /* kv_type: KvType of modules/kv.h, of modules, and fresh tokens have fresh_type() of it; one
   * that the backend does not know must be refused (new ones come without a new ABI).
   * precision: pc_backend_precision; a backend refuses what it does not have.
   * n_threads: 0 = as many as the process may use. pack: NULL = none; borrowed
   * for the call. That a model cannot be packed is no failure: a sentence in
   * `error` beside the result 0 says why it computes from the weights as they are. */
  int32_t (*model_open)(const pc_model_desc* desc, uint32_t kv_type, uint32_t precision,
                        uint32_t n_threads, const pc_pack_options* pack, pc_backend_model** model,
                        pc_backend_error* error);
  void (*model_close)(pc_backend_model* model);

  /* A module: its runs' states where they lie. identity: a name for these bytes, [32]; a backend
   * that holds one of that identity may take another reference to it: a file that was made again
   * has another identity. Outlives what it is attached to. */
  int32_t (*resident_create)(pc_backend_model* model, const uint8_t* identity,
                             const pc_kv_segment* segments, uint32_t n_segments,
                             pc_backend_resident** resident, pc_backend_error* error);
  /* It will be attached soon; returns at once. */
  void (*resident_prefetch)(pc_backend_resident* resident);
  void (*resident_release)(pc_backend_resident* resident);

  /* Takes no memory for states yet: they come as tokens do. */
  int32_t (*timeline_open)(pc_backend_model* model, pc_backend_timeline** timeline,
                           pc_backend_error* error);
  void (*timeline_close)(pc_backend_timeline* timeline);

  /* Makes tokens of a resident's segment visible to all later ones. Where layers carry states, rows
   * come behind what is attached in front of them, in order of position: PC_UNSUPPORTED in front of
   * a token that is computed already. */
  int32_t (*timeline_attach)(pc_backend_timeline* timeline, const pc_backend_resident* resident,
                             const pc_attachment* attachment, pc_backend_error* error);

  /* Another timeline that has seen the same. */
  int32_t (*timeline_fork)(const pc_backend_timeline* timeline, pc_backend_timeline** fork,
                           pc_backend_error* error);

  /* Forgets the tokens that it computed from n_tokens on, and what was attached from n_attached
   * on, each counted in the order in which they came. Where layers carry states that were not kept
   * of that place, more computed tokens go, up to a place of which they were. n_left: out, how many
   * are left. */
  int32_t (*timeline_rewind)(pc_backend_timeline* timeline, uint32_t n_tokens, uint32_t n_attached,
                             uint32_t* n_left, pc_backend_error* error);

  /* Copies the states of n_tokens of the tokens that it computed itself, from `first` on, into
   * planes that have room for them, as modules have them, keys as they are rotated; planes are all
   * zeros before, and what lies behind the tokens in their last block is unspecified. `first` began
   * a run that did not extend another, and positions go on without a gap up to the last;
   * PC_INVALID_ARGUMENT where not. */
  int32_t (*timeline_read)(const pc_backend_timeline* timeline, uint32_t first, uint32_t n_tokens,
                           const pc_kv_planes* planes, pc_backend_error* error);

  /* The states of recurrent layers behind the first n_tokens that it computed itself and all that
   * is attached in front of them, layer after layer. numbers: out, NULL where they are not kept of
   * that place, or there are no such layers; valid until the timeline steps, rewinds, attaches or
   * closes. */
  int32_t (*timeline_recurrent)(const pc_backend_timeline* timeline, uint32_t n_tokens,
                                const float** numbers, pc_backend_error* error);

  /* How far the values of n_tokens of the tokens that it computed itself, from `first` on, are from
   * those of a resident's, in one of the layers that have some: distances [n_tokens], sums of
   * squares over all of a layer's heads. PC_INVALID_ARGUMENT where there are not so many. */
  int32_t (*timeline_compare)(const pc_backend_timeline* timeline, uint32_t first,
                              uint32_t n_tokens, const pc_backend_resident* resident,
                              uint32_t segment, uint32_t first_of_segment, uint32_t layer,
                              float* distances, pc_backend_error* error);

  /* Every item's status is set. */
  void (*step)(pc_backend_model* model, pc_step_item* items, uint32_t n_items);
} pc_backend_v1;

typedef const pc_backend_v1* (*pc_backend_entry_v1_fn)(void);

#ifdef __cplusplus
}
#endif
#endif /* PROMPTCACHE_RUNTIME_BACKEND_H_ */
