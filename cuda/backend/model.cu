#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "cuda/backend/model.h"
#include "cuda/device/numbers.h"

namespace pc::cuda {
namespace {

// Bytes of a matrix that are on their way at once; two such pieces take turns.
constexpr std::size_t kPieceBytes = std::size_t{32} << 20;

struct Block {
  std::uint32_t elements, bytes;
};

// Of pc_dtype, as model files have them (simd/types.h).
constexpr std::array<Block, 14> kBlocks{{{0, 0},
                                         {1, 4},
                                         {1, 2},
                                         {1, 2},
                                         {32, 34},
                                         {32, 18},
                                         {32, 20},
                                         {32, 22},
                                         {32, 24},
                                         {256, 84},
                                         {256, 110},
                                         {256, 144},
                                         {256, 176},
                                         {256, 210}}};

std::size_t stored_row_bytes(const pc_tensor& t) {
  const Block& block = kBlocks[t.dtype];
  return std::size_t{t.cols} / block.elements * block.bytes;
}

}  // namespace

class ModelLoader {
 public:
  ModelLoader(Model& model, cudaStream_t stream) : model_(model), stream_(stream) {}

  Status load(const pc_model_desc& d) {
    for (Turn& turn : turns_) {
      PC_TRY(turn.host, PinnedBuffer<std::byte>::make(kPieceBytes));
      PC_TRY(turn.device, DeviceBuffer<std::byte>::make(kPieceBytes));
      PC_TRY(turn.done, make_event());
    }
    for (std::uint32_t i = 0; i < d.n_layers; ++i) PC_CHECK_OK(add_layer(d, d.layers[i]));
    PC_CHECK_OK(add_matrix(d.embedding, &model_.embedding));
    PC_CHECK_OK(add_matrix(d.position_embedding, &model_.position_embedding));
    model_.lm_head = model_.embedding;
    if (d.lm_head.data != d.embedding.data) PC_CHECK_OK(add_matrix(d.lm_head, &model_.lm_head));
    PC_CHECK_OK(add_vector(d.final_norm, d.norm_offset, &model_.final_norm));
    PC_CHECK_OK(add_vector(d.final_norm_bias, 0.0f, &model_.final_norm_bias));
    if (d.alibi_slopes)
      PC_CHECK_OK(
          add_numbers(std::span(d.alibi_slopes, d.layers[0].n_heads), &model_.alibi_slopes));
    for (const pc_rope& rope : std::span(d.ropes, d.n_ropes)) {
      Rope& mine = model_.ropes.emplace_back();
      mine = {rope.dims / 2, rope.interleaved != 0, rope.scale, nullptr};
      PC_CHECK_OK(add_numbers(std::span(rope.inv_freq, mine.half), &mine.inv_freq));
    }
    return check(cudaStreamSynchronize(stream_), "loading the weights");
  }

 private:
  // Page-locked memory and the device's, for a piece of a matrix that is on its way.
  struct Turn {
    PinnedBuffer<std::byte> host;
    DeviceBuffer<std::byte> device;
    Event done;
  };

  Status add_layer(const pc_model_desc& d, const pc_layer& l) {
    Layer& layer = model_.layers.emplace_back();
    layer.window = l.window;
    layer.rope = l.rope;
    layer.q_norm_width = l.q_norm.cols;
    layer.k_norm_width = l.k_norm.cols;
    const std::pair<const pc_tensor&, const float**> norms[] = {
        {l.attn_norm, &layer.attn_norm}, {l.q_norm, &layer.q_norm},
        {l.k_norm, &layer.k_norm},       {l.attn_post_norm, &layer.attn_post_norm},
        {l.ffn_norm, &layer.ffn_norm},   {l.ffn_post_norm, &layer.ffn_post_norm}};
    for (const auto& [tensor, to] : norms) PC_CHECK_OK(add_vector(tensor, d.norm_offset, to));
    const std::pair<const pc_tensor&, const float**> biases[] = {
        {l.attn_norm_bias, &layer.attn_norm_bias},
        {l.bo, &layer.bo},
        {l.ffn_norm_bias, &layer.ffn_norm_bias},
        {l.ffn.b_up, &layer.b_up},
        {l.ffn.b_gate, &layer.b_gate},
        {l.ffn.b_down, &layer.b_down}};
    for (const auto& [tensor, to] : biases) PC_CHECK_OK(add_vector(tensor, 0.0f, to));
    PC_CHECK_OK(add_qkv_bias(l, &layer.qkv_bias));
    PC_CHECK_OK(add_matrices({&l.wq, &l.wk, &l.wv}, &layer.qkv));
    if (model_.gated)
      PC_CHECK_OK(add_matrices({&l.ffn.up, &l.ffn.gate}, &layer.inner));
    else
      PC_CHECK_OK(add_matrices({&l.ffn.up}, &layer.inner));
    PC_CHECK_OK(add_matrix(l.wo, &layer.wo));
    return add_matrix(l.ffn.down, &layer.w_down);
  }

  // One vector for the three, zero where one of them is absent.
  Status add_qkv_bias(const pc_layer& l, const float** to) {
    if (!l.bq.data && !l.bk.data && !l.bv.data) return ok();
    std::vector<float> all;
    for (const auto& [bias, matrix] : {std::pair(&l.bq, &l.wq), {&l.bk, &l.wk}, {&l.bv, &l.wv}}) {
      PC_TRY(std::vector<float> numbers, numbers_of(*bias, 0.0f));
      numbers.resize(matrix->rows);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return add_numbers(std::span<const float>(all), to);
  }

  Result<std::vector<float>> numbers_of(const pc_tensor& t, float offset) {
    std::vector<float> numbers(t.data ? std::size_t{t.rows} * t.cols : 0);
    const auto* halves = static_cast<const std::uint16_t*>(t.data);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (t.dtype == PC_DTYPE_F32)
        std::memcpy(&numbers[i], static_cast<const std::byte*>(t.data) + 4 * i, 4);
      else if (t.dtype == PC_DTYPE_BF16)
        numbers[i] = from_bf16(halves[i]);
      else if (t.dtype == PC_DTYPE_F16)
        numbers[i] = from_f16(halves[i]);
      else
        return error(Code::kUnsupported,
                     "the CUDA backend cannot run this model: a norm or bias is quantised");
      numbers[i] += offset;
    }
    return Result<std::vector<float>>(std::move(numbers));
  }

  Status add_vector(const pc_tensor& t, float offset, const float** to) {
    if (!t.data) return ok();
    PC_TRY(const std::vector<float> numbers, numbers_of(t, offset));
    return add_numbers(std::span<const float>(numbers), to);
  }

  template <class T>
  Status add_numbers(std::span<const T> numbers, const T** to) {
    PC_TRY(std::byte * data, take(numbers.size_bytes()));
    *to = reinterpret_cast<const T*>(data);
    PC_CHECK_OK(check(cudaMemcpyAsync(data, numbers.data(), numbers.size_bytes(),
                                      cudaMemcpyHostToDevice, stream_),
                      "loading the weights"));
    return check(cudaStreamSynchronize(stream_), "loading the weights");
  }

  Result<std::byte*> take(std::size_t bytes) {
    PC_TRY(auto buffer, DeviceBuffer<std::byte>::make(bytes));
    model_.buffers_.push_back(std::move(buffer));
    return model_.buffers_.back().data();
  }

  Status add_matrix(const pc_tensor& t, Weight* to) {
    *to = {};
    if (!t.data) return ok();
    std::vector<ProductAt> products;
    PC_CHECK_OK(add_matrices({&t}, &products));
    *to = products.front().weight;
    return ok();
  }

  // As one matrix where they are of one type, one behind the other.
  Status add_matrices(std::initializer_list<const pc_tensor*> tensors,
                      std::vector<ProductAt>* products) {
    const pc_tensor& first = **tensors.begin();
    std::uint32_t rows = 0, at = 0;
    for (const pc_tensor* t : tensors) rows += t->rows;
    const bool alike = std::ranges::all_of(tensors, [&](const pc_tensor* t) {
      return t->dtype == first.dtype && t->cols == first.cols;
    });
    for (const pc_tensor* t : tensors) {
      if (!alike || at == 0) {
        PC_TRY(std::byte * data, take(weight_bytes(t->dtype, alike ? rows : t->rows, t->cols)));
        products->push_back({{data, t->dtype, alike ? rows : t->rows, t->cols}, at});
      }
      PC_CHECK_OK(copy_rows(*t, products->back().weight, alike ? at : 0));
      at += t->rows;
    }
    return ok();
  }

  // A matrix to rows [first, first + t.rows) of one on the device.
  Status copy_rows(const pc_tensor& t, const Weight& weight, std::uint32_t first) {
    const std::size_t row_bytes = stored_row_bytes(t);
    if (row_bytes > kPieceBytes)
      return error(Code::kUnsupported, "the CUDA backend cannot run this model: a matrix is " +
                                           std::to_string(t.cols) + " columns wide");
    const auto most = static_cast<std::uint32_t>(kPieceBytes / row_bytes);
    for (std::uint32_t done = 0; done < t.rows; done += most) {
      const std::uint32_t n = std::min(most, t.rows - done);
      Turn& turn = turns_[next_turn_++ % turns_.size()];
      PC_CHECK_OK(check(cudaEventSynchronize(turn.done.get()), "loading the weights"));
      std::memcpy(turn.host.data(), static_cast<const std::byte*>(t.data) + done * row_bytes,
                  n * row_bytes);
      PC_CHECK_OK(check(cudaMemcpyAsync(turn.device.data(), turn.host.data(), n * row_bytes,
                                        cudaMemcpyHostToDevice, stream_),
                        "loading the weights"));
      lay_out(weight.dtype, weight.rows, weight.cols, first + done, n, turn.device.data(),
              const_cast<void*>(weight.data), stream_);
      PC_CHECK_OK(check(cudaEventRecord(turn.done.get(), stream_), "loading the weights"));
    }
    return check_launches("loading the weights");
  }

  Model& model_;
  cudaStream_t stream_;
  std::array<Turn, 2> turns_;
  std::size_t next_turn_ = 0;
};

Result<Model> Model::load(const pc_model_desc& desc, KvType type, cudaStream_t stream) {
  Model model{};
  model.gated = desc.layers[0].ffn.gate.data != nullptr;
  model.desc = desc;
  model.desc.layers = nullptr;
  model.desc.ropes = nullptr;
  model.desc.alibi_slopes = nullptr;
  model.limits = limits_of(desc);
  const KvType rows = type == KvType::kQ4 ? KvType::kBf16 : type;
  const pc_layer& any = desc.layers[0];
  model.n_heads = any.n_heads;
  model.attn_scale = any.attn_scale;
  model.kv = {rows, desc.n_layers, any.n_kv_heads, any.head_dim, type};
  PC_CHECK_OK(ModelLoader(model, stream).load(desc));
  return Result<Model>(std::move(model));
}

}  // namespace pc::cuda
