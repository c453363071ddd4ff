#pragma once

#include <cstdint>

#include <medley/kernels/both.h>
#include <medley/kernels/device.h>

namespace medley::kernels {

// Threads of a block that share a line: a part of a warp (a power of two), or whole warps. A block has as
// many teams as make about 256 threads, and all go through the same barriers.
struct TeamShape {
  unsigned width, teams;

  MEDLEY_BOTH unsigned threads() const { return width * teams; }
};

inline constexpr unsigned kMostThreads = 512, kUsualThreads = 256, kWarp = 32;

// For lines of so many pieces, of which a thread takes `each` where so many threads suffice.
inline TeamShape TeamsFor(std::int64_t pieces, std::int64_t each = 1) {
  const std::int64_t wanted = (pieces + each - 1) / each;
  if (wanted >= kMostThreads) return {kMostThreads, 1};
  unsigned width = 1;
  while (width < wanted && width < kWarp) width *= 2;
  if (wanted > kWarp) width = (static_cast<unsigned>(wanted) + kWarp - 1) / kWarp * kWarp;
  return {width, width < kUsualThreads ? kUsualThreads / width : 1};
}

struct Team {
  unsigned width, lane, index;

  __device__ explicit Team(const TeamShape& shape)
      : width(shape.width), lane(threadIdx.x % shape.width), index(threadIdx.x / shape.width) {}
};

// Each of the values over the team, the same for all its threads. `shared` has room for as many of each warp.
// The order depends on the team's width alone.
template <int kCount, typename Operation>
__device__ void Reduce(float (&values)[kCount], const Operation& operation, const Team& team, float* shared) {
  for (float& value : values) value = Folded(value, team.width < kWarp ? team.width : kWarp, operation);
  if (team.width <= kWarp) return;
  const unsigned warps = team.width / kWarp;
  float* const own = shared + threadIdx.x / kWarp * kCount;
  const float* const first = shared + team.index * warps * kCount;
  __syncthreads();  // an earlier call's are read
  if (threadIdx.x % kWarp == 0) {
    for (int i = 0; i < kCount; ++i) own[i] = values[i];
  }
  __syncthreads();
  for (int i = 0; i < kCount; ++i) {
    values[i] = first[i];
    for (unsigned warp = 1; warp < warps; ++warp) values[i] = operation(values[i], first[warp * kCount + i]);
  }
}
constexpr std::size_t ReduceBytes(const TeamShape& shape, int count) {
  return shape.width <= kWarp
             ? 0
             : sizeof(float) * (shape.width * shape.teams / kWarp) * static_cast<std::size_t>(count);
}

struct Sum {
  MEDLEY_BOTH float operator()(float a, float b) const { return a + b; }
};
struct Max {
  MEDLEY_BOTH float operator()(float a, float b) const { return b > a ? b : a; }
};

}  // namespace medley::kernels
