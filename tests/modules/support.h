// What the tests of modules/ share: small identities, images filled with
// recognisable values, and an independent statement of where each value lies.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "modules/module_file.h"
#include "modules/module_image.h"
#include "modules/module_key.h"
#include "modules/module_store.h"

namespace pc::test {

inline Digest digest(std::uint8_t fill) {
  Digest d;
  d.fill(fill);
  return d;
}

inline std::vector<std::int32_t> numbered(std::int32_t first, std::size_t n) {
  std::vector<std::int32_t> tokens(n);
  for (std::size_t i = 0; i < n; ++i) tokens[i] = first + static_cast<std::int32_t>(i);
  return tokens;
}

// Two kept runs with a gap between them, after text that is not kept. `salt`
// makes it another module.
inline ModuleIdentity identity(std::int32_t salt = 0, KvType type = KvType::kF32) {
  ModuleIdentity id;
  id.weights = digest(1);
  id.tokenizer = digest(2);
  id.rope = digest(3);
  id.backend = "cpu";
  id.numerics_version = 2;
  // Layers of two shapes; three scales a key of q8, and two.
  id.geometry = type == KvType::kQ8 ? KvGeometry({{2, 72}, {1, 40}}, type)
                                    : KvGeometry({{2, 8}, {1, 16}}, type);
  id.runs.push_back({numbered(100, 3), -3, false});
  id.runs.push_back({numbered(1000 + 50 * salt, 5), 0, true});
  id.runs.push_back({numbered(7, 2), 5, false});
  id.runs.push_back({numbered(2000, 17), 9, true});
  return id;
}

using Change = std::pair<std::string, std::function<void(ModuleIdentity&)>>;

// One change for each field of an identity, and for each part of a run.
inline std::vector<Change> every_change() {
  return {
      {"weights", [](ModuleIdentity& id) { id.weights[31] ^= 1; }},
      {"adapter", [](ModuleIdentity& id) { id.adapter = "lora"; }},
      {"tokenizer", [](ModuleIdentity& id) { id.tokenizer[0] ^= 0x80; }},
      {"rope", [](ModuleIdentity& id) { id.rope[16] ^= 1; }},
      {"n_layers",
       [](ModuleIdentity& id) {
         id.geometry = {{{2, 8}, {1, 16}, {1, 16}}, KvType::kF32};
       }},
      {"n_kv_heads",
       [](ModuleIdentity& id) {
         id.geometry = {{{2, 8}, {2, 16}}, KvType::kF32};
       }},
      {"head_dim",
       [](ModuleIdentity& id) {
         id.geometry = {{{2, 8}, {1, 14}}, KvType::kF32};
       }},
      {"the order of layers",
       [](ModuleIdentity& id) {
         id.geometry = {{{1, 16}, {2, 8}}, KvType::kF32};
       }},
      {"type", [](ModuleIdentity& id) { id.geometry = id.geometry.of_type(KvType::kBf16); }},
      {"numerics version", [](ModuleIdentity& id) { ++id.numerics_version; }},
      {"backend", [](ModuleIdentity& id) { id.backend = "cuda"; }},
      {"attend", [](ModuleIdentity& id) { id.attend = 1; }},
      {"namespace", [](ModuleIdentity& id) { id.name_space = "alice"; }},
      {"origin", [](ModuleIdentity& id) { id.origin = 7; }},
      {"context", [](ModuleIdentity& id) { id.context[31] ^= 1; }},
      {"a kept token", [](ModuleIdentity& id) { id.runs[1].tokens[4] ^= 1; }},
      {"a seen token", [](ModuleIdentity& id) { id.runs[0].tokens[0] ^= 1; }},
      {"a kept position", [](ModuleIdentity& id) { ++id.runs[3].position; }},
      {"a seen position", [](ModuleIdentity& id) { --id.runs[0].position; }},
      {"keep", [](ModuleIdentity& id) { id.runs[2].keep = true; }},
      {"a token more", [](ModuleIdentity& id) { id.runs[3].tokens.push_back(1); }},
      {"a run less", [](ModuleIdentity& id) { id.runs.erase(id.runs.begin()); }},
      {"a run split",
       [](ModuleIdentity& id) {
         id.runs[3].tokens.resize(10);
         id.runs.push_back({numbered(2010, 7), 19, true});
       }},
  };
}

// Where one value lies, in bytes from the start of its plane, written down
// from the comment of modules/kv.h and sharing no code with modules/. A row's scales,
// where it has some, go by the dimensions from head_dim on.
enum class Plane { kKeys, kValues };
inline std::size_t n_elements(KvHead g, Plane plane) {
  if (g.type != KvType::kQ8) return g.dims;
  return g.dims + (plane == Plane::kKeys ? (g.dims + 31) / 32 : 1);
}
inline std::size_t element_bytes(KvHead g, Plane plane, std::size_t dim) {
  if (g.type == KvType::kQ8) return dim < g.dims ? 1 : plane == Plane::kKeys ? 2 : 4;
  return g.type == KvType::kF32 ? 4 : 2;
}
inline std::size_t value_offset(KvHead g, Plane plane, std::size_t row, std::size_t dim) {
  const std::size_t block = row / 16, t = row % 16, hd = g.dims;
  const bool keys = plane == Plane::kKeys;
  switch (g.type) {
    case KvType::kF32:
      return block * 64 * hd + 4 * (keys ? dim * 16 + t : t * hd + dim);
    case KvType::kBf16:
      return block * 32 * hd +
             2 * (keys ? (dim / 2 * 16 + t) * 2 + dim % 2 : (t / 2 * hd + dim) * 2 + t % 2);
    case KvType::kQ8: {
      const std::size_t head = 64 * ((hd + 63) / 64), begin = block * (head + 16 * hd);
      if (dim >= hd && keys) return begin + (dim - hd) / 2 * 64 + 4 * t + (dim - hd) % 2 * 2;
      if (dim >= hd) return begin + 4 * t;
      return begin + head +
             (keys ? (dim / 4 * 16 + t) * 4 + dim % 4 : (t / 4 * hd + dim) * 4 + t % 4);
    }
    case KvType::kQ4:  // the byte of the code; see q4_shift
      return block * 12 * hd + 4 * hd +
             (keys ? (dim / 8 * 16 + t) * 4 + dim % 8 / 2 : (t / 8 * hd + dim) * 4 + t % 8 / 2);
  }
  return 0;
}

// Of a q4 code in its byte.
inline unsigned q4_shift(Plane plane, std::size_t row, std::size_t dim) {
  return 4 * ((plane == Plane::kKeys ? dim : row) % 2);
}
// Where its block says what the code means: a step and a least number.
inline std::size_t q4_pair_offset(KvHead g, Plane plane, std::size_t row, std::size_t dim) {
  return row / 16 * 12 * g.dims + 4 * (plane == Plane::kKeys ? dim : dim / 16 * 16 + row % 16);
}

// Calls visit(plane, layer, head, row, dim, offset from the first of all planes) for each value of
// a run, and, where `unused` is set, for the rows past its end instead.
template <class Planes, class Visit>
void for_each_value(const KvGeometry& g, const Planes& run, bool unused, Visit visit) {
  const std::size_t begin = unused ? run.n_tokens : 0;
  const std::size_t end = unused ? kv_blocks(run.n_tokens) * 16 : run.n_tokens;
  for (const Plane plane : {Plane::kKeys, Plane::kValues}) {
    std::size_t layer_begin = 0;
    for (std::uint32_t layer = 0; layer < g.n_layers(); ++layer) {
      const KvHead shape = g.head(layer);
      const std::size_t plane_bytes = run.plane_blocks * shape.block_bytes();
      for (std::uint32_t head = 0; head < g.n_kv_heads(layer); ++head)
        for (std::size_t row = begin; row < end; ++row)
          for (std::size_t dim = 0; dim < n_elements(shape, plane); ++dim)
            visit(plane, layer, head, row, dim,
                  layer_begin + (2 * head + (plane == Plane::kValues)) * plane_bytes +
                      value_offset(shape, plane, 16 * run.first_block + row, dim));
      layer_begin += 2 * g.n_kv_heads(layer) * plane_bytes;
    }
  }
}

// Never zero, and different for neighbours in every direction; of q8's codes the low byte.
inline std::uint16_t value(Plane plane, std::size_t run, std::size_t layer, std::size_t head,
                           std::size_t row, std::size_t dim) {
  std::size_t v = plane == Plane::kKeys ? 1 : 2;
  for (const std::size_t part : {run, layer, head, row, dim}) v = v * 31 + part;
  return static_cast<std::uint16_t>(v % 65521 + 1);
}
inline std::uint32_t stored_value(const KvGeometry& g, Plane plane, std::size_t run,
                                  std::uint32_t layer, std::size_t head, std::size_t row,
                                  std::size_t dim) {
  const std::uint32_t v = value(plane, run, layer, head, row, dim);
  return element_bytes(g.head(layer), plane, dim) == 1 ? v % 255 + 1 : v;
}

// Values in every row, and noise in the rows past the end, which seal() must clear.
inline ModuleHandle make_module(const ModuleIdentity& id,
                                std::shared_ptr<CacheDraft> draft = nullptr) {
  auto image = ModuleImage::create(id, std::move(draft)).value();
  for (std::uint32_t run = 0; run < image.n_runs(); ++run) {
    const KvPlanes planes = image.planes(run);
    const auto put = [&](Plane plane, std::uint32_t layer, std::size_t dim, std::size_t offset,
                         std::uint32_t v) {
      std::memcpy(planes.data + offset, &v, element_bytes(id.geometry.head(layer), plane, dim));
    };
    for_each_value(id.geometry, planes, false,
                   [&](Plane p, auto layer, auto head, auto row, auto dim, auto offset) {
                     put(p, layer, dim, offset,
                         stored_value(id.geometry, p, run, layer, head, row, dim));
                   });
    for_each_value(id.geometry, planes, true,
                   [&](Plane p, auto layer, auto, auto, auto dim, auto offset) {
                     put(p, layer, dim, offset, ~0u);
                   });
  }
  return std::move(image).seal().value();
}

// A writable copy of a module's bytes that ModuleFile::open accepts.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> from) : buffer_(from.size()) {
    std::memcpy(buffer_.data(), from.data(), from.size());
  }
  std::span<std::byte> span() { return buffer_.span(); }
  std::byte& operator[](std::size_t i) { return buffer_[i]; }
  ModuleHeader header() const {
    ModuleHeader h;
    std::memcpy(&h, buffer_.data(), sizeof h);
    return h;
  }
  // Writes a header with a seal that fits: what a hostile author would do.
  void reseal(ModuleHeader h, std::size_t payload_offset = kPayloadAlign) {
    std::memcpy(buffer_.data(), &h, sizeof h);
    h.seal = module_seal(std::span<const std::byte>(buffer_.span()).first(payload_offset));
    std::memcpy(buffer_.data(), &h, sizeof h);
  }

 private:
  AlignedBuffer<std::byte> buffer_;
};

inline std::string object_name(const ModuleKey& key) {
  return key.hex() + ".module";
}

inline std::string object_path(const std::string& dir, const ModuleKey& key) {
  return dir + "/v3/objects/" + object_name(key);
}

}  // namespace pc::test
