#pragma once

#include <cstdint>
#include <string_view>

namespace medley {

// Mixes a word so that nearby inputs give unrelated outputs (the finalizer of SplitMix64,
// Steele, Lea and Flood 2014).
constexpr std::uint64_t MixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t CombineSeeds(std::uint64_t a, std::uint64_t b) {
  return MixBits(a ^ MixBits(b + 0x632be59bd9b4e019ULL));
}

// FNV-1a; for seeds from names, not for integrity.
constexpr std::uint64_t HashName(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

// Seeds of a task's rows in training, of the run's seed, and in evaluation, of eval.seed: never the same
// rows.
constexpr std::uint64_t TaskSeed(std::uint64_t run_seed, std::string_view task) {
  return CombineSeeds(run_seed, HashName(task));
}
constexpr std::uint64_t EvalSeed(std::uint64_t eval_seed, std::string_view task) {
  return CombineSeeds(CombineSeeds(eval_seed, HashName("evaluation")), HashName(task));
}

// The random numbers of one row: cheap to make, the same on every machine and thread.
class RowRandom {
 public:
  explicit constexpr RowRandom(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t Bits() {
    const std::uint64_t out = MixBits(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return out;
  }
  // Uniform in [0, 1), 53 bits.
  constexpr double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1.0p-53; }
  constexpr double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Uniform in [0, n); n > 0.
  constexpr std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(Bits()) * static_cast<std::uint64_t>(n)) >> 64);
  }
  constexpr bool Coin() { return (Bits() >> 63) != 0; }

 private:
  std::uint64_t state_;
};

}  // namespace medley
