#include "tools/medley/estimate_gpus.h"

#include <algorithm>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/version.h>
#include <medley/estimate/gpu_fit.h>

namespace medley {

std::vector<Gpu> KnownGpus() { return ReadGpus(ConfigDirectory() / "gpus"); }

BudgetRequest BudgetOf(const std::string& words) {
  try {
    return ParseBudget(words);
  } catch (const InputError& error) {
    throw InputError(std::string("medley estimate: --budget: ") + error.what());
  }
}

std::vector<Gpu> GpusNamed(const std::vector<std::string>& names, const BudgetRequest& budget) {
  std::vector<Gpu> gpus = FindGpus(KnownGpus(), names);
  for (Gpu& gpu : gpus) gpu = Within(std::move(gpu), budget);
  return gpus;
}

Gpu GpuNamed(const std::string& name, const BudgetRequest& budget) {
  const Gpu gpu = FindGpu(KnownGpus(), name);
  if (budget.bytes <= gpu.memory) return Within(gpu, budget);
  throw InputError("medley estimate: --budget: " + FormatBytes(budget.bytes) + " are more than " + gpu.name +
                   " has: " + FormatBytes(gpu.memory) + ". Give less, or leave it out for all of it");
}

void RequireBytes(const std::string& budget) {
  if (BudgetOf(budget).kind == BudgetRequest::Kind::kFraction)
    throw InputError("medley estimate: --budget " + budget +
                     ": of which GPU? Name it (--gpu \"RTX 3090\"), or give bytes: --budget 12GiB");
}

std::vector<GpuFit> FitsOn(const Estimate& on_gpu, const std::vector<Gpu>& gpus, const Telling& tell) {
  std::vector<GpuFit> fits;
  for (const Gpu& gpu : gpus) {
    tell("planning for " + gpu.name, static_cast<double>(fits.size()), static_cast<double>(gpus.size()));
    fits.push_back(FitOn(on_gpu, gpu));
  }
  return fits;
}

void RequireAny(const std::vector<GpuFit>& fits) {
  if (std::any_of(fits.begin(), fits.end(), [](const GpuFit& fit) { return fit.fits(); })) return;
  throw Error(
      "the run fits none of the GPUs above. Take a smaller model or fewer tasks, freeze parameters "
      "(optimizer.groups), or name larger ones: --gpus all",
      ExitCode::kDoesNotFit);
}

}  // namespace medley
