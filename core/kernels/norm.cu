// RMS norm, RoPE's turns, and both at once. A thread has numbers i and dim / 2 + i of a line, which turn
// together.
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/numbers.h>
#include <medley/kernels/team.h>

namespace medley::kernels {
namespace {

// So many numbers of a line's first half from i on, and those of the second. The second half of an odd line,
// which is not turned, lacks one.
template <int kCount>
struct Pair {
  Floats<kCount> first{}, second{};
};
struct Halves {
  int dim, half;

  explicit Halves(std::int64_t dim) : dim(static_cast<int>(dim)), half(static_cast<int>(dim + 1) / 2) {}

  template <int kCount>
  MEDLEY_BOTH bool HasSecond(int i) const {
    return kCount > 1 || half + i < dim;
  }
  template <int kCount, typename T>
  MEDLEY_BOTH Pair<kCount> Read(const T* line, int i) const {
    Pair<kCount> pair{.first = Load<kCount>(line + i)};
    if (HasSecond<kCount>(i)) pair.second = Load<kCount>(line + half + i);
    return pair;
  }
  template <int kCount, typename T>
  MEDLEY_BOTH void Write(const Pair<kCount>& pair, T* line, int i) const {
    Store(pair.first, line + i);
    if (HasSecond<kCount>(i)) Store(pair.second, line + half + i);
  }
  // Of a line in any type; 1 where there is none.
  template <int kCount>
  MEDLEY_BOTH Pair<kCount> ReadWeight(const void* weight, Number type, int i) const {
    if (weight == nullptr) {
      Pair<kCount> ones;
      for (int j = 0; j < kCount; ++j) ones.first.at[j] = ones.second.at[j] = 1;
      return ones;
    }
    if (type == Number::kFloat) return Read<kCount>(static_cast<const float*>(weight), i);
    return type == Number::kBf16 ? Read<kCount>(static_cast<const Bf16*>(weight), i)
                                 : Read<kCount>(static_cast<const Fp16*>(weight), i);
  }
};

// Where a line begins.
struct LineAt {
  unsigned row, position, head;

  MEDLEY_BOTH LineAt(unsigned line, const LineShape& shape) {
    const auto heads = static_cast<unsigned>(shape.heads), positions = static_cast<unsigned>(shape.positions);
    head = line % heads, line /= heads;
    position = line % positions, row = line / positions;
  }
  MEDLEY_BOTH std::int64_t In(const LineStrides& strides) const {
    return row * strides.row + position * strides.position + head * strides.head;
  }
};

// kForward: first * cos + second * sin, of both; backward the same read the other way.
template <bool kForward, int kCount>
MEDLEY_BOTH Pair<kCount> Turned(const Pair<kCount>& x, const Turns& turns, std::int64_t line,
                                const Halves& halves, int i) {
  if (turns.cos == nullptr) return x;
  const Pair<kCount> cos = halves.Read<kCount>(turns.cos + line, i),
                     sin = halves.Read<kCount>(turns.sin + line, i);
  Pair<kCount> y;
  for (int j = 0; j < kCount; ++j) {
    const float to_first = kForward ? sin.first.at[j] : sin.second.at[j],
                to_second = kForward ? sin.second.at[j] : sin.first.at[j];
    y.first.at[j] = x.first.at[j] * cos.first.at[j] + x.second.at[j] * to_first;
    y.second.at[j] = x.second.at[j] * cos.second.at[j] + x.first.at[j] * to_second;
  }
  return y;
}

// Bytes a number in a half type: x 2, y 2; weight and turns stay in a cache. A line beyond the team's pieces
// is read twice, the second time from a cache.
template <typename T, int kCount>
__global__ void __launch_bounds__(kMostThreads) Norm(NormCall call, TeamShape shape, Halves halves) {
  const Team team(shape);
  const unsigned line = blockIdx.x * shape.teams + team.index;
  const bool exists = line < call.shape.Lines(), is_normed = call.weight != nullptr;
  const LineAt at(exists ? line : 0, call.shape);
  const T* const x = static_cast<const T*>(call.x) + at.In(call.x_strides);
  T* const y = static_cast<T*>(call.y) + at.In(call.y_strides);
  const int first = static_cast<int>(team.lane) * kCount, step = static_cast<int>(team.width) * kCount,
            end = exists ? halves.half : 0;

  Pair<kCount> kept;
  float scale = 1;
  if (is_normed) {
    float sums[1] = {0};
    MEDLEY_ROLLED
    for (int i = first; i < end; i += step) {
      const Pair<kCount> own = halves.Read<kCount>(x, i);
      for (int j = 0; j < kCount; ++j)
        sums[0] += own.first.at[j] * own.first.at[j] + own.second.at[j] * own.second.at[j];
      if (i == first) kept = own;
    }
    Reduce(sums, Sum(), team, SharedFloats());
    scale = 1 / std::sqrt(sums[0] / static_cast<float>(halves.dim) + call.epsilon);
    if (exists && team.lane == 0 && call.scale != nullptr) call.scale[line] = scale;
  }
  MEDLEY_ROLLED
  for (int i = first; i < end; i += step) {
    Pair<kCount> normed = is_normed && i == first ? kept : halves.Read<kCount>(x, i);
    const Pair<kCount> weight = halves.ReadWeight<kCount>(call.weight, call.weight_type, i);
    for (int j = 0; j < kCount; ++j) {
      normed.first.at[j] *= scale * weight.first.at[j];
      normed.second.at[j] *= scale * weight.second.at[j];
    }
    halves.Write(Turned<true>(normed, call.turns, at.In(call.turns.strides), halves, i), y, i);
  }
}

// Whether this is the last of so many blocks to come here, which then sees what all wrote; leaves the counter
// at 0.
__device__ bool IsLast(std::uint32_t* counter, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counter, 1U) == blocks - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

// to[i] = the sum of so many rows, one after the other, behind what there is where it `adds`.
__device__ void SumRows(const float* rows, unsigned count, int dim, float* to, bool adds) {
  for (int i = static_cast<int>(threadIdx.x); i < dim; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    MEDLEY_UNROLLED
    for (unsigned row = 0; row < count; ++row) sum += __ldcg(rows + static_cast<std::int64_t>(row) * dim + i);
    to[i] = adds ? to[i] + sum : sum;
  }
}

// Of the rows of all blocks: of sixteen by the last of them to come, and of these sums by the last of those.
__device__ void SumOfBlocks(const NormBackwardCall& call, int dim) {
  constexpr auto kGroup = static_cast<unsigned>(kNormGroup);
  const unsigned groups = (gridDim.x + kGroup - 1) / kGroup, group = blockIdx.x / kGroup,
                 begin = group * kGroup, count = gridDim.x - begin < kGroup ? gridDim.x - begin : kGroup;
  if (!IsLast(call.counters + group, count)) return;
  float* const sums = call.partials + static_cast<std::int64_t>(gridDim.x) * dim;
  SumRows(call.partials + static_cast<std::int64_t>(begin) * dim, count, dim,
          groups == 1 ? call.weight_gradient : sums + static_cast<std::int64_t>(group) * dim,
          groups == 1 && call.adds);
  if (groups > 1 && IsLast(call.counters + groups, groups))
    SumRows(sums, groups, dim, call.weight_gradient, call.adds);
}

// Bytes a number in a half type: gradient 2, x 2, x's gradient 2. A block goes over many lines, and keeps
// what its threads' places add to the weight's gradient: the first in registers, those beyond the team in its
// row of `partials`.
template <typename T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    NormBackward(NormBackwardCall call, TeamShape shape, Halves halves) {
  const Team team(shape);
  const auto lines = static_cast<unsigned>(call.shape.Lines()), lines_at_once = gridDim.x * shape.teams;
  const bool is_normed = call.weight != nullptr, sums_weight = call.weight_gradient != nullptr;
  const int first = static_cast<int>(team.lane) * kCount, step = static_cast<int>(team.width) * kCount;
  float* const row = call.partials + static_cast<std::int64_t>(blockIdx.x) * halves.dim;
  Pair<kCount> of_weight;
  if (sums_weight) {
    MEDLEY_ROLLED
    for (int i = first + step; i < halves.half; i += step) halves.Write(Pair<kCount>(), row, i);
  }

  for (std::int64_t begin = std::int64_t{blockIdx.x} * shape.teams; begin < lines; begin += lines_at_once) {
    const bool exists = begin + team.index < lines;
    const unsigned line = exists ? static_cast<unsigned>(begin) + team.index : 0;
    const int end = exists ? halves.half : 0;
    const LineAt at(line, call.shape);
    const T* const gradient = static_cast<const T*>(call.gradient) + at.In(call.gradient_strides);
    const T* const x = static_cast<const T*>(call.x) + at.In(call.x_strides);
    T* const x_gradient = static_cast<T*>(call.x_gradient) + at.In(call.x_gradient_strides);
    const std::int64_t turn = at.In(call.turns.strides);
    const auto turned = [&](int i) {
      return Turned<false>(halves.Read<kCount>(gradient, i), call.turns, turn, halves, i);
    };
    if (!is_normed) {
      MEDLEY_ROLLED
      for (int i = first; i < end; i += step) halves.Write(turned(i), x_gradient, i);
      continue;
    }

    const float scale = call.scale[line];
    Pair<kCount> kept;
    float sums[1] = {0};
    MEDLEY_ROLLED
    for (int i = first; i < end; i += step) {
      const Pair<kCount> own = turned(i), own_x = halves.Read<kCount>(x, i),
                         weight = halves.ReadWeight<kCount>(call.weight, call.weight_type, i);
      for (int j = 0; j < kCount; ++j) {
        sums[0] += own.first.at[j] * weight.first.at[j] * own_x.first.at[j];
        sums[0] += own.second.at[j] * weight.second.at[j] * own_x.second.at[j];
      }
      if (i == first) kept = own;
    }
    Reduce(sums, Sum(), team, SharedFloats());
    const float mean = sums[0] * scale / static_cast<float>(halves.dim);
    MEDLEY_ROLLED
    for (int i = first; i < end; i += step) {
      const Pair<kCount> own = i == first ? kept : turned(i), own_x = halves.Read<kCount>(x, i),
                         weight = halves.ReadWeight<kCount>(call.weight, call.weight_type, i);
      Pair<kCount> to_x, to_weight;
      for (int j = 0; j < kCount; ++j) {
        const float normed = own_x.first.at[j] * scale, other = own_x.second.at[j] * scale;
        to_weight.first.at[j] = own.first.at[j] * normed, to_weight.second.at[j] = own.second.at[j] * other;
        to_x.first.at[j] = scale * (own.first.at[j] * weight.first.at[j] - normed * mean);
        to_x.second.at[j] = scale * (own.second.at[j] * weight.second.at[j] - other * mean);
      }
      halves.Write(to_x, x_gradient, i);
      if (!sums_weight) continue;
      Pair<kCount> sum = i == first ? of_weight : halves.Read<kCount>(row, i);
      for (int j = 0; j < kCount; ++j)
        sum.first.at[j] += to_weight.first.at[j], sum.second.at[j] += to_weight.second.at[j];
      if (i == first) of_weight = sum;
      if (i != first) halves.Write(sum, row, i);
    }
  }
  if (!sums_weight) return;

  // Over the block's teams; a line beyond the team has one.
  float* const of_teams = SharedFloats();
  __syncthreads();
  if (first < halves.half && shape.teams == 1) halves.Write(of_weight, row, first);
  for (int j = 0; first < halves.half && shape.teams > 1 && j < kCount; ++j) {
    float* const to = of_teams + team.index * halves.dim + first + j;
    to[0] = of_weight.first.at[j];
    if (halves.HasSecond<kCount>(first)) to[halves.half] = of_weight.second.at[j];
  }
  if (shape.teams > 1) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < halves.dim; i += static_cast<int>(blockDim.x)) {
      float sum = 0;
      for (unsigned index = 0; index < shape.teams; ++index) sum += of_teams[index * halves.dim + i];
      row[i] = sum;
    }
  }
  SumOfBlocks(call, halves.dim);
}

const char* Problem(const LineShape& shape, const Turns& turns) {
  if (shape.Lines() > 0x7fffffff || shape.dim > 0x3fffffff)
    return "norm: more than 2^31 lines, or 2^30 numbers of one";
  return turns.cos != nullptr && shape.dim % 2 != 0 ? "norm: lines of an odd width have no halves to turn"
                                                    : nullptr;
}

// Of pointers and strides that both directions have.
template <typename Call>
bool Fits(const Call& call, int count) {
  const auto [row, position, head] = call.turns.strides;
  return call.shape.dim % (2 * count) == 0 && IsAligned(call.x) && IsAligned(call.weight) &&
         IsAligned(call.turns.cos) && IsAligned(call.turns.sin) &&
         AreMultiples(count, row, position, head, call.x_strides.row, call.x_strides.position,
                      call.x_strides.head);
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const char* medley_kernels_norm(const NormCall& call, void* stream) {
  const std::int64_t lines = call.shape.Lines();
  if (lines == 0 || call.shape.dim == 0) return nullptr;
  if (const char* const problem = Problem(call.shape, call.turns)) return problem;
  const auto fits = [&](int count) {
    return Fits(call, count) && IsAligned(call.y) &&
           AreMultiples(count, call.y_strides.row, call.y_strides.position, call.y_strides.head);
  };
  return ByType(call.type, fits, [&]<typename T, int kCount>() {
    const Halves halves(call.shape.dim);
    const TeamShape team = TeamsFor((halves.half + kCount - 1) / kCount);
    const auto blocks = static_cast<std::size_t>((lines + team.teams - 1) / team.teams);
    return Launch(Norm<T, kCount>, blocks, team.threads(), ReduceBytes(team, 1), stream, call, team, halves);
  });
}

extern "C" const char* medley_kernels_norm_backward(const NormBackwardCall& call, void* stream) {
  const std::int64_t lines = call.shape.Lines();
  if (call.shape.dim == 0 || (lines == 0 && call.weight_gradient == nullptr)) return nullptr;
  if (const char* const problem = Problem(call.shape, call.turns)) return problem;
  const auto fits = [&](int count) {
    return Fits(call, count) && IsAligned(call.gradient) && IsAligned(call.x_gradient) &&
           IsAligned(call.partials) &&
           AreMultiples(count, call.gradient_strides.row, call.gradient_strides.position,
                        call.gradient_strides.head, call.x_gradient_strides.row,
                        call.x_gradient_strides.position, call.x_gradient_strides.head);
  };
  return ByType(call.type, fits, [&]<typename T, int kCount>() {
    const Halves halves(call.shape.dim);
    const TeamShape team = TeamsFor((halves.half + kCount - 1) / kCount);
    const std::size_t of_teams = team.teams > 1
                                     ? sizeof(float) * team.teams * static_cast<std::size_t>(halves.dim)
                                     : 0,
                      shared = of_teams > ReduceBytes(team, 1) ? of_teams : ReduceBytes(team, 1);
    std::size_t blocks = ResidentBlocks(NormBackward<T, kCount>, team.threads(), shared);
    const auto needed = static_cast<std::size_t>((lines + team.teams - 1) / team.teams);
    for (const std::size_t most : {static_cast<std::size_t>(kNormParts), needed})
      blocks = blocks < most ? blocks : most;
    return Launch(NormBackward<T, kCount>, blocks > 0 ? blocks : 1, team.threads(), shared, stream, call,
                  team, halves);
  });
}
