#pragma once

#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/config/budget_request.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/gpu_fit.h>

namespace medley {

std::vector<Gpu> KnownGpus();  // of configs/gpus

// What --budget says ("": nothing); an InputError that names the option.
BudgetRequest BudgetOf(const std::string& words);
// The GPUs of --gpus, with no more of each than the budget. An InputError names all unknown ones.
std::vector<Gpu> GpusNamed(const std::vector<std::string>& names, const BudgetRequest& budget);
// The one of --gpu; an InputError also where the budget is more than it has.
Gpu GpuNamed(const std::string& name, const BudgetRequest& budget);

// An InputError where the budget is a part of a GPU that nobody named.
void RequireBytes(const std::string& budget);

// What the run would take on each, `on_gpu` being its estimate on a GPU.
std::vector<GpuFit> FitsOn(const Estimate& on_gpu, const std::vector<Gpu>& gpus, const Telling& tell);
// An Error with kDoesNotFit where none of them takes every task.
void RequireAny(const std::vector<GpuFit>& fits);

}  // namespace medley
