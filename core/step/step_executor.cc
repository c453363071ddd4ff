#include <medley/step/step_executor.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/step/accumulation.h>
#include <medley/step/contract_check.h>
#include <medley/step/pass_runner.h>
#include <medley/step/roots.h>
#include <medley/step/two_stage.h>

namespace medley {
namespace {

std::string TaskAndVariant(const LoadedTask& task) {
  return "task '" + task.info().name + "' (variant '" + task.variant().name + "')";
}

void CheckMode(const StepExecutor::Piece& piece) {
  const Mode mode = piece.plan->mode;
  const std::string reason = WhyIllegal(mode, piece.task->variant());
  if (reason.empty()) return;
  std::vector<std::string> legal;
  for (const Mode other : LegalModes(piece.task->variant())) legal.emplace_back(ModeName(other));
  throw InputError(TaskAndVariant(*piece.task) + " cannot run in mode '" + std::string(ModeName(mode)) +
                   "': " + reason + ". Set tasks." + piece.task->info().name + ".mode to one of " +
                   Listed(legal) + ", or leave it out");
}

void CheckWeights(const StepExecutor::Piece& piece) {
  std::vector<std::string> terms;
  for (const TermInfo& term : piece.task->variant().terms) terms.push_back(term.name);
  for (const auto& [term, weight] : piece.plan->term_weights) {
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) {
      throw InputError("tasks." + piece.task->info().name + ".terms." + term + ": " +
                       TaskAndVariant(*piece.task) + " has no such term; its terms: " + Listed(terms));
    }
  }
}

void CheckPlan(const StepExecutor::Piece& piece) {
  CheckMode(piece);
  CheckWeights(piece);
  if (piece.plan->recompute_every < 0) {
    throw InputError("tasks." + piece.task->info().name + ".recompute_every: expected at least 0, found " +
                     std::to_string(piece.plan->recompute_every));
  }
}

// Counts are known before the first backward: all draws' items, of each task and term.
void CountItems(const StepExecutor::Piece& piece, std::map<std::string, TermLoss>& losses) {
  CheckItems(*piece.task, *piece.batch);
  for (const TermInfo& term : piece.task->variant().terms) {
    TermLoss& loss = losses[term.name];
    loss.count += piece.batch->ItemCount(term.name);
    loss.weight = TermWeight(*piece.plan, term);
  }
}

void RunJoint(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  for (const PassInfo& pass : variant.passes) roots.Add(micro.RunPass(pass));
  roots.Backward();
}

// From the last pass to the first: the engine drains the newest graph first, so this order repeats the sums
// of the joint backward bit for bit.
void RunSequential(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  for (auto pass = variant.passes.rbegin(); pass != variant.passes.rend(); ++pass) {
    roots.Add(micro.RunPass(*pass));
    roots.Backward();
    micro.PassDone(*pass);
  }
  micro.Flush();
}

void RunRows(const MicroBatch::Setting& setting, Mode mode, const Batch& rows, Roots& roots) {
  MicroBatch micro(setting, rows);
  const VariantInfo& variant = setting.task.variant();
  switch (mode) {
    case Mode::kJoint:
      return RunJoint(micro, variant, roots);
    case Mode::kSequential:
      return RunSequential(micro, variant, roots);
    case Mode::kTwoStage:
      return RunTwoStage(micro, variant, roots);
  }
}

// Micro-batches are outermost: all passes of one, then the next.
void RunPiece(const StepExecutor::Piece& piece, const MicroBatch::Setting& setting, Roots& roots) {
  const std::int64_t rows = piece.batch->size();
  const std::int64_t micro_rows = RowsAtOnce(piece.plan->micro_rows, rows);
  if (micro_rows == rows) {  // a slice would copy the item rows of ragged columns
    RunRows(setting, piece.plan->mode, *piece.batch, roots);
    return;
  }
  for (std::int64_t begin = 0; begin < rows; begin += micro_rows) {
    RunRows(setting, piece.plan->mode, piece.batch->Slice(begin, std::min(micro_rows, rows - begin)), roots);
  }
}

void CheckLosses(const StepLosses& losses) {
  for (const auto& [task, terms] : losses) {
    for (const auto& [term, loss] : terms) {
      if (!std::isfinite(loss.sum)) {
        throw Error(
            "task '" + task + "': the term '" + term + "' is " + std::to_string(loss.sum) +
            ", expected a finite sum; lower the learning rate, or look at the task's rows (medley sample " +
            task + ")");
      }
      if (loss.count == 0 && loss.sum != 0) {
        throw Error("task '" + task + "': the term '" + term + "' is " + std::to_string(loss.sum) +
                    ", but Sample counted 0 items; make its items agree with what its passes add up");
      }
    }
  }
}

}  // namespace

double TermWeight(const ExecutionPlan& plan, const TermInfo& term) {
  const auto pinned = plan.term_weights.find(term.name);
  return pinned == plan.term_weights.end() ? term.weight : pinned->second;
}

StepExecutor::StepExecutor(const Model& model, at::Device device) : model_(model), device_(device) {
  InstallSavedVariableHooks();
}

void StepExecutor::SetDrawObserver(DrawObserver begin, DrawObserver end) {
  begin_draw_ = std::move(begin);
  end_draw_ = std::move(end);
}

void StepExecutor::SetPassMeter(PassMeter meter) { pass_meter_ = std::move(meter); }

StepLosses StepExecutor::Run(const std::vector<Piece>& step) {
  in_backward_ = false;
  StepLosses losses;
  for (const Piece& piece : step) {
    CheckPlan(piece);
    CountItems(piece, losses[piece.task->info().name]);
  }
  for (const Piece& piece : step) CheckGraphs(piece);
  const at::AutoGradMode with_gradients(true);
  TermSums sums(device_);
  for (const Piece& piece : step) {
    const std::string& task = piece.task->info().name;
    if (begin_draw_) begin_draw_(task);
    Roots roots(losses[task], task, sums, in_backward_);
    RunPiece(piece,
             {.task = *piece.task,
              .model = model_,
              .device = device_,
              .sharing = piece.plan->mode == Mode::kJoint ? Sharing::kNode : Sharing::kLeaf,
              .recompute_every = piece.plan->recompute_every,
              .forwards = &forwards_,
              .tokens = &tokens_,
              .pass_meter = &pass_meter_},
             roots);
    if (end_draw_) end_draw_(task);
  }
  sums.Read(losses);
  CheckLosses(losses);
  return losses;
}

void StepExecutor::CheckContract(LoadedTask& task, const Batch& one_row) {
  medley::CheckContract(task, one_row, model_, device_);
  checked_.insert(&task);
}

// Declarations alone do not make a mode legal: a task may hide a tensor from one pass to the next.
void StepExecutor::CheckGraphs(const Piece& piece) {
  if (piece.plan->mode == Mode::kJoint || piece.batch->size() == 0 || WasChecked(*piece.task)) return;
  CheckContract(*piece.task, piece.batch->Slice(0, 1));
}

void DrainEngine(at::Device device) {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor one = at::ones({1}, at::TensorOptions().device(device));
  torch::autograd::backward({one.clone().set_requires_grad(true).mul(1)}, {one});
}

}  // namespace medley
