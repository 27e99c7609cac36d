#include "modules/kv.h"

#include <string>

namespace pc {
namespace {

Error refused(const std::string& what) {
  return error(Code::kInvalidArgument, "module: " + what);
}

Status check_count(const char* name, std::uint32_t count, std::uint32_t most) {
  if (count != 0 && count <= most) return ok();
  return refused(std::string(name) + " is zero or over its limit");
}

}  // namespace

Status check_geometry(const KvGeometry& geometry) {
  PC_CHECK_OK(check_count("n_layers", geometry.n_layers, KvGeometry::kMaxLayers));
  PC_CHECK_OK(check_count("n_kv_heads", geometry.n_kv_heads, KvGeometry::kMaxKvHeads));
  PC_CHECK_OK(check_count("head_dim", geometry.head_dim, KvGeometry::kMaxHeadDim));
  if (geometry.head_dim % 2 != 0) return refused("head_dim is odd");
  if (!kv_type_known(geometry.type)) return refused("unknown type of K and V");
  if (!kv_type_fits(geometry.type, geometry.head_dim))
    return refused("q8 wants a head_dim that is a multiple of 4");
  return ok();
}

}  // namespace pc
