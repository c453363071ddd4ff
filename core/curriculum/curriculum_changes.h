#pragma once

#include <cstddef>
#include <set>
#include <string>

#include <medley/curriculum/curriculum.h>

namespace medley {

// What an edit changes, for people: "zoom_gold 1.5 -> 3 (9 % -> 17 %)" for every task of the present stage
// with another weight, the stage's end and ramp, and other stages by their names. `present`: the stage's
// number, as many as there are stages where all are over; `dropped`: tasks that get nothing.
std::string ChangesInWords(const Curriculum& before, const Curriculum& now, std::size_t present,
                           const std::set<std::string>& dropped = {});

}  // namespace medley
