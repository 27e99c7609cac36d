#include "cuda/standin/warp.h"

#include <cstring>

#include "cuda/standin/fatal.h"

namespace pc::cuda {
namespace standin {
namespace {

constexpr std::uint32_t kEvery = UINT32_MAX;

struct Shuffle {
  std::uint32_t value, source, result;
};

void perform_shuffle(void* const* operands, std::uint32_t lanes) {
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    auto& own = *static_cast<Shuffle*>(operands[lane]);
    if (own.source >= kWarpLanes)
      own.result = own.value;
    else if ((lanes >> own.source & 1) == 0)
      own.result = UINT32_MAX;
    else
      own.result = static_cast<const Shuffle*>(operands[own.source])->value;
  }
}

constexpr Collective kShuffle{"a shuffle", perform_shuffle};
constexpr Collective kSync{"__syncwarp", nullptr};

void require_every_lane(const char* name, std::uint32_t lanes) {
  if (lanes != kEvery) stop("%s: only lanes %08x are there", name, lanes);
}

struct Multiply {
  float* d;
  const std::uint32_t *a, *b;
};

float low_bf16(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
float high_bf16(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000u);
}

// PTX, "Matrix fragments for mma.m16n8k16": register r of `a` holds row lane / 4 + 8 * (r % 2)
// and columns 2 * (lane % 4) + 8 * (r / 2) and the next; register r of `b` column lane / 4 and
// rows as those; d[i] row lane / 4 + 8 * (i / 2) and column 2 * (lane % 4) + i % 2.
void perform_multiply(void* const* operands, std::uint32_t lanes) {
  require_every_lane("multiply_tiles", lanes);
  float a[16][16], b[16][8], d[16][8];
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    const auto& own = *static_cast<const Multiply*>(operands[lane]);
    const std::uint32_t row = lane / 4, column = 2 * (lane % 4);
    for (std::uint32_t r = 0; r < 4; ++r) {
      float* to = &a[row + 8 * (r % 2)][column + 8 * (r / 2)];
      to[0] = low_bf16(own.a[r]);
      to[1] = high_bf16(own.a[r]);
      d[row + 8 * (r / 2)][column + r % 2] = own.d[r];
    }
    for (std::uint32_t r = 0; r < 2; ++r) {
      b[column + 8 * r][row] = low_bf16(own.b[r]);
      b[column + 8 * r + 1][row] = high_bf16(own.b[r]);
    }
  }
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 8; ++j) d[i][j] += a[i][k] * b[k][j];
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    float* to = static_cast<const Multiply*>(operands[lane])->d;
    for (std::uint32_t r = 0; r < 4; ++r) to[r] = d[lane / 4 + 8 * (r / 2)][2 * (lane % 4) + r % 2];
  }
}

struct Load {
  const void* row;
  std::uint32_t* tiles;
};

template <bool kTransposed>
void perform_load(void* const* operands, std::uint32_t lanes) {
  require_every_lane("load_tiles", lanes);
  for (std::uint32_t tile = 0; tile < 4; ++tile) {
    std::uint16_t elements[8][8];
    for (std::uint32_t row = 0; row < 8; ++row)
      std::memcpy(elements[row], static_cast<const Load*>(operands[8 * tile + row])->row,
                  sizeof elements[row]);
    for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const std::uint32_t i = lane / 4, j = 2 * (lane % 4);
      const std::uint32_t low = kTransposed ? elements[j][i] : elements[i][j];
      const std::uint32_t high = kTransposed ? elements[j + 1][i] : elements[i][j + 1];
      static_cast<const Load*>(operands[lane])->tiles[tile] = low | high << 16;
    }
  }
}

constexpr Collective kMultiply{"multiply_tiles", perform_multiply};
constexpr Collective kLoad{"load_tiles", perform_load<false>};
constexpr Collective kLoadTransposed{"load_tiles_transposed", perform_load<true>};

void load(const Collective& collective, std::uint32_t (&tiles)[4], const void* row) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    stop("%s: row %p is not a multiple of 16", collective.name, row);
  Load operands{row, tiles};
  meet_warp(kEvery, collective, &operands);
}

}  // namespace

std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, std::uint32_t source) {
  Shuffle operands{value, source, 0};
  meet_warp(mask, kShuffle, &operands);
  return operands.result;
}

void sync_warp(std::uint32_t mask) {
  meet_warp(mask, kSync, nullptr);
}

void check_width(int width) {
  if (width != static_cast<int>(kWarpLanes)) stop("a shuffle of width %d", width);
}

}  // namespace standin

void multiply_tiles(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  standin::Multiply operands{d, a, b};
  standin::meet_warp(standin::kEvery, standin::kMultiply, &operands);
}

void load_tiles(std::uint32_t (&tiles)[4], const void* row) {
  standin::load(standin::kLoad, tiles, row);
}

void load_tiles_transposed(std::uint32_t (&tiles)[4], const void* row) {
  standin::load(standin::kLoadTransposed, tiles, row);
}

}  // namespace pc::cuda
