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
// An array of {key, before, after, words}.
nlohmann::ordered_json ToJson(const std::vector<CurriculumChange>& changes);

}  // namespace medley
