#include <medley/curriculum/shares.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include <medley/base/random.h>

namespace medley {
namespace {

std::string CheckWeight(double weight, DrawOrder order) {
  std::ostringstream found;
  found << weight;
  if (std::isnan(weight)) return "expected a weight of at least 0, found NaN";
  if (weight < 0) return "expected a weight of at least 0 (0: paused), found " + found.str();
  if (weight > kLargestWeight) return "expected a weight of at most 1e12, found " + found.str();
  if (order == DrawOrder::kUrn && weight != std::floor(weight)) {
    return "expected a whole number of cards (\"order\" is \"urn\"), found " + found.str();
  }
  return "";
}

double Sum(const Mixture& mixture) {
  double sum = 0;
  for (const auto& [task, weight] : mixture.weights) sum += weight;
  return sum;
}

// sin(pi x / 2)^2 for x of kWholeShare, the cosine's way from 0 to 1: a Taylor series with 2^-60 parts, whose
// rest is below 2^-50.
std::int64_t CosinePosition(std::int64_t x) {
  using Wide = __int128;
  constexpr int kBits = 60;
  constexpr Wide kHalfPi = 1811004865498553290;  // pi / 2 * 2^60
  const Wide angle = (kHalfPi * x) >> 32, square = (angle * angle) >> kBits;
  Wide term = angle, sine = angle;
  for (std::int64_t n = 2; n <= 22; n += 2) {
    term = -((term * square) >> kBits) / (n * (n + 1));
    sine += term;
  }
  const Wide squared = (sine * sine) >> (2 * kBits - 32);
  return std::clamp(static_cast<std::int64_t>(squared), std::int64_t{0}, kWholeShare);
}

}  // namespace

std::int64_t RampPosition(const Ramp& ramp, std::int64_t draw) {
  if (draw >= ramp.draws) return kWholeShare;
  const auto linear = static_cast<std::int64_t>((static_cast<__int128>(draw) << 32) / ramp.draws);
  return ramp.shape == RampShape::kLinear ? linear : CosinePosition(linear);
}

std::vector<std::int64_t> SharesBetween(const std::vector<std::int64_t>& from,
                                        const std::vector<std::int64_t>& to, std::int64_t position) {
  if (position >= kWholeShare) return to;
  std::vector<std::int64_t> shares(to.size());
  std::int64_t left = kWholeShare;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from[i] == 0 && to[i] == 0) continue;
    const __int128 way = static_cast<__int128>(to[i] - from[i]) * position;
    shares[i] = std::max<std::int64_t>(1, from[i] + static_cast<std::int64_t>(way >> 32));
    left -= shares[i];
  }
  *std::ranges::max_element(shares) += left;  // about as many units as there are tasks
  return shares;
}

std::vector<WeightProblem> CheckWeights(const Mixture& mixture) {
  std::vector<WeightProblem> problems;
  std::set<std::string> seen;
  for (const auto& [task, weight] : mixture.weights) {
    std::string problem = CheckWeight(weight, mixture.order);
    if (!seen.insert(task).second) problem = "the task stands twice";
    if (!problem.empty()) problems.push_back({task, problem});
  }
  if (!problems.empty()) return problems;

  const double sum = Sum(mixture);
  if (mixture.weights.empty()) return {{"", "expected at least one task with a weight above 0, found none"}};
  if (sum <= 0)
    return {{"", "every weight is 0, so nothing can be drawn; give at least one task a weight above 0"}};
  if (mixture.order == DrawOrder::kUrn && sum > static_cast<double>(kLargestUrn)) {
    return {{"", "the urn would hold more than 1000000 cards; divide the weights by a common number"}};
  }
  for (const auto& [task, weight] : mixture.weights) {
    if (weight > 0 && weight / sum < 0x1.0p-32) {
      problems.push_back(
          {task,
           "less than one part in 2^32 of all weights: it would never be drawn; use 0 to pause "
           "the task"});
    }
  }
  return problems;
}

std::vector<std::int64_t> FixedShares(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares(weights.size());
  std::vector<std::pair<double, std::size_t>> remainders;  // negative, so that sorting puts the largest first
  std::int64_t left = kWholeShare;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    const double exact = weights[i] / sum * static_cast<double>(kWholeShare);
    shares[i] = std::max<std::int64_t>(1, static_cast<std::int64_t>(exact));
    left -= shares[i];
    remainders.emplace_back(static_cast<double>(shares[i]) - exact, i);
  }
  std::ranges::sort(remainders);
  // `left` is at most the number of weights; below 0 where rounding of `exact` or the minimum of 1 took too
  // much.
  for (std::size_t k = 0; left > 0; ++k, --left) ++shares[remainders[k % remainders.size()].second];
  if (left < 0) *std::ranges::max_element(shares) += left;
  return shares;
}

std::vector<std::uint32_t> ShuffledCards(const std::vector<std::int64_t>& cards, std::uint64_t seed) {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    order.insert(order.end(), static_cast<std::size_t>(cards[i]), static_cast<std::uint32_t>(i));
  }
  RowRandom random(seed);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(i)))]);
  }
  return order;
}

}  // namespace medley
