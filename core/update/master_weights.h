#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// What training updates: the trained weights in float at least. A model that computes in a half type gets
// them rounded, for a small update would be lost in such a weight. Where a parameter is in float or double it
// is its own master, and nothing is kept twice; so is one that is not trained.
class MasterWeights {
 public:
  // Makes masters of parameters whose requires_grad says whether they are trained. `start`: by name, what
  // masters begin with instead of the rounded values; taken over where it lies on the parameter's device.
  MasterWeights(const std::vector<Parameter>& parameters, const std::vector<Parameter>& start);

  // The master of each parameter, under its name: what a checkpoint keeps. After writing to them call Round.
  const std::vector<Parameter>& list() const { return masters_; }
  // Bytes beside the parameters.
  std::int64_t bytes() const;

  // The masters' values into their parameters. Allocates nothing.
  void Round() const;

 private:
  std::vector<Parameter> masters_;
  std::vector<at::Tensor> rounded_, wide_;  // parameters, and the masters that they have
};

// For as long as it lives, a model computes with other values than its weights: their averages, or where a
// jump would take them. Afterwards it has its weights, bit for bit, whatever is thrown meanwhile. Between two
// steps, or for the gradients of one; nobody writes weights or saves them meanwhile.
class LentWeights {
 public:
  // The masters of the weights outlive it.
  explicit LentWeights(const MasterWeights& masters) : masters_(&masters) {}
  LentWeights(LentWeights&& other) noexcept;
  ~LentWeights();

  // A parameter has these values from now on; once each. Values of its own type are lent with their memory,
  // and stay as they are meanwhile; others are rounded into it, where it has a master. An Error for another
  // shape.
  void Lend(const at::Tensor& parameter, const at::Tensor& values);

 private:
  std::vector<at::Tensor> parameters_, own_;  // `own_`: their weights; undefined where they have masters
  const MasterWeights* masters_;
};

}  // namespace medley
