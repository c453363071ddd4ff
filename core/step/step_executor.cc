#include <medley/step/step_executor.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/step/accumulation.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/step/passes/saved_variables.h>
#include <medley/step/run_mode.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

using Piece = StepExecutor::Piece;

// The first of what its variant cannot have. A run's config was checked for it.
void CheckPiece(const Piece& piece) {
  const Execution& execution = *piece.execution;
  const std::string task = "tasks." + piece.task->info().name;
  const auto problems = CheckExecution(piece.task->variant(), execution.way.mode, execution.term_weights);
  if (!problems.empty()) {
    std::string key = task;
    for (const std::string& part : problems.front().path) key += "." + part;
    throw InputError(key + ": " + problems.front().message + " (variant '" + piece.task->variant().name +
                     "')");
  }
  if (!execution.way.recomputed.valid())
    throw InputError(task + ".recompute_layers: expected a part of the layers, found " +
                     execution.way.recomputed.Fraction());
}

void CountItems(const Piece& piece, TaskLosses& losses) {
  if (piece.batch != nullptr) CheckItems(*piece.task, *piece.batch);
  for (const TermInfo& term : piece.task->variant().terms) {
    TermLoss& loss = losses[term.name];
    if (piece.batch != nullptr) loss.count += piece.batch->ItemCount(term.name);
    loss.weight = TermWeight(*piece.execution, term);
  }
}

// Micro-batches are outermost: all passes of one, then the next.
void RunPiece(const Piece& piece, const MicroBatch::Setting& setting, Roots& roots) {
  const auto run = [&](const Batch& batch) {
    MicroBatch micro(setting, batch);
    RunMode(setting.way.mode, micro, setting.task.variant(), roots);
  };
  const std::int64_t rows = piece.batch->size();
  const std::int64_t micro_rows = RowsAtOnce(piece.execution->micro_rows, rows);
  if (micro_rows == rows) return run(*piece.batch);  // a slice would copy the item rows of ragged columns
  for (std::int64_t begin = 0; begin < rows; begin += micro_rows)
    run(piece.batch->Slice(begin, std::min(micro_rows, rows - begin)));
}

}  // namespace

void StepExecutor::Check(const StepLosses& losses) {
  for (const auto& [task, terms] : losses) {
    for (const auto& [term, loss] : terms) {
      if (!std::isfinite(loss.sum)) {
        throw NotFiniteError(
            "task '" + task + "': the term '" + term + "' is " + std::to_string(loss.sum) +
            ", expected a finite sum; look at the task's rows (medley sample " + task +
            ") and passes, or, where its sums were finite in earlier steps, lower optimizer.learning_rate");
      }
      if (loss.count == 0 && loss.sum != 0) {
        throw Error("task '" + task + "': the term '" + term + "' is " + std::to_string(loss.sum) +
                    ", but Sample counted 0 items; make its items agree with what its passes add up");
      }
    }
  }
}

StepExecutor::StepExecutor(const Model& model, at::Device device, DrawCheck* check,
                           const References* references)
    : model_(model), device_(device), check_(check), references_(references) {
  InstallSavedVariableHooks();
}

StepExecutor::Totals StepExecutor::Begin(const std::vector<Piece>& step) {
  Totals totals{.losses = {}, .sums = TermSums(device_)};
  for (const Piece& piece : step) {
    CheckPiece(piece);
    if (!device_.is_cpu() && piece.batch != nullptr)
      CheckTokens(*piece.task, *piece.batch, model_.vocabulary());
    CountItems(piece, totals.losses[piece.task->info().name]);
  }
  if (check_ != nullptr) check_->CheckDraws(step);
  return totals;
}

void StepExecutor::Accumulate(const std::vector<Piece>& pieces, Totals& totals, StepObserver& observer) {
  const at::AutoGradMode with_gradients(true);
  for (const Piece& piece : pieces) {
    if (piece.batch == nullptr) continue;
    const std::string& task = piece.task->info().name;
    observer.DrawBegins(task);
    Roots roots(totals.losses.at(task), task, totals.sums, observer, loss_scale_);
    RunPiece(piece,
             {.task = *piece.task,
              .model = model_,
              .device = device_,
              .way = piece.execution->way,
              .observer = &observer,
              .references = references_},
             roots);
    observer.DrawEnds(task);
  }
}

StepLosses StepExecutor::Read(Totals totals, at::Tensor* along) {
  const at::Tensor read = totals.sums.Read(totals.losses, along != nullptr ? *along : at::Tensor());
  if (along != nullptr) *along = read;
  return std::move(totals.losses);
}

StepLosses StepExecutor::Finish(Totals totals) {
  StepLosses losses = Read(std::move(totals));
  Check(losses);
  return losses;
}

StepLosses StepExecutor::Run(const std::vector<Piece>& step, StepObserver& observer) {
  Totals totals = Begin(step);
  Accumulate(step, totals, observer);
  return Finish(std::move(totals));
}

StepLosses StepExecutor::Run(const std::vector<Piece>& step) {
  StepObserver nobody;
  return Run(step, nobody);
}

}  // namespace medley
