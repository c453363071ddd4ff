#include <medley/run/run_kernels.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/model/float_type.h>
#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

// What one process leaves aside, all do: gradients of a step come from all. Called by all that have a GPU.
void Agree(ProcessGroup& group, KernelVerdicts& verdicts) {
  std::vector<std::int64_t> own;
  for (const KernelVerdict& one : verdicts.of) own.push_back(one.used ? 1 : 0);
  for (const std::vector<std::int64_t>& theirs : GatherNumbers(group, own)) {
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (theirs[i] == 0) verdicts.of[i].used = false;
    }
  }
}

}  // namespace

std::optional<KernelVerdicts> KernelsOf(const std::filesystem::path& directory) {
  const nlohmann::ordered_json record = ReadRunRecord(directory);
  if (!record.is_object() || !record.contains(kKernels)) return std::nullopt;
  return VerdictsIn(record.at(kKernels));
}

void TakeKernels(Run& run, const std::optional<KernelVerdicts>& recorded) {
  UseKernels({});
  run.kernels = recorded;  // also where another device goes on
  if (!run.device.is_cuda()) return;
  const std::string& problem = KernelsProblem(run.device);
  const at::ScalarType type = FloatTypeOf(*run.model);
  KernelVerdicts verdicts;
  if (problem.empty()) {
    const bool knows = recorded && recorded->AreOf(type, run.device);
    verdicts = knows ? *recorded : CheckKernels(run.model->Kernels(), type, run.device);
  }
  Agree(run.cluster->group(), verdicts);
  UseKernels(verdicts.Used(run.device));
  if (problem.empty()) {
    run.kernels = verdicts;
    run.kernel_words = verdicts.Words();
    return;
  }
  run.kernel_words =
      "norms, gates, losses and updates go by operators of libtorch, one after the other: the slow way. "
      "There is no kernel: " +
      problem;
  if (recorded && recorded->any()) run.kernel_words += ". The run began with them, so bits may differ";
}

}  // namespace medley
