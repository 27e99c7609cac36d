#include "runtime/cpu/layers/short_convolution.h"

#include <algorithm>
#include <cstddef>

namespace pc {
namespace {

// What one timeline's convolution reads: u of a row, or of a token before the first row.
class Inputs {
 public:
  Inputs(const pc_recurrent& r, const RecurrentRows& rows, std::size_t first_number, float* made)
      : n_(r.n_channels),
        kept_(r.n_taps - 1),
        before_(rows.before + first_number),
        rows_(made + std::size_t{rows.first} * width()) {}

  std::size_t width() const { return 3 * std::size_t{n_}; }
  float* row(std::uint32_t i) const { return rows_ + i * width(); }

  // u of row i, counted from the first; those before it are negative, down to -kept.
  const float* at(std::int64_t i) const {
    return i >= 0 ? rows_ + static_cast<std::size_t>(i) * width()
                  : before_ + static_cast<std::size_t>(i + kept_) * n_;
  }

 private:
  std::uint32_t n_;
  std::int64_t kept_;
  const float* before_;
  float* rows_;
};

// u = b * x, in the place of b
void gate_input(const pc_recurrent& r, float* row) {
  const std::size_t n = r.n_channels;
  for (std::size_t c = 0; c < n; ++c) row[c] *= row[2 * n + c];
}

// y = c * sum_j conv[j] u_(i - n_taps + 1 + j)
void convolve(const pc_recurrent& r, const Inputs& inputs, std::uint32_t i, float* y) {
  const std::size_t n = r.n_channels;
  const auto* conv = static_cast<const float*>(r.conv.data);
  std::fill_n(y, n, 0.0f);
  for (std::uint32_t j = 0; j < r.n_taps; ++j) {
    const float* const w = conv + j * n;
    const float* const u = inputs.at(std::int64_t{i} - r.n_taps + 1 + j);
    for (std::size_t c = 0; c < n; ++c) y[c] += w[c] * u[c];
  }
  const float* const gate = inputs.row(i) + n;
  for (std::size_t c = 0; c < n; ++c) y[c] *= gate[c];
}

void keep(const pc_recurrent& r, const Inputs& inputs, std::uint32_t n_rows, float* after) {
  const std::uint32_t kept = r.n_taps - 1;
  for (std::uint32_t j = 0; j < kept; ++j) {
    const float* const u = inputs.at(std::int64_t{n_rows} - kept + j);
    std::copy_n(u, r.n_channels, after + std::size_t{j} * r.n_channels);
  }
}

}  // namespace

void short_convolution(const pc_recurrent& r, std::span<const RecurrentRows> timelines,
                       std::size_t first_number, const Parallel& parallel, float* made, float* y) {
  const std::size_t width = 3 * std::size_t{r.n_channels};
  std::uint32_t n_rows = 0;
  for (const RecurrentRows& rows : timelines) n_rows = std::max(n_rows, rows.first + rows.n);
  parallel.for_each(n_rows,
                    [&](std::uint32_t i, std::uint32_t) { gate_input(r, made + i * width); });
  for (const RecurrentRows& rows : timelines) {
    const Inputs inputs(r, rows, first_number, made);
    float* const first = y + std::size_t{rows.first} * r.n_channels;
    parallel.for_each(rows.n, [&](std::uint32_t i, std::uint32_t) {
      convolve(r, inputs, i, first + std::size_t{i} * r.n_channels);
    });
    keep(r, inputs, rows.n, rows.after + first_number);
  }
}

}  // namespace pc
