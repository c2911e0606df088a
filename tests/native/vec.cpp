// tier: vec
#include <ATen/cpu/vec/vec.h>
#include <cstdint>

extern "C" int64_t kata_width() {
  return at::vec::Vectorized<float>::size();
}

extern "C" void kata_twice(const float* from, float* to, int64_t n) {
  using Vec = at::vec::Vectorized<float>;
  int64_t i = 0;
  for (; i + Vec::size() <= n; i += Vec::size()) {
    (Vec::loadu(from + i) * Vec(2)).store(to + i);
  }
  for (; i < n; ++i) {
    to[i] = 2 * from[i];
  }
}
