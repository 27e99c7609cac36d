// What symbols.py must catch: a plain inline function compiled for AVX-512, and
// one of a target namespace, both emitted as weak symbols.
#define WIDE __attribute__((target("avx512f")))
WIDE inline float plain_name(const float* x) {
  return x[0] + x[1];
}
namespace planted::N_AVX3 {
WIDE inline float of_a_target(const float* x) {
  return x[0] * x[1];
}
}  // namespace planted::N_AVX3
WIDE float planted_use(const float* x) {
  return plain_name(x) + planted::N_AVX3::of_a_target(x);
}
