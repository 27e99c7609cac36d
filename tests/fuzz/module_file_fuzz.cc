// Fuzzes the reader of module files.
//
// The first byte of the input chooses what the rest is: a file; changes
// (offset u16, byte) to a sound file, of states of bf16, q8 or q4, and from 128 on with numbers of
// recurrent layers behind them (format 4); or such changes under
// a key and a seal that fit, which is what a hostile author sends and the only way past
// SHA-256.
// Whatever opens must keep its promises: everything handed out lies inside
// the bytes given, and every byte of it can be read.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "base/aligned_buffer.h"
#include "modules/module_file.h"
#include "modules/module_image.h"

namespace {

using pc::ModuleFile;
using pc::ModuleHandle;

constexpr pc::KvType kBaseTypes[] = {pc::KvType::kBf16, pc::KvType::kQ8, pc::KvType::kQ4};

constexpr std::uint32_t kRecurrent = 37;  // numbers

pc::ModuleIdentity base_identity(pc::KvType type, std::uint32_t n_recurrent) {
  pc::ModuleIdentity id;
  id.weights.fill(1);
  id.tokenizer.fill(2);
  id.rope.fill(3);
  id.backend = "cpu";
  id.numerics_version = 1;
  const std::uint32_t head_dim = std::max(2u, pc::kv_type_unit(type));
  id.geometry = {{{1, head_dim}, {2, 2 * head_dim}}, type};
  id.n_recurrent = n_recurrent;
  id.runs = {
      {{1, 2, 3}, -3, false}, {{4, 5, 6}, 0, true}, {std::vector<std::int32_t>(18, 7), 5, true}};
  return id;
}

// Made once each: kBaseTypes[type % 3], from 3 on with numbers of recurrent layers.
const ModuleHandle& base_module(std::size_t type) {
  static const auto made = [] {
    std::array<ModuleHandle, 6> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = pc::ModuleImage::create(base_identity(kBaseTypes[i % 3], i < 3 ? 0 : kRecurrent))
                   .value()
                   .seal()
                   .value();
    return all;
  }();
  return made[type];
}

void require(bool promise) {
  if (!promise) std::abort();
}

void use(const ModuleFile& module, std::span<const std::byte> bytes) {
  std::int64_t sum = 0;
  for (const std::int32_t token : module.tokens()) sum += token;
  const pc::KvGeometry& g = module.geometry();
  for (std::uint32_t run = 0; run < module.runs().size(); ++run) {
    const pc::KvSegment s = module.segment(run, 0);
    const std::uint32_t layer = g.n_layers() - 1;
    const std::byte* last = s.values(layer, g.n_kv_heads(layer) - 1) +
                            pc::kv_blocks(s.n_tokens) * g.head(layer).block_bytes() - 1;
    require(s.data >= bytes.data() && last >= s.data && last < bytes.data() + bytes.size());
    sum += static_cast<int>(*s.data) + static_cast<int>(*last);
  }
  for (const float& number : module.recurrent()) {
    const auto* const at = reinterpret_cast<const std::byte*>(&number);
    require(at >= bytes.data() && at + sizeof number <= bytes.data() + bytes.size());
    sum += number == 0;
  }
  const volatile std::int64_t read = sum;
  (void)read;
  const pc::ModuleIdentity identity = base_identity(g.type(), module.header().causes.n_recurrent);
  (void)module.matches(identity, pc::causes_of(identity));
}

void open_and_use(std::span<const std::byte> bytes) {
  const auto trusted = ModuleFile::open(bytes, pc::PayloadCheck::kTrusted, nullptr);
  const auto verified = ModuleFile::open(bytes, pc::PayloadCheck::kVerify, nullptr);
  require(trusted.ok() || !verified.ok());
  if (!trusted.ok()) return;
  require(verified.ok() == (*trusted)->verify_payload().ok());
  use(**trusted, bytes);
}

void open_raw(std::span<const std::byte> input) {
  pc::AlignedBuffer<std::byte> file(input.size());
  if (!input.empty()) std::memcpy(file.data(), input.data(), input.size());
  open_and_use(file.span());
}

void open_changed(std::span<const std::byte> changes, std::size_t type, bool reseal) {
  const std::span<const std::byte> base = base_module(type)->bytes();
  pc::AlignedBuffer<std::byte> file(base.size());
  std::memcpy(file.data(), base.data(), base.size());
  for (; changes.size() >= 3; changes = changes.subspan(3)) {
    const std::size_t at =
        static_cast<std::size_t>(changes[0]) << 8 | static_cast<std::size_t>(changes[1]);
    file[at % file.size()] = changes[2];
  }
  if (reseal) {
    pc::ModuleHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    header.key = pc::key_of(header.causes);
    std::memcpy(file.data(), &header, sizeof header);
    header.seal = pc::module_seal(std::span<const std::byte>(file.span()).first(pc::kPayloadAlign));
    std::memcpy(file.data(), &header, sizeof header);
  }
  open_and_use(file.span());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  const std::size_t type = data[0] / 3 % 3 + (data[0] < 128 ? 0 : 3);
  switch (data[0] % 3) {
    case 0:
      open_raw(rest);
      break;
    case 1:
      open_changed(rest, type, false);
      break;
    case 2:
      open_changed(rest, type, true);
      break;
  }
  return 0;
}
