#include <medley/train/step_executor.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/train/contract_check.h>
#include <medley/train/pass_runner.h>

namespace medley {
namespace {

std::string TaskAndVariant(const LoadedTask& task) {
  return "task '" + task.info().name + "' (variant '" + task.variant().name + "')";
}

// What a step adds up, on the device: reading a value earlier would wait for the device.
class TermSums {
 public:
  explicit TermSums(at::Device device) : device_(device) {}

  void Add(const std::string& task, const std::string& term, const at::Tensor& sum) {
    at::Tensor& total = totals_[{task, term}];
    if (!total.defined()) total = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device_));
    total.add_(sum.detach().reshape({}));
  }

  void Read(StepLosses& losses) const {
    if (totals_.empty()) return;
    std::vector<at::Tensor> tensors;
    for (const auto& [names, total] : totals_) tensors.push_back(total);
    const at::Tensor values = at::stack(tensors).cpu();
    const double* value = values.const_data_ptr<double>();
    for (const auto& [names, total] : totals_) losses[names.first][names.second].sum = *value++;
  }

 private:
  at::Device device_;
  std::map<std::pair<std::string, std::string>, at::Tensor> totals_;
};

// The terms whose gradient one backward sends back.
class Roots {
 public:
  Roots(std::map<std::string, TermLoss>& losses, const LoadedTask& task, TermSums& sums)
      : losses_(losses), task_(task), sums_(sums) {}

  void Add(const Sums& sums) {
    for (const auto& [term, sum] : sums) {
      sums_.Add(task_.info().name, term, sum);
      const TermLoss& loss = losses_.at(term);
      if (!sum.requires_grad() || loss.count == 0 || loss.weight == 0) continue;
      roots_.push_back(sum);
      seeds_.push_back(at::full_like(sum.detach(), loss.weight / static_cast<double>(loss.count)));
    }
  }
  void Backward() {
    if (!roots_.empty()) torch::autograd::backward(roots_, seeds_);
    roots_.clear();
    seeds_.clear();
  }

 private:
  std::map<std::string, TermLoss>& losses_;
  const LoadedTask& task_;
  TermSums& sums_;
  std::vector<at::Tensor> roots_, seeds_;
};

void CheckMode(const StepExecutor::Piece& piece) {
  if (piece.plan->mode != Mode::kSequential) return;
  for (const PassInfo& pass : piece.task->variant().passes) {
    if (pass.carries.empty()) continue;
    throw InputError(TaskAndVariant(*piece.task) + " cannot run in mode 'sequential': its pass '" +
                     pass.name + "' makes the carry '" + pass.carries.front() +
                     "', and the gradient of later passes flows back through it. Set tasks." +
                     piece.task->info().name + ".mode to \"joint\", or leave it out");
  }
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

// Counts are known before the first backward: all draws' items, of each task and term.
void CountItems(const StepExecutor::Piece& piece, std::map<std::string, TermLoss>& losses) {
  CheckItems(*piece.task, *piece.batch);
  for (const TermInfo& term : piece.task->variant().terms) {
    TermLoss& loss = losses[term.name];
    loss.count += piece.batch->ItemCount(term.name);
    const auto weight = piece.plan->term_weights.find(term.name);
    loss.weight = weight == piece.plan->term_weights.end() ? term.weight : weight->second;
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
  mode == Mode::kJoint ? RunJoint(micro, variant, roots) : RunSequential(micro, variant, roots);
}

// Micro-batches are outermost: all passes of one, then the next.
void RunPiece(const StepExecutor::Piece& piece, const MicroBatch::Setting& setting, Roots& roots) {
  const std::int64_t rows = piece.batch->size();
  const std::int64_t micro_rows = piece.plan->micro_rows > 0 ? std::min(piece.plan->micro_rows, rows) : rows;
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

StepExecutor::StepExecutor(const Model& model, at::Device device) : model_(model), device_(device) {}

Mode StepExecutor::DefaultMode(const VariantInfo& variant) {
  for (const PassInfo& pass : variant.passes) {
    if (!pass.carries.empty()) return Mode::kJoint;
  }
  return Mode::kSequential;
}

StepLosses StepExecutor::Run(const std::vector<Piece>& step) {
  StepLosses losses;
  for (const Piece& piece : step) {
    CheckMode(piece);
    CheckWeights(piece);
    CountItems(piece, losses[piece.task->info().name]);
  }
  const at::AutoGradMode with_gradients(true);
  TermSums sums(device_);
  for (const Piece& piece : step) {
    Roots roots(losses[piece.task->info().name], *piece.task, sums);
    RunPiece(piece,
             {.task = *piece.task,
              .model = model_,
              .device = device_,
              .sharing = piece.plan->mode == Mode::kJoint ? Sharing::kNode : Sharing::kLeaf},
             roots);
  }
  sums.Read(losses);
  CheckLosses(losses);
  return losses;
}

void StepExecutor::CheckContract(LoadedTask& task, const Batch& one_row) {
  medley::CheckContract(task, one_row, model_, device_);
}

void DrainEngine() {
  const at::AutoGradMode with_gradients(true);
  torch::autograd::backward({at::ones({1}).set_requires_grad(true).mul(1)}, {at::ones({1})});
}

}  // namespace medley
