// Tile registers in plain C++: what AMX's instructions do, as Intel documents it.
//
// tdpbf16ps: for each sum, products of the even and of the odd elements are added
// apart, one fma after another in order of k, the two are added, then that to
// the tile; each step rounded to nearest even, denormals zero on the way in and
// out, MXCSR ignored. Idealised: which NaN comes of several; timing; faults other
// than those of use without configure(), which leaves all as it was. Tiles
// always have 16 rows of 64 bytes.
// A thread has tiles of its own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pc::simd::stand_in {

struct State {
  unsigned char tile[8][16][64];
  int rows[8], bytes[8];
  bool configured;
};
inline thread_local State state;

inline float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

inline float element(const unsigned char* row, int i) {
  std::uint16_t half;
  std::memcpy(&half, row + 2 * i, 2);
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return flushed(x);
}

// 64 bytes that ldtilecfg reads: what the hardware refuses leaves no tiles.
inline void configure(const unsigned char* config) {
  std::memset(&state, 0, sizeof state);
  state.configured = config[0] == 1;
  for (int i = 1; i < 16; ++i) state.configured &= config[i] == 0;
  for (int t = 0; t < 16; ++t) {
    const int bytes = config[16 + 2 * t] + 256 * config[17 + 2 * t], rows = config[48 + t];
    state.configured &= t < 8 ? bytes <= 64 && bytes % 4 == 0 && rows <= 16 : bytes + rows == 0;
    if (t < 8) state.bytes[t] = bytes, state.rows[t] = rows;
  }
}

inline void release() {
  state.configured = false;
}

inline void zero(int t) {
  if (state.configured) std::memset(state.tile[t], 0, sizeof state.tile[t]);
}

inline void load(int t, const void* p, std::size_t stride) {
  if (!state.configured) return;
  std::memset(state.tile[t], 0, sizeof state.tile[t]);
  for (int r = 0; r < state.rows[t]; ++r)
    std::memcpy(state.tile[t][r], static_cast<const unsigned char*>(p) + r * stride,
                static_cast<std::size_t>(state.bytes[t]));
}

inline void store(int t, void* p, std::size_t stride) {
  for (int r = 0; state.configured && r < state.rows[t]; ++r)
    std::memcpy(static_cast<unsigned char*>(p) + r * stride, state.tile[t][r],
                static_cast<std::size_t>(state.bytes[t]));
}

// a [rows][pairs], b [pairs][columns], sum [rows][columns].
inline bool fit(int sum, int a, int b) {
  const auto& s = state;
  return s.configured && s.rows[a] == s.rows[sum] && s.bytes[b] == s.bytes[sum] &&
         4 * s.rows[b] == s.bytes[a];
}

inline void dot_bf16(int sum, int a, int b) {
  const auto& s = state;
  for (int m = 0; fit(sum, a, b) && m < s.rows[sum]; ++m) {
    for (int n = 0; n < s.bytes[sum] / 4; ++n) {
      float part[2] = {0.0f, 0.0f}, total;
      for (int k = 0; k < s.rows[b]; ++k)
        for (int h = 0; h < 2; ++h)
          part[h] = flushed(std::fma(element(s.tile[a][m], 2 * k + h),
                                     element(s.tile[b][k], 2 * n + h), part[h]));
      std::memcpy(&total, s.tile[sum][m] + 4 * n, 4);
      total = flushed(flushed(total) + flushed(part[0] + part[1]));
      std::memcpy(state.tile[sum][m] + 4 * n, &total, 4);
    }
  }
}

// The same as AmxTiles (simd/amx_tiles.h) has it.
struct Tiles {
  static void configure() { configure_as(64, 16); }
  static void configure_half() { configure_as(32, 8); }
  static void release() { stand_in::release(); }
  template <int kTile>
  static void zero() {
    stand_in::zero(kTile);
  }
  template <int kTile>
  static void load(const void* p, std::size_t stride) {
    stand_in::load(kTile, p, stride);
  }
  template <int kTile>
  static void store(void* p, std::size_t stride) {
    stand_in::store(kTile, p, stride);
  }
  template <int kSum, int kA, int kB>
  static void dot_bf16() {
    stand_in::dot_bf16(kSum, kA, kB);
  }

 private:
  // Left operands, tiles 4 and 5, have so many bytes a row, right ones, 0 to 3, so many rows.
  static void configure_as(unsigned char left_bytes, unsigned char right_rows) {
    unsigned char config[64] = {1};
    for (int t = 0; t < 8; ++t) {
      config[16 + 2 * t] = t == 4 || t == 5 ? left_bytes : 64;
      config[48 + t] = t < 4 ? right_rows : 16;
    }
    stand_in::configure(config);
  }
};

}  // namespace pc::simd::stand_in
