#include <medley/train/estimated_run.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/random.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/profile.h>
#include <medley/model/model_factory.h>
#include <medley/train/plan_request.h>
#include <medley/train/probe_rows.h>
#include <medley/train/profile_key.h>

namespace medley {
namespace {

constexpr std::int64_t kShapeRows = 2;  // enough to see bytes a row

std::unique_ptr<Run> Open(RunInputs inputs) {
  inputs.checked.run.device = "cpu";
  std::unique_ptr<Run> run = BuildRun(std::move(inputs), Purpose::kSample);
  run->model = MakeModel(run->config.model, *run->tokenizer, 0, at::kMeta);
  return run;
}

}  // namespace

EstimatedRun::EstimatedRun(RunInputs inputs) : run_(Open(std::move(inputs))) {
  const AdamW optimizer(model(), run_->config.optimizer, run_->config.steps);  // sets what is trained
  for (const Parameter& state : optimizer.State())
    optimizer_ += static_cast<std::int64_t>(state.tensor.nbytes());
  for (const Parameter& parameter : model().parameters()) {
    parameters_ += parameter.tensor.numel();
    if (parameter.tensor.requires_grad()) trained_ += parameter.tensor.numel();
  }
  Load();
}

std::int64_t EstimatedRun::element() const {
  return static_cast<std::int64_t>(c10::elementSize(FloatTypeOf(model())));
}

void EstimatedRun::Load() {
  const std::int64_t before = ReadCpuMemory().now;
  for (const std::string& name : run_->ActiveTasks()) run_->task(name);
  kept_ = ReadCpuMemory().now - before;
  for (const std::string& name : run_->ActiveTasks()) shapes_[name] = ShapeOf(run_->task(name));
}

TaskShape EstimatedRun::ShapeOf(LoadedTask& task) const {
  const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run_->config.seed), task.info().name));
  const std::int64_t size = ReadImageGeometry(run_->config.model).size;
  const std::vector<std::int64_t> same(kShapeRows, 0);  // rows of one kind: it may be all of a micro-batch
  TaskShape shape = medley::ShapeOf(task, probe.Make(0, 1).Take(same), size, model());
  for (std::int64_t kind = 1; kind < probe.kinds(); ++kind)
    shape = Widest(std::move(shape), medley::ShapeOf(task, probe.Make(kind, 1).Take(same), size, model()));
  task.DropConstants(at::kCPU);
  return shape;
}

std::vector<EstimatedTask> EstimatedRun::Tasks(bool on_gpu) const {
  std::vector<EstimatedTask> tasks;
  for (const std::string& name : run_->ActiveTasks()) {
    const ExecutionPlan& plan = run_->plans.at(name);
    tasks.push_back({.name = name,
                     .variant = run_->task(name).variant().name,
                     .shape = shapes_.at(name),
                     .setting = {.mode = plan.mode,
                                 .rows = ConfigOf(*run_, name).rows,
                                 .micro_rows = plan.micro_rows,
                                 .recompute_every = plan.recompute_every,
                                 .on_gpu = on_gpu}});
  }
  return tasks;
}

Estimate EstimatedRun::Of(std::vector<EstimatedTask> tasks) const {
  const bool on_gpu = !tasks.empty() && tasks.front().setting.on_gpu;
  const StepBytes floor{
      .weights = WeightBytes(model()), .optimizer = optimizer_, .constants = on_gpu ? 0 : kept_};
  return Estimate(model(), floor, std::move(tasks));
}

void EstimatedRun::UseProfile(const std::filesystem::path& file, std::vector<EstimatedTask>& tasks) const {
  const Profile profile = ReadProfile(file);
  nlohmann::ordered_json here = RunProfileKey(*run_), there = profile.key;
  for (const char* place : {"medley", "libtorch", "device", "threads"}) here.erase(place), there.erase(place);
  if (const std::string different = KeyDifferences(there, here); !different.empty()) {
    throw InputError(DisplayPath(file) + " was measured for another run: " + different +
                     ". Leave --profile out, or measure this run: medley plan");
  }
  for (EstimatedTask& task : tasks) {
    const auto known = profile.tasks.find(task.name);
    if (known == profile.tasks.end() || known->second.key != TaskProfileKey(*run_, task.name)) continue;
    const ModeProfile* mode =
        known->second.Find(task.setting.mode, static_cast<int>(task.setting.recompute_every));
    if (mode == nullptr || !mode->measured()) continue;
    task.measured = PeakLines(mode->whole);
    task.measured_pieces = PeakLines(mode->pieces);
  }
}

std::int64_t EstimatedRun::WaitingBytes(const std::vector<EstimatedTask>& tasks) const {
  std::int64_t largest = 0;
  for (const EstimatedTask& task : tasks)
    largest = std::max(largest, task.setting.rows * task.shape.row_bytes);
  return run_->config.data.threads > 0 ? run_->config.data.ahead * largest : 0;
}

}  // namespace medley
