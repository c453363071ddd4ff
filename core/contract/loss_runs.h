#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/contract/recorded_model.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {

// A pass, counted from 0, and an output of the model that it asks for.
using OutputPlace = std::pair<std::size_t, std::string>;
// At outputs, of their shape.
using OutputGradients = std::map<OutputPlace, at::Tensor>;

// What the passes of a task made of a model's outputs.
struct LossRun {
  std::vector<std::map<std::string, double>> sums;   // by pass; by term
  std::map<std::string, OutputGradients> gradients;  // by term; in the order of JoinRows
  std::vector<RecordedModel::Handed> handed;         // by pass
  PassImages::Tensors kept;                          // what passes keep for later ones

  double Sum(std::size_t pass, const std::string& term) const;
  double Sum(const std::string& term) const;  // of all passes
  // None where the term has no gradient.
  const OutputGradients& GradientsOf(const std::string& term) const;
};

// Some of a batch's rows: `count` from the `first`, counted from 0.
struct RowsOf {
  std::int64_t first = 0, count = 1;
};

// Runs a task's passes over some of a batch's rows, with a RecordedModel in the place of the model.
class LossRuns {
 public:
  // Keeps the first two, which are on one device. See RecordedModel. `numbers`: of the rows; none: as the
  // batch has them.
  LossRuns(const MicroBatch::Setting& setting, const Batch& rows, const std::vector<RowOutputs>& alone,
           bool row_by_row, at::ScalarType type, const std::vector<std::int64_t>& numbers = {});

  LossRun Run(const RowsOf& range, bool with_gradients);
  // Where outputs are moved along the model's direction, without gradients; and, with them, where outputs are
  // all this number. What passes keep stays as it is where they are not moved: it is no part of a gradient.
  LossRun RunMoved(const RowsOf& range, double step);
  LossRun RunAtLevel(const RowsOf& range, double level);

  // How fast a sum with these gradients grows along the direction, and the norm of what that is added up of.
  std::pair<double, double> Along(const RowsOf& range, const OutputGradients& gradients);

  std::int64_t rows() const { return count_; }  // that can be run
  const VariantInfo& variant() const { return setting_.task.variant(); }
  std::int64_t Number(std::int64_t row) const {
    return numbers_.empty() ? rows_.rows().begin + row : numbers_[static_cast<std::size_t>(row)];
  }
  std::int64_t Items(const std::string& term, std::int64_t row) const;
  std::string Words(const RowsOf& range) const;  // "3, 4 and 5"

 private:
  LossRun Run(const RowsOf& range, bool with_gradients, const PassImages::Tensors& kept);
  const PassImages::Tensors& KeptOf(const RowsOf& range);

  const MicroBatch::Setting& setting_;
  const Batch& rows_;
  std::int64_t count_;
  RecordedModel model_;
  std::vector<std::int64_t> numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, PassImages::Tensors> kept_;  // by range, outputs not moved
};

// "0.25, 1 and 2", to nine digits.
std::string ListedNumbers(const std::vector<double>& numbers);

}  // namespace medley
