#include <medley/estimate/estimated_run.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/random.h>
#include <medley/cluster/gradient_exchange.h>
#include <medley/estimate/estimated_evaluation.h>
#include <medley/eval/evaluator.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plan/plan_request.h>
#include <medley/plan/probe_rows.h>
#include <medley/plan/profile.h>
#include <medley/plan/profile_key.h>
#include <medley/run/run_references.h>
#include <medley/update/kept_bytes.h>
#include <medley/update/parameter_groups.h>

namespace medley {
namespace {

constexpr std::int64_t kShapeRows = 2;  // enough to see bytes a row

std::unique_ptr<Run> Open(RunInputs inputs) {
  inputs.checked.run.device = "cpu";
  inputs.checked.run.threads = 1;  // there is little to compute
  std::unique_ptr<Run> run = BuildRun(std::move(inputs), Purpose::kSample);
  run->model = run->MakeModel(0, at::kMeta);
  run->model->To(at::kMeta, FloatTypeNamed(run->config.dtype));
  return run;
}

}  // namespace

EstimatedRun::EstimatedRun(RunInputs inputs, const Telling& tell) : run_(Open(std::move(inputs))) {
  SetTrained(model(), run_->config.optimizer);
  for (const Parameter& parameter : model().parameters()) {
    parameters_ += parameter.tensor.numel();
    if (parameter.tensor.requires_grad()) trained_ += parameter.tensor.numel();
  }
  Load(tell);
}

std::int64_t EstimatedRun::OptimizerBytes(std::int64_t ranks) const {
  return MostKeptBytesOf(run_->config.optimizer, model(), ranks).state();
}

std::int64_t EstimatedRun::ReferenceBytes() const {
  return medley::ReferenceBytes(model(), TrainedNames(*run_, model()), run_->config.references,
                                AskedReferences(*run_));
}

std::int64_t EstimatedRun::element() const {
  return static_cast<std::int64_t>(c10::elementSize(FloatTypeOf(model())));
}

void EstimatedRun::Load(const Telling& tell) {
  const std::int64_t before = ReadCpuMemory().now;
  const std::vector<Form> forms = run_->NamedForms();
  for (const Form& form : forms) run_->host->Get(form);
  kept_ = ReadCpuMemory().now - before;
  for (const Form& form : forms) {
    if (tell)
      tell("estimating the rows of " + form.id.text(), static_cast<double>(shapes_.size()),
           static_cast<double>(forms.size()));
    Measure(form);
  }
}

void EstimatedRun::Measure(const Form& form) {
  LoadedTask& task = run_->host->Get(form);
  const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run_->config.seed), task.info().name));
  const std::vector<std::int64_t> same(kShapeRows, 0);  // rows of one kind: it may be all of a micro-batch
  TaskShape shape = ShapeOf(task, probe.Make(0, 1).Take(same), model(), run_->model_file->config);
  for (std::int64_t kind = 1; kind < probe.kinds(); ++kind)
    shape = Widest(std::move(shape),
                   ShapeOf(task, probe.Make(kind, 1).Take(same), model(), run_->model_file->config));
  task.DropConstants(at::kCPU);
  shapes_[form.id] = std::move(shape);
  waiting_rows_[form.id] = probe.bytes_per_row();
}

void EstimatedRun::AddEvaluation(std::vector<EstimatedTask>& tasks, bool on_gpu, const Telling& tell) const {
  const auto hollow = MakeHollow(model(), run_->model_file->config, on_gpu, any_cpu_);
  double done = 0;
  for (EstimatedTask& estimated : tasks) {
    const Form& form = estimated.request.form;
    if (tell)
      tell("estimating an evaluation of " + form.id.text(), done++, static_cast<double>(tasks.size()));
    LoadedTask& task = run_->host->Get(form);
    const auto seed = EvalSeed(static_cast<std::uint64_t>(run_->config.eval.seed), task.info().name);
    estimated.evaluation = EvaluationLines(task, *hollow, seed);
    estimated.evaluation_rows = std::min(kEvalRows, run_->config.eval.rows);
    task.DropConstants(at::kCPU);
  }
}

std::vector<EstimatedTask> EstimatedRun::Tasks(bool on_gpu) const {
  std::vector<EstimatedTask> tasks;
  for (const Form& form : run_->NamedForms()) {
    const Execution configured = run_->Configured(form);
    const VariantInfo& variant = run_->host->Variant(form);
    TaskRequest request = RequestOf(form, variant);
    const std::int64_t rows = request.rows;
    auto ways = AllWays(request, variant);
    tasks.push_back({.request = std::move(request),
                     .shape = shapes_.at(form.id),
                     .setting = {.way = configured.way,
                                 .rows = rows,
                                 .micro_rows = configured.micro_rows,
                                 .on_gpu = on_gpu},
                     .ways = std::move(ways),
                     .waiting_row = waiting_rows_.at(form.id),
                     .cache = run_->host->Get(form).CacheBytes()});
  }
  return tasks;
}

Estimate EstimatedRun::Of(std::vector<EstimatedTask> tasks, bool on_gpu, std::int64_t ranks,
                          const Telling& tell) const {
  MemoryLedger floor{.weights = WeightBytes(model()),
                     .optimizer = OptimizerBytes(ranks),
                     .references = ReferenceBytes(),
                     .constants = on_gpu ? 0 : kept_};
  if (ranks > 1) {  // in which gradients are added up; on a GPU where all have NCCL
    std::vector<at::Tensor> trained;
    for (const Parameter& parameter : model().parameters()) {
      if (parameter.tensor.requires_grad()) trained.push_back(parameter.tensor);
    }
    floor.workspace += GradientExchange::BufferBytes(trained);
  }
  const DataConfig& data = run_->config.data;
  return Estimate(model(), floor, std::move(tasks),
                  {.on_gpu = on_gpu,
                   .any_cpu = any_cpu_,
                   .draws_per_step = run_->config.draws_per_step,
                   .draws_ahead = data.threads > 0 ? data.ahead : 0,
                   .evaluates = run_->config.eval.every > 0,
                   .ranks = ranks,
                   .balance = run_->config.balance},
                  tell);
}

void EstimatedRun::UseProfile(const std::filesystem::path& file, std::vector<EstimatedTask>& tasks) const {
  const Profile profile = ReadProfile(file);
  nlohmann::ordered_json here = RunProfileKey(run_->config, model(), run_->ModelBuild(),
                                              run_->tokenizer.get(), run_->device),
                         there = profile.key;
  for (const char* place : {"medley", "libtorch", "device", "threads"}) here.erase(place), there.erase(place);
  if (const std::string different = KeyDifferences(there, here); !different.empty()) {
    throw InputError(DisplayPath(file) + " was measured for another run: " + different +
                     ". Leave --profile out, or measure this run: medley plan");
  }
  for (EstimatedTask& task : tasks) {
    const auto known = profile.tasks.find(task.request.form.id);
    if (known == profile.tasks.end() || known->second.key != TaskProfileKey(*run_->host, task.request.form))
      continue;
    task.measured = known->second;
    task.measured_without_rows = profile.key.value("device", "cpu") == "cpu";
  }
}

}  // namespace medley
