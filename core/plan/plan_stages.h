#pragma once

#include <string>

#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/plan/plan.h>

namespace medley {

// For people: what each stage's largest step takes, and which tasks run in another form there, with rows,
// mode and peak. "" of a run of one stage without end.
std::string StagesOfPlan(const RunConfig& config, const Curriculum& curriculum, const Plan& plan);

}  // namespace medley
