#include <medley/train/phases/jump_trial.h>

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <deque>

#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/eval/eval_pass.h>
#include <medley/eval/held_out_loss.h>
#include <medley/model/device.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

// Rows that no draw and no evaluation has.
constexpr std::uint64_t ProbeSeed(std::uint64_t run_seed, std::string_view task) {
  return CombineSeeds(CombineSeeds(run_seed, HashName("probe")), HashName(task));
}

// A mean of pieces and its standard error.
struct PieceMean {
  double mean = 0, standard_error = 0;
};

PieceMean MeanOfPieces(const std::vector<double>& pieces) {
  const auto count = static_cast<double>(pieces.size());
  PieceMean found;
  for (const double piece : pieces) found.mean += piece / count;
  double squares = 0;
  for (const double piece : pieces) squares += (piece - found.mean) * (piece - found.mean);
  found.standard_error = std::sqrt(squares / (count - 1) / count);
  return found;
}

}  // namespace

TrialLosses JumpTrial::Losses(const std::string& task, std::int64_t event,
                              const std::vector<Displacement>& displacements) {
  setting_.tables.MakeAllRoom(task);
  LoadedTask& loaded = setting_.tasks.Checked(task);
  std::int64_t& rows_at_once = setting_.rows_at_once.try_emplace(task, kPieceRows).first->second;
  while (true) {
    try {
      return Run(loaded, event, displacements, rows_at_once);
    } catch (const c10::OutOfMemoryError&) {
      if (rows_at_once == 1) throw;
    } catch (const Interrupted&) {
      AbandonForward(setting_.device);
      throw;
    }
    AbandonForward(setting_.device);
    rows_at_once /= 2;
  }
}

TrialLosses JumpTrial::Run(LoadedTask& task, std::int64_t event,
                           const std::vector<Displacement>& displacements, std::int64_t rows_at_once) {
  const at::NoGradGuard no_graph;
  const KeepGenerators keep(setting_.device);
  const RowRange rows{
      .seed = ProbeSeed(setting_.seed, task.info().name), .begin = event * kRows, .count = kRows};
  std::vector<std::deque<Batch>> pieces;
  for (const RowRange& piece : EvalPieces(rows, kPieceRows)) {
    pieces.emplace_back();
    for (const RowRange& part : EvalPieces(piece, rows_at_once))
      pieces.back().push_back(SampleRows(task, part, setting_.device));
  }
  TrialLosses losses;
  for (const Displacement& displacement : displacements) {
    const LentWeights moved = setting_.directions.MovedAverages(displacement);
    losses.emplace_back();
    for (const std::deque<Batch>& piece : pieces) {
      HeldOutLoss loss(task, setting_.model, setting_.device, setting_.references);
      for (const Batch& part : piece) {
        HeedInterrupt();
        loss.Add(part);
      }
      losses.back().push_back(loss.Value(setting_.plan.Of(task.info().name)));
    }
  }
  return losses;
}

JumpVerdict JudgeJump(const std::map<std::string, TrialLosses>& losses,
                      const std::map<std::string, double>& shares, double least_gain) {
  JumpVerdict verdict;
  std::vector<double> all(static_cast<std::size_t>(JumpTrial::kPieces));
  std::string worse;
  for (const auto& [task, found] : losses) {
    const std::vector<double>&before = found.at(0), &after = found.at(1);
    std::vector<double> gains(all.size());
    for (std::size_t piece = 0; piece < gains.size(); ++piece) {
      gains[piece] = before[piece] - after[piece];
      all[piece] += shares.at(task) * gains[piece];
    }
    const PieceMean gain = MeanOfPieces(gains);
    verdict.tasks[task] = {.from = MeanOfPieces(before).mean, .to = MeanOfPieces(after).mean};
    if (worse.empty() && gain.mean < -2 * gain.standard_error) worse = task;
  }
  const PieceMean gain = MeanOfPieces(all);
  verdict.gain = gain.mean;
  verdict.standard_error = gain.standard_error;
  if (!std::isfinite(gain.mean)) {
    verdict.refused = "a loss is not finite";
  } else if (gain.mean <= 2 * gain.standard_error) {
    verdict.refused = "it gains no more than two standard errors";
  } else if (gain.mean <= least_gain) {
    verdict.refused = "training gains " + FormatNumber(least_gain) + " for the same cost";
  } else if (!worse.empty()) {
    verdict.refused = worse + " gets worse by two of its standard errors";
  }
  return verdict;
}

}  // namespace medley
