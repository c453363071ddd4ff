#include <medley/train/phases/jump_choice.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include <medley/base/json_count.h>
#include <medley/base/random.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::array<double, 5> kSizes = {0.25, 0.5, 1, 2, 4};
constexpr std::int64_t kMostHalvings = 20;

}  // namespace

JumpChoice::JumpChoice(const std::vector<Direction>& directions, std::uint64_t seed) {
  for (const double size : kSizes)
    for (const Direction direction : directions) candidates_.push_back({.jump = {direction, size}});
  RowRandom random(CombineSeeds(seed, HashName("jumps")));
  for (std::size_t i = candidates_.size(); i > 1; --i)
    std::swap(candidates_[i - 1],
              candidates_[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(i)))]);
}

// The earliest turn, and of those the first in order.
std::size_t JumpChoice::Index() const {
  const auto earlier = [](const Candidate& a, const Candidate& b) { return a.turn < b.turn; };
  return static_cast<std::size_t>(std::ranges::min_element(candidates_, earlier) - candidates_.begin());
}

void JumpChoice::Refused() {
  Candidate& candidate = candidates_[Index()];
  candidate.halvings = std::min(candidate.halvings + 1, kMostHalvings);
  candidate.turn += std::int64_t{1} << candidate.halvings;
}

void JumpChoice::Taken() {
  Candidate& candidate = candidates_[Index()];
  candidate.halvings = std::max<std::int64_t>(candidate.halvings - 1, 0);
  candidate.turn += std::int64_t{1} << candidate.halvings;
}

// In the order of the seed, which a resume has too.
json JumpChoice::Save() const {
  json state = json::array();
  for (const Candidate& candidate : candidates_)
    state.push_back({{"halvings", candidate.halvings}, {"turn", candidate.turn}});
  return state;
}

void JumpChoice::Load(const json& state) {
  if (state.size() != candidates_.size())
    throw std::out_of_range(std::to_string(state.size()) + " candidates where there are " +
                            std::to_string(candidates_.size()));
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    candidates_[i].halvings = CountOf(state.at(i), "halvings", 0, kMostHalvings);
    candidates_[i].turn = CountOf(state.at(i), "turn", 0, INT64_MAX / 2);
  }
}

}  // namespace medley
