#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/model/adapters.h>
#include <medley/model/model.h>

namespace medley {

class LoraTargets;

// The parameters of a model while it is built, and afterwards. A value depends on the seed and on the
// parameter's name (its former one, if any), not on the order of construction or on libtorch's default
// generator.
class ParameterSet {
 public:
  // How names begin, and how they began before: see Parameter::former_name.
  struct Renamed {
    std::string now, before;
  };
  // On the "meta" device parameters have shapes only.
  // `given`: parameters that get neither values nor memory here; null: none.
  ParameterSet(std::uint64_t seed, at::Device device, std::vector<Renamed> renamed = {},
               const std::set<std::string>* given = nullptr, Adapters adapters = {})
      : seed_(seed),
        device_(device),
        renamed_(std::move(renamed)),
        given_(given == nullptr ? std::set<std::string>() : *given),
        adapters_(std::move(adapters)) {}

  // Normal values around 0. Returns a handle that stays valid for the life of the set, through To.
  at::Tensor Normal(const std::string& name, at::IntArrayRef shape, double deviation);
  // Equally likely values in [low, high).
  at::Tensor Uniform(const std::string& name, at::IntArrayRef shape, double low, double high);
  at::Tensor Constant(const std::string& name, at::IntArrayRef shape, double value);

  // Lets the parameters whose names begin with `to` start with the values of those with `from` in its place:
  // layers that begin as copies of one ("decoder.0.", "decoder.1."). An Error where one has no such
  // counterpart of its shape, or where there is none at all.
  void CopyStart(const std::string& from, const std::string& to);

  // Says that the matrices and kernels whose names begin so are of hidden layers (Parameter::hidden);
  // adapters of them are not. An Error where there is none. The blocks say it of theirs.
  void Hidden(const std::string& begin);

  // What is made between the two is a base: where there are adapters its parameters are frozen, and they may
  // be of its linear maps. `root` is in front of the published names. The end of the last one throws
  // InputError where the adapters are for other maps.
  void BeginBase(const std::string& root);
  void EndBase(bool last = true);
  // The adapter of a linear map; undefined outside of a base, and where it gets none.
  struct Adapter {
    at::Tensor a, b;  // [rank, in], [out, rank]
    double scale = 0;
  };
  Adapter MakeAdapter(const std::string& map, std::int64_t in, std::int64_t out);
  const Adapters& adapters() const { return adapters_; }

  const std::vector<Parameter>& list() const { return list_; }
  // Gradients of a half type are summed in float.
  void To(at::Device device, at::ScalarType dtype);

 private:
  // `fill` gives it its values, where it gets some here.
  template <typename Fill>
  at::Tensor Add(const std::string& name, at::IntArrayRef shape, const Fill& fill);
  template <typename Fill>
  at::Tensor AddRandom(const std::string& name, at::IntArrayRef shape, const Fill& fill);
  std::string FormerName(const std::string& name) const;

  std::uint64_t seed_;
  at::Device device_;
  std::vector<Renamed> renamed_;
  std::set<std::string> given_;
  Adapters adapters_;
  std::shared_ptr<LoraTargets> targets_;  // while a base is made for adapters
  std::string root_;                      // of the base
  bool freezes_ = false, in_base_ = false;
  std::vector<Parameter> list_;
};

// y = x W^T + b, x [..., in]. W [out, in] starts with the deviation gain / sqrt(in), b (if any) with zeros.
// With an adapter of the set's, its product with x is added; that is 0 at the start.
class Linear {
 public:
  Linear() = default;
  Linear(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out, bool bias,
         double gain = 1);
  at::Tensor operator()(const at::Tensor& x) const { return (*this)(x, x); }
  // `dropped`: what the adapter gets instead of x.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& dropped) const;
  // Several of one x at once, where that gains something: on a GPU, without adapters. Else nothing comes
  // back, and each is for itself, so that one's result need not wait for the others'.
  static std::vector<at::Tensor> Together(const at::Tensor& x, const std::vector<const Linear*>& maps);

  bool trains_weight() const { return weight_.requires_grad(); }
  // The rank of its adapter; 0 without one.
  std::int64_t rank() const { return adapter_.a.defined() ? adapter_.a.size(0) : 0; }

 private:
  at::Tensor Plain(const at::Tensor& x) const;

  at::Tensor weight_, bias_;
  ParameterSet::Adapter adapter_;
};

inline constexpr double kLayerNormEpsilon = 1e-5;

// LayerNorm over the last dimension, with float statistics at least.
class LayerNorm {
 public:
  LayerNorm() = default;
  LayerNorm(ParameterSet& set, const std::string& name, std::int64_t dim, double epsilon = kLayerNormEpsilon);
  at::Tensor operator()(const at::Tensor& x) const;
  bool trained() const { return weight_.requires_grad() || bias_.requires_grad(); }

 private:
  at::Tensor weight_, bias_;
  double epsilon_ = kLayerNormEpsilon;
};

}  // namespace medley
