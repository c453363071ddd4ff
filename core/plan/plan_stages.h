#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form_table.h>
#include <medley/plan/plan.h>

namespace medley {

// What a stage's steps take by a plan, which must outlive it.
struct PlannedStage {
  std::string name;
  std::size_t tasks = 0;                 // that it draws
  const PlannedTask* largest = nullptr;  // by its peak; null where none could be measured
  // Tasks that run in another form than the config's, with that.
  std::vector<std::pair<std::string, const PlannedTask*>> others;
};

// Empty of a run of one stage without end.
std::vector<PlannedStage> PlannedStages(const FormTable& forms, const Curriculum& curriculum,
                                        const Plan& plan);
nlohmann::ordered_json ToJson(const std::vector<PlannedStage>& stages);

// A table for people: what each stage's largest step takes, and which tasks run in another form there, with
// rows, mode and peak. "" of a run of one stage without end.
std::string StagesOfPlan(const FormTable& forms, const Curriculum& curriculum, const Plan& plan,
                         std::size_t columns = ScreenColumns());

}  // namespace medley
