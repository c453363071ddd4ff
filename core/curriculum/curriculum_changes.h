#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/curriculum/curriculum.h>

namespace medley {

// One thing that an edit changes.
struct CurriculumChange {
  std::string
      key;  // "weights.zoom_gold", "until", "cooldown", "keep", "ramp"; "stages.late" of another stage
  nlohmann::ordered_json before, after;  // its values; null where there was or is none
  std::string words;                     // for people: "zoom_gold 1.5 -> 3 (9 % -> 17 %)"
};

// What an edit changes: every task of the present stage with another weight, the stage's end, ramp and other
// settings, and other stages as wholes. `present`: the stage's number, as many as there are stages where all
// are over; `dropped`: tasks that get nothing.
std::vector<CurriculumChange> ChangesOf(const Curriculum& before, const Curriculum& now, std::size_t present,
                                        const std::set<std::string>& dropped = {});

// The same in one sentence.
std::string InWords(const std::vector<CurriculumChange>& changes);

// A task's part of the present stage, from 0 to 1.
struct ShareChange {
  std::string task;
  double before = 0, after = 0;
};
// "9 % -> 17 %", with as many decimals as the two need to differ.
std::string InWords(const ShareChange& share);
// "9 %", with as many as tell it from nothing.
std::string ShareInWords(double share);
// Every task whose share the edit moves, whether its own number changed or another's.
std::vector<ShareChange> SharesMovedBy(const Curriculum& before, const Curriculum& now, std::size_t present,
                                       const std::set<std::string>& dropped = {});
// Both in one sentence, and the shares of other stages: "zoom_gold 1.5 -> 3 (9 % -> 17 %); so control 91 % ->
// 83 %".
std::string EditInWords(const Curriculum& before, const Curriculum& now, std::size_t present,
                        const std::set<std::string>& dropped = {});

// {task: {before, after}}
nlohmann::ordered_json ToJson(const std::vector<ShareChange>& shares);
// An array of {key, before, after, words}.
nlohmann::ordered_json ToJson(const std::vector<CurriculumChange>& changes);

}  // namespace medley
