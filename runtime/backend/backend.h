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

#ifdef __cplusplus
extern "C" {
#endif

#define PC_BACKEND_ABI 16u

typedef enum pc_dtype {
  PC_DTYPE_NONE = 0,
  PC_DTYPE_F32 = 1,
  PC_DTYPE_F16 = 2,
  PC_DTYPE_BF16 = 3,
  /* GGUF's quantised types: rows of blocks (simd/types.h). */
  PC_DTYPE_Q8_0 = 4,
  PC_DTYPE_Q4_0 = 5,
  PC_DTYPE_Q4_1 = 6,
  PC_DTYPE_Q5_0 = 7,
  PC_DTYPE_Q5_1 = 8,
  PC_DTYPE_Q2_K = 9,
  PC_DTYPE_Q3_K = 10,
  PC_DTYPE_Q4_K = 11,
  PC_DTYPE_Q5_K = 12,
  PC_DTYPE_Q6_K = 13,
  PC_DTYPE_IQ2_XXS = 14,
  PC_DTYPE_IQ2_XS = 15,
  PC_DTYPE_IQ3_XXS = 16,
  PC_DTYPE_IQ1_S = 17,
  PC_DTYPE_IQ4_NL = 18,
  PC_DTYPE_IQ3_S = 19,
  PC_DTYPE_IQ2_S = 20,
  PC_DTYPE_IQ4_XS = 21,
  PC_DTYPE_IQ1_M = 22,
  PC_DTYPE_TQ1_0 = 23,
  PC_DTYPE_TQ2_0 = 24,
  PC_DTYPE_MXFP4 = 25,
  PC_DTYPE_NVFP4 = 26
} pc_dtype;

/* A matrix in row-major order, or a vector (rows == 1). data == NULL: absent.
 * Quantised rows are whole blocks. */
typedef struct pc_tensor {
  const void* data;
  uint32_t dtype; /* pc_dtype */
  uint32_t rows;
  uint32_t cols;
} pc_tensor;

/* The numbers of pc::Precision. */
typedef enum pc_backend_precision {
  PC_BACKEND_FAST = 0,         /* activations may be rounded to 8 bits or bf16 */
  PC_BACKEND_EXACT = 1,        /* products of f32 with weights widened exactly */
  PC_BACKEND_DETERMINISTIC = 2 /* as fast; what a token gets does not depend on the step's others */
} pc_backend_precision;

typedef enum pc_norm {
  PC_NORM_RMS = 0,  /* x / sqrt(mean(x^2) + eps) * w */
  PC_NORM_LAYER = 1 /* (x - mean) / sqrt(variance + eps) * w + b */
} pc_norm;

/* The numbers of simd::Activation. */
typedef enum pc_activation {
  PC_ACTIVATION_SILU = 0,
  PC_ACTIVATION_GELU = 1,
  PC_ACTIVATION_GELU_TANH = 2,
  PC_ACTIVATION_CLAMPED_SWIGLU = 3 /* of gated networks alone */
} pc_activation;

/* A rotary embedding: pair i of a head's first `dims` dimensions turns by
 * inv_freq[i] radians a position. */
typedef struct pc_rope {
  uint32_t dims;          /* even, <= head_dim */
  uint32_t interleaved;   /* pair i is (x[2i], x[2i+1]); else (x[i], x[i + dims/2]) */
  float scale;            /* factor of cos and sin (YaRN's and LongRoPE's attention factor) */
  const double* inv_freq; /* [dims / 2] */
} pc_rope;

#define PC_NO_ROPE UINT32_MAX

/* A feed-forward network: down(act(gate x) * up x), or down(act(up x)) without a gate. */
typedef struct pc_ffn {
  pc_tensor gate, up;             /* [d_ffn, d_model]; gate may be absent */
  pc_tensor down;                 /* [d_model, d_ffn] */
  pc_tensor b_gate, b_up, b_down; /* absent, or [rows of their matrix] */
} pc_ffn;

/* What a token's score of an expert is made of its logit by. */
typedef enum pc_routing {
  PC_ROUTING_SOFTMAX = 0, /* over all experts */
  PC_ROUTING_SIGMOID = 1  /* of each by itself */
} pc_routing;

/* A mixture of experts (Shazeer et al. 2017, arXiv 1701.06538): a token goes to the n_used whose
 * scores are largest, and gets the sum of what they make of it, by their weights: their scores,
 * divided by their sum where `normalised`, times `scale`. Of equal scores the first expert's counts
 * as larger. */
typedef struct pc_mixture {
  uint32_t n_experts;  /* 0: there is no mixture */
  uint32_t n_used;     /* 1 to n_experts */
  uint32_t routing;    /* pc_routing */
  uint32_t normalised; /* 0 or 1 */
  float scale;
  float router_scale; /* of the logits, before the bias; 1 */
  /* Experts are chosen out of the n_groups_used best of n_groups groups of neighbours, equally
   * many each. A group is as good as the sum of its group_best largest scores. 1, 1: out of all. */
  uint32_t n_groups, n_groups_used, group_best;
  pc_tensor router;      /* [n_experts, d_model] */
  pc_tensor router_bias; /* absent, or [n_experts]: added to the logits */
  pc_tensor choice_bias; /* absent, or [n_experts]: added to scores where they are compared alone */
  const pc_ffn* experts; /* [n_experts], all of one shape and equally gated */
  /* Absent, or [1, d_model]: what the layer's own network makes counts by sigmoid(ffn_gate x). */
  pc_tensor ffn_gate;
  pc_tensor expert_scales; /* absent, or [n_experts]: factors of the weights */
  /* Absent, or [d_model]: RMS norms of the residual stream, of which the router and the experts
   * then read each its own instead of what the layer's own network reads; and of what the experts
   * and that network make, before both are added up (Gemma 4). */
  pc_tensor router_norm, expert_norm, made_norm, ffn_made_norm;
} pc_mixture;

/* Multi-head latent attention (DeepSeek V2, arXiv 2405.04434) in its absorbed form: heads' own keys
 * and values are never made (docs/adr/0055-latent-attention.md). The layer has one K/V head, whose
 * key is the dims that its rope turns and behind them the latent, and whose value is as many zeros
 * and the latent. wk makes [latent, rotary]; a head of wq is [nope, rotary], and meets keys as
 * [rotary, k_up nope]. What attention makes of a head's latents goes through v_up: wo reads
 * [n_heads, v_up rows]. The layer has no wv, biases of q, k and v, nor norms of queries and keys.
 */
typedef struct pc_latent {
  uint32_t dims;         /* 0: attention is of the usual kind; else head_dim less the rope's dims */
  float norm_eps;        /* of its two norms */
  pc_tensor norm;        /* [dims] RMS, of the latent */
  pc_tensor q_down;      /* absent, or [q_rank, d_model]: wq reads q_norm(q_down h) instead of h */
  pc_tensor q_norm;      /* with it: [q_rank] RMS */
  const pc_tensor* k_up; /* [n_heads], each [dims, nope] */
  const pc_tensor* v_up; /* [n_heads], each [rows, dims] */
} pc_latent;

/* A layer that keeps one state of all tokens instead of keys and values of each, in the place of
 * attention (docs/adr/0057-recurrent-layers.md). Its states are the numbers that each of its
 * channels read for the n_taps - 1 tokens before the next, oldest first: [n_taps - 1, n_channels],
 * zeros before the first token. */
typedef enum pc_recurrence {
  PC_RECURRENCE_NONE = 0,
  /* A gated short convolution (LFM2): of [b, c, x] = in h, y = c * sum_j conv[j] u_(t - n_taps + 1
   * + j), where u = b * x, and the layer makes out y. */
  PC_RECURRENCE_CONVOLUTION = 1
} pc_recurrence;

typedef struct pc_recurrent {
  uint32_t kind;       /* pc_recurrence */
  uint32_t n_channels; /* that the convolution reads */
  uint32_t n_taps;     /* 2 or more; the last is the token itself */
  pc_tensor in;        /* [3 * n_channels, d_model] */
  pc_tensor conv;      /* [n_taps, n_channels] f32 */
  pc_tensor out;       /* [d_model, n_channels] */
} pc_recurrent;

/* One block:
 *   a = attention(norm(x)); x += residual_scale * norm'(a)
 *   f = ffn(norm(x));       x += residual_scale * norm'(f)
 * or, where the model is `parallel`, both from the x before it. Norms that are
 * absent leave their input as it is; a parallel block without ffn_norm feeds
 * both halves from attn_norm. A mixture stands in the network's place, or beside it: then both make
 * something of the same input, which is added up before norm'. Then, where the layer has a
 * ple_gate, which is not where the model is `parallel`,
 *   x += residual_scale * norm(ple_out (act(ple_gate x) * e)),   e: the token's own input to the
 * layer (see below) and last x *= output_scale. */
typedef struct pc_layer {
  pc_tensor attn_norm, attn_norm_bias; /* absent, or [d_model] */
  pc_tensor wq;                        /* [n_heads * head_dim, d_model] */
  pc_tensor wk;                        /* absent, or [n_kv_heads * head_dim, d_model] */
  pc_tensor wv;                        /* the same; absent beside wk: values are what wk makes, as
                                          it is before norms and rotation */
  pc_tensor bq, bk, bv;                /* absent, or [rows of their matrix] */
  pc_tensor q_norm, k_norm;            /* absent; or RMS norms before rotation: [head_dim] of each
                                          head, or [rows of the matrix] of all heads at once */
  pc_tensor wo;                        /* [d_model, n_heads * head_dim] */
  pc_tensor bo;                        /* absent, or [d_model] */
  pc_tensor sinks;          /* absent, or [n_heads]: a score that each query of the head has
                               besides, of a key without a value (gpt-oss) */
  pc_tensor attn_post_norm; /* absent, or [d_model] */
  pc_tensor ffn_norm, ffn_norm_bias; /* absent, or [d_model] */
  pc_ffn ffn;                        /* without matrices where there is a mixture alone */
  pc_tensor ffn_post_norm;           /* absent, or [d_model] */
  pc_tensor ple_gate;                /* absent, or [d_ple, d_model] */
  pc_tensor ple_out, ple_norm;       /* with it: [d_model, d_ple], [d_model] */
  pc_tensor output_scale;            /* absent, or [1] */
  uint32_t n_heads, n_kv_heads;      /* the former a multiple of the latter */
  uint32_t head_dim;                 /* even */
  float attn_scale;                  /* of q.k; usually 1/sqrt(head_dim) */
  /* The number, among the layers that have keys and values, of that whose it attends to: its own
   * where it has wk, and else that of an earlier layer with equal heads and the same rope. */
  uint32_t states;
  uint32_t norm_values;  /* 1: each head's values are RMS-normed, without weights */
  uint32_t norm_rotated; /* 1: q_norm and k_norm, of each head, come behind rotation (HunYuan) */
  uint32_t window;       /* keys a query sees, itself included, by logical position; 0 = all */
  uint32_t rope;         /* index into ropes, or PC_NO_ROPE */
  pc_latent latent;
  pc_mixture mixture;
  pc_recurrent recurrent; /* where it is of a kind, the layer has no attention: no wq, wk, wv, wo */
} pc_layer;

/* Factors of 0 or 1 where they change nothing: see each. */
typedef struct pc_model_desc {
  size_t struct_size;
  uint32_t n_layers, d_model, vocab_size;
  uint32_t d_ffn;      /* of the layers' own networks, the widest of them; 0 where none has one */
  uint32_t norm;       /* pc_norm, of all but q_norm and k_norm */
  uint32_t activation; /* pc_activation */
  uint32_t parallel;   /* attention and feed-forward both from the block's input */
  float norm_eps;
  float norm_offset;     /* added to every norm's stored weight; Gemma's 1, otherwise 0 */
  float embedding_scale; /* of the token's row; 1 */
  float residual_scale;  /* of what a block adds; 1 */
  float attn_softcap;    /* score = cap * tanh(score / cap); 0 = none */
  float qkv_clamp;       /* q, k and v are cut to [-clamp, clamp]; 0 = none */
  float logit_scale;     /* 1 */
  float logit_softcap;   /* after the scale; 0 = none */
  /* 0, or queries count by 1 + growth * ln(1 + floor(p / growth_positions)), p their logical
   * position (Llama 4, Ministral 3). */
  float query_growth;
  uint32_t growth_positions;
  const float* alibi_slopes; /* NULL, or [n_heads], of all layers alike: score -= slope * (p_query -
                                p_key) */
  uint32_t n_ropes;
  const pc_rope* ropes;         /* [n_ropes] */
  pc_tensor embedding;          /* [vocab_size, d_model] */
  pc_tensor position_embedding; /* absent, or [positions, d_model]: added by logical position */
  /* Per-layer embeddings (Gemma 3n and 4): the token's own input to layer l is, of x behind the
   * embedding and the token's row t of ple_embedding, both cut into parts of d_ple,
   *   (norm((ple_projection x / sqrt(d_model))[l]) + sqrt(d_ple) t[l]) / sqrt(2). */
  uint32_t d_ple;                        /* 0: there are none */
  pc_tensor ple_embedding;               /* [vocab_size, n_layers * d_ple] */
  pc_tensor ple_projection;              /* [n_layers * d_ple, d_model] */
  pc_tensor ple_norm;                    /* [d_ple], RMS */
  pc_tensor final_norm, final_norm_bias; /* [d_model]; the bias may be absent */
  pc_tensor lm_head;      /* [vocab_size, d_model]; the embedding itself where tied */
  const pc_layer* layers; /* [n_layers] */
} pc_model_desc;

/* KvSegment of modules/kv.h, field by field. Its layers are those that have wk, in order. */
typedef struct pc_kv_segment {
  const void* data;
  uint32_t plane_blocks;
  uint32_t first_block;
  uint32_t begin;
  uint32_t n_tokens;
  int32_t position;
  int32_t key_position;
} pc_kv_segment;

/* KvPlanes of modules/kv.h, but for the room, which is that of the run. */
typedef struct pc_kv_planes {
  void* data;
  uint32_t plane_blocks;
  uint32_t first_block;
} pc_kv_planes;

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

  /* Makes tokens of a resident's segment visible to all later ones. */
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
