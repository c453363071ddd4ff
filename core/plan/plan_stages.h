#pragma once

#include <string>

#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form_table.h>
#include <medley/plan/plan.h>

namespace medley {

// A table for people: what each stage's largest step takes, and which tasks run in another form there, with
// rows, mode and peak. "" of a run of one stage without end.
std::string StagesOfPlan(const FormTable& forms, const Curriculum& curriculum, const Plan& plan);

}  // namespace medley
