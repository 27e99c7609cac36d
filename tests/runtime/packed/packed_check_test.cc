// Weights that are in use while their file is verified: nobody is given a matrix that is not what
// was written, and what is found is remembered as if it had been found before.

#include "runtime/packed/packed_check.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "runtime/packed/packed_folder.h"
#include "simd/packed/packed.h"
#include "tests/runtime/packed/packed_cache.h"
#include "tests/runtime/packed/quantised_model.h"
#include "tests/support/file_faults.h"

namespace pc::test {
namespace {

PackedWeights open(const QuantisedModel& model, const PackOptions& options) {
  auto packed = PackedWeights::open(model.desc, options, Parallel(1));
  if (!packed.ok()) FAIL(packed.error().message);
  return std::move(packed).value();
}

// A cache with a whole file that no process has verified in this boot.
struct UnverifiedCache : Cache {
  explicit UnverifiedCache(const QuantisedModel& model) {
    (void)test::open(model, options);
    forget();
    options.sums_later = true;
  }
  void forget() const {
    for (const auto& stamp : fs::directory_iterator(folder.path() + "/packed/used"))
      fs::remove(stamp.path());
  }
  std::string stamp() const {
    for (const auto& stamp : fs::directory_iterator(folder.path() + "/packed/used"))
      return read(stamp.path());
    return {};
  }
};

void flip_bit(const fs::path& path, std::size_t offset) {
  std::string text = read(path);
  text[offset] = static_cast<char>(text[offset] ^ 0x10);
  rewrite(path, text);
}

// Are these the bytes of this matrix, packed?
bool is_packed(const pc_tensor& w, const std::byte* bytes) {
  const auto type = static_cast<simd::Type>(w.dtype);
  std::vector<std::byte> own(simd::packed_bytes(type, w.rows, w.cols));
  for (std::size_t panel = 0; panel * simd::kPanelRows < w.rows; ++panel)
    simd::pack_panel(type, static_cast<const std::byte*>(w.data), w.rows, w.cols, panel,
                     own.data());
  return std::equal(own.begin(), own.end(), bytes);
}

std::size_t n_found(const PackedWeights& packed, const std::vector<pc_tensor>& matrices) {
  return static_cast<std::size_t>(std::ranges::count_if(
      matrices, [&](const pc_tensor& w) { return packed.find(w.data) != nullptr; }));
}

// Where the file has a byte of a matrix.
std::size_t code_of(std::size_t matrix, const QuantisedModel& model, const Cache& cache,
                    const std::vector<pc_tensor>& matrices) {
  const PackedWeights packed = open(model, cache.options);
  const std::byte* const first = packed.place_of(matrices[0].data);
  const std::byte* const own = packed.place_of(matrices[matrix].data);
  const auto payload =
      packed_extent(packed_shapes(matrices), std::uint64_t{1} << 40).value().payload;
  return payload + static_cast<std::size_t>(own - first) + 9;
}

TEST_CASE("a sound file is used at once, and stamped when it was seen to be one") {
  const QuantisedModel model(21);
  const UnverifiedCache cache(model);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // its times say whether it changed
  const std::vector<pc_tensor> matrices = packable_matrices(model.desc);
  {
    const PackedWeights packed = open(model, cache.options);
    CHECK(n_found(packed, matrices) == matrices.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (cache.stamp().empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(cache.stamp().starts_with("verified boot="));

  // From then on nobody looks: matrices that could not be read to be verified are used as they lie.
  fail_reads(EIO, -1);
  for (const bool later : {false, true}) {
    PackOptions options = cache.options;
    options.sums_later = later;
    const PackedWeights again = open(model, options);
    for (const pc_tensor& w : matrices) CHECK(again.find(w.data) == again.place_of(w.data));
  }
  fail_reads(0, 0);
}

TEST_CASE("a child of fork looks for itself, where the thread had not come to a matrix") {
  const QuantisedModel model(26);
  const std::vector<pc_tensor> matrices = packable_matrices(model.desc);
  constexpr std::size_t kNone = ~std::size_t{0};
  const auto damaged = GENERATE_COPY(values<std::size_t>({kNone, 0, matrices.size() - 1}));
  CAPTURE(damaged);
  for (int round = 0; round < 20; ++round) {
    const UnverifiedCache cache(model);
    if (damaged != kNone) flip_bit(cache.file(), code_of(damaged, model, cache, matrices));
    cache.forget();
    auto packed = std::make_unique<PackedWeights>(open(model, cache.options));
    // The thread has come as far as the first matrix in half of the rounds.
    if (round % 2 == 0) (void)packed->find(matrices[0].data);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);
      bool all = true;
      for (int look = 0; look < 2; ++look)
        for (std::size_t i = 0; i < matrices.size(); ++i) {
          const std::byte* found = packed->find(matrices[i].data);
          const bool in_place = found == packed->place_of(matrices[i].data);
          all = all && is_packed(matrices[i], found) && in_place == (i != damaged);
        }
      packed.reset();  // does not wait for a thread that is not there
      ::_exit(all ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

TEST_CASE("a matrix of which one bit is wrong is packed again, and the file goes") {
  const QuantisedModel model(22);
  const UnverifiedCache cache(model);
  const std::vector<pc_tensor> matrices = packable_matrices(model.desc);
  const fs::path path = cache.file();
  const std::string sound = read(path);
  for (const std::size_t damaged : {std::size_t{0}, matrices.size() / 2, matrices.size() - 1}) {
    flip_bit(path, code_of(damaged, model, cache, matrices));
    cache.forget();
    {
      const PackedWeights packed = open(model, cache.options);
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        const std::byte* found = packed.find(matrices[i].data);
        REQUIRE(found != nullptr);
        CHECK((found == packed.place_of(matrices[i].data)) == (i != damaged));
        CHECK(is_packed(matrices[i], found));
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!cache.files().empty() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(cache.files().empty());
    // The next one makes it anew.
    const PackedWeights packed = open(model, cache.options);
    CHECK(n_found(packed, matrices) == matrices.size());
    CHECK(read(cache.file()) == sound);
    cache.forget();
  }
}

TEST_CASE("what a disk does not read is packed again, and the file stays") {
  const QuantisedModel model(23);
  const UnverifiedCache cache(model);
  const std::vector<pc_tensor> matrices = packable_matrices(model.desc);
  fail_reads(EIO, -1);
  {
    const PackedWeights packed = open(model, cache.options);
    for (const pc_tensor& w : matrices) {
      const std::byte* found = packed.find(w.data);
      REQUIRE(found != nullptr);
      CHECK(found != packed.place_of(w.data));
      CHECK(is_packed(w, found));
    }
  }
  fail_reads(0, 0);
  CHECK(cache.files().size() == 1);
  CHECK(n_found(open(model, cache.options), matrices) == matrices.size());
}

TEST_CASE("a file that another process verifies first is waited for by nobody") {
  const QuantisedModel model(25);
  const UnverifiedCache cache(model);
  const std::vector<pc_tensor> matrices = packable_matrices(model.desc);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  PackOptions before = cache.options;
  before.sums_later = false;
  (void)open(model, before);
  REQUIRE(cache.stamp().starts_with("verified boot="));
  const auto key = from_hex(cache.file().filename().string());
  REQUIRE(key.has_value());
  for (int i = 0; i < 200; ++i) {
    auto folder = open_packed_folder(cache.folder.path(), true).value();
    OpenFile file = folder.open_file(*key).value();
    const MappedFile mapped =
        MappedFile::map(file.fd.get(), static_cast<std::uint64_t>(file.st.st_size), "packed")
            .value();
    const PackedFile packed = PackedFile::open(mapped.bytes()).value();
    PackedCheck check(std::move(folder), *key, packed, std::move(file), matrices);
    REQUIRE(check.sound(packed.matrix(0)) == packed.matrix(0));
  }
}

TEST_CASE("verifying may be given up at any time") {
  const QuantisedModel model(24);
  const UnverifiedCache cache(model);
  for (int i = 0; i < 50; ++i) (void)open(model, cache.options);
  CHECK(cache.files().size() == 1);
}

}  // namespace
}  // namespace pc::test
