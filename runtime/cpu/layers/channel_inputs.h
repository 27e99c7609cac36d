// What a timeline's convolution reads of a layer's channels: of its rows in a sweep, and of the
// tokens before them, which its state keeps (pc_recurrent of runtime/backend/model_desc.h).
//
// A view. Threads: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/backend/backend.h"

namespace pc {

class ChannelInputs {
 public:
  // before: [n_taps - 1, n_channels], of the tokens before. rows: of channels, `width` apart.
  ChannelInputs(const pc_recurrent& r, const float* before, const float* rows, std::size_t width)
      : n_(r.n_channels), n_kept_(r.n_taps - 1), before_(before), rows_(rows), width_(width) {}

  // Those of row i, counted from the first; those before it are negative, down to -(n_taps - 1).
  const float* at(std::int64_t i) const {
    return i >= 0 ? rows_ + static_cast<std::size_t>(i) * width_
                  : before_ + static_cast<std::size_t>(i + n_kept_) * n_;
  }

  // What rows behind these n will read. after: [n_taps - 1, n_channels], maybe where those of the
  // tokens before are.
  void keep(std::uint32_t n_rows, float* after) const {
    for (std::int64_t j = 0; j < n_kept_; ++j)
      std::copy_n(at(std::int64_t{n_rows} - n_kept_ + j), n_, after + j * n_);
  }

 private:
  std::int64_t n_, n_kept_;
  const float* before_;
  const float* rows_;
  std::size_t width_;
};

}  // namespace pc
