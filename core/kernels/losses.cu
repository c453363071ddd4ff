// Cross-entropies over logits that are there, or that come in pieces of the vocabulary.
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/numbers.h>
#include <medley/kernels/team.h>

namespace medley::kernels {
namespace {

// Where an item's target is among the piece's words; -1: elsewhere.
__device__ int TargetIn(const LogitsPiece& piece, std::int64_t item) {
  const std::int64_t place = piece.targets[item] - piece.first;
  return place >= 0 && place < piece.words ? static_cast<int>(place) : -1;
}

MEDLEY_BOTH float LowestFloat() { return FloatOf(static_cast<std::int32_t>(0xff800000)); }  // -infinity
// What shares are taken from: logits of -infinity have a share of 0 also where there are no others.
MEDLEY_BOTH float BaseOf(float highest) { return highest == LowestFloat() ? 0 : highest; }

// Takes the target's logit out where it is among these.
template <int kCount>
MEDLEY_BOTH void TakeTarget(Floats<kCount>& logits, int first, int target, float& taken) {
  if (target < first || target >= first + kCount) return;
  for (int i = 0; i < kCount; ++i) {
    if (first + i == target) taken = logits.at[i], logits.at[i] = LowestFloat();
  }
}

// An item's sums over its team, when all words of the piece were seen.
struct Seen {
  float highest, others, target, all;
};

__device__ void Finish(const LossesCall& call, std::int64_t item, const Seen& seen) {
  const LogitsPiece& piece = call.piece;
  const float sum = seen.others + std::exp(seen.target - BaseOf(seen.highest)),
              log_sum = seen.highest + std::log(sum);
  float loss = log_sum - seen.target, at_target = -(seen.others / sum);
  if (piece.smoothing != nullptr) {
    const float smoothing = piece.smoothing[item], even = smoothing / static_cast<float>(piece.vocabulary);
    loss = log_sum - seen.target * (1 - smoothing) - seen.all * even;
    at_target += smoothing;
  }
  if (call.losses != nullptr) call.losses[item] = loss;
  if (call.log_sums != nullptr) call.log_sums[item] = log_sum;
  if (call.sums != nullptr) call.sums[item] = sum;
  if (call.at_target != nullptr) call.at_target[item] = at_target;
}

// Bytes a logit in a half type: 2; 4 where logits become shares, which reads them a second time from a cache.
template <typename T, int kCount>
__global__ void __launch_bounds__(kMostThreads) Losses(LossesCall call, TeamShape shape) {
  const Team team(shape);
  const LogitsPiece& piece = call.piece;
  const std::int64_t index = std::int64_t{blockIdx.x} * shape.teams + team.index;
  const bool exists = index < piece.items, smooths = piece.smoothing != nullptr;
  const std::int64_t item = exists ? index : 0;
  T* const logits = static_cast<T*>(call.logits) + item * piece.stride;
  const int first = static_cast<int>(team.lane) * kCount, step = static_cast<int>(team.width) * kCount,
            end = exists ? static_cast<int>(piece.words) : 0, target = TargetIn(piece, item);

  // Earlier pieces are the first thread's first numbers.
  Seen own{.highest = LowestFloat(), .others = 0, .target = 0, .all = 0};
  const bool leads = exists && team.lane == 0;
  if (leads && !call.is_first) {
    own = {.highest = call.highest[item],
           .others = call.others[item],
           .target = call.target[item],
           .all = smooths ? call.all[item] : 0};
  }
  const float before = own.highest;
  float found = 0;
  for (int i = first; i < end; i += step) {
    Floats<kCount> some = Load<kCount>(logits + i);
    float highest = some.at[0];
    for (int j = 1; j < kCount; ++j) highest = Max()(highest, some.at[j]);
    if (highest > own.highest) {
      own.others *= std::exp(own.highest - highest);
      own.highest = highest;
    }
    if (smooths) {
      for (const float logit : some.at) own.all += logit;
    }
    TakeTarget(some, i, target, found);
    const float base = BaseOf(own.highest);
    for (const float logit : some.at) own.others += std::exp(logit - base);
  }
  float highest[1] = {own.highest};
  Reduce(highest, Max(), team, SharedFloats());
  const float base = BaseOf(highest[0]);
  float sums[3] = {own.others * std::exp(own.highest - base), own.target + found, own.all};
  Reduce(sums, Sum(), team, SharedFloats());

  if (leads) {
    const Seen seen{.highest = highest[0], .others = sums[0], .target = sums[1], .all = sums[2]};
    if (call.highest != nullptr) call.highest[item] = seen.highest;
    if (call.others != nullptr) call.others[item] = seen.others;
    if (call.target != nullptr) call.target[item] = seen.target;
    if (call.all != nullptr) call.all[item] = seen.all;
    if (call.smaller != nullptr) call.smaller[item] = before == seen.highest ? 1 : std::exp(before - base);
    if (call.is_last) Finish(call, item, seen);
  }
  if (call.smaller == nullptr) return;
  for (int i = first; i < end; i += step) {
    Floats<kCount> some = Load<kCount>(logits + i);
    TakeTarget(some, i, target, found);
    for (float& logit : some.at) logit = std::exp(logit - base);
    Store(some, logits + i);
  }
}

// Bytes a logit in a half type: 2 read, 2 written.
template <typename T, int kCount>
__global__ void __launch_bounds__(kMostThreads) LossesBackward(LossesBackwardCall call, TeamShape shape) {
  const Team team(shape);
  const LogitsPiece& piece = call.piece;
  const std::int64_t item = std::int64_t{blockIdx.x} * shape.teams + team.index;
  if (item >= piece.items) return;
  const T* const logits = static_cast<const T*>(call.logits) + item * piece.stride;
  T* const out = static_cast<T*>(call.out) + item * call.out_stride;
  const float log_sum = call.log_sums[item], gradient = call.gradient != nullptr ? call.gradient[item] : 1,
              smoothing = piece.smoothing != nullptr ? piece.smoothing[item] : 0, right = 1 - smoothing,
              even = smoothing / static_cast<float>(piece.vocabulary);
  const int target = TargetIn(piece, item), end = static_cast<int>(piece.words);
  for (int i = static_cast<int>(team.lane) * kCount; i < end; i += static_cast<int>(team.width) * kCount) {
    Floats<kCount> some = Load<kCount>(logits + i);
    for (float& logit : some.at) logit = std::exp(logit - log_sum) - even;
    for (int j = 0; j < kCount; ++j) {
      if (i + j == target) some.at[j] -= right;
    }
    for (float& share : some.at) share *= gradient;
    Store(some, out + i);
  }
}

constexpr std::int64_t kEach =
    4;  // pieces of a thread where that makes enough threads: sums over a team are few

const char* Problem(const LogitsPiece& piece) {
  return piece.items > 0x7fffffff || piece.words > 0x3fffffff ? "losses: more than 2^31 items, or 2^30 words"
                                                              : nullptr;
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const char* medley_kernels_losses(const LossesCall& call, void* stream) {
  const LogitsPiece& piece = call.piece;
  if (piece.items == 0) return nullptr;
  if (const char* const problem = Problem(piece)) return problem;
  const auto fits = [&](int count) {
    return IsAligned(call.logits) && AreMultiples(count, piece.words, piece.stride);
  };
  return ByType(piece.type, fits, [&]<typename T, int kCount>() {
    const TeamShape team = TeamsFor((piece.words + kCount - 1) / kCount, kEach);
    const auto blocks = static_cast<std::size_t>((piece.items + team.teams - 1) / team.teams);
    return Launch(Losses<T, kCount>, blocks, team.threads(), ReduceBytes(team, 3), stream, call, team);
  });
}

extern "C" const char* medley_kernels_losses_backward(const LossesBackwardCall& call, void* stream) {
  const LogitsPiece& piece = call.piece;
  if (piece.items == 0 || piece.words == 0) return nullptr;
  if (const char* const problem = Problem(piece)) return problem;
  const auto fits = [&](int count) {
    return IsAligned(call.logits) && IsAligned(call.out) &&
           AreMultiples(count, piece.words, piece.stride, call.out_stride);
  };
  return ByType(piece.type, fits, [&]<typename T, int kCount>() {
    const TeamShape team = TeamsFor((piece.words + kCount - 1) / kCount, kEach);
    const auto blocks = static_cast<std::size_t>((piece.items + team.teams - 1) / team.teams);
    return Launch(LossesBackward<T, kCount>, blocks, team.threads(), 0, stream, call, team);
  });
}
