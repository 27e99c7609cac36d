/* The backend seam: what computes a transformer's forward pass.
 *
 * A backend is a C vtable. The CPU implements it (runtime/cpu_backend.cc);
 * others come as shared objects that export
 *     const pc_backend_v1* pc_backend_entry_v1(void);
 * and are loaded by absolute path (runtime/backend_loader.h). Nothing but C
 * types crosses the seam.
 *
 * Conventions: calls return 0, or a pc_status number with a sentence in
 * `error` (which may be NULL). Out-parameters are untouched on failure. All
 * memory handed in is borrowed: the model's for the model's life, segments for
 * the session's, the rest for the call. A model is thread-safe and shared by
 * sessions; a session is used by one thread at a time. */
#ifndef PROMPTCACHE_RUNTIME_BACKEND_H_
#define PROMPTCACHE_RUNTIME_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PC_BACKEND_ABI 1u

typedef enum pc_dtype {
  PC_DTYPE_NONE = 0,
  PC_DTYPE_F32 = 1,
  PC_DTYPE_F16 = 2,
  PC_DTYPE_BF16 = 3
} pc_dtype;

/* A matrix in row-major order, or a vector (rows == 1). data == NULL: absent. */
typedef struct pc_tensor {
  const void* data;
  uint32_t dtype; /* pc_dtype */
  uint32_t rows;
  uint32_t cols;
} pc_tensor;

/* One block of the Llama shape: x += attention(norm(x)); x += ffn(norm(x)). */
typedef struct pc_layer {
  pc_tensor attn_norm;            /* [d_model] */
  pc_tensor wq;                   /* [n_heads * head_dim, d_model] */
  pc_tensor wk;                   /* [n_kv_heads * head_dim, d_model] */
  pc_tensor wv;                   /* [n_kv_heads * head_dim, d_model] */
  pc_tensor bq, bk, bv;           /* absent, or [rows of their matrix] */
  pc_tensor q_norm;               /* absent, or [head_dim]: RMS norm of each head before rotation */
  pc_tensor k_norm;               /* the same */
  pc_tensor wo;                   /* [d_model, n_heads * head_dim] */
  pc_tensor bo;                   /* absent, or [d_model] */
  pc_tensor ffn_norm;             /* [d_model] */
  pc_tensor w_gate;               /* [d_ffn, d_model] */
  pc_tensor w_up;                 /* [d_ffn, d_model] */
  pc_tensor w_down;               /* [d_model, d_ffn] */
  pc_tensor b_gate, b_up, b_down; /* absent, or [rows of their matrix] */
  uint32_t window; /* keys a query sees, itself included, by logical position; 0 = all */
} pc_layer;

typedef struct pc_model_desc {
  size_t struct_size;
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ffn, vocab_size;
  float norm_eps;
  float attn_scale;   /* of q.k; usually 1/sqrt(head_dim) */
  uint32_t rope_dims; /* rotated leading dimensions of a head, even, <= head_dim */
  float rope_scale;   /* factor of cos and sin (YaRN's attention factor); 1 otherwise */
  const double*
      inv_freq; /* [rope_dims / 2] radians a position; pair i is (x[i], x[i + rope_dims/2]) */
  pc_tensor embedding;    /* [vocab_size, d_model] */
  pc_tensor final_norm;   /* [d_model] */
  pc_tensor lm_head;      /* [vocab_size, d_model]; the embedding itself where tied */
  const pc_layer* layers; /* [n_layers] */
} pc_model_desc;

/* KvSegment of modules/kv.h, field by field. */
typedef struct pc_kv_segment {
  const void* data;
  size_t layer_stride_bytes;
  size_t head_stride_bytes;
  size_t value_offset_bytes;
  uint32_t begin;
  uint32_t n_tokens;
  int32_t position;
  int32_t key_position;
} pc_kv_segment;

/* Fresh tokens, contiguous in position. Their keys are rotated from
 * key_position on. A run continues the session's last tail segment where its
 * position and key_position do and `extend` is set; otherwise it starts a new
 * one, on a block boundary. */
typedef struct pc_run {
  const int32_t* tokens;
  uint32_t n_tokens;
  int32_t position;
  int32_t key_position;
  uint32_t extend;
} pc_run;

typedef struct pc_backend_error {
  char message[244];
} pc_backend_error;

typedef struct pc_backend_model pc_backend_model;
typedef struct pc_backend_session pc_backend_session;

typedef struct pc_backend_v1 {
  uint32_t abi;         /* PC_BACKEND_ABI */
  uint32_t struct_size; /* sizeof(pc_backend_v1) */
  const char* name;     /* "cpu" */

  /* kv_type: KvType of modules/kv.h, for attached segments and the tail alike.
   * n_threads: 0 = as many as the process may use. */
  int32_t (*model_open)(const pc_model_desc* desc, uint32_t kv_type, uint32_t n_threads,
                        pc_backend_model** model, pc_backend_error* error);
  void (*model_close)(pc_backend_model* model);

  /* A session may compute up to tail_tokens tokens in up to tail_segments
   * segments and attach up to max_segments; all its memory is taken here. */
  int32_t (*session_open)(pc_backend_model* model, uint32_t tail_tokens, uint32_t tail_segments,
                          uint32_t max_segments, pc_backend_session** session,
                          pc_backend_error* error);
  void (*session_close)(pc_backend_session* session);

  /* Makes cached segments visible to all later forward calls. Stores pointers only. */
  int32_t (*attach)(pc_backend_session* session, const pc_kv_segment* segments, uint32_t n_segments,
                    pc_backend_error* error);

  /* After a failure only rewind() and session_close() may follow.
   * Computes the runs' tokens and appends their states to the tail. A token
   * sees every row, attached or in the tail, at a logical position not larger
   * than its own. Runs come in order of position. `cancel`, if not NULL, is
   * polled between layers: non-zero ends the call with PC_CANCELLED.
   * logits: NULL, or [vocab_size] f32 of the last run's last token. */
  int32_t (*forward)(pc_backend_session* session, const pc_run* runs, uint32_t n_runs,
                     const volatile int32_t* cancel, float* logits, pc_backend_error* error);

  /* Copies tail segment `index` (in the order of creation) to planes laid out
   * as dst says (data is written; begin = 0, n_tokens must be the segment's). */
  int32_t (*read_segment)(pc_backend_session* session, uint32_t index, const pc_kv_segment* dst,
                          pc_backend_error* error);

  /* Forgets all tail segments from `n_segments` on. */
  int32_t (*rewind)(pc_backend_session* session, uint32_t n_segments, pc_backend_error* error);
} pc_backend_v1;

typedef const pc_backend_v1* (*pc_backend_entry_v1_fn)(void);

#ifdef __cplusplus
}
#endif
#endif /* PROMPTCACHE_RUNTIME_BACKEND_H_ */
