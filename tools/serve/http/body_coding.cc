#include "tools/serve/http/body_coding.h"

#include <algorithm>
#include <array>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>

namespace pc::serve {
namespace {

namespace zlib = boost::beast::zlib;

constexpr std::size_t kPiece = std::size_t{64} << 10;

enum class Outcome { kWhole, kTooLong, kBroken };

struct Unpacking {
  std::string_view rest;  // what is not read yet
  std::size_t most_bytes;
  std::string text;
};

// One stream of DEFLATE (RFC 1951), which says itself where it ends.
Outcome inflate(Unpacking* work) {
  zlib::inflate_stream stream;
  zlib::z_params state;
  std::array<char, kPiece> piece;
  state.next_in = work->rest.data();
  state.avail_in = work->rest.size();
  boost::system::error_code error;
  while (!error) {
    state.next_out = piece.data();
    state.avail_out = piece.size();
    stream.write(state, zlib::Flush::none, error);
    const std::size_t n = piece.size() - state.avail_out;
    if (n > work->most_bytes - work->text.size()) return Outcome::kTooLong;
    work->text.append(piece.data(), n);
  }
  work->rest.remove_prefix(work->rest.size() - state.avail_in);
  return error == zlib::error::end_of_stream ? Outcome::kWhole : Outcome::kBroken;
}

// A number of n bytes, taken from the front.
std::optional<std::uint32_t> number(std::string_view* rest, std::size_t n, bool is_little) {
  if (rest->size() < n) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < n; ++i)
    value = value << 8 | static_cast<unsigned char>((*rest)[is_little ? n - 1 - i : i]);
  rest->remove_prefix(n);
  return value;
}

bool skip_text(std::string_view* rest) {  // up to and with a zero byte
  const std::size_t end = rest->find('\0');
  if (end == rest->npos) return false;
  rest->remove_prefix(end + 1);
  return true;
}

// RFC 1952, 2.3: what stands before the compressed data.
bool skip_gzip_head(std::string_view* rest) {
  constexpr unsigned kCheck = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xE0;
  constexpr std::string_view kMagic = "\x1f\x8b\x08";
  constexpr std::size_t kHead = 10;
  if (rest->size() < kHead || !rest->starts_with(kMagic)) return false;
  const auto flags = static_cast<unsigned char>((*rest)[kMagic.size()]);
  rest->remove_prefix(kHead);
  if ((flags & kReserved) != 0) return false;
  if ((flags & kExtra) != 0) {
    const auto n = number(rest, 2, true);
    if (!n || rest->size() < *n) return false;
    rest->remove_prefix(*n);
  }
  if ((flags & kName) != 0 && !skip_text(rest)) return false;
  if ((flags & kComment) != 0 && !skip_text(rest)) return false;
  return (flags & kCheck) == 0 || number(rest, 2, true).has_value();
}

// Members behind each other are one text. Each ends with a sum and a length.
Outcome gunzip(Unpacking* work) {
  do {
    const std::size_t begin = work->text.size();
    if (!skip_gzip_head(&work->rest)) return Outcome::kBroken;
    if (const Outcome outcome = inflate(work); outcome != Outcome::kWhole) return outcome;
    boost::crc_32_type sum;
    sum.process_bytes(work->text.data() + begin, work->text.size() - begin);
    if (number(&work->rest, 4, true) != sum.checksum()) return Outcome::kBroken;
    if (number(&work->rest, 4, true) != static_cast<std::uint32_t>(work->text.size() - begin))
      return Outcome::kBroken;
  } while (!work->rest.empty());
  return Outcome::kWhole;
}

std::uint32_t adler32(std::string_view text) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t a = 1, b = 0;
  for (const unsigned char c : text) {
    a = (a + c) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16 | a;
}

// "deflate" means a head and a sum around the data (RFC 1950); some clients send them without.
Outcome undeflate(Unpacking* work) {
  std::string_view rest = work->rest;
  const auto head = number(&rest, 2, false);
  constexpr std::uint32_t kMethod = 0x0F00, kDeflate = 0x0800, kDictionary = 0x20;
  const bool is_wrapped = head && *head % 31 == 0 && (*head & kMethod) == kDeflate;
  if (is_wrapped && (*head & kDictionary) != 0) return Outcome::kBroken;
  if (is_wrapped) work->rest = rest;
  if (const Outcome outcome = inflate(work); outcome != Outcome::kWhole) return outcome;
  if (is_wrapped && number(&work->rest, 4, false) != adler32(work->text)) return Outcome::kBroken;
  return work->rest.empty() ? Outcome::kWhole : Outcome::kBroken;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

std::optional<CodingProblem> unpack_body(HttpRequest* request, std::size_t most_bytes) {
  const std::string* const header = request->header("content-encoding");
  const std::string coding = header ? lower(*header) : "";
  if (coding.empty() || coding == "identity" || request->body.empty()) return std::nullopt;
  const bool is_gzip = coding == "gzip" || coding == "x-gzip";
  if (!is_gzip && coding != "deflate")
    return CodingProblem{415, "a body in content-encoding \"" + *header +
                                  "\" is not read here; send it in gzip or deflate, or as it is"};
  Unpacking work{request->body, most_bytes, {}};
  switch (is_gzip ? gunzip(&work) : undeflate(&work)) {
    case Outcome::kBroken:
      return CodingProblem{400, "the request's body is no " + coding + ", or is damaged"};
    case Outcome::kTooLong:
      return CodingProblem{413, "the request's body, unpacked, is longer than " +
                                    std::to_string(most_bytes) + " bytes"};
    case Outcome::kWhole:
      break;
  }
  request->body = std::move(work.text);
  return std::nullopt;
}

}  // namespace pc::serve
