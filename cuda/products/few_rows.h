// The kernel behind multiply_few_rows(), for any format of weights, and how it is launched.
//
// A warp takes 2 or 4 rows of the matrix, or with others of its block parts of their columns.
// Its lanes take neighbouring *units* of columns, step after step, and load those of the next
// step before they multiply. Rows of x stand in shared memory, a tile of columns at a time.
// What is unpacked from a unit serves all rows of x, what is read of x all those rows of the
// matrix.
//
// A Format has:
//
//   kColumns                 of a unit: 4, 8, 16 or 32, and rows are whole units
//   kWide                    are units 24 bytes of codes or more?
//   kScales                  of a unit, of kColumns / kScales columns each; 0: numbers as they are
//   kMinima                  is something added to scaled numbers?
//   Source                   what a kernel needs to find units
//   Unit                     one as it is loaded
//   load(source, unit)       unit u of row r is number r * units of a row + u
//   values(unit, quad, v)    numbers of columns 4 * quad to 4 * quad + 3, not scaled
//   scale(unit, i), low(unit, i)
#pragma once

#include <cstdint>

#include "cuda/device/device.h"
#include "cuda/device/warp.h"
#include "cuda/products/weights.h"

#ifdef PC_CUDA_STANDIN
#define PC_CUDA_UNROLL
#else
#define PC_CUDA_UNROLL _Pragma("unroll")  // arrays must be in registers
#endif

namespace pc::cuda {

// A pass of multiply_few_rows().
struct FewRows {
  const float* x;  // [n, cols] of rows x_stride apart
  float* y;        // [n, rows] of rows y_stride apart
  std::uint32_t n, rows, cols, x_stride, y_stride;
  bool add;
  bool x_aligned;           // rows of x are on 16 bytes
  std::uint32_t part_bits;  // 2^part_bits warps share rows of the matrix
};

namespace few_rows {

inline constexpr std::uint32_t kWarps = 8;  // at most, of a block

// 32 columns of x are followed by room for 4: lanes whose units are 8, 16 or 32 columns wide read
// 16 bytes each from different banks.
inline constexpr std::uint32_t kPitchColumns = 32, kPitchQuads = 9;

// Columns of a tile: 36 KiB for any number of rows, padding included.
template <std::uint32_t kRows>
inline constexpr std::uint32_t kTileColumns = 8192 / kRows;

template <std::uint32_t kRows>
using TileRow = float4[kTileColumns<kRows> / kPitchColumns * kPitchQuads];

// Where quad c / 4 of column c is in a tile's row.
__device__ inline std::uint32_t quad_at(std::uint32_t column) {
  return column / 4 + column / kPitchColumns;
}

// Rows of the matrix that a warp takes at once: fewer where units of two steps fill registers.
template <class Format, std::uint32_t kRows>
inline constexpr std::uint32_t kOutputs = (Format::kWide && kRows <= 2) ? 2 : 4;

// One of each of those rows.
template <class Format, std::uint32_t kRows>
using Units = typename Format::Unit[kOutputs<Format, kRows>];

// Columns that share a scale, and of which rows of x have sums if there are minima.
template <class Format>
inline constexpr std::uint32_t kGroup = Format::kColumns / (Format::kScales ? Format::kScales : 1);

template <class Format, std::uint32_t kRows>
using TileSums = float[Format::kMinima ? kTileColumns<kRows> / kGroup<Format> : 1];

// Fills a tile with `columns` columns of x from `first` on; rows past the last are 0.
template <std::uint32_t kRows>
__device__ void stage(const FewRows& a, std::uint32_t first, std::uint32_t columns,
                      TileRow<kRows> (&tile)[kRows]) {
  for (std::uint32_t n = 0; n < kRows; ++n) {
    const float* const x = a.x + std::size_t{n} * a.x_stride + first;
    for (std::uint32_t c = 4 * threadIdx.x; c < columns; c += 4 * blockDim.x) {
      float4& to = tile[n][quad_at(c)];
      if (n >= a.n)
        to = make_float4(0, 0, 0, 0);
      else if (a.x_aligned)
        copy_async_16(&to, x + c);
      else
        to = make_float4(x[c], x[c + 1], x[c + 2], x[c + 3]);
    }
  }
  commit_copies();
  wait_for_copies<0>();
}

// sums[n][i]: of group i of the tile's row n.
template <class Format, std::uint32_t kRows>
__device__ void sum_groups(std::uint32_t columns, const TileRow<kRows> (&tile)[kRows],
                           TileSums<Format, kRows> (&sums)[kRows]) {
  for (std::uint32_t n = 0; n < kRows; ++n) {
    for (std::uint32_t i = threadIdx.x; i < columns / kGroup<Format>; i += blockDim.x) {
      float sum = 0;
      for (std::uint32_t c = 0; c < kGroup<Format>; c += 4) {
        const float4 x = tile[n][quad_at(i * kGroup<Format> + c)];
        sum += (x.x + x.y) + (x.z + x.w);
      }
      sums[n][i] = sum;
    }
  }
}

// What is held in registers beside the sums, 128 of them a thread: sums of units by themselves, to
// be scaled at once, and units, which are loaded a step before they are used, or before the tile
// is filled that they are multiplied with, or behind that.
template <std::uint32_t kRows>
inline constexpr bool kScaleLate = kRows < kMostFewRows;

enum class Load { kStepAhead, kBeforeTile, kBehindTile };
template <class Format, std::uint32_t kRows>
inline constexpr Load kLoad = Format::kScales == 0 || kRows <= 2 ? Load::kStepAhead
                              : kScaleLate<kRows>                ? Load::kBeforeTile
                                                                 : Load::kBehindTile;

// sums += products of quads [first_quad, end_quad) of units with x; x: that unit's first quad.
// With kScaled the units' numbers are scaled before.
template <class Format, std::uint32_t kRows, bool kScaled>
__device__ void multiply_quads(const Units<Format, kRows>& units,
                               const float (&scales)[kOutputs<Format, kRows>],
                               std::uint32_t first_quad, std::uint32_t end_quad, const float4* x,
                               float (&sums)[kOutputs<Format, kRows>][kRows]) {
  constexpr std::uint32_t kPitch = sizeof(TileRow<kRows>) / sizeof(float4);
  PC_CUDA_UNROLL
  for (std::uint32_t quad = first_quad; quad < end_quad; ++quad) {
    float w[kOutputs<Format, kRows>][4];
    PC_CUDA_UNROLL
    for (std::uint32_t r = 0; r < kOutputs<Format, kRows>; ++r) {
      Format::values(units[r], quad, w[r]);
      PC_CUDA_UNROLL
      for (std::uint32_t k = 0; kScaled && k < 4; ++k) w[r][k] *= scales[r];
    }
    PC_CUDA_UNROLL
    for (std::uint32_t n = 0; n < kRows; ++n) {
      const float4 v = x[n * kPitch + quad];
      PC_CUDA_UNROLL
      for (std::uint32_t r = 0; r < kOutputs<Format, kRows>; ++r) {
        sums[r][n] += w[r][0] * v.x;
        sums[r][n] += w[r][1] * v.y;
        sums[r][n] += w[r][2] * v.z;
        sums[r][n] += w[r][3] * v.w;
      }
    }
  }
}

// The same for columns that share scales.
template <class Format, std::uint32_t kRows>
__device__ void multiply_group(const Units<Format, kRows>& units,
                               const float (&scales)[kOutputs<Format, kRows>],
                               std::uint32_t first_quad, const float4* x,
                               float (&sums)[kOutputs<Format, kRows>][kRows]) {
  constexpr std::uint32_t kQuadsOfGroup = kGroup<Format> / 4;
  const std::uint32_t end_quad = first_quad + kQuadsOfGroup;
  if constexpr (!kScaleLate<kRows>) {
    multiply_quads<Format, kRows, true>(units, scales, first_quad, end_quad, x, sums);
  } else {
    float parts[kOutputs<Format, kRows>][kRows] = {};
    multiply_quads<Format, kRows, false>(units, scales, first_quad, end_quad, x, parts);
    PC_CUDA_UNROLL
    for (std::uint32_t i = 0; i < kOutputs<Format, kRows> * kRows; ++i)
      sums[i / kRows][i % kRows] += scales[i / kRows] * parts[i / kRows][i % kRows];
  }
}

// sums += products of units with the columns of x that begin at column `at` of the tile.
template <class Format, std::uint32_t kRows>
__device__ void multiply_units(const Units<Format, kRows>& units, std::uint32_t at,
                               const TileRow<kRows> (&tile)[kRows],
                               const TileSums<Format, kRows> (&x_sums)[kRows],
                               float (&sums)[kOutputs<Format, kRows>][kRows]) {
  const float4* const x = tile[0] + quad_at(at);
  float scales[kOutputs<Format, kRows>] = {};
  if constexpr (Format::kScales == 0)
    multiply_quads<Format, kRows, false>(units, scales, 0, Format::kColumns / 4, x, sums);
  PC_CUDA_UNROLL
  for (std::uint32_t i = 0; i != Format::kScales; ++i) {
    PC_CUDA_UNROLL
    for (std::uint32_t r = 0; r < kOutputs<Format, kRows>; ++r)
      scales[r] = Format::scale(units[r], i);
    multiply_group<Format, kRows>(units, scales, i * (kGroup<Format> / 4), x, sums);
    if constexpr (Format::kMinima) {
      PC_CUDA_UNROLL
      for (std::uint32_t r = 0; r < kOutputs<Format, kRows>; ++r) {
        const float low = Format::low(units[r], i);
        PC_CUDA_UNROLL
        for (std::uint32_t n = 0; n < kRows; ++n)
          sums[r][n] += low * x_sums[n][at / kGroup<Format> + i];
      }
    }
  }
}

// Of sums[r][n] over all lanes, lane r * kRows + n gets the total; the others anything.
template <std::uint32_t kLines, std::uint32_t kRows>
__device__ float total_of_lane(const float (&sums)[kLines][kRows]) {
  static_assert(kLines * kRows <= kWarp);
  float mine = 0;
  PC_CUDA_UNROLL
  for (std::uint32_t i = 0; i < kLines * kRows; ++i) {
    const float total = warp_sum(sums[i / kRows][i % kRows]);
    if (threadIdx.x % kWarp == i) mine = total;
  }
  return mine;
}

// Which rows of the matrix, and which of their columns, a warp takes.
template <class Format, std::uint32_t kRows>
struct Share {
  std::uint32_t first_output, part;
  std::uint32_t units;  // of a row
  std::uint32_t steps, units_per_step;

  __device__ explicit Share(const FewRows& a) {
    const std::uint32_t warp = threadIdx.x / kWarp, sharing = blockDim.x / kWarp >> a.part_bits;
    first_output = (blockIdx.x * sharing + (warp >> a.part_bits)) * kOutputs<Format, kRows>;
    part = warp & ((1u << a.part_bits) - 1);
    units = a.cols / Format::kColumns;
    units_per_step = kWarp << a.part_bits;
    steps = (units + units_per_step - 1) / kWarp >> a.part_bits;
  }
};

// The tile of x that a block multiplies with.
template <class Format, std::uint32_t kRows>
struct Tile {
  TileRow<kRows> (&rows)[kRows];
  TileSums<Format, kRows> (&sums)[kRows];
  std::uint32_t first = 0;                 // column of x
  std::uint32_t next = 0, steps_left = 0;  // first column of the next tile; steps until then

  // Before each step, by all threads of the block.
  __device__ void advance(const FewRows& a) {
    if (steps_left == 0) {
      if (next > 0) __syncthreads();  // all have read the tile before
      first = next;
      next += kTileColumns<kRows>;
      steps_left = kTileColumns<kRows> / (kWarp * Format::kColumns) >> a.part_bits;
      const std::uint32_t columns = min(kTileColumns<kRows>, a.cols - first);
      stage<kRows>(a, first, columns, rows);
      __syncthreads();
      if constexpr (Format::kMinima) {
        sum_groups<Format, kRows>(columns, rows, sums);
        __syncthreads();
      }
    }
    --steps_left;
  }
};

// sums: of a lane's products.
template <class Format, std::uint32_t kRows>
__device__ void multiply_share(const typename Format::Source& source, const FewRows& a,
                               const Share<Format, kRows>& share,
                               float (&sums)[kOutputs<Format, kRows>][kRows]) {
  __shared__ TileRow<kRows> tile_rows[kRows];
  __shared__ TileSums<Format, kRows> tile_sums[kRows];
  Tile<Format, kRows> tile{tile_rows, tile_sums};
  std::uint32_t unit = share.part * kWarp + threadIdx.x % kWarp;
  const auto load = [&](std::uint32_t u, Units<Format, kRows>& units) {
    if (u >= share.units) return;
    PC_CUDA_UNROLL
    for (std::uint32_t r = 0; r < kOutputs<Format, kRows>; ++r) {
      // Rows past the last are copies of it.
      const std::uint32_t row = min(share.first_output + r, a.rows - 1);
      units[r] = Format::load(source, row * share.units + u);
    }
  };
  const auto step = [&](Units<Format, kRows>& now, Units<Format, kRows>& next) {
    if constexpr (kLoad<Format, kRows> == Load::kStepAhead) load(unit + share.units_per_step, next);
    if constexpr (kLoad<Format, kRows> == Load::kBeforeTile) load(unit, now);
    tile.advance(a);
    if constexpr (kLoad<Format, kRows> == Load::kBehindTile) load(unit, now);
    if (unit < share.units)
      multiply_units<Format, kRows>(now, unit * Format::kColumns - tile.first, tile_rows, tile_sums,
                                    sums);
    unit += share.units_per_step;
  };
  Units<Format, kRows> even = {}, odd = {};
  if constexpr (kLoad<Format, kRows> == Load::kStepAhead) {
    load(unit, even);
    for (std::uint32_t i = 0; i < share.steps; i += 2) {
      step(even, odd);
      if (i + 1 < share.steps) step(odd, even);
    }
  } else {
    for (std::uint32_t i = 0; i < share.steps; ++i) step(even, odd);
  }
}

// 3 blocks of 8 warps leave 80 registers to a thread, 2 blocks 128.
template <class Format, std::uint32_t kRows>
__global__ __launch_bounds__(kWarps* kWarp, kRows == 1 ? 3 : 2) void multiply_kernel(
    typename Format::Source source, FewRows a) {
  __shared__ float totals[kWarps][kWarp];
  const Share<Format, kRows> share(a);
  float sums[kOutputs<Format, kRows>][kRows] = {};
  multiply_share<Format, kRows>(source, a, share, sums);
  float total = total_of_lane(sums);

  const std::uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (a.part_bits > 0) {
    totals[warp][lane] = total;
    __syncthreads();
    for (std::uint32_t part = 1; part < 1u << a.part_bits && share.part == 0; ++part)
      total += totals[warp + part][lane];
  }
  const std::uint32_t output = share.first_output + lane / kRows, n = lane % kRows;
  if (share.part != 0 || lane >= kOutputs<Format, kRows> * kRows || output >= a.rows || n >= a.n)
    return;
  float& y = a.y[std::size_t{n} * a.y_stride + output];
  y = a.add ? y + total : total;
}

// Warps that keep a device's memory busy: 12 on each of an H100's 132 multiprocessors have 32
// lanes with 64 bytes or more on their way each, 3.2 MB in all; 3.3 TB/s in 0.7 us are 2.3 MB.
inline constexpr std::uint32_t kMultiprocessors = 132;
inline constexpr std::uint32_t kWarpsWanted = 12 * kMultiprocessors;

template <class Format, std::uint32_t kRows>
void multiply_pass(const typename Format::Source& source, FewRows a, cudaStream_t stream) {
  constexpr std::uint32_t kTileUnits = kTileColumns<kRows> / Format::kColumns;
  constexpr std::uint32_t kMostParts = kTileUnits / kWarp < kWarps ? kTileUnits / kWarp : kWarps;
  constexpr std::uint32_t kLines = kOutputs<Format, kRows>;
  const std::uint32_t units = a.cols / Format::kColumns;
  const std::uint32_t groups = (a.rows + kLines - 1) / kLines;
  std::uint32_t parts = 1;
  for (a.part_bits = 0;
       parts < kMostParts && groups * parts < kWarpsWanted && kWarp * parts < units; ++a.part_bits)
    parts *= 2;
  // Matrices of few rows spread over all multiprocessors in smaller blocks.
  std::uint32_t warps = kWarps;
  while (warps > parts && groups * parts < kMultiprocessors * warps) warps /= 2;
  const std::uint32_t sharing = warps / parts;
  launch(multiply_kernel<Format, kRows>, (groups + sharing - 1) / sharing, warps * kWarp, 0, stream,
         source, a);
}

template <class Format>
void multiply(const typename Format::Source& source, const FewRows& a, cudaStream_t stream) {
  if (a.n > 4) return multiply_pass<Format, 8>(source, a, stream);
  if (a.n > 2) return multiply_pass<Format, 4>(source, a, stream);
  if (a.n > 1) return multiply_pass<Format, 2>(source, a, stream);
  multiply_pass<Format, 1>(source, a, stream);
}

}  // namespace few_rows

// Passes for the quantised types, by their blocks. a.n <= kMostFewRows.
void multiply_blocks_of_32(const Weight& w, const FewRows& a, cudaStream_t stream);
void multiply_blocks_of_256(const Weight& w, const FewRows& a, cudaStream_t stream);

}  // namespace pc::cuda
