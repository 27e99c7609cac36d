/* A decoder as a backend gets it: its shape, and where its weights lie, as values of C.
 *
 * Part of the backend seam (runtime/backend/backend.h): whatever changes here changes
 * PC_BACKEND_ABI. Borrowed memory: the model's, for the model's life. */
#ifndef PROMPTCACHE_RUNTIME_BACKEND_MODEL_DESC_H_
#define PROMPTCACHE_RUNTIME_BACKEND_MODEL_DESC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

typedef enum pc_norm {
  PC_NORM_RMS = 0,  /* x / sqrt(mean(x^2) + eps) * w */
  PC_NORM_LAYER = 1 /* (x - mean) / sqrt(variance + eps) * w + b */
} pc_norm;

/* The numbers of simd::Activation. */
typedef enum pc_activation {
  PC_ACTIVATION_SILU = 0,
  PC_ACTIVATION_GELU = 1,
  PC_ACTIVATION_GELU_TANH = 2,
  PC_ACTIVATION_CLAMPED_SWIGLU = 3, /* of gated networks alone */
  PC_ACTIVATION_RELU_SQUARED = 5
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

/* What keeps one state of all tokens instead of keys and values of each, in the place of attention
 * or beside it (docs/adr/0057-recurrent-layers.md). Its states are the numbers that each of its
 * channels read for the n_taps - 1 tokens before the next, oldest first: [n_taps - 1, n_channels];
 * and behind them, where it has heads, S of each as simd/kernels.h lays it out. All are zeros
 * before the first token. Of its input h and a convolution y_t = sum_j conv[j] u_(t - n_taps + 1 +
 * j): */
typedef enum pc_recurrence {
  PC_RECURRENCE_NONE = 0,
  /* A gated short convolution (LFM2): [b, c, x] = in h, u = b * x, and the layer makes
   * out (c * y). */
  PC_RECURRENCE_CONVOLUTION = 1,
  /* The gated delta rule (Qwen3-Next and 3.5): u = in h, [q, k, v] = silu(y + conv_bias); q and k
   * of length 1, q by d_k^-0.5 besides; step = softplus(decay h + step_bias), and of each head S =
   * exp(a * step) S;  S += k (sigmoid(write h) (v - S^T k))^T;  z = S^T q and the layer makes out
   * (norm(z) * silu(gate h)), the norm of each head by itself. */
  PC_RECURRENCE_GATED_DELTA = 2,
  /* Mamba-2: u = in h, [x, k, q] = silu(y + conv_bias), step as above, but from step_least to
   * step_most; S = exp(a * step) S + step k x^T;  z = S^T q + skip * x; and the layer makes
   * out norm(z * silu(gate_scale * gate h)), or without a norm. */
  PC_RECURRENCE_MAMBA2 = 3
} pc_recurrence;

typedef struct pc_recurrent {
  uint32_t kind;          /* pc_recurrence */
  uint32_t n_channels;    /* that the convolution reads */
  uint32_t n_taps;        /* 2 or more; the last is the token itself */
  uint32_t n_heads;       /* that keep a state [d_k, d_v]; 0: none does */
  uint32_t n_key_heads;   /* of q and k; divides n_heads */
  uint32_t keys_by_turns; /* head h has key head h % n_key_heads; 0: h / (n_heads / n_key_heads) */
  uint32_t d_k, d_v;
  uint32_t norm_dims;          /* numbers that are normed at once: of one head, of some, or all */
  float step_least, step_most; /* of PC_RECURRENCE_MAMBA2 */
  float gate_scale;            /* of PC_RECURRENCE_MAMBA2; 1 */
  pc_tensor in;        /* [n_channels, d_model]; of a convolution alone [3 * n_channels, d_model] */
  pc_tensor conv;      /* [n_taps, n_channels] f32 */
  pc_tensor conv_bias; /* absent, or [n_channels] */
  pc_tensor gate;      /* absent, or [n_heads * d_v, d_model]; so of what follows: */
  pc_tensor decay, write;       /* [n_heads, d_model]; write of the delta rule alone */
  pc_tensor a, step_bias, skip; /* [n_heads]; a is negative; skip of Mamba-2 alone */
  pc_tensor norm; /* absent, or [norm_dims] or [n_heads * d_v] without the norms' offset */
  pc_tensor out;  /* [d_model, n_heads * d_v], or [d_model, n_channels] */
} pc_recurrent;

/* One block:
 *   a = attention(norm(x)); x += residual_scale * attn_out_scale * norm'(a)
 *   f = ffn(norm(x));       x += residual_scale * ffn_out_scale * norm'(f)
 * A recurrence stands in attention's place, by recurrent_out_scale, or beside it: then both make
 * something of the same norm(x), each of which is added. A layer may lack either half, but not
 * both. Or, where the model is `parallel`, both from the x before it. Norms that are
 * absent leave their input as it is; a parallel block without ffn_norm feeds
 * both halves from attn_norm. A mixture stands in the network's place, or beside it: then both make
 * something of the same input, which is added up before norm'. Then, where the layer has a
 * ple_gate, which is not where the model is `parallel`,
 *   x += residual_scale * norm(ple_out (act(ple_gate x) * e)),   e: the token's own input to the
 * layer (see below) and last x *= output_scale. */
typedef struct pc_layer {
  pc_tensor attn_norm, attn_norm_bias; /* absent, or [d_model] */
  pc_tensor wq;                        /* absent: the layer does not attend, and has no wk, wv, wo;
                                          or [n_heads * head_dim, d_model]; where q_gated twice that */
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
  /* 1: wq makes of each head its query and then a gate (Qwen3-Next): what attention makes of the
   * head counts by the gate's logistic function, number by number. Without bq. */
  uint32_t q_gated;
  uint32_t norm_values;  /* 1: each head's values are RMS-normed, without weights */
  uint32_t norm_rotated; /* 1: q_norm and k_norm, of each head, come behind rotation (HunYuan) */
  uint32_t window;       /* keys a query sees, itself included, by logical position; 0 = all */
  uint32_t rope;         /* index into ropes, or PC_NO_ROPE */
  pc_latent latent;
  pc_mixture mixture;
  pc_recurrent recurrent;
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
  /* Of what attention, a recurrence and the layer's own network make, and of that network's gate
   * before its activation; 1, but for blocks that are not `parallel` and have no mixture. */
  float attn_out_scale, recurrent_out_scale, ffn_out_scale, ffn_gate_scale;
  float attn_softcap;  /* score = cap * tanh(score / cap); 0 = none */
  float qkv_clamp;     /* q, k and v are cut to [-clamp, clamp]; 0 = none */
  float logit_scale;   /* 1 */
  float logit_softcap; /* after the scale; 0 = none */
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

#ifdef __cplusplus
}
#endif

#endif /* PROMPTCACHE_RUNTIME_BACKEND_MODEL_DESC_H_ */
