#include "runtime/cpu/layers/mixture.h"

#include <algorithm>
#include <array>

#include "runtime/backend/layer_parts.h"

namespace pc {
namespace {

// Of an expert; all have one shape.
std::uint32_t inner_width(const pc_mixture& mixture) {
  return mixture.experts[0].up.rows;
}

// The largest of a number of all layers' mixtures.
template <class Number>
std::uint32_t largest(const pc_model_desc& desc, const Number& number) {
  return largest_of_layers(desc, [&](const pc_layer& layer) {
    return layer.mixture.n_experts != 0 ? number(layer.mixture) : 0;
  });
}

// Rows that go to experts, at most.
std::uint32_t most_places(const pc_model_desc& desc, std::uint32_t max_rows) {
  return max_rows * largest(desc, [](const pc_mixture& m) { return m.n_used; });
}

std::uint32_t most_experts(const pc_model_desc& desc) {
  return largest(desc, [](const pc_mixture& m) { return m.n_experts; });
}

}  // namespace

Mixture::Mixture(const pc_model_desc& desc, const simd::Kernels& kernels, Parallel parallel,
                 std::uint32_t max_rows)
    : kernels_(kernels),
      parallel_(parallel),
      d_model_(desc.d_model),
      activation_(static_cast<simd::Activation>(desc.activation)) {
  const std::size_t places = most_places(desc, max_rows);
  if (places == 0) return;
  const std::uint32_t n_experts = most_experts(desc);
  const std::size_t padded = places + kGemmRowGranule;  // as Gemm wants groups
  logits_ = AlignedBuffer<float>(std::size_t{max_rows} * n_experts);
  rows_ = AlignedBuffer<float>(padded * d_model_);
  gate_ = AlignedBuffer<float>(padded * largest(desc, inner_width));
  up_ = AlignedBuffer<float>(gate_.size());
  for (auto* of_places : {&places_, &sources_, &experts_}) of_places->resize(places);
  choices_.resize(places);
  groups_.reserve(n_experts);
  products_.reserve(2 * std::size_t{n_experts});
}

std::vector<Gemm::Extent> Mixture::extents(const pc_model_desc& desc, std::uint32_t max_rows) {
  const std::uint32_t places = most_places(desc, max_rows);
  if (places == 0) return {};
  const std::uint32_t n_experts = most_experts(desc);
  return {{places, desc.d_model, n_experts}, {places, largest(desc, inner_width), n_experts}};
}

Status Mixture::run(const pc_mixture& mixture, const float* x, std::uint32_t n, bool accumulate,
                    Gemm* gemm, float* y) {
  sort(mixture, n);
  PC_CHECK_OK(multiply(mixture, x, n, gemm));
  add_up(mixture, n, accumulate, y);
  return ok();
}

Status Mixture::choose(const pc_mixture& mixture, const float* x, std::uint32_t n, Gemm* gemm) {
  PC_CHECK_OK(gemm->linear({x, n}, mixture.router, false, logits_.data()));
  parallel_.for_each(n, [&](std::uint32_t i, std::uint32_t) {
    const std::size_t e = mixture.n_experts, k = mixture.n_used;
    choose_experts(mixture, {logits_.data() + i * e, e}, {choices_.data() + i * k, k});
  });
  return ok();
}

// By expert, and by row where the expert is the same.
void Mixture::sort(const pc_mixture& mixture, std::uint32_t n) {
  const std::size_t n_places = std::size_t{n} * mixture.n_used;
  std::array<std::uint32_t, kMostExperts + 1> begins{};  // the place of each expert's first row
  for (std::size_t i = 0; i < n_places; ++i) ++begins[choices_[i].expert + 1];
  for (std::uint32_t e = 0; e < mixture.n_experts; ++e) begins[e + 1] += begins[e];
  groups_.clear();
  for (std::uint32_t e = 0; e < mixture.n_experts; ++e)
    if (begins[e + 1] != begins[e]) groups_.push_back({begins[e], begins[e + 1] - begins[e], {}});
  for (std::size_t i = 0; i < n_places; ++i) {
    const std::uint32_t expert = choices_[i].expert, place = begins[expert]++;
    places_[i] = place;
    sources_[place] = static_cast<std::uint32_t>(i / mixture.n_used);
    experts_[place] = expert;
  }
}

Status Mixture::multiply(const pc_mixture& mixture, const float* x, std::uint32_t n, Gemm* gemm) {
  const std::uint32_t n_places = n * mixture.n_used, width = inner_width(mixture);
  const bool gated = mixture.experts[0].gate.data != nullptr;
  const auto group_products = [&](const auto& add) {
    products_.clear();
    for (Gemm::Group& group : groups_) {
      const std::size_t before = products_.size();
      add(mixture.experts[experts_[group.first]], std::size_t{group.first});
      group.products = {products_.data() + before, products_.size() - before};
    }
  };
  group_products([&](const pc_ffn& expert, std::size_t first) {
    products_.push_back({&expert.up, up_.data() + first * width});
    if (gated) products_.push_back({&expert.gate, gate_.data() + first * width});
  });
  const auto gather = [&](std::uint32_t place) {
    std::copy_n(x + std::size_t{sources_[place]} * d_model_, d_model_,
                rows_.data() + std::size_t{place} * d_model_);
  };
  PC_CHECK_OK(gemm->linear({rows_.data(), n_places, gather}, groups_, false));
  group_products([&](const pc_ffn& expert, std::size_t first) {
    products_.push_back({&expert.down, rows_.data() + first * d_model_});
  });
  const auto activate_row = [&](std::uint32_t place) { activate(mixture, place); };
  const float* inner = gated ? gate_.data() : up_.data();
  return gemm->linear({inner, n_places, activate_row}, groups_, false);
}

void Mixture::activate(const pc_mixture& mixture, std::uint32_t place) {
  const pc_ffn& expert = mixture.experts[experts_[place]];
  const std::uint32_t width = expert.up.rows;
  float* up = up_.data() + std::size_t{place} * width;
  float* gate = expert.gate.data ? gate_.data() + std::size_t{place} * width : nullptr;
  if (expert.b_up.data) kernels_.add(vector_of(expert.b_up), 1.0f, width, up);
  if (gate && expert.b_gate.data) kernels_.add(vector_of(expert.b_gate), 1.0f, width, gate);
  kernels_.activate(activation_, gate ? gate : up, gate ? up : nullptr, width);
}

// In the order of a row's own choices, so that its sum does not depend on the rows beside it.
void Mixture::add_up(const pc_mixture& mixture, std::uint32_t n, bool accumulate, float* y) const {
  parallel_.for_each(n, [&](std::uint32_t i, std::uint32_t) {
    float* sum = y + std::size_t{i} * d_model_;
    if (!accumulate) std::fill_n(sum, d_model_, 0.0f);
    for (std::uint32_t k = 0; k < mixture.n_used; ++k) {
      const std::size_t at = std::size_t{i} * mixture.n_used + k;
      const ExpertChoice& choice = choices_[at];
      kernels_.add(rows_.data() + std::size_t{places_[at]} * d_model_, choice.weight, d_model_,
                   sum);
      const pc_tensor& bias = mixture.experts[choice.expert].b_down;
      if (bias.data) kernels_.add(vector_of(bias), choice.weight, d_model_, sum);
    }
  });
}

}  // namespace pc
