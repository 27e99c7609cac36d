// The layers over the rows of one sweep, on the device: a decoder as pc_model_desc describes it
// over fresh tokens, with whatever states their timelines have ("Prompt Cache", section 3.4).
//
// Everything is queued on one stream and read back at its end. Owns all scratch of a sweep. The
// model is borrowed. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cuda/attention/attention_plan.h"
#include "cuda/backend/model.h"
#include "cuda/device/device_buffer.h"
#include "cuda/products/products.h"
#include "cuda/products/rows.h"
#include "cuda/states/heads.h"

namespace pc::cuda {

// The rows of a sweep, as the host has them.
struct SweepRows {
  std::span<const std::int32_t> tokens, positions, key_positions;
  std::vector<Slot> slots;
  std::vector<TimelineRows> timelines;
  // Of each timeline: null, or [tokens of its first n_weighted views from first_weighted on] on the
  // host, to which the attention that they get is added.
  struct Weighted {
    std::uint32_t first_view = 0, n_views = 0;
    std::uint64_t* weights = nullptr;
  };
  std::vector<Weighted> weighted;

  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens.size()); }
  void clear() {
    tokens = positions = key_positions = {};
    slots.clear();
    timelines.clear();
    weighted.clear();
  }
};

class Transformer {
 public:
  static Result<Transformer> make(const Model& model, bool exact, std::uint32_t max_rows,
                                  const cudaDeviceProp& device, cudaStream_t stream);

  // Gives back device memory that nobody needs now, before scratch is said not to fit. Was there
  // any? Set by whoever has such memory.
  std::function<bool()> make_room = [] { return false; };

  // Is called before each layer is queued (0 to n_layers - 1) and behind the last; ends the sweep
  // by returning an error, or false without one.
  using Proceed = std::function<Result<bool>(std::uint32_t layers_queued)>;

  // Queues all layers over the rows; keys and values go to their slots. n_layers: 0, or only the
  // keys and values of so many first layers. Rows are borrowed until wait() or measure().
  Status sweep(const SweepRows& rows, std::uint32_t n_layers, const Proceed& proceed);

  // For all that was queued.
  Status wait();

  // The residual stream's rows as they are now; waits. Valid until the next call.
  Result<std::span<const RowRange>> measure();

  // Memory for the logits of so many rows, so that read_logits() needs none.
  Status reserve_logits(std::uint32_t n) {
    return grow(logits_, std::size_t{n} * model_.desc.vocab_size);
  }

  // The logits of these rows of the sweep, as the model scales and caps them; waits.
  // ranges: of each row, before that. to: [rows.size()] each [vocab_size].
  Status read_logits(std::span<const std::uint32_t> rows, std::span<float* const> to,
                     std::vector<RowRange>* ranges);

  // What these rows of the sweep are behind the final norm; waits. to: [rows.size(), d_model].
  Status read_hidden(std::span<const std::uint32_t> rows, float* to);

  // Adds what attention gave to weighted tokens; waits, where there are any.
  Status read_weights();

 private:
  Transformer(const Model& model, bool exact, const cudaDeviceProp& device, cudaStream_t stream);
  Status take_scratch(std::uint32_t max_rows);
  // As Buffer::grow.
  template <class Buffer>
  Status grow(Buffer& buffer, std::size_t size) {
    Status grown = buffer.grow(size);
    if (is_full(grown) && make_room()) grown = buffer.grow(size);
    return grown;
  }
  Status send(const SweepRows& rows);
  Status send_weighted(const SweepRows& rows);
  Status embed();
  Status final_norm(std::span<const std::uint32_t> rows, Rows to);
  void rotate();
  Status block(std::uint32_t index);
  Status project(std::uint32_t index, Rows h);
  Status attention(std::uint32_t index, Rows h);
  AttentionArgs attention_args(std::uint32_t index);
  Status feed_forward(const Layer& layer, Rows h);
  Status multiply_all(const std::vector<ProductAt>& products, Rows x, float* y,
                      std::uint32_t stride);
  Status add_output(const Weight& w, Rows x, const float* bias, const float* post_norm);
  Rows normed(const float* weight, const float* bias, const std::vector<ProductAt>& readers,
              float* to);
  NormArgs norm_args(const float* weight, const float* bias) const;
  bool read_bf16(const std::vector<ProductAt>& products) const;

  // An array of a sweep in the memory that is sent at once: [bytes] from `at` on.
  template <class T>
  const T* sent(std::size_t at) const {
    return reinterpret_cast<const T*>(device_.data() + at);
  }

  const Model& model_;
  bool exact_;
  cudaStream_t stream_;
  AttentionPlan plan_;
  std::vector<Products> products_;  // one

  std::uint32_t n_ = 0;  // rows of the sweep
  PinnedBuffer<std::byte> host_;
  DeviceBuffer<std::byte> device_;
  struct Sent {
    std::size_t tokens, positions, key_positions, slots, plain, tiles, few, visits, uses, moves,
        first_of_row, partials;
  } at_{};
  struct WeightedView {
    std::size_t use;  // in plan_.uses
    View view;
    std::size_t at;  // in weights_
    std::uint64_t* to;
  };
  std::vector<WeightedView> weighted_;

  DeviceBuffer<float> x_;       // [max_rows, d_model] residual stream
  DeviceBuffer<float> h_, h2_;  // [max_rows, widest input] rows for products, f32 or bf16
  DeviceBuffer<float> branch_;  // [max_rows, d_model]
  DeviceBuffer<float> qkv_;     // [max_rows, qkv_width]
  DeviceBuffer<float> q_;       // [max_rows, n_heads, head_dim]
  DeviceBuffer<float> inner_;   // [max_rows, inner_width]
  std::vector<DeviceBuffer<float2>> row_turns_, key_turns_, move_turns_;  // [n_ropes]
  DeviceBuffer<float2> sums_;
  DeviceBuffer<float> partial_out_;
  DeviceBuffer<float> log_sums_;  // [max_rows, n_heads] where weights are wanted
  DeviceBuffer<std::uint64_t> weights_;
  DeviceBuffer<RowRange> ranges_;
  PinnedBuffer<RowRange> host_ranges_;
  DeviceBuffer<float> logits_;
  DeviceBuffer<std::uint32_t> last_rows_;
};

}  // namespace pc::cuda
