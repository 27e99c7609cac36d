// Fuzzes what unpacks the bodies of requests: whatever comes, it is unpacked within its bound or
// refused, and left as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/serve/http/body_coding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 10'000;
  for (const char* const coding : {"gzip", "deflate"}) {
    pc::serve::HttpRequest request;
    request.headers = {{"content-encoding", coding}};
    request.body.assign(reinterpret_cast<const char*>(data), size);
    const std::string before = request.body;
    const auto problem = pc::serve::unpack_body(&request, kMost);
    const bool is_kept = problem ? request.body == before : request.body.size() <= kMost;
    if (!is_kept) std::abort();
  }
  return 0;
}
