// Products of an x whose rows are made on the way (runtime/cpu/products/gemm.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "runtime/cpu/products/gemm.h"

namespace pc::test {

// They are those of the same x [.., k] that was there, each of its m rows made once.
// ws: matrices with k columns.
inline void check_made_rows(Gemm& gemm, const std::vector<float>& x, std::uint32_t m,
                            const std::vector<pc_tensor>& ws) {
  const std::uint32_t k = ws[0].cols;
  std::vector<float> made(x.size(), -1000.0f);
  std::vector<std::atomic<int>> times(m);
  const auto make = [&](std::uint32_t i) {
    const std::ptrdiff_t row = std::ptrdiff_t{i} * k;
    std::copy_n(x.begin() + row, k, made.begin() + row);
    ++times[i];
  };
  std::vector<std::vector<float>> want, got;
  std::vector<Gemm::Product> of_x, of_made;
  for (const pc_tensor& w : ws) {
    const std::vector<float> y(x.size() / k * w.rows);
    of_x.push_back({&w, want.emplace_back(y).data()});
    of_made.push_back({&w, got.emplace_back(y).data()});
  }
  REQUIRE(gemm.linear({x.data(), m}, of_x, false).ok());
  REQUIRE(gemm.linear({made.data(), m, make}, of_made, false).ok());
  for (std::uint32_t i = 0; i < m; ++i) CHECK(times[i] == 1);
  for (std::size_t p = 0; p < ws.size(); ++p) {
    const std::size_t n = std::size_t{m} * ws[p].rows;
    CHECK(std::equal(want[p].begin(), want[p].begin() + static_cast<std::ptrdiff_t>(n),
                     got[p].begin()));
  }
}

}  // namespace pc::test
