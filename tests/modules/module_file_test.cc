#include "modules/module_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/modules/support.h"
#include "tests/support/torture_form.h"

namespace pc {
namespace {

using test::Bytes;
using test::Plane;

Code code_of(std::span<const std::byte> bytes, PayloadCheck check = PayloadCheck::kVerify) {
  const auto module = ModuleFile::open(bytes, check, nullptr);
  return module.ok() ? Code::kOk : module.error().code;
}

TEST_CASE("K and V come back where the kernel looks for them") {
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    const ModuleIdentity id = test::identity(0, type);
    const ModuleHandle module = test::make_module(id);
    Bytes copy(module->bytes());
    const ModuleHandle reread =
        ModuleFile::open(copy.span(), PayloadCheck::kVerify, nullptr).value();
    REQUIRE(reread->runs().size() == 2);
    std::size_t wrong = 0, dirty = 0;
    for (std::uint32_t run = 0; run < 2; ++run) {
      const KvSegment segment = reread->segment(run, 40);
      CHECK(segment.position == 40);
      CHECK(segment.key_position == (run == 0 ? 0 : 9));
      CHECK(segment.n_tokens == (run == 0 ? 5 : 17));
      CHECK(segment.begin == 0);
      const auto get = [&](Plane plane, std::uint32_t layer, std::size_t dim, std::size_t offset) {
        std::uint32_t v = 0;
        std::memcpy(&v, segment.data + offset,
                    test::element_bytes(id.geometry.head(layer), plane, dim));
        return v;
      };
      test::for_each_value(
          id.geometry, segment, false, [&](Plane p, auto l, auto h, auto r, auto d, auto offset) {
            wrong += get(p, l, d, offset) != test::stored_value(id.geometry, p, run, l, h, r, d);
          });
      test::for_each_value(id.geometry, segment, true,
                           [&](Plane p, auto l, auto, auto, auto d, auto offset) {
                             dirty += get(p, l, d, offset) != 0;
                           });
    }
    CHECK(wrong == 0);
    CHECK(dirty == 0);
  }
}

TEST_CASE("every length of a last block is cleared behind its rows") {
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kQ8}) {
    for (std::size_t n = 1; n <= 33; ++n) {
      ModuleIdentity id = test::identity(0, type);
      id.runs = {{test::numbered(0, n), 0, true}};
      const ModuleHandle module = test::make_module(id);
      const KvSegment segment = module->segment(0, 0);
      std::size_t wrong = 0;
      const auto count = [&](Plane plane, std::uint32_t layer, std::size_t dim, std::size_t offset,
                             std::uint32_t expected) {
        std::uint32_t v = 0;
        std::memcpy(&v, segment.data + offset,
                    test::element_bytes(id.geometry.head(layer), plane, dim));
        wrong += v != expected;
      };
      test::for_each_value(
          id.geometry, segment, false, [&](Plane p, auto l, auto h, auto r, auto d, auto offset) {
            count(p, l, d, offset, test::stored_value(id.geometry, p, 0, l, h, r, d));
          });
      test::for_each_value(
          id.geometry, segment, true,
          [&](Plane p, auto l, auto, auto, auto d, auto offset) { count(p, l, d, offset, 0); });
      INFO(n << " tokens of " << kv_type_name(type));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("tokens, runs and key come back") {
  const ModuleIdentity id = test::identity();
  const ModuleHandle module = test::make_module(id);
  CHECK(module->key() == key_of(id));
  CHECK(module->geometry() == id.geometry);
  std::vector<std::int32_t> kept = id.runs[1].tokens;
  kept.insert(kept.end(), id.runs[3].tokens.begin(), id.runs[3].tokens.end());
  CHECK(std::vector(module->tokens().begin(), module->tokens().end()) == kept);
  CHECK(module->runs()[1] == ModuleRun{17, 9});
  CHECK(module->matches(id, causes_of(id)).ok());
}

TEST_CASE("the same identity and values give the same bytes") {
  const ModuleHandle a = test::make_module(test::identity());
  const ModuleHandle b = test::make_module(test::identity());
  CHECK(std::ranges::equal(a->bytes(), b->bytes()));
}

// Files outlive builds. Where this fails, module_version (or, for the key
// alone, kv_layout_version or the backend's version of its arithmetic) has to change as well.
TEST_CASE("the bytes of format 3 are what they were") {
  const ModuleHandle f32 = test::make_module(test::identity());
  CHECK(f32->key().hex() == "215b880a3e9935330f044b5754e043a82e2189ec1983930ecdcd33d7e9bdf033");
  CHECK(to_hex(sha256(f32->bytes())) ==
        "c216c0341b375f9b6d123a086c8cc57cddd5ec91f7470fe8bac3fb6ca7821e70");
  CHECK(to_hex(sha256(test::make_module(test::identity(0, KvType::kBf16))->bytes())) ==
        "3ec972c08e9d25e26c154ce7cbb979c5c336bde70383e5f3f2ac1adfe65a6270");
  CHECK(to_hex(sha256(test::make_module(test::identity(0, KvType::kQ8))->bytes())) ==
        "26b956a1bc2d3df55d5d7c829c5a0f6636399fb2c90ada26802fe454fd4d7f48");
}

TEST_CASE("recurrent states stand behind keys and values, and are another module's") {
  ModuleIdentity identity = test::identity();
  const ModuleKey without = key_of(identity);
  CHECK(test::make_module(identity)->recurrent().empty());
  identity.n_recurrent = 7;
  CHECK(key_of(identity) != without);
  auto image = ModuleImage::create(identity).value();
  CHECK(image.file_bytes() == stored_size(identity).bytes);
  for (std::size_t i = 0; i < 7; ++i) image.recurrent()[i] = static_cast<float>(i) + 0.5f;
  const ModuleHandle module = std::move(image).seal().value();
  Bytes copy(module->bytes());
  const ModuleHandle reread = ModuleFile::open(copy.span(), PayloadCheck::kVerify, nullptr).value();
  CHECK(reread->header().version == 4);
  const std::span<const float> states = reread->recurrent();
  REQUIRE(states.size() == 7);
  CHECK(reinterpret_cast<std::uintptr_t>(states.data()) % 64 == 0);
  for (std::size_t i = 0; i < 7; ++i) CHECK(states[i] == static_cast<float>(i) + 0.5f);
  CHECK(reread->matches(identity, causes_of(identity)).ok());
  identity.n_recurrent = 8;
  CHECK_FALSE(reread->matches(identity, causes_of(identity)).ok());
  // The last number is under the checksums.
  copy[copy.span().size() - 1] ^= std::byte{1};
  CHECK(code_of(copy.span()) == Code::kCorrupt);
}

TEST_CASE("a segment points into the bytes it was opened on, on a cache line") {
  const ModuleHandle module = test::make_module(test::identity());
  Bytes copy(module->bytes());
  const ModuleHandle reread = ModuleFile::open(copy.span(), PayloadCheck::kVerify, nullptr).value();
  CHECK(reread->bytes().data() == copy.span().data());
  const KvGeometry g = reread->geometry();
  for (std::uint32_t run = 0; run < 2; ++run) {
    const KvSegment s = reread->segment(run, 0);
    CHECK(reinterpret_cast<std::uintptr_t>(s.data) % 64 == 0);
    CHECK(s.data >= copy.span().data() + kPayloadAlign);
    const std::byte* last = s.values(1, g.n_kv_heads(1) - 1);
    CHECK(last + kv_blocks(s.n_tokens) * g.head(1).block_bytes() <=
          copy.span().data() + copy.span().size());
  }
}

TEST_CASE("every truncation and extension is refused") {
  const ModuleHandle module = test::make_module(test::identity());
  const std::size_t size = module->bytes().size();
  REQUIRE(size > 8192);
  Bytes copy(module->bytes());
  CHECK(code_of(copy.span()) == Code::kOk);
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < size; ++n)
    accepted += code_of(copy.span().first(n)) != Code::kCorrupt;
  CHECK(accepted == 0);

  AlignedBuffer<std::byte> longer(size + 4096);
  std::memset(longer.data(), 0, longer.size());
  std::memcpy(longer.data(), module->bytes().data(), size);
  for (std::size_t n = 1; n <= 4096; ++n)
    accepted += code_of(longer.span().first(size + n)) != Code::kCorrupt;
  CHECK(accepted == 0);
}

TEST_CASE("every flipped bit before the payload is refused, whatever the payload check") {
  const ModuleHandle module = test::make_module(test::identity());
  Bytes copy(module->bytes());
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < 8 * kPayloadAlign; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << bit % 8)};
    copy[bit / 8] ^= mask;
    accepted += code_of(copy.span(), PayloadCheck::kTrusted) == Code::kOk;
    copy[bit / 8] ^= mask;
  }
  CHECK(accepted == 0);
  CHECK(code_of(copy.span()) == Code::kOk);
}

// 64 KiB of payload behind one page of header and tables.
ModuleHandle sixteen_pages() {
  ModuleIdentity id = test::identity();
  id.runs[3].tokens = test::numbered(2000, 15 * 16);
  const ModuleHandle module = test::make_module(id);
  REQUIRE(module->header().payload_bytes == 64 * 1024);
  return module;
}

// Full form: every bit; otherwise one of every byte, or of every 17th where sums take long.
TEST_CASE("every changed byte of a payload of 64 KiB is found") {
  Bytes copy(sixteen_pages()->bytes());
#if defined(PC_EMULATED) || !defined(NDEBUG)
  constexpr std::size_t kStride = 17;
#else
  constexpr std::size_t kStride = 1;
#endif
  std::size_t accepted = 0, tried = 0;
  const auto flip = [&](std::size_t byte, std::size_t bit) {
    const std::byte mask{static_cast<unsigned char>(1u << bit)};
    copy[byte] ^= mask;
    accepted += code_of(copy.span()) != Code::kCorrupt;
    copy[byte] ^= mask;
    ++tried;
  };
  for (std::size_t i = kPayloadAlign; i < copy.span().size(); i += kStride) {
    if (!test::is_full()) flip(i, i % 8);
    for (std::size_t bit = 0; test::is_full() && bit < 8; ++bit) flip(i, bit);
  }
  CHECK(accepted == 0);
  CHECK(code_of(copy.span()) == Code::kOk);
  test::say("C1", std::to_string(tried) + " bits of a payload of 64 KiB");
}

TEST_CASE("pages that are swapped, doubled or zeroed are found, in header, tables and payload") {
  const ModuleHandle module = sixteen_pages();
  const std::size_t n = module->bytes().size() / kPayloadAlign;
  const auto page = [&](std::span<std::byte> file, std::size_t i) {
    return file.subspan(i * kPayloadAlign, kPayloadAlign);
  };
  std::size_t changed = 0;
  const auto look = [&](auto change) {
    Bytes copy(module->bytes());
    change(copy.span());
    if (std::ranges::equal(copy.span(), module->bytes())) return;
    ++changed;
    CHECK(code_of(copy.span()) == Code::kCorrupt);
  };
  for (std::size_t i = 0; i < n; ++i) {
    look([&](auto file) { std::ranges::fill(page(file, i), std::byte{0}); });
    for (std::size_t j = 0; j < n; ++j) {
      look([&](auto file) { std::ranges::copy(page(file, i), page(file, j).begin()); });
      if (i < j) look([&](auto file) { std::ranges::swap_ranges(page(file, i), page(file, j)); });
    }
  }
  // Of two pages one takes the other's place, or both do, and each can be zeros; no two are alike.
  CHECK(changed == n + n * (n - 1) + n * (n - 1) / 2);
  test::say("C1", std::to_string(changed) + " swapped, doubled or zeroed pages");
}

TEST_CASE("a payload of several chunks is summed whole, to its last byte") {
  ModuleIdentity id = test::identity();
  id.geometry = KvGeometry(3, 2, 64, KvType::kF32);
  id.runs = {{test::numbered(0, 300), 0, true}};
  auto image = ModuleImage::create(id).value();
  const ModuleHandle module = std::move(image).seal().value();
  REQUIRE(module->header().n_chunks > 3);
  REQUIRE(module->header().payload_bytes % kChunkBytes != 0);
  Bytes copy(module->bytes());
  for (std::size_t i :
       {std::size_t{4096}, 4096 + kChunkBytes - 1, 4096 + kChunkBytes, copy.span().size() - 1}) {
    copy[i] ^= std::byte{1};
    CHECK(code_of(copy.span()) == Code::kCorrupt);
    CHECK(code_of(copy.span(), PayloadCheck::kTrusted) == Code::kOk);
    copy[i] ^= std::byte{1};
  }
}

TEST_CASE("another version or byte order is unsupported, not corrupt") {
  const ModuleHandle module = test::make_module(test::identity());
  Bytes copy(module->bytes());
  ModuleHeader header = copy.header();
  header.version = module_version(1) + 1;
  copy.reseal(header);
  CHECK(code_of(copy.span()) == Code::kUnsupported);
  header.version = module_version(1);  // of files with recurrent states, which it has none of
  copy.reseal(header);
  CHECK(code_of(copy.span()) == Code::kCorrupt);
  header = module->header();
  header.endian = 0x04030201;
  copy.reseal(header);
  CHECK(code_of(copy.span()) == Code::kUnsupported);
}

// Under the key that belongs to it.
void rename_backend(ModuleHeader& header, const std::string& name) {
  header.causes.backend = {};
  name.copy(header.causes.backend.data(), header.causes.backend.size());
  header.key = key_of(header.causes);
}

// A seal proves that the bytes are those the author wrote, not that the author was right.
TEST_CASE("a well-sealed lie is refused") {
  const ModuleHandle module = test::make_module(test::identity());
  using Lie = std::pair<const char*, std::function<void(ModuleHeader&)>>;
  constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();
  const std::vector<Lie> lies = {
      {"n_tokens 0", [](auto& h) { h.n_tokens = 0; }},
      {"n_tokens huge", [](auto& h) { h.n_tokens = kHuge; }},
      {"n_tokens + 1", [](auto& h) { ++h.n_tokens; }},
      {"n_runs 0", [](auto& h) { h.n_runs = 0; }},
      {"n_runs huge", [](auto& h) { h.n_runs = kHuge; }},
      {"n_runs - 1", [](auto& h) { --h.n_runs; }},
      {"n_blocks huge", [](auto& h) { h.n_blocks = kHuge; }},
      {"n_blocks - 1", [](auto& h) { --h.n_blocks; }},
      {"n_chunks huge", [](auto& h) { h.n_chunks = ~0ull; }},
      {"payload_bytes huge", [](auto& h) { h.payload_bytes = ~0ull; }},
      {"file_bytes huge", [](auto& h) { h.file_bytes = ~0ull; }},
      {"header_bytes", [](auto& h) { h.header_bytes = 256; }},
      {"n_layers huge", [](auto& h) { h.causes.n_layers = kHuge; }},
      {"n_layers as many as may be", [](auto& h) { h.causes.n_layers = KvGeometry::kMaxLayers; }},
      {"n_layers 0", [](auto& h) { h.causes.n_layers = 0; }},
      {"n_layers - 1", [](auto& h) { --h.causes.n_layers; }},
      {"layers", [](auto& h) { h.causes.layers[0] ^= 1; }},
      {"type", [](auto& h) { h.causes.kv_type = KvType{77}; }},
      {"q8", [](auto& h) { h.causes.kv_type = KvType::kQ8; }},
      {"q4 in halves of a group", [](auto& h) { h.causes.kv_type = KvType::kQ4; }},
      {"key", [](auto& h) { h.key.digest[0] ^= 1; }},
      {"causes", [](auto& h) { h.causes.weights[0] ^= 1; }},
      {"reserved", [](auto& h) { h.zero[111] = 1; }},
      {"no backend", [](auto& h) { rename_backend(h, ""); }},
      {"a backend's name that does not end",
       [](auto& h) { rename_backend(h, std::string(32, 'a')); }},
      {"a backend's name with a line break", [](auto& h) { rename_backend(h, "c\nu"); }},
      {"something behind a backend's name",
       [](auto& h) { rename_backend(h, std::string("cpu\0x", 5)); }},
  };
  for (const auto& [name, lie] : lies) {
    Bytes copy(module->bytes());
    ModuleHeader header = copy.header();
    lie(header);
    copy.reseal(header);
    INFO(name);
    CHECK(code_of(copy.span()) == Code::kCorrupt);
  }
}

TEST_CASE("a table of runs that contradicts the header is refused") {
  const ModuleHandle module = test::make_module(test::identity());
  const std::size_t at = sizeof(ModuleHeader) + module->header().n_chunks * 8;
  const std::vector<std::array<ModuleRun, 2>> tables = {{
      {{{5, 0}, {17, 4}}},           // overlap
      {{{5, 9}, {17, 0}}},           // out of order
      {{{5, -1}, {17, 9}}},          // before the start
      {{{0, 0}, {22, 9}}},           // empty
      {{{22, 0}, {0, 30}}},          // empty
      {{{6, 0}, {17, 9}}},           // too many tokens
      {{{5, 0}, {16, 9}}},           // too few
      {{{16, 0}, {6, 30}}},          // as many tokens, fewer blocks
      {{{0xffffffff, 0}, {23, 9}}},  // wraps around to the right sum
      {{{5, 0}, {17, std::numeric_limits<std::int32_t>::max() - 16}}},  // leaves the positions
  }};
  for (const auto& table : tables) {
    Bytes copy(module->bytes());
    std::memcpy(&copy[at], table.data(), sizeof table);
    copy.reseal(copy.header());
    CHECK(code_of(copy.span()) == Code::kCorrupt);
  }
}

TEST_CASE("bytes in the padding are refused even under a seal that fits") {
  Bytes copy(test::make_module(test::identity())->bytes());
  copy[kPayloadAlign - 1] = std::byte{1};
  copy.reseal(copy.header());
  CHECK(code_of(copy.span()) == Code::kCorrupt);
}

TEST_CASE("tokens are compared one by one, even where all digests agree") {
  const ModuleIdentity id = test::identity();
  Bytes copy(test::make_module(id)->bytes());
  const ModuleHeader header = copy.header();
  const std::size_t last =
      sizeof(ModuleHeader) + header.n_chunks * 8 + header.n_runs * 8 + (header.n_tokens - 1) * 4;
  copy[last] ^= std::byte{1};
  copy.reseal(header);
  const ModuleHandle liar = ModuleFile::open(copy.span(), PayloadCheck::kVerify, nullptr).value();
  const Status status = liar->matches(id, causes_of(id));
  REQUIRE(!status.ok());
  CHECK(status.error().code == Code::kMismatch);
  CHECK_THAT(status.error().message, Catch::Contains("kept run 1"));
}

TEST_CASE("a module matches no identity but its own") {
  const ModuleHandle module = test::make_module(test::identity());
  for (const auto& [name, change] : test::every_change()) {
    ModuleIdentity other = test::identity();
    change(other);
    const Status status = module->matches(other, causes_of(other));
    INFO(name);
    REQUIRE(!status.ok());
    CHECK(status.error().code == Code::kMismatch);
  }
}

TEST_CASE("an image of an identity that cannot be meant is refused") {
  ModuleIdentity id = test::identity();
  id.weights = {};
  CHECK(ModuleImage::create(id).error().code == Code::kInvalidArgument);
}

}  // namespace
}  // namespace pc
