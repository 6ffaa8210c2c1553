// Seeded random numbers that are the same on every machine and for any number of threads: each piece of work draws from a stream of its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace atlas {

// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function, so streams are cheap. Not for secrets.
class Random {
 public:
  // Streams of one seed differ by purpose and index (the number of a permutation, say).
  Random(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index) : state_(mix(mix(mix(seed) + purpose) + index)) {}

  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ULL); }

  // Uniform over 0 .. count - 1, without bias: values past the last whole multiple of `count` are drawn again. count > 0.
  std::uint32_t below(std::uint32_t count) {
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % count;
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return static_cast<std::uint32_t>(value % count);
  }

  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)

  template <typename T>
  void shuffle(std::vector<T>& values) {  // Fisher and Yates
    for (std::size_t i = values.size(); i > 1; i--) std::swap(values[i - 1], values[below(static_cast<std::uint32_t>(i))]);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// One number a use, so that no two parts of the analysis share draws.
namespace random_purpose {
inline constexpr std::uint64_t relabel = 1, pairing = 2, accuracy_interval = 3, bootstrap = 4, split_half = 5, permuted_bootstrap = 6,
                               token_shuffle = 7, subsample = 8;
}

}  // namespace atlas
