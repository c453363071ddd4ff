#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <medley/task/spec.h>

#include "tasks/world/state.h"

namespace medley::tasks {

// What somebody is asked to imagine, and what that does: times and letter of each run of actions, f forward,
// c clock, a anticlock. Text and actions stand side by side, so that no label is kept by its number.
struct ImaginedMove {
  std::string_view text;
  std::string_view actions;
};

inline constexpr std::array<ImaginedMove, 22> kImaginedMoves{{
    {"Imagine one step forward.", "1f"},
    {"What if you walk one step?", "1f"},
    {"Imagine two steps forward.", "2f"},
    {"Imagine three steps forward.", "3f"},
    {"Imagine five turns clockwise.", "5c"},
    {"Turn right by 30 degrees.", "5c"},
    {"Imagine five turns anticlockwise.", "5a"},
    {"Imagine ten turns clockwise.", "10c"},
    {"Turn right by 60 degrees.", "10c"},
    {"Imagine ten turns anticlockwise.", "10a"},
    {"Turn left by 60 degrees.", "10a"},
    {"Imagine one turn clockwise.", "1c"},
    {"What if you turn right a little?", "1c"},
    {"Turn once with the clock.", "1c"},
    {"Imagine one turn anticlockwise.", "1a"},
    {"What if you turn left a little?", "1a"},
    {"Turn once against the clock.", "1a"},
    {"Imagine that you turn round.", "30c"},
    {"Imagine one step, then ten turns clockwise.", "1f 10c"},
    {"Imagine one step, then turn round.", "1f 30c"},
    {"Imagine that you turn round, then one step.", "30c 1f"},
    {"Imagine two steps, then one turn anticlockwise.", "2f 1a"},
}};

struct Run {
  int times = 0;
  world::Action action = world::Action::kNone;
};
using Runs = SpecList<Run, 4>;

constexpr Runs ParseActions(std::string_view actions) {
  std::array<Run, 4> runs{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i] == ' ') continue;
    Run& run = runs.at(count++);
    while (actions[i] >= '0' && actions[i] <= '9') run.times = 10 * run.times + (actions[i++] - '0');
    run.action = actions[i] == 'f'   ? world::Action::kForward
                 : actions[i] == 'c' ? world::Action::kClock
                 : actions[i] == 'a' ? world::Action::kAnticlock
                                     : throw "actions are written as 2f 10c 1a";
    if (run.times < 1) throw "an action happens once or more";
  }
  if (count == 0) throw "nothing to imagine";
  return count == 1   ? Runs{runs[0]}
         : count == 2 ? Runs{runs[0], runs[1]}
                      : throw "at most two runs of actions";
}

inline world::State After(const world::State& state, const Runs& runs) {
  world::State now = state;
  for (const Run& run : runs) {
    for (int i = 0; i < run.times; ++i) now = world::Act(now, run.action).state;
  }
  return now;
}

}  // namespace medley::tasks
