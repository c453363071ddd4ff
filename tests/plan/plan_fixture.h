#pragma once

// A machine made of lines: what the planner's tests measure instead of a device.

#include <gtest/gtest.h>
#include <medley/plan/plan.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace medley::plan_fixture {

struct Line {
  std::int64_t fixed = 0, per_row = 0;
};
using Moments = std::vector<Line>;

inline std::int64_t PeakOf(const Moments& moments, std::int64_t rows) {
  std::int64_t peak = 0;
  for (const Line& line : moments) peak = std::max(peak, line.fixed + line.per_row * rows);
  return peak;
}

inline std::vector<Probe> ProbesOf(const Moments& moments, const std::vector<std::int64_t>& sizes) {
  std::vector<Probe> probes;
  for (const std::int64_t rows : sizes) probes.push_back({rows, PeakOf(moments, rows)});
  return probes;
}

// Some moments do not depend on the rows, as in a real step.
inline Moments RandomMoments(std::mt19937& random) {
  Moments moments;
  const int count = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < count; ++i)
    moments.push_back({static_cast<std::int64_t>(random() % 100000),
                       static_cast<std::int64_t>(random() % 3 == 0 ? 0 : random() % 5000)});
  moments.push_back(
      {static_cast<std::int64_t>(random() % 1000), static_cast<std::int64_t>(1 + random() % 5000)});
  return moments;
}

// Above this many rows the steepest moment rules.
inline std::int64_t LastKink(const Moments& moments) {
  Line steepest = moments.front();
  for (const Line& line : moments) {
    if (line.per_row > steepest.per_row || (line.per_row == steepest.per_row && line.fixed > steepest.fixed))
      steepest = line;
  }
  std::int64_t kink = 1;
  for (const Line& line : moments) {
    if (line.per_row == steepest.per_row || line.fixed <= steepest.fixed) continue;
    const std::int64_t gain = steepest.per_row - line.per_row;
    kink = std::max(kink, (line.fixed - steepest.fixed + gain - 1) / gain);
  }
  return kink;
}

// A mode whose rows take `per_row` bytes, measured at 1, 4 and 12 rows.
inline ModeProfile ModeOf(Mode mode, std::int64_t per_row, std::int64_t gradients, int recompute_every = 0,
                          double ms_per_row = 1) {
  const Moments whole{{gradients, per_row}}, pieces{{2 * gradients, per_row}};
  ModeProfile profile{.way = {mode, recompute_every},
                      .whole = ProbesOf(whole, {1, 4, 12}),
                      .pieces = ProbesOf(pieces, {1, 4, 12}),
                      .times = {},
                      .saved_per_row = per_row / 2,
                      .forwards = mode == Mode::kTwoStage ? 5 : 3};
  for (const std::int64_t rows : {1, 4, 12})
    profile.times.push_back({rows, 2 + ms_per_row * static_cast<double>(rows)});
  return profile;
}

// So many operations a row and some for every forward, counted at 1 and 4 rows.
inline std::vector<CountedWork> WorkOf(std::int64_t per_row, std::int64_t fixed = 0) {
  return {{1, fixed + per_row}, {4, fixed + 4 * per_row}};
}

// One additive task of three passes, and one that carries. Nobody counted their work.
inline Profile TwoTasks() {
  Profile profile;
  profile.key = {{"model", "tiny.json (12ab)"}, {"libtorch", "2.11.0"}};
  profile.floor = {.weights = 1000, .optimizer = 2000, .workspace = 100};
  profile.gradients = 1000;
  profile.tasks[FormId("qa")] = {
      .key = {{"version", "1"}},
      .gradients = 1000,
      .constants = 40,
      .batch_per_row = 10,
      .modes = {ModeOf(Mode::kJoint, 3000, 1000), ModeOf(Mode::kSequential, 1000, 1000),
                ModeOf(Mode::kSequential, 400, 1000, 1, 1.3)}};
  profile.tasks[FormId("canvas")] = {
      .key = {{"version", "1"}},
      .gradients = 800,
      .constants = 60,
      .batch_per_row = 20,
      .modes = {ModeOf(Mode::kJoint, 6000, 800), ModeOf(Mode::kTwoStage, 2000, 800, 0, 1.4),
                ModeOf(Mode::kTwoStage, 700, 800, 1, 1.7)}};
  return profile;
}

// The same, where qa's passes share what takes a tenth of their work.
inline Profile CountedTasks() {
  Profile profile = TwoTasks();
  std::vector<ModeProfile>& qa = profile.tasks[FormId("qa")].modes;
  qa[0].work = WorkOf(90);
  qa[1].work = WorkOf(100);
  qa[2].work = WorkOf(133);
  return profile;
}

inline TaskRequest Ask(const std::string& task, std::int64_t rows) {
  return {.form = OwnForm(task),
          .variant = "default",
          .passes = 3,
          .preferred = task == "qa" ? Mode::kSequential : Mode::kJoint,
          .rows = rows};
}

inline std::vector<Refusal> RefusalsOf(const Profile& profile, const std::vector<TaskRequest>& requests,
                                       const PlanSetting& setting, std::string* words = nullptr) {
  try {
    MakePlan(profile, requests, setting);
  } catch (const DoesNotFit& refusal) {
    EXPECT_EQ(refusal.code(), ExitCode::kDoesNotFit);
    if (words != nullptr) *words = refusal.what();
    return refusal.refusals();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace medley::plan_fixture
