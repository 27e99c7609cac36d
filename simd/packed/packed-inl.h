// Products of 8-bit activations with packed weights: the algorithm, over the
// few primitives of an instruction set (`Isa`) that the including file defines
// before this, everything in its own unnamed namespace.
//
// A panel's sums for a tile of rows of x stay in registers over all of k. For
// each 32 columns the codes are widened to bytes once, then multiplied with
// each row's; the integer sums begin at -zero * (sum of the row's codes), so
// that a zero costs nothing, and are scaled once. Integers are exact: a dot
// product of 32 columns, and of a quad again, is at most 36 * 255 * 127. They are scaled by the
// weights' scale first, so that one of 2^108 or more (only MXFP4 has any) may make an infinity of
// what is a float once it has x's scale, too: that shows, as any infinity does.
//
// Codes of a table become its numbers by a shuffle of bytes, and are then multiplied as codes of
// 6 or 8 bits are: above their zero, or signed where Isa's codes of 8 bits are.
//
// Second codes of a row (simd/quantised_rows.h) are one more dot product, of one quad: Isa's
// dot<kBits, 1>, which gets the quad's vector of codes as they were widened.
//
// Where instructions multiply two rows of x at once, Isa says how in pair_columns
// (its own order of the codes in a group's vectors) and dot_pair.
//
// Few rows: the weights come from memory once, panel by panel. Many rows:
// blocks of rows that stay in the L2 cache meet all panels of the task in turn.

namespace pc::simd {
namespace {

#if defined(__clang__)
#define PC_UNROLL _Pragma("unroll")
#else
#define PC_UNROLL _Pragma("GCC unroll 16")
#endif
#define PC_INLINE inline __attribute__((always_inline))

using I = Isa::I;
using F = Isa::F;
using Bytes = const std::uint8_t*;

template <class T>
constexpr bool kMultipliesPairs = requires(I* codes) {
  T::pair_columns(codes);
};

template <class T>
PC_INLINE void order_columns(I* codes) {
  if constexpr (kMultipliesPairs<T>) T::pair_columns(codes);
}

// Bytes of x that a block of rows may take: half of a small L2 cache.
constexpr std::size_t kRowsInCache = std::size_t{256} << 10;

// How far ahead of the codes that are used weights are asked for, in the order of addresses: a page
// of the hardware prefetchers, which do not look beyond one. It is counted from the codes, since a
// panel's heads stand in front of them: of 9,000 columns these are 11 KB.
constexpr std::size_t kAhead = 4096;

// A panel's part for this call: its rows [lane, lane + Isa::kLanes).
struct Weights {
  Bytes heads, codes;
  std::size_t lane;
};

// Rows of one tile of x, from its first group.
struct Rows {
  Bytes codes, notes;
  std::size_t step;
  std::size_t first;  // the place of the first of them in the tile
};

PC_INLINE std::uint16_t u16(Bytes p) {
  std::uint16_t value;
  __builtin_memcpy(&value, p, sizeof value);
  return value;
}

// Has any of kRows rows, from the one whose note is given, second codes in this group?
template <int kRows>
PC_INLINE bool any_finer(const Rows& x, Bytes note) {
  const unsigned rows = u16(note - x.first * sizeof(RowNote) + offsetof(RowNote, rows));
  return (rows >> x.first & ((1u << kRows) - 1)) != 0;
}

// What the codes of a table are replaced with, as they are multiplied.
template <Type kType>
constexpr Numbers16 multiplied_numbers() {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr bool kSigned = Isa::kSignedBytes && multiplied_bits(kShape) == 8;
  Numbers16 numbers = kShape.numbers;
  for (std::int8_t& number : numbers.of)
    number = static_cast<std::int8_t>(number + (kSigned ? 0 : 1 << kShape.zero));
  return numbers;
}
template <Type kType>
inline constexpr Numbers16 kMultiplied = multiplied_numbers<kType>();

// Codes of 32 columns, a byte each.
template <std::uint32_t kBits>
PC_INLINE void widen_codes(Bytes p, I* w) {
  if constexpr (kBits == 8) {
    PC_UNROLL for (int q = 0; q < 8; ++q) w[q] = Isa::bytes(p + 64 * q);
  } else {
    PC_UNROLL for (int q = 0; q < 4; ++q) {
      const I both = Isa::load(p + 64 * q);
      w[q] = Isa::low4(both);
      w[q + 4] = Isa::high4(both);
    }
  }
  if constexpr (kBits == 6) {
    PC_UNROLL for (int h = 0; h < 2; ++h) {
      const I high = Isa::load(p + 64 * (4 + h));
      w[4 * h] = Isa::or_bits45(w[4 * h], Isa::template left<4>(high));
      w[4 * h + 1] = Isa::or_bits45(w[4 * h + 1], Isa::template left<2>(high));
      w[4 * h + 2] = Isa::or_bits45(w[4 * h + 2], high);
      w[4 * h + 3] = Isa::or_bits45(w[4 * h + 3], Isa::template right<2>(high));
    }
  }
}

template <Type kType>
PC_INLINE void widen_group(Bytes p, I* w) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  widen_codes<kShape.bits>(p, w);
  if constexpr (kShape.table) {
    const auto numbers = Isa::table(kMultiplied<kType>.of);
    PC_UNROLL for (int q = 0; q < 8; ++q) w[q] = Isa::look_up(numbers, w[q]);
  }
}

// 32 columns of a panel: what is loaded once for all rows.
template <Type kType>
struct Group {
  static constexpr PackedShape kShape = packed_shape_of(kType);
  static constexpr int kScales = 32 / kShape.group;
  I w[8];
  F scale[kScales], minimum[kScales];
};

template <Type kType>
inline constexpr int kMultipliedBits = multiplied_bits(packed_shape_of(kType));

// The scale of a block whose head is given, of the rows from `lane` on.
template <Type kType>
PC_INLINE F scale_of_block(Bytes head, std::size_t lane) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  if constexpr (kShape.scale == PackedScale::kE8m0) return Isa::half_e8m0(head + lane);
  F scale = Isa::f16(head + 2 * lane);
  if constexpr (kShape.fraction != 0) {
    static constexpr float kUnit = 1.0f / (1 << kShape.fraction);
    scale = Isa::mul(scale, Isa::set1_f32(reinterpret_cast<Bytes>(&kUnit)));
  }
  return scale;
}

// The negated sum of x's codes that belongs to scale s.
template <Type kType>
PC_INLINE I negated_sum(Bytes note, int s) {
  return Isa::set1_i32(note + 4 + (Group<kType>::kScales == 1 ? 0 : 4 + 4 * s));
}

// What a row's integer sum for scale s begins with.
template <Type kType>
PC_INLINE I first_dots(Bytes note, int s) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  return kShape.minima || (multiplied_bits(kShape) == 8 && Isa::kSignedBytes)
             ? Isa::izero()
             : Isa::template left32<kShape.zero>(negated_sum<kType>(note, s));
}

// What scale s adds to `total`: scale * integer sum + minimum * sum of x's codes.
template <Type kType>
PC_INLINE F add_scaled(const Group<kType>& g, int s, I dots, Bytes note, F total) {
  total =
      s == 0 ? Isa::mul(g.scale[s], Isa::to_f(dots)) : Isa::fma(g.scale[s], Isa::to_f(dots), total);
  if constexpr (packed_shape_of(kType).minima)
    total = Isa::fnma(g.minimum[s], Isa::to_f(negated_sum<kType>(note, s)), total);
  return total;
}

// What rows with second codes read by their quad: a group's codes as they were widened, and
// its scales.
template <Type kType>
struct Columns {
  I w[8];
  F scale[Group<kType>::kScales];
};

// The sum of a row's second codes times the weights.
template <Type kType>
PC_INLINE I beyond_dots(I sum, const Columns<kType>& columns, Bytes note) {
  const std::size_t quad = u16(note + offsetof(RowNote, quad));
  return Isa::template dot<kMultipliedBits<kType>, 1>(sum, columns.w + quad,
                                                      note + offsetof(RowNote, beyond));
}

// What a row's integer sum for scale s becomes with its second codes. columns: null where
// it has none.
template <Type kType>
PC_INLINE I with_beyond(I dots, const Columns<kType>* columns, Bytes note) {
  if (!columns || Group<kType>::kScales == 2) return dots;
  return beyond_dots<kType>(dots, *columns, note);
}

// The same where a group has two scales: to the total.
template <Type kType>
PC_INLINE F add_beyond(F total, const Columns<kType>* columns, Bytes note) {
  if (!columns || Group<kType>::kScales == 1) return total;
  const I dots = beyond_dots<kType>(Isa::izero(), *columns, note);
  const std::size_t s = u16(note + offsetof(RowNote, quad)) / 4;
  return Isa::fma(columns->scale[s], Isa::to_f(dots), total);
}

// One group's contribution to a row: x's scale * the sum over the group's scales.
template <Type kType>
PC_INLINE F group_sum(const Group<kType>& g, const Columns<kType>* columns, Bytes codes, Bytes note,
                      F sum) {
  constexpr int kScales = Group<kType>::kScales, kQuads = 8 / kScales;
  F total = Isa::zero();
  PC_UNROLL for (int s = 0; s < kScales; ++s) {
    const I dots = Isa::template dot<kMultipliedBits<kType>, kQuads>(
        first_dots<kType>(note, s), g.w + kQuads * s, codes + 16 * s);
    total = add_scaled<kType>(g, s, with_beyond<kType>(dots, columns, note), note, total);
  }
  total = add_beyond<kType>(total, columns, note);
  return Isa::fma(Isa::set1_f32(note), total, sum);
}

// The same for a row and the next. Pairs is Isa.
template <Type kType, class Pairs>
PC_INLINE void add_pair(const Group<kType>& g, const Columns<kType>* columns, Bytes codes,
                        Bytes note, F* sum) {
  constexpr int kScales = Group<kType>::kScales, kQuads = 8 / kScales;
  Bytes next_note = note + sizeof(RowNote);
  F total = Isa::zero(), next_total = total;
  PC_UNROLL for (int s = 0; s < kScales; ++s) {
    I dots = first_dots<kType>(note, s), next = first_dots<kType>(next_note, s);
    Pairs::template dot_pair<kQuads>(dots, next, g.w + kQuads * s, codes + 16 * s);
    dots = with_beyond<kType>(dots, columns, note);
    next = with_beyond<kType>(next, columns, next_note);
    total = add_scaled<kType>(g, s, dots, note, total);
    next_total = add_scaled<kType>(g, s, next, next_note, next_total);
  }
  total = add_beyond<kType>(total, columns, note);
  next_total = add_beyond<kType>(next_total, columns, next_note);
  sum[0] = Isa::fma(Isa::set1_f32(note), total, sum[0]);
  sum[1] = Isa::fma(Isa::set1_f32(next_note), next_total, sum[1]);
}

// Adds one group's contributions to kRows rows.
template <Type kType, int kRows>
PC_INLINE void add_rows(const Group<kType>& g, const Columns<kType>* columns, Bytes codes,
                        Bytes notes, F* sum) {
  PC_UNROLL for (int t = 0; t < kRows; ++t) {
    Bytes row = codes + 32 * t, note = notes + sizeof(RowNote) * t;
    if constexpr (kRows == 1 || !kMultipliesPairs<Isa>) {
      sum[t] = group_sum<kType>(g, columns, row, note, sum[t]);
    } else if (t % 2 == 0) {
      add_pair<kType, Isa>(g, columns, row, note, sum + t);
    }
  }
}

// The same, second codes looked at only where a row has any: mostly all groups of a
// product have such rows, or hardly one.
template <Type kType, int kRows>
PC_INLINE void add_group(Group<kType>& g, const Rows& x, Bytes codes, Bytes notes, F* sum) {
  if (any_finer<kRows>(x, notes)) {
    Columns<kType> columns;
    PC_UNROLL for (int q = 0; q < 8; ++q) columns.w[q] = g.w[q];
    PC_UNROLL for (int s = 0; s < Group<kType>::kScales; ++s) columns.scale[s] = g.scale[s];
    order_columns<Isa>(g.w);
    add_rows<kType, kRows>(g, &columns, codes, notes, sum);
  } else {
    order_columns<Isa>(g.w);
    add_rows<kType, kRows>(g, nullptr, codes, notes, sum);
  }
}

// All of k for kRows rows and one panel.
template <Type kType, int kRows>
PC_INLINE void panel_times_rows(const Weights& w, const Rows& x, std::size_t k, F* sum) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::size_t kStreams = kShape.minima ? 2 : 1;
  constexpr std::size_t kHead = packed_head_bytes(kShape), kCode = packed_code_bytes(kShape);
  Bytes head = w.heads, codes = w.codes + 4 * w.lane, row_codes = x.codes, notes = x.notes;
  Bytes ahead = w.codes + kAhead;
  PC_UNROLL for (int t = 0; t < kRows; ++t) sum[t] = Isa::zero();
  for (std::size_t b = 0; b < k; b += kShape.block, head += kHead) {
    const F d = scale_of_block<kType>(head, w.lane);
    F d_min = d;
    if constexpr (kShape.minima) d_min = Isa::f16(head + 32 + 2 * w.lane);
    Bytes factors = head + 32 * kStreams + w.lane, scales = head + 2 * w.lane;
    for (std::size_t c = 0; c < kShape.block; c += 32) {
      Group<kType> g;
      PC_UNROLL for (int s = 0; s < Group<kType>::kScales; ++s) {
        g.scale[s] = d;
        g.minimum[s] = d_min;
        if constexpr (kShape.scale == PackedScale::kF16Each) {
          g.scale[s] = Isa::f16(scales);
          scales += 32;
        }
        if constexpr (kShape.block == 256) {
          g.scale[s] = Isa::mul(d, Isa::i8(factors));
          if constexpr (kShape.minima) g.minimum[s] = Isa::mul(d_min, Isa::i8(factors + 16));
          factors += 16 * kStreams;
        }
      }
      Isa::prefetch<kCode + kHead * 32 / kShape.block>(ahead);
      ahead += kCode + kHead * 32 / kShape.block;
      widen_group<kType>(codes, g.w);
      add_group<kType, kRows>(g, x, row_codes, notes, sum);
      codes += kCode;
      row_codes += x.step;
      notes += x.step;
    }
  }
}

// Rows [i, i + kRows) of y in the columns of one panel.
template <Type kType, int kRows>
void times_rows(const PackedMatmulArgs& a, Weights w, std::size_t column, const Rows& x,
                std::size_t i) {
  for (; w.lane < kPanelRows && column + w.lane < a.n; w.lane += Isa::kLanes) {
    F sum[kRows];
    panel_times_rows<kType, kRows>(w, x, a.k, sum);
    const std::size_t valid = a.n - column - w.lane;
    float* y = a.y + i * a.y_stride + column + w.lane;
    PC_UNROLL for (int t = 0; t < kRows; ++t) {
      float* row = y + static_cast<std::size_t>(t) * a.y_stride;
      Isa::store(row, a.accumulate ? Isa::add(Isa::load_f32(row, valid), sum[t]) : sum[t], valid);
    }
  }
}

// Rows of one tile, as many at once as the registers hold.
template <Type kType>
void times_tile(const PackedMatmulArgs& a, const Weights& w, std::size_t column, std::size_t i) {
  const std::size_t tile = tile_rows(a.m, i);
  const auto* x = reinterpret_cast<Bytes>(a.x) + quantised_bytes(i, a.k);
  Rows rows{x, x + 32 * tile, tile * kQuantisedGroupBytes, 0};
  const std::size_t step = tile < Isa::kRows ? tile : Isa::kRows;
  for (std::size_t t = 0; t < tile; t += step) {
    switch (step) {
      case 16:
        if constexpr (Isa::kRows >= 16) times_rows<kType, 16>(a, w, column, rows, i + t);
        break;
      case 8:
        if constexpr (Isa::kRows >= 8) times_rows<kType, 8>(a, w, column, rows, i + t);
        break;
      case 4:
        times_rows<kType, 4>(a, w, column, rows, i + t);
        break;
      case 2:
        times_rows<kType, 2>(a, w, column, rows, i + t);
        break;
      default:
        times_rows<kType, 1>(a, w, column, rows, i + t);
    }
    rows.codes += 32 * step;
    rows.notes += sizeof(RowNote) * step;
    rows.first += step;
  }
}

template <Type kType>
void matmul_type(const PackedMatmulArgs& a) {
  constexpr PackedShape kShape = packed_shape_of(kType);
  constexpr std::size_t kHead = packed_head_bytes(kShape), kCode = packed_code_bytes(kShape);
  const std::size_t codes_at = (a.k / kShape.block * kHead + 63) / 64 * 64;
  const std::size_t panel_bytes = codes_at + a.k / 32 * kCode;
  std::size_t block = kRowsInCache / quantised_bytes(1, a.k) / kMaxTileRows * kMaxTileRows;
  if (block < kMaxTileRows) block = kMaxTileRows;
  for (std::size_t i0 = 0; i0 < a.m; i0 += block) {
    const std::size_t i1 = a.m - i0 < block ? a.m : i0 + block;
    for (std::size_t p = a.panel_begin; p < a.panel_end; ++p) {
      const auto* heads = reinterpret_cast<Bytes>(a.w) + p * panel_bytes;
      const Weights w{heads, heads + codes_at, 0};
      for (std::size_t i = i0; i < i1; i += tile_rows(a.m, i))
        times_tile<kType>(a, w, p * kPanelRows, i);
    }
  }
}

void matmul_packed(const PackedMatmulArgs& a) {
  switch (a.type) {
    case Type::kQ8_0:
      return matmul_type<Type::kQ8_0>(a);
    case Type::kQ4_0:
      return matmul_type<Type::kQ4_0>(a);
    case Type::kQ4_1:
      return matmul_type<Type::kQ4_1>(a);
    case Type::kQ5_0:
      return matmul_type<Type::kQ5_0>(a);
    case Type::kQ5_1:
      return matmul_type<Type::kQ5_1>(a);
    case Type::kQ2_K:
      return matmul_type<Type::kQ2_K>(a);
    case Type::kQ3_K:
      return matmul_type<Type::kQ3_K>(a);
    case Type::kQ4_K:
      return matmul_type<Type::kQ4_K>(a);
    case Type::kQ5_K:
      return matmul_type<Type::kQ5_K>(a);
    case Type::kQ6_K:
      return matmul_type<Type::kQ6_K>(a);
    case Type::kIQ2_XXS:
      return matmul_type<Type::kIQ2_XXS>(a);
    case Type::kIQ2_XS:
      return matmul_type<Type::kIQ2_XS>(a);
    case Type::kIQ3_XXS:
      return matmul_type<Type::kIQ3_XXS>(a);
    case Type::kIQ1_S:
      return matmul_type<Type::kIQ1_S>(a);
    case Type::kIQ4_NL:
      return matmul_type<Type::kIQ4_NL>(a);
    case Type::kIQ3_S:
      return matmul_type<Type::kIQ3_S>(a);
    case Type::kIQ2_S:
      return matmul_type<Type::kIQ2_S>(a);
    case Type::kIQ4_XS:
      return matmul_type<Type::kIQ4_XS>(a);
    case Type::kIQ1_M:
      return matmul_type<Type::kIQ1_M>(a);
    case Type::kTQ1_0:
      return matmul_type<Type::kTQ1_0>(a);
    case Type::kTQ2_0:
      return matmul_type<Type::kTQ2_0>(a);
    case Type::kMXFP4:
      return matmul_type<Type::kMXFP4>(a);
    case Type::kNVFP4:
      return matmul_type<Type::kNVFP4>(a);
    default:
      return;
  }
}

#undef PC_INLINE
#undef PC_UNROLL

}  // namespace
}  // namespace pc::simd
