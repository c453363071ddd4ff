#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// What the model gave the passes of a variant for one row alone; by pass.
using RowOutputs = std::vector<ModelOutputs>;

// How many numbers there are.
std::int64_t NumbersOf(const RowOutputs& outputs);

// What each of some rows has, behind one another. Where they are not equally wide, the narrower are filled
// up: with their last values, which are as plausible as any, or with zeros.
at::Tensor JoinRows(const std::vector<at::Tensor>& of_rows, bool with_zeros = false);
// The same in another order of the first dimension, where one is given.
at::Tensor InOrder(const at::Tensor& joined, const at::Tensor& order);

// Stands in for a model that has run over single rows: gives each row, to the bit, the same outputs whatever
// rows are beside it. So what a task makes of outputs can be judged apart from a model's rounding, in float64
// and at no forward's cost. To what the model gave is added what rows of an untrained one may lack: that they
// differ. And the outputs follow the inputs that carry gradient, in proportion, so that gradient flows
// through carries.
//
// Items of several rows lie in the order of an input that numbers their places in the rows' texts, where
// there is one; else row by row. Each row must run alone before it runs beside others.
class RecordedModel final : public Model {
 public:
  // `type`: of its floats. `row_by_row`: so the model gave the items of several rows, where no input numbers
  // them; else an Error says that nothing is known of them. Keeps the first reference.
  RecordedModel(const Model& model, const std::vector<RowOutputs>& rows, bool row_by_row,
                at::ScalarType type);

  // What comes next is over `count` of the rows, from the `first`, counted from 0; each pass is said before
  // it runs.
  void Begin(std::int64_t first, std::int64_t count);
  void BeginPass(std::size_t pass) { pass_ = pass; }
  // From now on outputs are moved so far along a direction that is always the same, of about their own size.
  void Move(double step) { step_ = step; }
  // From now on every number of the outputs is this one, but of those that are shares (in [0, 1]) in all
  // rows.
  void Level(std::optional<double> level) { level_ = level; }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override;
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  void To(at::Device, at::ScalarType) override {}

  // Since Begin. `orders`: of outputs, where JoinRows is not that of their items: the places there.
  struct Handed {
    std::map<std::string, at::Tensor> leaves{}, orders{};
    ModelInputs inputs{};  // without graphs
  };
  const Handed& HandedTo(std::size_t pass) const { return handed_[pass]; }
  // The direction of Move at a leaf.
  at::Tensor Direction(std::size_t pass, const std::string& output) const;

 private:
  std::vector<at::Tensor> Of(std::size_t pass, std::string_view output) const;
  std::vector<at::Tensor> Directions(std::size_t pass, std::string_view output) const;
  at::Tensor Answer(const ModelInputs& inputs) const;
  at::Tensor OrderOf(std::string_view output, const std::vector<at::Tensor>& of_rows,
                     const ModelInputs& inputs) const;
  at::Tensor OrderBy(std::size_t input, std::int64_t width, const ModelInputs& inputs) const;

  const Model& model_;
  at::ScalarType type_;
  std::vector<Parameter> parameters_;  // one without numbers, which says the type
  std::vector<RowOutputs> rows_;
  bool row_by_row_;
  std::set<std::string, std::less<>> unbounded_;  // outputs that are no shares
  std::size_t first_ = 0, count_ = 0, pass_ = 0;
  double step_ = 0;
  std::optional<double> level_;
  mutable std::map<std::string, at::Tensor> directions_;  // that were asked for, of a row's output
  mutable std::vector<Handed> handed_;                    // by pass
  mutable std::vector<std::vector<ModelInputs>> alone_;   // by row; by pass
};

}  // namespace medley
