// Runs a fuzz target without a fuzzer: every file of the command line as it
// is, and deterministic mutations of it, so that the target stays sound in
// ordinary builds. A finding is a crash, or a sanitizer's report.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kMutations = 200;  // of each file: seconds in all
constexpr std::size_t kMaxBytes = 1 << 16;

// Copies, so that a sanitizer sees reads past the end.
void feed(const Bytes& bytes) {
  const Bytes copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

// One small change of the kinds that parsers trip over.
void mutate(Bytes& bytes, const Bytes& donor, pc::test::Random& random) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (size == 0) {
    bytes.push_back(static_cast<std::uint8_t>(random.below(256)));
    return;
  }
  const std::uint32_t at = random.below(size);
  const std::uint32_t n = 1 + random.below(std::min<std::uint32_t>(size - at, 32));
  switch (random.below(7)) {
    case 0:
      bytes[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<std::uint8_t>(random.below(256));
      break;
    case 2:
      bytes[at] = random.chance(0.5) ? 0xFF : 0x00;
      break;
    case 3:
      bytes.erase(bytes.begin() + at, bytes.begin() + at + n);
      break;
    case 4: {
      const Bytes part(bytes.begin() + at, bytes.begin() + at + n);
      bytes.insert(bytes.begin() + random.below(size + 1), part.begin(), part.end());
      break;
    }
    case 5:
      bytes.resize(at);
      break;
    case 6:
      if (!donor.empty()) {
        const std::uint32_t from = random.below(static_cast<std::uint32_t>(donor.size()));
        const auto end = std::min<std::size_t>(donor.size(), from + 32);
        bytes.insert(bytes.begin() + at, donor.begin() + from, donor.begin() + end);
      }
      break;
  }
  if (bytes.size() > kMaxBytes) bytes.resize(kMaxBytes);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Bytes> seeds;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  seeds.emplace_back();  // no input at all
  pc::test::Random random(20240115);
  for (const Bytes& seed : seeds) {
    feed(seed);
    for (int i = 0; i < kMutations; ++i) {
      Bytes bytes = seed;
      for (std::uint32_t k = 1 + random.below(4); k > 0; --k)
        mutate(bytes, seeds[random.below(static_cast<std::uint32_t>(seeds.size()))], random);
      feed(bytes);
    }
  }
  std::printf("%zu seeds, %d mutations of each: sound\n", seeds.size(), kMutations);
  return 0;
}
