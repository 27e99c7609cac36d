// Random tasks of attention for the kernels of the CUDA plug-in, and what they must come to, by
// the definition in double.
//
// A case owns its host arrays; run_case() copies them to the device and back. What no row may see
// is no number: rows of K and V outside of all visits, hidden ones, other layers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cuda/attention/attention.h"
#include "cuda/device/numbers.h"
#include "tests/support/random.h"

namespace pc::test {

using Attend = void (*)(const cuda::AttentionArgs&, std::uint32_t n_tasks, std::uint32_t most_rows,
                        cudaStream_t);

struct AttentionOptions {
  cuda::KvType type = cuda::KvType::kBf16;
  std::uint32_t head_dim = 64, n_kv_heads = 2, group = 1;
  std::uint32_t n_rows = 5, n_timelines = 1;
  std::uint32_t rows_of_task = 64;  // at most
  std::uint32_t n_visits = 3, most_keys = 150;
  std::uint32_t shares = 1;  // tasks that share out the visits of their rows
  std::uint32_t window = 0, half = 0;
  float softcap = 0.0f;
  bool alibi = false, hidden = false, gaps = false, out_bf16 = false;
};

// Planes of K and V of one module or timeline, on the host.
struct CasePlanes {
  std::uint32_t room;
  std::vector<std::byte> bytes;
  std::vector<bool> read;  // rows that some query may be shown
};

// A use of a visit, as indices of what will be on the device.
struct CaseVisit {
  std::uint32_t planes, begin, end;
  std::vector<cuda::Use> uses;          // pointers null
  std::vector<std::uint32_t> hidden;    // empty, or bits
  std::vector<std::int32_t> positions;  // empty, or of each row of the planes
};

struct CaseTask {
  std::uint32_t first_row, n_rows, first_partial;
  std::vector<CaseVisit> visits;
};

struct AttentionCase {
  AttentionOptions options;
  cuda::KvShape shape;
  float attn_scale, rope_scale;
  std::vector<std::int32_t> positions;  // [rows]
  std::vector<float> q;                 // [rows, heads, head_dim]
  std::vector<float> slopes;            // [heads], or none
  std::vector<float2> row_turns, move_turns;
  std::vector<CasePlanes> planes;
  std::vector<CaseTask> tasks;
  std::uint32_t n_partials = 0;

  static constexpr std::uint32_t kLayer = 1, kLayers = 2, kMoves = 4;
  std::uint32_t n_heads() const { return options.n_kv_heads * options.group; }
};

// What a query's attention in a task comes to.
struct Expected {
  double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
  std::vector<double> acc, size;  // [head_dim] sums of weights times values, and their sizes
  double score_size = 0.0;        // greatest root of the sum of squares of a score's products
};

// What the device wrote.
struct CaseResult {
  std::vector<float> out;          // [rows, heads, head_dim]
  std::vector<float2> sums;        // [partials, heads]
  std::vector<float> partial_out;  // [partials, heads, head_dim]
};

inline std::int32_t key_position(const CaseVisit& visit, const cuda::Use& use, std::uint32_t row) {
  return visit.positions.empty() ? use.position + static_cast<std::int32_t>(row)
                                 : visit.positions[row];
}

inline bool hides(const CaseVisit& visit, std::uint32_t row) {
  return !visit.hidden.empty() && (visit.hidden[row / 32] >> row % 32 & 1u) != 0;
}

inline bool sees(const AttentionOptions& options, std::int64_t position, std::int64_t key) {
  return key <= position && (options.window == 0 || position - key < options.window);
}

// Row `row` of a plane; codes of q8 below 128 in size.
inline void write_row(const cuda::KvShape& shape, bool of_keys, std::byte* row, Random& random) {
  const float kSize = of_keys ? 2.0f : 1.0f;
  for (std::uint32_t d = 0; d < shape.head_dim; ++d) {
    const float x = random.symmetric() * kSize;
    const std::uint16_t half = cuda::to_bf16(x);
    const auto code = static_cast<std::int8_t>(std::lround(x / kSize * 127.0f));
    if (shape.type == cuda::KvType::kF32)
      std::memcpy(row + 4 * d, &x, 4);
    else if (shape.type == cuda::KvType::kBf16)
      std::memcpy(row + 2 * d, &half, 2);
    else
      std::memcpy(row + d, &code, 1);
  }
  if (shape.type != cuda::KvType::kQ8) return;
  std::byte* const scales = row + cuda::scales_at(shape.head_dim);
  const auto scale = [&] { return kSize / 127.0f * static_cast<float>(0.5 + random.uniform()); };
  if (!of_keys) {
    const float x = scale();
    std::memcpy(scales, &x, sizeof x);
    return;
  }
  for (std::uint32_t i = 0; i * cuda::kScaleDims < shape.head_dim; ++i) {
    const std::uint16_t x = cuda::to_bf16(scale());
    std::memcpy(scales + 2 * i, &x, sizeof x);
  }
}

inline double number_of(const cuda::KvShape& shape, bool of_keys, const std::byte* row,
                        std::uint32_t d) {
  if (shape.type == cuda::KvType::kF32) {
    float x;
    std::memcpy(&x, row + 4 * d, sizeof x);
    return double{x};
  }
  std::uint16_t half;
  if (shape.type == cuda::KvType::kBf16) {
    std::memcpy(&half, row + 2 * d, sizeof half);
    return double{cuda::from_bf16(half)};
  }
  const std::byte* const scales = row + cuda::scales_at(shape.head_dim);
  const auto code = static_cast<double>(static_cast<std::int8_t>(row[d]));
  if (of_keys) {
    std::memcpy(&half, scales + d / cuda::kScaleDims * 2, sizeof half);
    return code * double{cuda::from_bf16(half)};
  }
  float scale;
  std::memcpy(&scale, scales, sizeof scale);
  return code * double{scale};
}

// A visit of rows [first, end) of the sweep, of which each timeline has a use of its own.
inline CaseVisit make_visit(AttentionCase& c, std::uint32_t first, std::uint32_t end,
                            const std::vector<std::uint32_t>& timeline_of, Random& random) {
  const AttentionOptions& o = c.options;
  CaseVisit visit;
  const std::uint32_t n = random.between(1, o.most_keys);
  if (!c.planes.empty() && random.chance(0.3) && c.planes.back().room >= n) {
    visit.planes = static_cast<std::uint32_t>(c.planes.size()) - 1;
  } else {
    visit.planes = static_cast<std::uint32_t>(c.planes.size());
    c.planes.push_back({n + random.below(80), {}, {}});
    c.planes.back().read.resize(c.planes.back().room);
  }
  const std::uint32_t room = c.planes[visit.planes].room;
  visit.begin = random.below(room - n + 1);
  visit.end = visit.begin + n;
  const bool alone = timeline_of[first] == timeline_of[end - 1];
  if (alone && o.hidden && random.chance(0.7)) {
    visit.hidden.resize((room + 31) / 32);
    const double part = random.chance(0.3) ? 0.95 : 0.3;
    for (std::uint32_t r = 0; r < room; ++r)
      if (random.chance(part)) visit.hidden[r / 32] |= 1u << r % 32;
  }
  for (std::uint32_t row = first; row < end;) {
    std::uint32_t to = row + 1;
    while (to < end && timeline_of[to] == timeline_of[row]) ++to;
    // Before, around or past the rows' own positions.
    const std::int32_t from = c.positions[row] - static_cast<std::int32_t>(n + n / 4) +
                              static_cast<std::int32_t>(random.below(n + n / 2 + 4));
    visit.uses.push_back({row, to, from - static_cast<std::int32_t>(visit.begin),
                          random.below(AttentionCase::kMoves), nullptr, nullptr});
    row = to;
  }
  if (alone && o.gaps && random.chance(0.7)) {
    std::int32_t at = visit.uses[0].position;
    for (std::uint32_t r = 0; r < room; ++r) {
      visit.positions.push_back(at);
      at += random.chance(0.8) ? 1 : static_cast<std::int32_t>(random.between(2, 20));
    }
  }
  return visit;
}

// Marks what lies between the first and the last key that rows of the task see.
inline void mark_read(AttentionCase& c, const CaseVisit& visit) {
  std::uint32_t low = visit.end, high = visit.begin;
  for (const cuda::Use& use : visit.uses)
    for (std::uint32_t row = use.first_row; row < use.end_row; ++row)
      for (std::uint32_t r = visit.begin; r < visit.end; ++r)
        if (sees(c.options, c.positions[row], key_position(visit, use, r))) {
          low = std::min(low, r);
          high = std::max(high, r + 1);
        }
  for (std::uint32_t r = low; r < high; ++r)
    if (!hides(visit, r)) c.planes[visit.planes].read[r] = true;
}

inline void fill_planes(AttentionCase& c, Random& random) {
  for (CasePlanes& planes : c.planes) {
    planes.bytes.assign(c.shape.bytes(planes.room), std::byte{0xff});  // no numbers
    const cuda::KvPlanesView view{planes.bytes.data(), planes.room};
    for (std::uint32_t head = 0; head < c.shape.n_kv_heads; ++head)
      for (std::uint32_t r = 0; r < planes.room; ++r) {
        if (!planes.read[r]) continue;
        const std::size_t at = std::size_t{r} * c.shape.row();
        write_row(c.shape, true, view.keys(c.shape, AttentionCase::kLayer, head) + at, random);
        write_row(c.shape, false, view.values(c.shape, AttentionCase::kLayer, head) + at, random);
      }
  }
}

inline std::vector<float2> make_turns(std::size_t n, Random& random) {
  std::vector<float2> turns;
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = 7.0 * random.uniform();
    turns.push_back(make_float2(static_cast<float>(cos(angle)), static_cast<float>(sin(angle))));
  }
  return turns;
}

inline AttentionCase make_case(const AttentionOptions& o, Random& random) {
  AttentionCase c;
  c.options = o;
  c.shape = {o.type, AttentionCase::kLayers, o.n_kv_heads, o.head_dim};
  c.attn_scale = 2.0f / std::sqrt(static_cast<float>(o.head_dim));
  c.rope_scale = o.half != 0 ? 1.1f : 1.0f;
  std::vector<std::uint32_t> timeline_of;
  for (std::uint32_t row = 0; row < o.n_rows; ++row) {
    timeline_of.push_back(row * o.n_timelines / o.n_rows);
    const bool starts = row == 0 || timeline_of[row] != timeline_of[row - 1];
    c.positions.push_back(starts ? static_cast<std::int32_t>(random.below(500))
                                 : c.positions.back() + 1);
  }
  c.q = random.floats(std::size_t{o.n_rows} * c.n_heads() * o.head_dim);
  if (o.alibi)
    for (std::uint32_t h = 0; h < c.n_heads(); ++h)
      c.slopes.push_back(std::exp2(-static_cast<float>(h % 8)));
  c.row_turns = make_turns(std::size_t{o.n_rows} * o.half, random);
  c.move_turns = make_turns(std::size_t{AttentionCase::kMoves} * o.half, random);
  for (std::uint32_t i = 0; i < o.half; ++i) c.move_turns[i] = make_float2(1.0f, 0.0f);
  for (std::uint32_t first = 0; first < o.n_rows; first += o.rows_of_task) {
    const std::uint32_t n = std::min(o.rows_of_task, o.n_rows - first);
    for (std::uint32_t share = 0; share < o.shares; ++share) {
      CaseTask task{first, n, o.shares == 1 ? cuda::kWhole : c.n_partials, {}};
      if (o.shares != 1) c.n_partials += n;
      for (std::uint32_t v = 0; v < o.n_visits; ++v) {
        task.visits.push_back(make_visit(c, first, first + n, timeline_of, random));
        mark_read(c, task.visits.back());
      }
      c.tasks.push_back(std::move(task));
    }
  }
  fill_planes(c, random);
  return c;
}

// A query as keys moved by `move` want it.
inline std::vector<double> turned(const AttentionCase& c, std::uint32_t row, std::uint32_t head,
                                  std::uint32_t move) {
  const std::uint32_t hd = c.shape.head_dim, half = c.options.half;
  const float* const q = c.q.data() + (std::size_t{row} * c.n_heads() + head) * hd;
  std::vector<double> to(q, q + hd);
  for (std::uint32_t i = 0; i < half; ++i) {
    const float2 a = c.row_turns[row * half + i], b = c.move_turns[move * half + i];
    const double cosine = double{a.x} * double{b.x} + double{a.y} * double{b.y};
    const double sine = double{a.y} * double{b.x} - double{a.x} * double{b.y};
    to[i] = (double{q[i]} * cosine - double{q[i + half]} * sine) * double{c.rope_scale};
    to[i + half] = (double{q[i + half]} * cosine + double{q[i]} * sine) * double{c.rope_scale};
  }
  for (double& x : to) x *= double{c.attn_scale};
  return to;
}

inline Expected expect_of(const AttentionCase& c, const CaseTask& task, std::uint32_t row,
                          std::uint32_t head) {
  const std::uint32_t hd = c.shape.head_dim, kv_head = head / c.options.group;
  Expected expected;
  expected.acc.resize(hd);
  expected.size.resize(hd);
  for (const CaseVisit& visit : task.visits) {
    const cuda::Use* use = visit.uses.data();
    while (use->end_row <= row) ++use;
    const std::vector<double> q = turned(c, row, head, use->move);
    const CasePlanes& planes = c.planes[visit.planes];
    const cuda::KvPlanesView view{const_cast<std::byte*>(planes.bytes.data()), planes.room};
    for (std::uint32_t r = visit.begin; r < visit.end; ++r) {
      const std::int32_t distance = c.positions[row] - key_position(visit, *use, r);
      if (hides(visit, r) || !sees(c.options, distance, 0)) continue;
      const std::size_t at = std::size_t{r} * c.shape.row();
      const std::byte* const key = view.keys(c.shape, AttentionCase::kLayer, kv_head) + at;
      const std::byte* const value = view.values(c.shape, AttentionCase::kLayer, kv_head) + at;
      double score = 0.0, squares = 0.0;
      for (std::uint32_t d = 0; d < hd; ++d) {
        const double product = q[d] * number_of(c.shape, true, key, d);
        score += product;
        squares += product * product;
      }
      if (c.options.softcap != 0.0f)
        score = double{c.options.softcap} * std::tanh(score / double{c.options.softcap});
      if (!c.slopes.empty()) score -= double{c.slopes[head]} * distance;
      const double top = std::max(expected.top, score);
      const double fitting = std::exp(expected.top - top), weight = std::exp(score - top);
      expected.top = top;
      expected.sum = expected.sum * fitting + weight;
      expected.score_size = std::max(expected.score_size, std::sqrt(squares));
      for (std::uint32_t d = 0; d < hd; ++d) {
        const double x = weight * number_of(c.shape, false, value, d);
        expected.acc[d] = expected.acc[d] * fitting + x;
        expected.size[d] = expected.size[d] * fitting + std::abs(x);
      }
    }
  }
  return expected;
}

// The case on the device, by `attend`.
CaseResult run_case(const AttentionCase& c, Attend attend);

// Runs the case and compares each number. rounding: relative, of each factor of a product.
void check_case(const AttentionCase& c, Attend attend, double rounding);

}  // namespace pc::test
