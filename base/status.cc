#include "base/status.h"

namespace pc {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid-argument";
    case Code::kNotFound:
      return "not-found";
    case Code::kIo:
      return "io";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kMismatch:
      return "mismatch";
    case Code::kPmlSyntax:
      return "pml-syntax";
    case Code::kPmlSemantic:
      return "pml-semantic";
    case Code::kContextFull:
      return "context-full";
    case Code::kOutOfMemory:
      return "out-of-memory";
    case Code::kBudget:
      return "budget";
    case Code::kCancelled:
      return "cancelled";
    case Code::kNotFinite:
      return "not-finite";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace pc
