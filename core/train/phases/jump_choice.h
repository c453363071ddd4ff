#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include <medley/update/directions.h>

namespace medley {

// A direction, and how far: of a line or a trend what they move in so many phases `full`, of the last step so
// many of it.
struct Jump {
  Direction direction = Direction::kTrend;
  double size = 0;
};

// Which candidate is next, in turn and in an order of the seed's. One that was refused comes half as often as
// before, one that was taken twice as often, never more often than at first.
class JumpChoice {
 public:
  // From a quarter to four.
  JumpChoice(const std::vector<Direction>& directions, std::uint64_t seed);

  const Jump& Next() const { return candidates_[Index()].jump; }
  void Refused();
  void Taken();

  nlohmann::json Save() const;
  void Load(const nlohmann::json& state);  // throws what JSON and counts throw

 private:
  struct Candidate {
    Jump jump;
    std::int64_t halvings = 0;
    std::int64_t turn = 0;
  };
  std::size_t Index() const;

  std::vector<Candidate> candidates_;
};

}  // namespace medley
